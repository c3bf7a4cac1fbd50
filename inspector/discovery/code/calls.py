"""One brokered call, and what a run's calls did to the world. Pure values, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from inspector.discovery import meta_tools

Status = Literal["running", "done", "failed", "unknown", "refused", "reused"]
"""done: the server said so. failed: the server, or the way to it, said no. unknown: sent, and no answer (a time-out,
a lost connection, a worker of the server gone). refused: never sent. reused: the recorded result of an earlier run."""


@dataclass(slots=True)
class Call:
    """function: its Python name; tool: the public one. line: of the script. why: the sentence the script got, when
    it got an exception, and as which (`raised`). allowed_by: what let it through. marks: where its data came from.
    value: what the script got; text: what a model would have been shown. frames: seqs of request and answer."""

    n: int
    function: str
    tool: str
    server: str
    arguments: Mapping[str, Any]
    line: int | None
    category: str = ""
    read_only: bool = False
    repeatable: bool = False
    risk: str = ""
    status: Status = "running"
    outcome: str = ""
    why: str = ""
    raised: str = ""
    allowed_by: str = ""
    marks: tuple[str, ...] = ()
    value: Any = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    request_bytes: int = 0
    reply_bytes: int = 0
    ms: float | None = None
    waited_ms: float = 0.0
    frames: tuple[int, ...] = ()

    def entry(self) -> dict[str, Any]:
        """As `code --json` has it; what a call did not have is absent."""
        found: dict[str, Any] = {
            "n": self.n, "line": self.line, "function": self.function, "tool": self.tool, "server": self.server,
            "arguments": dict(self.arguments), "status": self.status, "outcome": self.outcome,
            "read_only_hint": self.read_only, "category": self.category, "request_bytes": self.request_bytes,
            "reply_bytes": self.reply_bytes, "ms": self.ms,
            "frames": list(self.frames),
        }  # fmt: skip
        if self.why:
            found |= {"error": self.why, "raised": self.raised}
        if self.allowed_by:
            found["allowed_by"] = self.allowed_by
        if self.marks:
            found["data_from"] = list(self.marks)
        return found

    def mention(self) -> dict[str, Any]:
        """Its line in the effects."""
        found: dict[str, Any] = {
            "n": self.n,
            "line": self.line,
            "tool": self.tool,
            "arguments": dict(self.arguments),
        }
        if self.why:
            found["why"] = self.why
        if self.status == "refused":
            found["sent"] = False
        return found


ASKED_BEFORE: Final = ("done", "reused")


@dataclass(frozen=True, slots=True)
class Effects:
    """done: calls that may have changed something and were answered well; reads: those the server hints change
    nothing. failed: with the refused ones. unknown: nobody knows. retry_safe: whether running the whole script again
    repeats no side effect; advice: what to do, a sentence each."""

    done: tuple[Call, ...]
    reads: int
    failed: tuple[Call, ...]
    unknown: tuple[Call, ...]
    retry_safe: bool
    advice: tuple[str, ...]

    def entry(self) -> dict[str, Any]:
        return {
            "done": [each.mention() for each in self.done], "reads": self.reads,
            "failed": [each.mention() for each in self.failed],
            "unknown": [each.mention() for each in self.unknown],
            "retry_safe": self.retry_safe, "advice": list(self.advice),
        }  # fmt: skip


def effects_of(calls: Sequence[Call], *, ended_well: bool) -> Effects:
    """From what was recorded, nothing else."""
    well = [each for each in calls if each.status in ASKED_BEFORE]
    done = tuple([each for each in well if not each.read_only])
    failed = tuple([each for each in calls if each.status in ("failed", "refused")])
    unknown = tuple([each for each in calls if each.status in ("unknown", "running")])
    again = [each for each in (*done, *unknown) if not (each.repeatable or each.read_only)]
    advice = tuple(_advice(done, failed, unknown, again, ended_well)) if calls else ()
    return Effects(done, len(well) - len(done), failed, unknown, not again, advice)


def _advice(
    done: Sequence[Call],
    failed: Sequence[Call],
    unknown: Sequence[Call],
    again: Sequence[Call],
    ended_well: bool,
) -> list[str]:
    if ended_well and not failed and not unknown:
        return []
    found = []
    if again:
        tools = ", ".join(dict.fromkeys([each.tool for each in again]))
        what = "repeats" if any(each in done for each in again) else "may repeat"
        found.append(
            f"Running the whole script again {what} a side effect of {tools} (by the server's own hints)"
        )
    elif not ended_well:
        found.append("Running the whole script again repeats no side effect (by the server's own hints)")
    if failed and done:
        found.append(f"Resume instead: the {many(len(done), 'finished change')} will not be sent again")
    for each in unknown:
        found.append(
            f"Look on {each.server} whether call {each.n}, {each.tool}, took place before it is sent again"
        )
    refused = [each for each in failed if each.status == "refused"]
    if refused:
        found.append(
            f"{many(len(refused), 'call')} never left Loupe: {'; '.join(dict.fromkeys([c.why for c in refused]))[:300]}"
        )
    return found


def many(number: int, what: str) -> str:
    """`1 call`, `3 calls`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def hints(value: Mapping[str, Any]) -> tuple[bool, bool, str]:
    """(changes nothing, may be repeated, in words): the server's annotations, which are hints."""
    said = value.get("annotations")
    read_only = meta_tools.read_only(value)
    repeatable = isinstance(said, dict) and said.get("idempotentHint") is True
    return read_only, read_only or repeatable, meta_tools.risk(value)
