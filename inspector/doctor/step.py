"""What the doctor says, and what it looks at: plain values, any thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from inspector.protocol.clipping import clipped
from inspector.wire.events import Event

MOST_SAID: Final = 2000
"""Characters of what a step says: it may quote a header of a hundred thousand."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing looked at. ok: True, False, or None for something odd that breaks nothing.

    name: which step, a stable word. evidence: what was seen, in one sentence. remedy: the next thing to try,
    empty when there is nothing to do. facts: for the JSON document.
    """

    name: str
    ok: bool | None
    evidence: str
    remedy: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("evidence", "remedy"):
            said = getattr(self, name)
            if len(said) > MOST_SAID:
                object.__setattr__(self, name, f"{clipped(said, MOST_SAID)}.")

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": self.name,
            "ok": self.ok,
            "evidence": self.evidence,
            "remedy": self.remedy,
        }
        return found | ({"facts": self.facts} if self.facts else {})


class Seen:
    """A sink that keeps a connection's events for the doctor to read."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, t: str, **body: Any) -> list[Event]:
        """Events of kind `t` whose body holds all of `body`."""
        return [
            e
            for e in self.events
            if e.t == t and all(e.body.get(key) == value for key, value in body.items())
        ]

    def text_of(self, t: str, most: int = 5) -> list[str]:
        """The first lines of stderr or noise, readable."""
        return [(event.raw or b"").decode("utf-8", "backslashreplace")[:200] for event in self.of(t)[:most]]


def sentence(text: str) -> str:
    """With a full stop, whether it came with one or not."""
    return text if text.endswith((".", "…", "?")) else f"{text}."


def quoted(lines: list[str], total: int | None = None) -> str:
    """Lines of a server in a sentence: the first one, and how many more of `total` (all of `lines` unless told)."""
    if not lines:
        return ""
    rest = (len(lines) if total is None else total) - 1
    return f"“{lines[0].strip()}”{f' (and {rest} more)' if rest > 0 else ''}"
