"""The host cache over the console's connections: it watches what is asked, and says what a host would have done.

The console asks the wire all the same, unless a list is asked for through the cache. `Watching` runs on the loop
thread, `Hosting` is called from any. Each verdict is a `cache` event of the trace (docs/trace-format.md).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from inspector.discovery.host_cache import HostCache, Kept, Key, Look
from inspector.errors import LoupeError, PeerError
from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.protocol.freshness import Hints, Verdict
from inspector.wire.connection import CONNECTED, CONNECTING, Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.http import HttpTransport
from inspector.wire.link import Link
from inspector.wire.listing import Walk, walk

WOULD, SERVED = "would", "served"
PROBE: Final = "probe"
REMEMBERED: Final = 4096
"""Answers whose verdict is remembered, by seq."""
_CAPABILITIES: Final = {"tools/list": "tools", "prompts/list": "prompts"}
_HEAD: Final = ("nextCursor", "ttlMs", "cacheScope", "resultType")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request under way: what a host would have done instead. quiet: nothing was said of it, nor will be."""

    key: Key
    context: str
    look: Look[Reply]
    at_us: int
    retry: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What a host's cache would have said to a request, who asked, and the verdict on the hints of what came."""

    key: Key
    context: str
    look: Look[Reply]
    hints: Hints


@dataclass(frozen=True, slots=True)
class PageLook:
    """What became of one page. served: it came from the cache; failed: why the wire gave no newer one (row 31)."""

    look: Look[Reply]
    served: bool
    failed: str = ""


class Hosting:
    """One cache for all servers of a console. clock: microseconds since the epoch, never going back."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.cache: HostCache[Reply] = HostCache()
        self.clock = clock
        self._salt = secrets.token_bytes(16)
        self._contexts: dict[tuple[str, bytes], int] = {}
        self._said: OrderedDict[int, Said] = OrderedDict()
        self._lock = threading.Lock()

    def watch(self, connection: Connection, server_key: str) -> None:
        """Follow a connection from now on."""
        connection.watch = Watching(self, connection, server_key)
        before = connection.on_change

        def changed() -> None:
            before()
            if connection.state not in (CONNECTING, CONNECTED):
                self.cache.disconnected(server_key, self.clock())

        connection.on_change = changed

    def context(self, connection: Connection, server_key: str) -> str:
        """A number for the authorization context: `context 1`. What it stands for is not told, not even hashed."""
        material = connection.authorization
        if not material:
            return "no credentials"
        digest = hashlib.blake2b(json.dumps(material).encode(), key=self._salt).digest()
        with self._lock:
            taken = [number for (key, _), number in self._contexts.items() if key == server_key]
            number = self._contexts.setdefault((server_key, digest), len(taken) + 1)
        return f"context {number}"

    def look(
        self, connection: Connection, server_key: str, method: str, params: Mapping[str, Any]
    ) -> Look[Reply]:
        """What a host would do now; nothing is sent, recorded or changed."""
        return self.cache.look(
            key_of(connection, server_key, method, params), self.context(connection, server_key), self.clock(),
            told=told(connection, method).what == "notified",
        )  # fmt: skip

    def said(self, seq: int) -> Said | None:
        """What the cache would have said to the request that the answer `seq` belongs to; None when it was not asked,
        in another run, or too long ago."""
        with self._lock:
            return self._said.get(seq)

    def remember(self, seq: int, said: Said) -> None:
        with self._lock:
            self._said[seq] = said
            while len(self._said) > REMEMBERED:
                self._said.popitem(last=False)

    def notified(self, link: Link, server_key: str, method: str, params: Mapping[str, Any]) -> None:
        """A notification arrived: end what it concerns, and say so once a list or resource."""
        ended = self.cache.notified(server_key, method, params, self.clock())
        for kept in {each.key.family: each for each in reversed(ended)}.values():
            assert kept.ended is not None
            record(
                link, Look("invalidated", kept.ended.row, kept.ended.why, kept), kept.key, kept.kept_for, None
            )

    def through(self, connection: Connection, server_key: str, cause: str) -> Through:
        return Through(self, connection, server_key, cause)


class Watching:
    """What `Hosting` does with the requests of one connection."""

    def __init__(self, hosting: Hosting, connection: Connection, server_key: str) -> None:
        self._hosting = hosting
        self._connection = connection
        self._server_key = server_key

    def asking(self, method: str, params: Mapping[str, Any], cause: str) -> Asked | str:
        """The verdict, recorded before the request is; only the method where nothing may be kept.

        Of the probe only when something is kept: a host that does not know yet what the server speaks asks.
        """
        if method not in freshness.CACHEABLE:
            return method
        hosting = self._hosting
        key = key_of(self._connection, self._server_key, method, params)
        context = hosting.context(self._connection, self._server_key)
        look = hosting.look(self._connection, self._server_key, method, params)
        quiet = cause == PROBE and look.kept is None
        if not quiet:
            record(self._connection.link, look, key, context, WOULD, cause)
        return Asked(key, context, look, hosting.clock(), freshness.retried_with(params), quiet)

    def answered(self, asked: Asked | str | None, reply: Reply) -> None:
        if not isinstance(asked, Asked):
            return
        era: Era = "modern" if asked.key.era == "modern" else HANDSHAKE
        hints = freshness.assess(reply.result, method=asked.key.method, era=era, retry=asked.retry)
        # The items are let go: the raw answer has them, and nobody may change what is kept.
        head: dict[str, Any] = {name: reply.result[name] for name in _HEAD if name in reply.result}
        self._hosting.cache.keep(
            asked.key, asked.context, replace(reply, result=head), hints,
            asked_at_us=asked.at_us, received_at_us=reply.received_at_us, size=len(reply.raw),
        )  # fmt: skip
        self._hosting.remember(reply.seq, Said(asked.key, asked.context, asked.look, hints))

    def failed(self, asked: Asked | str | None, problem: LoupeError) -> None:
        code = problem.code if isinstance(problem, PeerError) else None
        if isinstance(asked, Asked):
            if asked.quiet:  # a server of the handshake era, most likely
                return
            self._hosting.cache.failed(asked.key, asked.context, code)
        elif asked == "tools/call":
            self._hosting.cache.call_failed(self._server_key, code)


@dataclass(slots=True)
class Through:
    """Asks for the pages of one list through the cache, as a host does: a hit is not sent. Loop thread."""

    hosting: Hosting
    connection: Connection
    server_key: str
    cause: str
    pages: list[PageLook] = field(default_factory=list)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Reply:
        """The kept answer when it is fresh; else the wire's; else the old one, marked (row 31)."""
        key = key_of(self.connection, self.server_key, method, params)
        context = self.hosting.context(self.connection, self.server_key)
        look = self.hosting.look(self.connection, self.server_key, method, params)
        if look.what == "hit" and look.kept is not None:
            record(self.connection.link, look, key, context, SERVED, self.cause)
            self.pages.append(PageLook(look, True))
            return look.kept.reply
        try:
            reply = await self.connection.request(method, params, cause=self.cause)
        except LoupeError as problem:
            verdict = self.hosting.cache.failed(
                key, context, problem.code if isinstance(problem, PeerError) else None
            )
            if look.kept is None or verdict.what != "serve-stale":
                raise
            stale = Look(look.what, verdict.row, verdict.why, look.kept)
            record(self.connection.link, stale, key, context, SERVED, self.cause)
            self.pages.append(PageLook(stale, True, problem.message))
            return look.kept.reply
        self.pages.append(PageLook(look, False))
        return reply


