"""The trusted boundary: a script's call, checked, allowed, sent, recorded. One run's thread; people answer from others.

Credentials, connections and the authorization context are on this side only; a script sees functions and values.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.code import values
from inspector.discovery.code.approvals import Approver, Ask, Grants, Nobody, category_of
from inspector.discovery.code.calls import Call, hints
from inspector.discovery.code.extract import Extractor, NotExtracted
from inspector.discovery.code.limits import LimitHit, Limits
from inspector.discovery.code.provenance import Origins, Policy
from inspector.discovery.code.runtime import ExcName, Raised, Stopped
from inspector.discovery.code.sending import Sender, Sent, frames_of, sizes_of
from inspector.discovery.code.stubs import Stub, Stubs
from inspector.discovery.registry import Refusal, Registry, Tool
from inspector.discovery.shown import shown_text
from inspector.errors import Cancelled, ConnectionLost, HttpFailed, LoupeError, PeerError, TimedOut

_HANDLES: Final = 20
_LONGEST: Final = 2000


@dataclass(slots=True)
class Rules:
    """What a run may do. flows: data of one server on its way to another. earlier: calls of a run to resume."""

    limits: Limits = field(default_factory=Limits)
    access: Access = EVERYONE
    allow: tuple[str, ...] = ()
    flows: Policy = "allow"
    earlier: Sequence[Call] = ()


class Broker:
    """Answers the functions of one run. `calls` is what happened so far, a snapshot at any moment."""

    def __init__(
        self, run_id: str, code: str, registry: Registry, stubs: Stubs, send: Sender | None, rules: Rules,
        *, approver: Approver | None = None, extractor: Extractor | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.run_id, self.registry, self.stubs, self.rules = run_id, registry, stubs, rules
        self.calls: list[Call] = []
        self.stopping = threading.Event()
        self.grants = Grants(rules.allow)
        self._send, self._approver, self._changed = send, approver or Nobody(), on_change
        shapes = {name: shape for stub in stubs.functions.values() for name, shape in stub.shapes.items()}
        self._extractor = extractor or Extractor(shapes, code)
        self._origins = Origins(code)
        self._several = len(registry.servers) > 1
        self._recent: deque[float] = deque()
        self._handles: dict[int, Any] = {}
        self._same_so_far = True
        self.asked_ms = 0.0

    def answer(self, function: str, given: tuple[Any, ...], named: dict[str, Any], line: int | None) -> Any:
        """What the script gets. Raises Raised for it to catch; LimitHit or Stopped to end it."""
        if self.stopping.is_set():
            raise Stopped("The run was stopped", "What was called so far stays recorded")
        if function == "extract":
            return self._extract(given, named)
        if function == "result_part":
            return self._part(given, named)
        stub = self.stubs.functions.get(function)
        if stub is None:
            raise Raised("LookupError", f"there is no function {function[:200]}")
        self._count(line)
        call = self._begun(stub, named, line)
        try:
            return self._brokered(stub, call, given, named)
        except BaseException:
            if call.status == "running":  # ours, or the person's: it is not known what became of it
                call.status = "unknown" if call.outcome == "sent" else "refused"
            raise
        finally:
            self._changed()

    # --- before anything is sent

    def _count(self, line: int | None) -> None:
        limits, now = self.rules.limits, time.monotonic()
        if len(self.calls) >= limits.calls:
            raise LimitHit("calls", limits.calls, len(self.calls) + 1, line)
        self._recent.append(now)
        while self._recent and now - self._recent[0] > 1.0:
            self._recent.popleft()
        if len(self._recent) > limits.rate:
            raise LimitHit("rate", limits.rate, len(self._recent), line)

    def _begun(self, stub: Stub, named: Mapping[str, Any], line: int | None) -> Call:
        tool = stub.tool
        read_only, repeatable, risk = hints(tool.value)
        call = Call(len(self.calls) + 1, stub.name, tool.public, tool.server, stub.arguments(named), line,
                    category_of(tool), read_only, repeatable, risk)  # fmt: skip
        self.calls.append(call)
        return call

    def _brokered(self, stub: Stub, call: Call, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if given:
            raise self._refused(call, "invalid", "TypeError", "arguments are given by name")
        try:
            call.arguments = arguments = stub.arguments(values.jsonable(named))
        except values.NotJson as problem:
            call.arguments = {}
            raise self._refused(call, "invalid", "ValueError", str(problem)) from None
        found = self.registry.resolve(stub.tool.public, self.rules.access)
        if isinstance(found, Refusal):
            raise self._refused(call, found.why, "LookupError", found.sentence)
        wrong = values.check(found.value.get("inputSchema", {}), arguments)
        if wrong:
            raise self._refused(call, "invalid", "ValueError", wrong)
        reused = self._reused(call)
        if reused is not None:
            return self._given(call, reused.value)
        self._let_through(call, found)
        return self._sent(call, found, arguments)

    def _let_through(self, call: Call, tool: Tool) -> None:
        """Where its data came from, and whether somebody allows it; raises Raised."""
        flows = self.rules.flows
        why = ""
        if self._several:
            call.marks = self._origins.marks(call.server, call.arguments)
        if call.marks and flows == "block":
            said = f"data of another server may not go to {call.server} ({'; '.join(call.marks)})"
            raise self._refused(call, "blocked", "PermissionError", said)
        if call.marks and flows == "ask" and not self.grants.cover_flow(call):
            why = f"it carries data of another server: {'; '.join(call.marks)}"
        before = self._counterpart(call)
        if before is not None and before.status in ("unknown", "running"):
            why = "it was sent in the run before, and nobody knows whether it took place"
        call.allowed_by = "" if why else self.grants.cover(call, tool.name)
        if not call.allowed_by:
            began = time.perf_counter()
            decision = self._approver.decide(Ask(call, why))
            call.waited_ms = (time.perf_counter() - began) * 1000
            self.asked_ms += call.waited_ms
            if self.stopping.is_set():
                call.status = "refused"
                raise Stopped("The run was stopped", "What was called so far stays recorded")
            call.allowed_by = self.grants.add(decision, call)
        if not call.allowed_by:
            raise self._refused(call, "denied", "PermissionError", "the call was not allowed")

    def _refused(self, call: Call, outcome: str, name: ExcName, sentence: str) -> Raised:
        call.status, call.outcome = "refused", outcome
        return self._raised(call, name, f"{call.function}: {sentence}")

    def _raised(self, call: Call, name: ExcName, sentence: str) -> Raised:
        call.raised, call.why = name, sentence[:_LONGEST]
        return Raised(name, call.why)

    # --- an earlier run

    def _counterpart(self, call: Call) -> Call | None:
        """The same call of the run before: same place, same function, same arguments, and all before it alike."""
        if call.n > len(self.rules.earlier) or not self._same_so_far:
            return None
        before = self.rules.earlier[call.n - 1]
        return before if (before.tool, before.arguments) == (call.tool, call.arguments) else None

    def _reused(self, call: Call) -> Call | None:
        before = self._counterpart(call)
        if before is None:
            self._same_so_far = False
            return None
        if before.status not in ("done", "reused") or before.raised:
            return None
        call.status, call.outcome, call.allowed_by = (
            "reused",
            "ok",
            "recorded in the run before; nothing was sent",
        )
        call.frames, call.text, call.reply_bytes = before.frames, before.text, before.reply_bytes
        return before

    # --- the wire

    def _sent(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> Any:
        if self._send is None:
            raise self._refused(
                call, "unavailable", "LookupError", f"there is no connection to {call.server}"
            )
        call.outcome = "sent"
        self._changed()
        try:
            sent = self._send(tool, arguments, f"{self.run_id} line {call.line}")
        except LoupeError as problem:
            raise self._failed(call, problem) from None
        call.frames, call.ms = sent.frames, sent.ms
        call.request_bytes, call.reply_bytes = sent.request_bytes, sent.reply_bytes
        return self._answered(call, tool, sent)

    def _failed(self, call: Call, problem: LoupeError) -> Raised:
        call.frames = frames_of(problem)
        call.request_bytes, call.reply_bytes = sizes_of(problem)
        if isinstance(problem, TimedOut):
            call.status, call.outcome = "unknown", "timeout"
            return self._raised(
                call,
                "TimeoutError",
                f"{call.function}: {problem.message}; it is not known whether it took place",
            )
        if isinstance(problem, ConnectionLost | Cancelled | HttpFailed):
            call.status, call.outcome = "unknown", "transport_failure"
            return self._raised(
                call, "OSError", f"{call.function}: {problem.message}; it is not known whether it took place"
            )
        call.status = "failed"
        call.outcome = "protocol_error" if isinstance(problem, PeerError) else "not_sent"
        return self._raised(call, "OSError", f"{call.function}: {problem.message}")

    def _answered(self, call: Call, tool: Tool, sent: Sent) -> Any:
        call.text = shown_text(sent.result)
        if sent.result.get("resultType") == "input_required":
            call.status, call.outcome = "failed", "input_required"
            raise self._raised(
                call,
                "RuntimeError",
                f"{call.function}: the server asks for input, which a script cannot give",
            )
        if sent.result.get("isError") is True:
            call.status, call.outcome = "failed", "tool_error"
            raise self._raised(call, "RuntimeError", f"{call.function}: {call.text}")
        call.status, call.outcome = "done", "ok"
        value = values.meaning(sent.result)
        output = tool.value.get("outputSchema")
        if isinstance(output, Mapping):
            wrong = (
                values.check(output, value)
                if "structuredContent" in sent.result
                else "it has no structuredContent"
            )
            if wrong:
                call.outcome = "invalid_output"
                raise self._raised(
                    call, "ValueError", f"{call.function}: the result breaks the tool's outputSchema: {wrong}"
                )
        return self._given(call, value)

    def _given(self, call: Call, value: Any) -> Any:
        """Remember it for a later run and for its marks; refuse what is too large."""
        call.value = value
        cap = self.rules.limits.result_bytes
        if self._several:
            self._origins.note(call.server, value, call.n)
        if call.reply_bytes > cap and (taken := values.size(value)) > cap:
            raise self._too_large(call, value, taken)
        return value

    def _too_large(self, call: Call, value: Any, taken: int) -> Raised:
        self._handles[call.n] = value
        while len(self._handles) > _HANDLES:
            del self._handles[next(iter(self._handles))]
        tool = self.stubs.functions[call.function].tool
        pages = values.paging_parameters(tool.value.get("inputSchema"))
        own = f", or call it with {', '.join(pages)}" if pages else ""
        hint = f"read it with result_part({call.n}, start=0, count=100){own}"
        cap = self.rules.limits.result_bytes
        call.outcome = "too_large"
        return self._raised(
            call, "OverflowError", f"{call.function}: the result has {taken:,} B, more than {cap:,} B: {hint}"
        )

    # --- the host's own functions

    def _part(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        handle = given[0] if given else named.get("handle")
        start, count = named.get("start", 0), named.get("count", 100)
        if not all(isinstance(each, int) and each >= 0 for each in (handle, start, count)):
            raise Raised("TypeError", "result_part(handle, start=0, count=100) takes whole numbers from 0")
        if handle not in self._handles:
            raise Raised("LookupError", f"there is no result {handle} to read in parts")
        found, cap = values.part(self._handles[handle], start, count), self.rules.limits.result_bytes
        if (taken := values.size(found)) > cap:
            raise Raised(
                "OverflowError", f"this part has {taken:,} B, more than {cap:,} B: ask for a smaller count"
            )
        return found

    def _extract(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        whole = [*given, *[named[key] for key in ("value", "type_") if key in named]]
        if len(whole) != 2:
            raise Raised("TypeError", "extract(value, Type) takes a value and a type")
        try:
            return self._extractor.extract(values.jsonable(whole[0]), whole[1])
        except (NotExtracted, values.NotJson) as problem:
            raise Raised("ValueError", str(problem)[:_LONGEST]) from None
