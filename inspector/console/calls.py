"""Calls people start (tools, prompts, resources): running, done, cancelled, repeated. Any thread; they run on the loop.

A call outlives the page that started it: its id is in the page's URL, and reloading finds it again.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import anyio

from inspector.catalog import jsontext
from inspector.catalog.validation import Verdict
from inspector.console import outcome
from inspector.console.asking import Asking
from inspector.console.checking import Checker
from inspector.console.invoking import TOOLS, request_of
from inspector.console.outcome import Outcome
from inspector.console.rounds import Round, converse
from inspector.console.tasks import TTL_MS, State, brought_by, follow
from inspector.errors import Cancelled, UsageError
from inspector.protocol.numbers import integer
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import RawJson, Reply
from inspector.wire.link import encode_params
from inspector.wire.mirrored import mirrored_headers

KEPT = 200
MOST_RUNS = 1000


@dataclass(slots=True)
class Call:
    """One call (runs == 1) or a series. `outcomes` grows as they end; `progress` is the last notification.

    what: the list `tool` is of (console.invoking): a tool's or prompt's name, a URI, a URI template.
    """

    id: str
    server_key: str
    c: int
    tool: str
    arguments: str
    runs: int
    started_at: float
    future: Future[None] = field(repr=False, default_factory=Future)
    outcomes: list[Outcome] = field(default_factory=list)
    progress: dict[str, Any] | None = None
    rounds: list[Round] = field(default_factory=list)
    """The answers of the last run that asked for input."""
    states: list[State] = field(default_factory=list)
    """How the task stood that the last run became."""
    ended_at: float | None = None
    first_seq: int = 0
    what: str = TOOLS
    task: bool = False
    """Whether the server is asked to make it a task (handshake era)."""

    @property
    def sent(self) -> str:
        """What a person filled in as it was sent: a tool's arguments, the params of anything else."""
        return (
            self.arguments
            if self.what == TOOLS
            else encode_params(request_of(self.what, self.tool, self.arguments)[1])
        )

    @property
    def done(self) -> bool:
        return self.future.done()

    @property
    def outcome(self) -> Outcome | None:
        """The last one that ended."""
        return self.outcomes[-1] if self.outcomes else None

    def timings(self) -> dict[str, Any]:
        """Of the answered calls so far, in milliseconds: p50, p95, min, max; and the counts by outcome."""
        times = sorted(one.ms for one in self.outcomes if one.ms is not None)
        counts: dict[str, int] = {}
        for one in self.outcomes:
            counts[one.what] = counts.get(one.what, 0) + 1
        found: dict[str, Any] = {"ended": len(self.outcomes), "runs": self.runs, "counts": counts}
        if times:
            found |= {
                "p50": percentile(times, 50),
                "p95": percentile(times, 95),
                "min": times[0],
                "max": times[-1],
            }
        return found


