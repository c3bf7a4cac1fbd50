"""A call that became a task: polled to its end, its questions answered, its end given back. Loop thread.

Source: the extension io.modelcontextprotocol/tasks (modern: `resultType` task, tasks/get holds the result) and
2025-11-25 basic/utilities/tasks (handshake: `task` in the params, tasks/result brings the result).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import anyio

from inspector.console.rounds import Ask, wanted_in
from inspector.errors import BadReply, LoupeError, PeerError
from inspector.protocol import eras
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply

LEAST_POLL_S: Final = 0.05
MOST_POLL_S: Final = 30.0
USUAL_POLL_S: Final = 1.0
MOST_POLLS: Final = 2_000
CANCEL_S: Final = 2.0
ENDS: Final = ("completed", "failed", "cancelled")
TTL_MS: Final = 600_000

Send = Callable[[str, dict[str, Any]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class State:
    """What one poll said. message: statusMessage, empty when absent."""

    task: str
    status: str
    message: str
    seq: int


def support_of(definition: Mapping[str, Any]) -> str:
    """What a listed tool says of being made a task (handshake era); one that says nothing forbids it (2025-11-25)."""
    execution = definition.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, Mapping) else None
    return support if support in ("optional", "required") else "forbidden"


def task_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The task a result hands out instead of an outcome, in either era."""
    if result.get("resultType") == "task":
        return result
    task = result.get("task")
    return task if isinstance(task, Mapping) and "content" not in result and "taskId" in task else None


def brought_by(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a task brought, out of the standing that says it is completed (modern era: tasks/get holds it)."""
    inner = result.get("result")
    return inner if "taskId" in result and isinstance(inner, dict) else None


async def follow(
    connection: Connection, reply: Reply, send: Send, ask: Ask, note: Callable[[State], None]
) -> Reply:
    """The reply that ends the task; `reply` itself when it hands out none. Cancelled, it cancels the task too."""
    task = task_of(reply.result)
    if task is None:
        return reply
    id_ = task.get("taskId")
    if not isinstance(id_, str):
        raise BadReply("The task has no taskId that is a text", "Give each task an id")
    try:
        return await _until_ended(connection, id_, task, reply, send, ask, note)
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(CANCEL_S, shield=True), suppress(LoupeError):  # its error event says it
            await send("tasks/cancel", {"taskId": id_})
        raise


async def _until_ended(
    connection: Connection,
    id_: str,
    task: Mapping[str, Any],
    reply: Reply,
    send: Send,
    ask: Ask,
    note: Callable[[State], None],
) -> Reply:
    modern = connection.peer is not None and connection.peer.era == eras.MODERN
    for _ in range(MOST_POLLS):
        status = str(task.get("status"))
        note(State(id_, status, str(task.get("statusMessage") or "")[:300], reply.seq))
        if status in ENDS:
            return await _ended(status, id_, task, reply, send, modern)
        if status == "input_required":
            if not modern:
                reply = await send("tasks/result", {"taskId": id_})  # over it the server asks
                note(State(id_, "ended", "tasks/result brought what came of it", reply.seq))
                return reply
            answers = await _answers(connection, task, ask)
            await send("tasks/update", {"taskId": id_, "inputResponses": answers})
        else:
            await anyio.sleep(_pause(task))
        reply = await send("tasks/get", {"taskId": id_})
        task = reply.result
    raise BadReply(f"The task did not end in {MOST_POLLS:,} polls; Loupe stopped asking", "See tasks/get")


async def _answers(connection: Connection, task: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    wanted = wanted_in(task.get("inputRequests"), None, connection)
    if wanted.problem:
        raise BadReply(wanted.problem, "Ask only for what the client declared")
    answers = {}
    for key, method, asked in wanted.inputs:
        kind, body = await ask(method, asked, key)
        if kind == "error":
            raise BadReply(
                f"The task waits for input “{key[:80]}”, which was declined", "Cancel it with tasks/cancel"
            )
        answers[key] = body
    return answers


async def _ended(
    status: str, id_: str, task: Mapping[str, Any], reply: Reply, send: Send, modern: bool
) -> Reply:
    error = task.get("error")
    if status == "failed" and isinstance(error, Mapping):
        problem = PeerError(error.get("code"), error.get("message"), error.get("data"))
        problem.facts.update(seq=reply.seq, request_seq=reply.request_seq)
        raise problem
    if status == "completed" and not modern:
        return await send("tasks/result", {"taskId": id_})
    return reply


def _pause(task: Mapping[str, Any]) -> float:
    """Seconds until the next poll, as the server wishes, within bounds."""
    wished = task.get("pollIntervalMs", task.get("pollInterval"))
    if isinstance(wished, bool) or not isinstance(wished, int | float) or not math.isfinite(wished):
        return USUAL_POLL_S
    return min(MOST_POLL_S, max(LEAST_POLL_S, wished / 1000))
