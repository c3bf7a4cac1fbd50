"""What we asked to be told of: one `subscriptions/listen` (modern) or `resources/subscribe` (handshake) each. Any thread.

Source: MCP 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources#subscriptions.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from inspector.errors import LoupeError, UsageError
from inspector.protocol import eras
from inspector.wire.connection import Connection

OPENING, OPEN, ENDED = "opening", "open", "ended"
UPDATES: Final = 100
LISTS: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
_CHANGES: Final = {f"notifications/{name.removesuffix('ListChanged')}/list_changed": name for name in LISTS}
_UPDATED: Final = "notifications/resources/updated"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


@dataclass(slots=True)
class Subscription:
    """One stream. wanted: as sent; honoured: what the server agreed to, None until it said. updates: (epoch s, text).

    stream: the id of the listen request, as the server names it; empty in the handshake era.
    """

    id: str
    server_key: str
    c: int
    wanted: dict[str, Any]
    modern: bool
    began_at: float
    state: str = OPENING
    honoured: Any = None
    why: str = ""
    count: int = 0
    stream: Any = None
    updates: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=UPDATES))
    future: Future[None] = field(default_factory=Future, repr=False)

    def heard(self, text: str) -> None:
        self.count += 1
        self.updates.appendleft((time.time(), text))


class Subscriptions:
    """The subscriptions of one console."""

    def __init__(self) -> None:
        self._all: list[Subscription] = []
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def of(self, server_key: str) -> list[Subscription]:
        """Newest first; ended ones stay until the next one begins."""
        with self._lock:
            return [one for one in reversed(self._all) if one.server_key == server_key]

    def get(self, id_: str) -> Subscription:
        with self._lock:
            found = next((one for one in self._all if one.id == id_), None)
        if found is None:
            raise UsageError(f"There is no subscription {id_} any more", "Begin it again")
        return found

    def begin(self, connection: Connection, key: str, uris: list[str], lists: list[str]) -> Subscription:
        """Ask to be told of changes of these resources and lists; returns at once. Raises UsageError."""
        wanted: dict[str, Any] = {name: True for name in LISTS if name in lists}
        if uris:
            wanted["resourceSubscriptions"] = uris
        modern = connection.peer is not None and connection.peer.era == eras.MODERN
        if not wanted:
            raise UsageError("Nothing was chosen to listen for", "Tick a list or write a resource's URI")
        if not modern and not uris:
            raise UsageError(
                "In the handshake era lists announce their changes by themselves", "Write a resource's URI"
            )
        with self._lock:
            self._all = [one for one in self._all if one.state != ENDED or one.server_key != key]
            found = Subscription(f"sub-{next(self._ids)}", key, connection.c, wanted, modern, time.time())
            self._all.append(found)
        found.future = connection.start_task(self._listen if modern else self._subscribe, connection, found)
        return found

    async def _listen(self, connection: Connection, found: Subscription) -> None:
        try:
            reply = await connection.request(
                "subscriptions/listen", {"notifications": found.wanted}, timeout=math.inf
            )
            found.why = f"The server ended it with {reply.result.get('resultType', 'a result')}"
        except LoupeError as problem:
            found.why = problem.message
        except anyio.get_cancelled_exc_class():
            found.why = "You ended it"
            raise
        finally:
            found.state = ENDED

    async def _subscribe(self, connection: Connection, found: Subscription) -> None:
        try:
            for uri in found.wanted["resourceSubscriptions"]:
                await connection.request("resources/subscribe", {"uri": uri})
            found.state = OPEN
        except LoupeError as problem:
            found.state, found.why = ENDED, problem.message

    def end(self, connection: Connection | None, id_: str) -> Subscription:
        """Stop listening, and tell the server in its era's way."""
        found = self.get(id_)
        if found.modern:
            found.future.cancel()
        elif found.state != ENDED:
            if connection is not None and connection.c == found.c:
                for uri in found.wanted["resourceSubscriptions"]:
                    connection.ask("resources/unsubscribe", {"uri": uri})
            found.state, found.why = ENDED, "You ended it"
        return found

    def notified(self, c: int, method: str, params: Mapping[str, Any]) -> None:
        """A notification came over connection `c`; on the loop."""
        if not self._all:
            return
        with self._lock:
            here = [one for one in self._all if one.c == c and one.state != ENDED]
        meta = params.get("_meta")
        stream = meta.get(eras.META_SUBSCRIPTION_ID) if isinstance(meta, Mapping) else None
        for one in here:
            if one.modern:
                self._over_stream(one, stream, method, params)
            elif method == _UPDATED and params.get("uri") in one.wanted["resourceSubscriptions"]:
                one.heard(str(params.get("uri")))

    @staticmethod
    def _over_stream(one: Subscription, stream: Any, method: str, params: Mapping[str, Any]) -> None:
        if method == _ACKNOWLEDGED and one.state == OPENING and one.stream is None:
            one.state, one.stream, one.honoured = OPEN, stream, params.get("notifications")
        elif one.stream == stream and method in (_UPDATED, *_CHANGES):
            one.heard(str(params.get("uri", method)))

    def dropped(self, c: int) -> None:
        """Connection `c` is gone, and with it what came over it."""
        with self._lock:
            for one in self._all:
                if one.c == c and one.state != ENDED:
                    one.state, one.why = ENDED, one.why or "The connection ended"
