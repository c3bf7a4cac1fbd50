"""A request in flight, its answer, and what the dispatcher needs of a transport. Loop thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from inspector.errors import LoupeError
from inspector.wire.events import Event
from inspector.wire.link import Outgoing

Progress = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class Reply:
    """A result as it came: `raw` exact, `result` as json.loads made it, `seq`s of both frames, `ms` between."""

    result: dict[str, Any]
    raw: bytes
    request_seq: int
    seq: int
    ms: float
    received_at_us: int


@dataclass(slots=True)
class Waiter:
    """One request in flight."""

    out: Outgoing
    sent: Event | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    reply: Reply | None = None
    error: LoupeError | None = None
    on_progress: Progress | None = None
    progress: float | None = None
    """The latest step the server reported; it must rise."""
    limit: float = math.inf
    most: float = math.inf
    began: float = 0.0
    life: anyio.CancelScope | None = None

    @contextmanager
    def living(self, limit: float, most: float | None) -> Iterator[anyio.CancelScope]:
        """The time this request may take: `limit` seconds of silence and, however often it is extended, `most`."""
        self.limit, self.most, self.began = limit, max(limit, most or limit), anyio.current_time()
        with anyio.move_on_after(limit) as self.life:
            yield self.life

    def extend(self) -> None:
        """A sign of life: silence counts from now, the cap as before."""
        if self.life is not None:
            self.life.deadline = min(anyio.current_time() + self.limit, self.began + self.most)

    def hold(self) -> None:
        """Somebody here thinks about a question of the server's: only the cap counts."""
        if self.life is not None:
            self.life.deadline = self.began + self.most

    def waited(self) -> str:
        """How long, in the words of a time-out."""
        took = anyio.current_time() - self.began
        if took < self.limit * 1.05 + 0.5:
            return f"within {self.limit:g} s"
        if took >= self.most:
            return f"within {self.most:g} s in all"
        return f"within {self.limit:g} s of its last sign of life"

    def fail(self, error: LoupeError) -> None:
        if not self.done.is_set():
            self.error = error
            self.done.set()


class Transport(Protocol):
    """What the dispatcher needs of stdio, streamable HTTP and SSE."""

    async def request(self, waiter: Waiter) -> None:
        """Record and send `waiter.out`; return when the waiter is done, or raise a LoupeError."""

    async def send(self, out: Outgoing) -> None:
        """Record and send a notification or an answer of ours."""

    async def abandon(self, waiter: Waiter, reason: str) -> None:
        """Tell the peer we no longer wait, in the transport's own way."""

    def pending(self) -> str:
        """What came and is no frame yet, as the end of a sentence; mostly nothing."""
