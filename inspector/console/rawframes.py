"""Frames written by hand, on the live connection or a scratch one, and what came within some seconds. Any thread."""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from inspector.errors import LoupeError, UsageError
from inspector.settings.spec import NO_ERA, STDIO, ServerSpec
from inspector.wire.connection import Connection
from inspector.wire.raw import send_http, send_raw

KEPT: Final = 50
MOST_S: Final = 60.0
MOST_BYTES: Final = 4 * 1024 * 1024
CLOSE_S: Final = 10.0

Make = Callable[[ServerSpec], Connection]


@dataclass(frozen=True, slots=True)
class Order:
    """What to send. headers: beside ours, or instead of them when `alone`; method: of HTTP."""

    octets: bytes
    scratch: bool = False
    wait_s: float = 3.0
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False


@dataclass(slots=True)
class Shot:
    """One frame sent. c, first_seq: where its events are found, 0 before it was sent; last_seq: where they end."""

    id: str
    server_key: str
    order: Order
    started_at: float
    c: int = 0
    first_seq: int = 0
    last_seq: int | None = None
    error: LoupeError | None = None
    done: threading.Event = field(default_factory=threading.Event)


class RawFrames:
    """The frames of one console. make: a connection that is not open yet."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._shots: OrderedDict[str, Shot] = OrderedDict()
        self._scratch: set[Connection] = set()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def get(self, id_: str) -> Shot:
        with self._lock:
            found = self._shots.get(id_)
        if found is None:
            raise UsageError(f"There is no raw frame {id_} any more", "Its events are in the timeline")
        return found

    def start(self, server_key: str, spec: ServerSpec, live: Connection | None, order: Order) -> Shot:
        """Send and return at once. live: None sends on a scratch connection of `spec`. Raises UsageError."""
        check(order, spec)
        with self._lock:
            shot = Shot(f"raw-{next(self._ids)}", server_key, order, time.time())
            self._shots[shot.id] = shot
            while len(self._shots) > KEPT:
                self._shots.popitem(last=False)
        threading.Thread(target=self._run, args=(shot, spec, live), name="raw-frame", daemon=True).start()
        return shot

    def _run(self, shot: Shot, spec: ServerSpec, live: Connection | None) -> None:
        connection = live
        try:
            if connection is None:
                connection = self._make(replace(spec, era=NO_ERA, declare=()))
                self._scratch.add(connection)
            shot.c = connection.c
            shot.first_seq = connection.link.journal.last_seq + 1
            if live is None:
                connection.open()
            connection.run(shoot, connection, shot.order, timeout=shot.order.wait_s + CLOSE_S)
        except LoupeError as problem:
            shot.error = problem
        finally:
            if connection is not None and live is None:
                connection.close()
                self._scratch.discard(connection)
            shot.last_seq = connection.link.journal.last_seq if connection is not None else 0
            shot.done.set()

    def close(self) -> None:
        """End the scratch connections that are still open."""
        for connection in list(self._scratch):
            connection.close()


def check(order: Order, spec: ServerSpec) -> None:
    """Raises UsageError for what cannot be sent, or only with consequences nobody wants."""
    if not 0 < order.wait_s <= MOST_S:
        raise UsageError(f"Answers are collected for up to {MOST_S:g} s", "Give fewer seconds")
    if len(order.octets) > MOST_BYTES:
        raise UsageError(f"The frame has more than {MOST_BYTES:,} bytes", "Send a smaller one")
    if not order.octets and spec.transport == STDIO:
        raise UsageError("There is nothing to send", "Write a frame")
    if not order.method.isalpha():
        raise UsageError(f"“{order.method}” is no HTTP method", "Write for example POST")


async def shoot(connection: Connection, order: Order) -> None:
    """Send, then wait until the time is over: more than one answer may come."""
    with anyio.move_on_after(order.wait_s):
        if order.method.upper() != "POST" or order.alone:
            await send_http(connection, order.method.upper(), order.headers, order.octets)
        else:
            await send_raw(connection, order.octets, wait_s=order.wait_s, headers=order.headers)
        await anyio.sleep(order.wait_s)
