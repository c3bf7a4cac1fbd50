"""Bringing a connection up: which transport, which process, which era, and what was tried on the way. Loop thread.

Source: MCP 2026-07-28 basic/transports/*#backward-compatibility; the fallback to HTTP+SSE of 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.abc

from inspector.errors import HttpFailed, LoupeError, NoEra, PeerError
from inspector.protocol import eras
from inspector.settings.child import child_environment, resolve_command
from inspector.settings.hiding import Hider
from inspector.settings.spec import NO_ERA, SSE, STDIO, ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.settings.variables import expand_environment, placeholders
from inspector.wire.children import Children
from inspector.wire.dispatcher import Dispatcher
from inspector.wire.http import HttpTransport
from inspector.wire.http_base import load_library
from inspector.wire.legacy_sse import SseTransport
from inspector.wire.link import Link
from inspector.wire.negotiate import Attempt, Client, Negotiation, Peer
from inspector.wire.stdio import StdioTransport
from inspector.wire.watching import Watch

AnyTransport = StdioTransport | HttpTransport | SseTransport


class Opening:
    """One server's way from nothing to a peer. `transport` is the latest one brought up, `attempts` all steps."""

    def __init__(
        self,
        link: Link,
        spec: ServerSpec,
        dispatcher: Dispatcher,
        children: Children,
        client: Client,
        tokens: TokenStore | None = None,
        watch: Callable[[], Watch | None] = lambda: None,
    ) -> None:
        if spec.transport != STDIO:
            load_library()
        self.link = link
        self.spec = spec
        self.ready = spec  # with the environment's values in it: for spawning and sending, never to show
        self.dispatcher = dispatcher
        self.children = children
        self.client = client
        self.tokens = tokens
        self.watch = watch
        self.transport: AnyTransport | None = None
        self.attempts: list[Attempt] = []
        self.deadline = 0.0
        self.refused: LoupeError | None = None
        self.refused_at = 0.0

    async def run(self, tasks: anyio.abc.TaskGroup) -> Peer | None:
        """Bring the transport up and negotiate; None when nothing was to be sent. Raises the first real error."""
        self.deadline = anyio.current_time() + self.spec.timeouts.connect
        self.ready = expand_environment(self.spec)
        self.link.hider = Hider(placeholders(self.spec))
        if self.spec.transport == STDIO:
            return await self._stdio(tasks)
        if self.spec.transport == SSE:
            return await self._sse(tasks)
        return await self._http(tasks)

    async def new_session(self, met: float) -> Peer:
        """Initialise again over the HTTP transport that lost its session, as was met at `met`.

        Who met it before an attempt that failed shares its error: calls that wait do not try one after another.
        """
        assert isinstance(self.transport, HttpTransport)
        if self.refused is not None and met <= self.refused_at:
            raise self.refused
        self.link.anomaly("session-lost", "The server lost our session; Loupe opens a new one")
        lost = self.transport.session_id
        self.deadline = anyio.current_time() + self.spec.timeouts.connect
        try:
            return await self._negotiation(self.transport).initialize()
        except BaseException as problem:
            self.transport.session_id = lost  # so that the next request meets the 404 and tries once more
            if isinstance(problem, LoupeError):
                self.refused, self.refused_at = problem, anyio.current_time()
            raise

    def facts(self) -> dict[str, Any]:
        """Evidence for an error: last stderr lines, what was tried, exit code or signal."""
        facts: dict[str, Any] = {
            "stderr": list(self.link.stderr)[-20:],
            "tried": self.link.hider.tree(self.attempts),
        }
        if isinstance(self.transport, StdioTransport) and self.transport.server is not None:
            facts |= self.transport.server.outcome
        return facts

    def _negotiation(self, speaker: HttpTransport | None = None) -> Negotiation:
        negotiation = Negotiation(self.dispatcher, self.client, speaker, self.deadline, self.watch())
        negotiation.attempts = self.attempts
        return negotiation

    async def _discover(self, negotiation: Negotiation) -> Peer | None:
        """The modern peer, or None when the handshake is to be tried."""
        if self.spec.era == "handshake":
            return None
        probe, peer = await negotiation.discover(self.spec.timeouts.probe)
        if peer is None and self.spec.era == "modern":
            remedy = "Set its era to auto, so that initialize is tried too"
            raise NoEra(probe.why, remedy, facts=self.facts())
        return peer

    async def _initialize(self, negotiation: Negotiation) -> Peer:
        """The handshake; or the modern era all the same, when the server only was too slow for our first question.

        A server of both eras that took the late `server/discover` holds us to it: -32022 to `initialize`.
        """
        try:
            return await negotiation.initialize()
        except PeerError as problem:
            if problem.raw_code != eras.UNSUPPORTED_VERSION or self.spec.era == "handshake":
                raise
            _, peer = await negotiation.discover(self.spec.timeouts.probe)
            if peer is None:
                raise problem from None
            return peer

    async def _stdio(self, tasks: anyio.abc.TaskGroup) -> Peer | None:
        transport = await self._spawn(tasks)
        if self.spec.era == NO_ERA:
            return None
        negotiation = self._negotiation()
        peer = await self._discover(negotiation)
        if peer is not None:
            return peer
        if transport.ended.is_set():
            await transport.close()
            await self._spawn(tasks, again=True)
        return await self._initialize(negotiation)

    async def _spawn(self, tasks: anyio.abc.TaskGroup, *, again: bool = False) -> StdioTransport:
        env = child_environment(self.ready)
        program = resolve_command(self.ready.argv, env, self.ready.cwd)
        if again:
            self.link.stderr.clear()  # what the first process said stays in the timeline; errors quote the second
        transport = StdioTransport(self.link, self.spec, self.dispatcher, self.children)
        argv = [program, *self.ready.argv[1:]]
        await transport.start(tasks, argv, env, self.ready.cwd, again=again)
        self.transport = self.dispatcher.transport = transport
        return transport

    async def _http(self, tasks: anyio.abc.TaskGroup) -> Peer | None:
        transport = HttpTransport(self.link, self.ready, self.dispatcher, self.tokens)
        self.transport = self.dispatcher.transport = transport
        if self.spec.era == NO_ERA:
            return None
        negotiation = self._negotiation(transport)
        peer = await self._discover(negotiation)
        if peer is not None:
            return peer
        try:
            return await self._initialize(negotiation)
        except HttpFailed as problem:
            if problem.facts.get("status") not in (400, 404, 405):
                raise
            return await self._fall_back_to_sse(tasks, transport, problem)

    async def _fall_back_to_sse(
        self, tasks: anyio.abc.TaskGroup, tried: HttpTransport, first: HttpFailed
    ) -> Peer:
        """The last resort; unless it finds an HTTP+SSE server, the first error is the one to show (report C3)."""
        await tried.close()
        transport = SseTransport(self.link, self.ready, self.dispatcher, self.tokens)
        self.transport = self.dispatcher.transport = transport
        try:
            with anyio.fail_after(self.spec.timeouts.probe):
                await transport.start(tasks)
        except (LoupeError, TimeoutError) as problem:
            why = problem.message if isinstance(problem, LoupeError) else "No endpoint was named in time."
            self.attempts.append(Attempt("GET (HTTP+SSE)", why, False))
            raise first from None
        return await self._initialize_sse()

    async def _sse(self, tasks: anyio.abc.TaskGroup) -> Peer | None:
        transport = SseTransport(self.link, self.ready, self.dispatcher, self.tokens)
        self.transport = self.dispatcher.transport = transport
        await transport.start(tasks)
        if self.spec.era == NO_ERA:
            return None
        return await self._initialize_sse()

    async def _initialize_sse(self) -> Peer:
        self.attempts.append(Attempt("GET (HTTP+SSE)", "The server named its endpoint.", True))
        return await self._negotiation().initialize()
