"""Questions of the server that it wants answered as tasks, which it then polls; handshake era. Loop thread.

Source: 2025-11-25 basic/utilities/tasks: `task` in the params asks for it, the answer is a task at once, tasks/get and
tasks/result are the server's to send, a task that has ended changes no more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import anyio

Answer = tuple[str, Any]
Ask = Callable[[str, Mapping[str, Any]], Awaitable[Answer]]

WORKING, COMPLETED, FAILED, CANCELLED = "working", "completed", "failed", "cancelled"
METHODS: Final = ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel")
MOST: Final = 100
"""Tasks of one connection; a server that wants more is refused."""
POLL_MS: Final = 500
RELATED: Final = "io.modelcontextprotocol/related-task"
WAITS: Final = "Waits for a person"


@dataclass(slots=True)
class OurTask:
    """One question being answered as a task. ttl: as the server wished it, milliseconds; None for no end."""

    id: str
    ttl: int | None
    created: str
    updated: str
    status: str = WORKING
    answer: Answer | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def end(self, status: str, answer: Answer | None = None) -> None:
        """The first end counts."""
        if not self.ended.is_set():
            self.status, self.answer, self.updated = status, answer, _now()
            self.ended.set()

    def standing(self) -> dict[str, Any]:
        said = {"statusMessage": WAITS} if self.status == WORKING else {}
        return {
            "taskId": self.id, "status": self.status, **said, "createdAt": self.created, "lastUpdatedAt": self.updated,
            "ttl": self.ttl, "pollInterval": POLL_MS,
        }  # fmt: skip


class OurTasks:
    """The tasks of one connection."""

    def __init__(self) -> None:
        self._tasks: dict[str, OurTask] = {}

    async def answer(
        self, method: str, params: Mapping[str, Any], ask: Ask, spawn: Callable[..., object]
    ) -> Answer | None:
        """The answer to a request about tasks, or to one that wants to be one; None for any other.

        ask: answers the question itself. spawn: starts a coroutine that ends with the connection.
        """
        if method == "tasks/list":
            return "result", {"tasks": [one.standing() for one in self._tasks.values()]}
        if method in METHODS:
            task = self._tasks.get(str(params.get("taskId")))
            return _error("There is no such task") if task is None else await self._about(method, task)
        wish = params.get("task")
        if not isinstance(wish, Mapping):
            return None
        if len(self._tasks) >= MOST:
            return _error(f"{MOST} tasks of this connection are enough")
        ttl = wish.get("ttl")
        now = _now()
        known = ttl if isinstance(ttl, int) and not isinstance(ttl, bool) else None
        task = OurTask(f"loupe-task-{len(self._tasks) + 1}", known, now, now)
        self._tasks[task.id] = task
        spawn(_carry_out, task, ask, method, params)
        return "result", {"task": task.standing()}

    async def _about(self, method: str, task: OurTask) -> Answer:
        if method == "tasks/cancel":
            if task.ended.is_set():
                return _error(f"The task is {task.status} already")
            task.end(CANCELLED)
            task.scope.cancel()
        if method != "tasks/result":
            return "result", task.standing()
        await task.ended.wait()
        if task.answer is None:
            return _error(f"The task was {task.status}")
        kind, body = task.answer
        if kind == "result" and isinstance(body, Mapping):
            meta = body.get("_meta")
            body = {
                **body,
                "_meta": {**(meta if isinstance(meta, Mapping) else {}), RELATED: {"taskId": task.id}},
            }
        return kind, body


async def _carry_out(task: OurTask, ask: Ask, method: str, params: Mapping[str, Any]) -> None:
    try:
        with task.scope:
            kind, body = await ask(method, params)
            task.end(COMPLETED if kind == "result" else FAILED, (kind, body))
    finally:
        task.end(CANCELLED)


def _error(message: str) -> Answer:
    return "error", {"code": -32602, "message": message}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