def percentile(ordered: list[float], percent: int) -> float:
    """Nearest-rank percentile of a sorted, non-empty list."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]


def read_arguments(text: str, what: str = "arguments") -> RawJson:
    """The object a person typed, compact but with every lexeme unchanged. Raises UsageError, calling it `what`."""
    if not text.strip():
        return RawJson("{}")
    try:
        value = json.loads(text, parse_constant=_refuse, parse_int=integer)
    except RecursionError:
        raise UsageError(f"The {what} are nested too deeply", "Flatten them") from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise UsageError(
            f"The {what} are not JSON: {problem.msg} at {where}",
            'Write an object such as {"name": "value"}',
        ) from None
    except ValueError as problem:
        raise UsageError(f"The {what} are not JSON: {problem}", "Use numbers that JSON has") from None
    if not isinstance(value, dict):
        kind = "an array" if isinstance(value, list) else f"{json.dumps(value)[:40]}"
        raise UsageError(
            f"The {what} are {kind}, not a JSON object", 'Write an object such as {"name": "value"}'
        )
    try:
        compact = jsontext.compact(text)
        compact.encode()
    except UnicodeEncodeError:
        compact = jsontext.compact_value(value)
    return RawJson(compact)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


class Calls:
    """The calls of one console: all that run, and the last KEPT that ended."""

    def __init__(self, checker: Checker, asking: Asking) -> None:
        self._checker = checker
        self._asking = asking
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def get(self, id_: str) -> Call:
        with self._lock:
            found = self._calls.get(id_)
        if found is None:
            raise UsageError(f"There is no call {id_} any more", "Its frames are still in the timeline")
        return found

    def recent(self, server_key: str) -> list[Call]:
        """The calls of a server, newest first."""
        with self._lock:
            return [call for call in reversed(self._calls.values()) if call.server_key == server_key]

    def start(
        self,
        connection: Connection,
        server_key: str,
        tool: str,
        arguments: str,
        *,
        definition: Mapping[str, Any] | None = None,
        runs: int = 1,
        timeout: float | None = None,
        what: str = TOOLS,
        patient: bool = True,
        task: bool = False,
    ) -> Call:
        """Begin a call and return at once. definition: the tool as listed, for its headers and outputSchema.

        patient: progress starts the time-out again. task: ask the server to make it a task (handshake era).
        Raises UsageError for arguments that make no request.
        """
        if not 1 <= runs <= MOST_RUNS:
            raise UsageError(f"{runs} runs is out of range", f"Run between 1 and {MOST_RUNS} times")
        text = read_arguments(arguments)
        request_of(what, tool, text)
        with self._lock:
            call = Call(
                f"call-{next(self._ids)}", server_key, connection.c, tool, text, runs, time.time(), what=what,
                task=task,
            )  # fmt: skip
            self._keep(call)
        call.first_seq = connection.link.journal.last_seq + 1
        most = connection.spec.timeouts.most if patient else None
        call.future = connection.start_task(self._run, connection, call, definition or {}, timeout, most)
        return call

    def _keep(self, call: Call) -> None:
        """Let it be found by its id; under the lock."""
        self._calls[call.id] = call
        for old in [each for each in self._calls.values() if each.done][:-KEPT]:
            del self._calls[old.id]

    def cancel(self, id_: str) -> Call:
        """Stop waiting, and tell the server in its transport's way."""
        call = self.get(id_)
        call.future.cancel()
        return call

    async def _run(
        self,
        connection: Connection,
        call: Call,
        definition: Mapping[str, Any],
        timeout: float | None,
        most: float | None,
    ) -> None:
        method, params = request_of(call.what, call.tool, call.arguments)
        if call.task:
            params["task"] = {"ttl": TTL_MS}
        headers = call_headers(connection, definition, call.arguments) if call.what == TOOLS else {}
        era = connection.peer.era if connection.peer is not None else None

        def progressed(params: dict[str, Any]) -> None:
            call.progress = params

        async def send(whole: dict[str, Any]) -> Reply:
            return await connection.request(
                method, whole, timeout=timeout, op=call.id, headers=headers, on_progress=progressed, most=most
            )

        async def send_of_task(of_task: str, whole: dict[str, Any]) -> Reply:
            return await connection.request(of_task, whole, timeout=timeout, op=call.id, most=most)

        async def ask(method: str, asked: Mapping[str, Any], key: str) -> tuple[str, Any]:
            return await self._asking.ask(call.server_key, call.c, method, asked, call=call.id, member=key)

        try:
            for _ in range(call.runs):
                call.rounds.clear()
                call.states.clear()
                try:
                    reply = await converse(send, params, ask, connection, call.rounds.append)
                    reply = await follow(connection, reply, send_of_task, ask, call.states.append)
                    call.outcomes.append(await self._outcome(call, reply, definition))
                except anyio.get_cancelled_exc_class():
                    call.outcomes.append(outcome.of_error(Cancelled(""), era))
                    raise
                except Exception as problem:  # noqa: BLE001 - every end of a call is an outcome to show
                    call.outcomes.append(outcome.of_error(problem, era))
                    if call.outcomes[-1].what == outcome.TRANSPORT_FAILURE:
                        return
        finally:
            call.ended_at = time.time()

    async def _outcome(self, call: Call, reply: Reply, definition: Mapping[str, Any]) -> Outcome:
        brought = brought_by(reply.result) if call.states else None
        due = call.what == TOOLS and (brought is not None or not _unended(call, reply))
        verdict = await judged(self._checker, definition, reply, brought) if due else None
        return outcome.of_reply(reply, verdict, brought)


def _unended(call: Call, reply: Reply) -> bool:
    """Whether the last word on the call is a task that brought nothing."""
    return bool(call.states) and "taskId" in reply.result


async def judged(
    checker: Checker, definition: Mapping[str, Any], reply: Reply, brought: Mapping[str, Any] | None = None
) -> Verdict | None:
    """The verdict on a reply, or on what its task brought, where one is due."""
    result = reply.result if brought is None else brought
    if not outcome.is_judged(result):
        return None
    return await checker.output(definition, result, len(reply.raw))


def call_headers(connection: Connection, definition: Mapping[str, Any], arguments: str) -> dict[str, str]:
    """The `Mcp-Param-*` headers a modern HTTP server wants mirrored from the arguments."""
    return mirrored_headers(connection, definition.get("inputSchema"), jsontext.loads(arguments))
