"""What crossed or happened, as values; made on the loop thread, read by any.

One `Event` is one line of the portable trace (docs/trace-format.md): the same names, plus the exact bytes in
`raw`. Nothing here knows SQLite or files; a sink takes events, in order, and must return at once.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from inspector.protocol.numbers import LongInteger

C2S, S2C, LOCAL = "c2s", "s2c", "local"


@dataclass(slots=True)
class Event:
    """One thing that happened.

    t: `connection`, `rpc`, `noise`, `stderr`, `http`, `proc`, `error`, `catalog`, `cache`, `lab` or `note`.
    c: connection number, 0 when it belongs to none. dir: `c2s`, `s2c` or `local`.
    at_us: wall clock, microseconds since the epoch. dt_us: monotonic, microseconds since the journal began.
    raw: exact bytes without terminator (rpc, noise, stderr), an HTTP body that is no JSON-RPC, else None.
    kind: of an rpc (request, result, error, notification, unparsed). method, id (as JSON text, so `"3"` and `3`
    differ), pair (seq of the request an answer belongs to), ms (since that request).
    body: the remaining fields of the trace format for this `t`.
    """

    t: str
    c: int
    dir: str
    body: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None
    kind: str | None = None
    method: str | None = None
    id: str | None = None
    pair: int | None = None
    ms: float | None = None
    cause: str | None = None
    op: str | None = None
    seq: int = 0
    at_us: int = 0
    dt_us: int = 0


Sink = Callable[[Event], None]


_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def id_text(value: Any) -> str:
    """A JSON-RPC id as canonical JSON text: `3` -> `3`, `"3"` -> `"3"`, `2.0` -> `2.0`."""
    return value.text if isinstance(value, LongInteger) else _ENCODE(value)


MOST_WAITING = 10_000
LONGEST_ID = 1000
"""Requests of one peer remembered for pairing, and how long an id may be: one that asks without end must not fill
memory, nor cost anybody else the pairs of theirs."""


@dataclass(slots=True, frozen=True)
class _Asked:
    """What pairing needs of a request; its bytes are the sinks' business."""

    seq: int
    dt_us: int
    method: str | None
    op: str | None
    cause: str | None


class Journal:
    """Gives events their dense `seq` and clock and hands them to the sinks in that order. Thread-safe.

    `wall0_us` is the wall clock at `dt` 0. Answers are paired with their requests here, by connection,
    direction and id, so every sink sees the same `pair` and `ms`.
    """

    def __init__(self, *sinks: Sink) -> None:
        self.sinks: list[Sink] = list(sinks)
        self.pressure: Callable[[], bool] = lambda: False
        """Whether a sink is so far behind that readers should pause (they await, the pipe fills, nothing is lost)."""
        self.wall0_us = time.time_ns() // 1000
        self._mono0 = time.perf_counter_ns()
        self._lock = threading.Lock()
        self._seq = 0
        self._connections = itertools.count(1)
        self._waiting: dict[tuple[int, str], dict[str, _Asked]] = {}
        """By connection and direction, then by id."""

    def next_connection(self) -> int:
        """A connection number never used in this journal."""
        return next(self._connections)

    @property
    def last_seq(self) -> int:
        return self._seq

    def now_us(self) -> int:
        """The journal's own clock: microseconds since the epoch, never going back."""
        return self.wall0_us + (time.perf_counter_ns() - self._mono0) // 1000

    def emit(self, event: Event) -> int:
        """Stamp the event, pair it, pass it on; returns its seq."""
        with self._lock:
            mono = time.perf_counter_ns() - self._mono0
            event.dt_us = mono // 1000
            event.at_us = self.wall0_us + event.dt_us
            self._seq += 1
            event.seq = self._seq
            if event.t == "rpc" and event.id is not None:
                self._pair(event)
            for sink in self.sinks:
                sink(event)
        return event.seq

    def adopt(self, event: Event) -> int:
        """Take an event that another process recorded: its time, `pair` and `ms` stay; returns its seq here."""
        with self._lock:
            event.dt_us = max(0, event.at_us - self.wall0_us)
            self._seq += 1
            event.seq = self._seq
            for sink in self.sinks:
                sink(event)
        return event.seq

    def _pair(self, event: Event) -> None:
        id_ = event.id or ""
        if event.kind == "request":
            if len(id_) <= LONGEST_ID:
                asked = self._waiting.setdefault((event.c, event.dir), {})
                asked[id_] = _Asked(event.seq, event.dt_us, event.method, event.op, event.cause)
                if len(asked) > MOST_WAITING:
                    del asked[next(iter(asked))]
        elif event.kind in ("result", "error"):
            asked_by = S2C if event.dir == C2S else C2S
            request = self._waiting.get((event.c, asked_by), {}).pop(id_, None)
            if request is not None:
                event.pair = request.seq
                event.ms = (event.dt_us - request.dt_us) / 1000
                event.method = event.method or request.method
                event.op = event.op or request.op
                event.cause = event.cause or request.cause

    @contextmanager
    def heard_by(self, sink: Sink) -> Iterator[None]:
        """Hand every event to `sink`, too, while the block runs."""
        self.attach(sink)
        try:
            yield
        finally:
            self.detach(sink)

    def attach(self, sink: Sink) -> None:
        """Hand every event to `sink`, too, from now on."""
        with self._lock:
            self.sinks = [*self.sinks, sink]

    def detach(self, sink: Sink) -> None:
        """No event any more; nothing when it was not attached."""
        with self._lock:
            self.sinks = [one for one in self.sinks if one != sink]

    def forget(self, c: int) -> None:
        """Drop what still waits on a closed connection."""
        with self._lock:
            for way in (C2S, S2C):
                self._waiting.pop((c, way), None)