def key_of(connection: Connection, server_key: str, method: str, params: Mapping[str, Any]) -> Key:
    # While it is being asked which era it speaks, only a server of the modern one has something to say.
    unknown = MODERN if method == "server/discover" else HANDSHAKE
    era = connection.peer.era if connection.peer is not None else unknown
    target = json.dumps(connection.spec.public(), sort_keys=True)
    declared = json.dumps(connection.client.capabilities, sort_keys=True)
    asked = {name: value for name, value in params.items() if name != "_meta"}
    return Key(server_key, target, era, declared, method, asked)


def told(connection: Connection, method: str) -> Verdict:
    """Whether changes of a list would reach us: announced by the server, and a way open for them (row 29)."""
    peer, transport = connection.peer, connection.transport
    capabilities = (peer.capabilities if peer is not None else None) or {}
    offered = capabilities.get(_CAPABILITIES.get(method, "resources"))
    wanted = "subscribe" if method == "resources/read" else "listChanged"
    announced = isinstance(offered, Mapping) and offered.get(wanted) is True
    open_ = connection.state == CONNECTED and peer is not None and peer.era == HANDSHAKE
    if isinstance(transport, HttpTransport):
        open_ = open_ and transport.stream_open
    return freshness.delivery(announced=announced, listening=open_)


def record(
    link: Link, look: Look[Reply], key: Key, context: str, mode: str | None, cause: str | None = None
) -> None:
    """The `cache` event, paired with the kept answer. mode: `would` when the wire was asked all the same, `served`
    when it was not."""
    kept: Kept[Reply] | None = look.kept
    link.emit(
        "cache", key=key.text, verdict=look.what, why=look.why, row=look.row or None, mode=mode, context=context,
        pair=kept.reply.seq if kept is not None else None, cause=cause,
    )  # fmt: skip


def looks_of(hosting: Hosting, found: Walk) -> tuple[PageLook, ...]:
    """What the cache would have said to each request of a walk over the wire."""
    looks = [hosting.said(page.reply.seq) for page in found.pages]
    return tuple([PageLook(said.look, False) for said in looks if said is not None])


async def walk_through(through: Through, what: str) -> Walk:
    """List through the cache. A kept cursor that the server no longer knows drops every page: once more, all of it
    (row 24)."""
    found = await walk(through.connection, what, through.cause, through.ask)
    refused = isinstance(found.error, PeerError) and found.error.code == freshness.INVALID_PARAMS
    if not (refused and any(page.served for page in through.pages)):
        return found
    through.pages.clear()
    return await walk(through.connection, what, through.cause, through.ask)
