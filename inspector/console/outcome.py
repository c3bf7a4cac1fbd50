"""What became of one call, in the words of the command line's `outcome`. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from inspector.catalog.validation import Verdict
from inspector.errors import BadReply, Cancelled, LoupeError, PeerError, TimedOut
from inspector.protocol import codes
from inspector.protocol.codes import ErrorEntry
from inspector.protocol.eras import Era
from inspector.wire.dispatcher import Reply

OK, TOOL_ERROR, PROTOCOL_ERROR = "ok", "tool_error", "protocol_error"
TRANSPORT_FAILURE, TIMEOUT, CANCELLED, INPUT_REQUIRED = (
    "transport_failure",
    "timeout",
    "cancelled",
    "input_required",
)

EXIT_CODES = {
    OK: 0,
    TOOL_ERROR: 6,
    PROTOCOL_ERROR: 4,
    TRANSPORT_FAILURE: 4,
    TIMEOUT: 4,
    CANCELLED: 130,
    INPUT_REQUIRED: 1,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended.

    what: ok, tool_error, protocol_error, transport_failure, timeout, cancelled or input_required. origin: who
    made the outcome (peer or console). raw: the answer exactly as it came, None when none came. explain: the
    row of the error table. output: the verdict on structuredContent, None when no result came.
    """

    what: str
    origin: str
    raw: bytes | None = None
    result: dict[str, Any] | None = None
    error: LoupeError | None = None
    explain: ErrorEntry | None = None
    output: Verdict | None = None
    ms: float | None = None
    request_seq: int | None = None
    reply_seq: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    of_task: bool = False
    """`result` is what a finished task brought: the member `result` of what stands in `raw`."""

    @property
    def code(self) -> int | None:
        return self.error.code if self.error is not None else None

    @property
    def exit_code(self) -> int:
        """The command line's: an error brings its own."""
        return self.error.exit_code if self.error is not None else EXIT_CODES[self.what]


def is_judged(result: Mapping[str, Any]) -> bool:
    """Whether the outputSchema speaks of this result: a tool error is exempt, and a question is no output yet."""
    return result.get("isError") is not True and result.get("resultType") != "input_required"


def of_reply(reply: Reply, verdict: Verdict | None, brought: dict[str, Any] | None = None) -> Outcome:
    """The outcome of a call that got a result. verdict: on its structuredContent, None where none is due.

    brought: what the task brought whose end `reply` is, when it holds one.
    """
    result = reply.result if brought is None else brought
    if result.get("resultType") == "input_required":
        what = INPUT_REQUIRED
    elif result.get("isError") is True:
        what = TOOL_ERROR
    else:
        what = OK
    explain = codes.entry("tool-error") if what == TOOL_ERROR else None
    return Outcome(
        what, "peer", reply.raw, result, None, explain, verdict, reply.ms, reply.request_seq, reply.seq,
        of_task=brought is not None,
    )  # fmt: skip


def of_error(problem: BaseException, era: Era | None) -> Outcome:
    """The outcome of a call that got none."""
    if isinstance(problem, CancelledError | Cancelled):
        return Outcome(CANCELLED, "console", error=Cancelled("The call was cancelled", "Run it again"))
    if not isinstance(problem, LoupeError):
        gone = LoupeError(
            f"Loupe itself failed: {type(problem).__name__}: {problem}", "Please report this as a bug"
        )
        return Outcome(TRANSPORT_FAILURE, "console", error=gone)
    facts = problem.facts
    status = facts.get("status")
    explain = codes.explain(
        problem.code, era=era, origin=problem.origin, http_status=status, layer=problem.layer
    )
    return Outcome(
        _word_for(problem), problem.origin, error=problem, explain=explain, facts=facts,
        request_seq=facts.get("request_seq"), reply_seq=facts.get("seq"),
    )  # fmt: skip


def _word_for(problem: LoupeError) -> str:
    if isinstance(problem, TimedOut):
        return TIMEOUT
    return PROTOCOL_ERROR if isinstance(problem, PeerError | BadReply) else TRANSPORT_FAILURE
