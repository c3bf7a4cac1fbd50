"""One open client to one server: an actor task on the loop thread, and the calls other threads make of it.

The task that opens the transport is the one that closes it. Requests of other threads run as tasks of their
own; when the connection goes, each of them is settled with the reason (exit code, signal, last stderr lines).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import anyio
import anyio.abc
from anyio.from_thread import BlockingPortal

from inspector import __version__
from inspector.errors import AuthNeeded, Cancelled, ConnectionLost, LoupeError, NoEra, TimedOut
from inspector.protocol import eras
from inspector.settings.spec import CLIENT_TASKS, ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import Authorizer, Visit
from inspector.wire.children import Children
from inspector.wire.dispatcher import FIRST_ID, Answer, Dispatcher, Progress, Reply
from inspector.wire.events import Journal
from inspector.wire.extras import Extras, full_params
from inspector.wire.http import HttpTransport, SessionLost
from inspector.wire.http_base import make_client
from inspector.wire.link import Link
from inspector.wire.negotiate import Attempt, Client, Peer
from inspector.wire.opening import AnyTransport, Opening
from inspector.wire.our_tasks import OurTasks
from inspector.wire.questions import declined, is_declared
from inspector.wire.stdio import first_of
from inspector.wire.watching import Watch, credentials, watched

CONNECTING, CONNECTED, FAILED, CLOSED, LOST = "connecting", "connected", "failed", "closed", "lost"
CLIENT_INFO = {"name": "mcp-loupe", "version": __version__}
GRACE_S = 5.0
MARGIN_S = 0.5
"""The requests of the handshake have deadlines of their own, whose errors say more: the outer one comes after."""

T = TypeVar("T")


class Connection:
    """Create it, `open()` it from any thread but the loop's, `request()` through it, `close()` it.

    state: connecting, connected, failed (never came up), lost (the peer ended it) or closed (we did).
    on_change runs on the loop thread after each change of state and must return at once.
    """

    def __init__(
        self,
        spec: ServerSpec,
        journal: Journal,
        portal: BlockingPortal,
        children: Children,
        *,
        server_key: str = "",
        tokens: TokenStore | None = None,
    ) -> None:
        self.spec = spec
        self.c = journal.next_connection()
        self.link = Link(journal, self.c)
        self.dispatcher = Dispatcher(self.link, string_ids=spec.ids == "str")
        self.dispatcher.on_request = self._answer
        self.dispatcher.on_notification = lambda method, params: self.on_notification(method, params)
        self.client = Client(CLIENT_INFO, spec.capabilities(), tasks=CLIENT_TASKS in spec.declare)
        self.state = CONNECTING
        self.peer: Peer | None = None
        self.error: LoupeError | None = None
        self.on_change: Callable[[], None] = lambda: None
        self.extras = Extras()
        self.on_question: Answer | None = None
        """Answers roots, sampling and elicitation; without it they are declined."""
        self.on_notification: Callable[[str, Mapping[str, Any]], None] = lambda _method, _params: None
        self.watch: Watch | None = None
        self._opening = Opening(
            self.link, spec, self.dispatcher, children, self.client, tokens, lambda: self.watch
        )
        self._tokens = tokens
        self.portal = portal
        self._server_key = server_key
        self._ready: Future[None] = Future()
        self._stop: anyio.Event | None = None
        self._coming_up: anyio.CancelScope | None = None
        self._actor: Future[None] | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._our_tasks = OurTasks()
        self._reviving: anyio.Lock | None = None

    @property
    def transport(self) -> AnyTransport | None:
        """What carries the frames: the latest one brought up."""
        return self._opening.transport

    @property
    def authorization(self) -> tuple[tuple[str, str], ...]:
        """What it was started or called with that may hold credentials. Never to be shown."""
        return credentials(self._opening.ready, self.auth)

    @property
    def attempts(self) -> list[Attempt]:
        """The steps of the negotiation so far."""
        return self.link.hider.tree(self._opening.attempts)

    # --- called from other threads

    def open(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Connect and negotiate; raises why it did not work. Bounded by the spec's connect time-out.

        meanwhile: work of the calling thread that needs no answer, done while the server starts.
        """
        self.start()
        meanwhile()
        self._ready.result(self.spec.timeouts.connect + 4 * self.spec.timeouts.close + GRACE_S)

    def start(self) -> None:
        """Begin to connect and return at once; `state` tells how it went."""
        self._actor = self.portal.start_task_soon(self._run)

    def submit(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        cause: str = "user",
        op: str | None = None,
        headers: Mapping[str, str] | None = None,
        on_progress: Progress | None = None,
        most: float | None = None,
    ) -> Future[Reply]:
        """Send a request; the future yields the Reply or raises. `future.cancel()` cancels the request."""

        async def ask() -> Reply:
            return await self.request(
                method, params, timeout=timeout, cause=cause, op=op, headers=headers, on_progress=on_progress,
                most=most,
            )  # fmt: skip

        return self.portal.start_task_soon(ask)

    def run(self, work: Callable[..., Awaitable[T]], *args: Any, timeout: float) -> T:
        """Run a coroutine function on the loop and wait for it, at most `timeout` seconds; then it is cancelled."""
        future = self.portal.start_task_soon(work, *args)
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.done():
                raise
            future.cancel()
            text = f"Not finished within {timeout:g} s; Loupe stopped waiting"
            raise TimedOut(text, "Look at the timeline for what was answered") from None

    def start_task(self, run: Callable[..., Awaitable[None]], *args: Any) -> Future[None]:
        """Run a coroutine function on the loop, for work that sends several requests; cancel by its future."""
        return self.portal.start_task_soon(run, *args)

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> Reply:
        """Send a request and wait for its answer; see `submit`."""
        limit = options.get("timeout") or self.spec.timeouts.call
        return self.submit(method, params, **options).result(2 * limit + GRACE_S)

    @property
    def auth(self) -> Authorizer | None:
        """Tokens of an HTTP server; None where there can be none."""
        return getattr(self.transport, "auth", None)

    def sign_in(self, visit: Visit) -> Future[None]:
        """Get a token with a person's help, whatever state the connection is in; cancel by the future."""
        return self.portal.start_task_soon(self._sign_in, visit)

    def sign_out(self) -> None:
        """Forget the tokens of this server."""
        if self.auth is not None:
            self.portal.call(self.auth.sign_out)

    def begin_close(self) -> None:
        """Ask for the end and return at once; `close` waits for it."""
        if self._actor is not None:
            self.portal.call(self._ask_to_stop)

    def close(self) -> None:
        """End the connection and wait until its process is gone; bounded by the shutdown ladder."""
        if self._actor is None:
            return
        self.begin_close()
        self._actor.result(4 * self.spec.timeouts.close + 2 * GRACE_S)

    # --- on the loop thread

    def _ask_to_stop(self) -> None:
        if self._stop is not None:
            self._stop.set()
        if self._coming_up is not None:
            self._coming_up.cancel()

    async def _sign_in(self, visit: Visit) -> None:
        auth = self.auth
        if auth is None:
            text = f"{self.spec.name} is nothing to sign in to: it is no HTTP server, or brings an Authorization header"
            raise AuthNeeded(text, "Remove that header from its definition, then connect")
        async with make_client(self.spec) as client:  # the connection's own may be closed by now
            auth.client, before = client, auth.client
            try:
                await auth.sign_in(visit)
            finally:
                auth.client = before

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        cause: str = "user",
        op: str | None = None,
        headers: Mapping[str, str] | None = None,
        on_progress: Progress | None = None,
        most: float | None = None,
    ) -> Reply:
        """Send one request in the connection's era; a lost HTTP session is opened again once, and said.

        most: seconds in all, when progress and questions of the server are to start the time-out again.
        """
        if self.state != CONNECTED:
            raise self._gone()

        async def send() -> Reply:
            assert self._reviving is not None
            async with self._reviving:  # a session that is being opened again has no id yet
                full = self.with_meta(params)
            return await self.dispatcher.request(
                method, full, timeout=timeout or self.spec.timeouts.call, cause=cause, op=op, headers=headers,
                on_progress=on_progress, most=most,
            )  # fmt: skip

        async def send_again() -> Reply:
            try:
                try:
                    return await send()
                except SessionLost as problem:
                    await self._new_session(problem.session)
                    return await send()
            except LoupeError as problem:
                raise self.link.hider.error(problem) from None

        return await watched(self.watch, method, params or {}, cause, send_again)

    def with_meta(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """`params` plus what the era demands of each request."""
        return full_params(params, self.peer, self.client, self.extras)

    async def _run(self) -> None:
        self._stop = anyio.Event()
        self._reviving = anyio.Lock(fast_acquire=True)
        self._announce()
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self.dispatcher.spawn = tasks.start_soon
                try:
                    with anyio.CancelScope() as self._coming_up:
                        await self._establish(tasks)
                    await self._live()
                finally:
                    await self._shut()
                    tasks.cancel_scope.cancel()
        except BaseException as problem:
            self._fail(problem)
            if not isinstance(problem, Exception):
                raise
        finally:
            self.link.journal.forget(self.c)

    async def _establish(self, tasks: anyio.abc.TaskGroup) -> None:
        limit = self.spec.timeouts.connect
        try:
            with anyio.fail_after(limit + MARGIN_S):
                self.peer = await self._opening.run(tasks)
        except (TimeoutError, TimedOut):
            text = f"The server did not get ready within {limit:g} s"
            raise NoEra(text, "Raise its connect time-out, or read its stderr for what it waits for",
                        facts=self._opening.facts()) from None  # fmt: skip
        self._coming_up = None
        self.dispatcher.count_from(FIRST_ID)
        handshake = self.peer is not None and self.peer.era == eras.HANDSHAKE
        self.dispatcher.may_answer = handshake or self.peer is None
        self._announce()
        self._set(CONNECTED)
        self._ready.set_result(None)
        if isinstance(self.transport, HttpTransport) and handshake:
            tasks.start_soon(self.transport.listen)

    async def _live(self) -> None:
        """Until a person ends it (maybe while it was still coming up) or the peer does."""
        assert self._stop is not None
        if not self._stop.is_set():
            assert self.transport is not None
            await first_of(self._stop, self.transport.ended)
        if self._stop.is_set():
            self._set(CLOSED)
        elif self.transport is not None:
            self.error = self.link.hider.error(self.transport.lost())
            self._set(LOST)
        if not self._ready.done():
            self._ready.set_exception(Cancelled("The connection was closed while it was coming up"))

    async def _shut(self) -> None:
        self.dispatcher.fail_all(self._gone)
        if self.transport is not None:
            await self.transport.close()

    async def _new_session(self, lost: str | None) -> None:
        """HTTP 404 to session `lost`: initialise again, once for all who met it, and say so (field report C2)."""
        transport = self.transport
        assert isinstance(transport, HttpTransport) and self._reviving is not None and self._tasks is not None
        met = anyio.current_time()
        async with self._reviving:
            if transport.session_id == lost:
                self.peer = await self._opening.new_session(met)
                self._tasks.start_soon(transport.listen)

    # --- what the server asks of us, and what it says

    async def _answer(self, method: str, params: Mapping[str, Any]) -> tuple[str, Any]:
        if method == "ping":
            return "result", {}
        if not self.declares(method, params):
            return "error", {"code": -32601, "message": f"This client does not offer {method}"}
        if CLIENT_TASKS in self.spec.declare and self._tasks is not None:
            answered = await self._our_tasks.answer(method, params, self._ask_person, self._tasks.start_soon)
            if answered is not None:
                return answered
        return await self._ask_person(method, params)

    async def _ask_person(self, method: str, params: Mapping[str, Any]) -> tuple[str, Any]:
        return declined(method) if self.on_question is None else await self.on_question(method, params)

    def declares(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether the server may ask this of us, by what we declared."""
        return is_declared(self.spec.declare, method, params)

    # --- state

    def _announce(self) -> None:
        """The `connection` event of the trace format; again once more is known."""
        body: dict[str, Any] = {
            "label": self.spec.name,
            "server_key": self._server_key,
            "transport": self.transport.kind if self.transport else self.spec.transport,
            "target": self.spec.public(),
            "client_capabilities": self.client.capabilities,
        }
        if self.peer is not None:
            body |= {"era": self.peer.era, "protocol_version": self.peer.protocol_version}
            if self.peer.era == eras.HANDSHAKE:
                body["client_capabilities"] = self.client.at_handshake()
            body["server_info"] = self.peer.server_info
        self.link.emit("connection", **body)

    def _fail(self, problem: BaseException) -> None:
        """Record why the connection did not come up, or broke, and wake whoever waits for it."""
        error = self.link.hider.error(_leaf(problem))
        for name, value in self._opening.facts().items():
            error.facts.setdefault(name, value)
        self.error = error
        self.link.anomaly(
            "connect-failed", error.message, origin=error.origin, remedy=error.remedy, layer=error.layer
        )
        self._set(FAILED)
        if not self._ready.done():
            self._ready.set_exception(error)

    def _gone(self) -> LoupeError:
        if self.state == CLOSED:
            return ConnectionLost("The connection was closed by Loupe", "Connect again")
        if self.error is not None:
            return self.error if self.state == LOST else ConnectionLost(self.error.message, self.error.remedy)
        return ConnectionLost("The connection is not open yet", "Wait until it is connected")

    def _set(self, state: str) -> None:
        self.state = state
        self.on_change()


def _leaf(problem: BaseException) -> LoupeError:
    """The one error worth showing out of an exception group; our own kind always."""
    while isinstance(problem, BaseExceptionGroup):
        ours = (one for one in problem.exceptions if isinstance(one, LoupeError))
        problem = next(ours, problem.exceptions[0])
    if isinstance(problem, LoupeError):
        return problem
    if isinstance(problem, TimeoutError):
        return TimedOut("The connection timed out", "Try again, or raise its time-outs")
    text = f"Loupe itself failed while connecting: {type(problem).__name__}: {problem}"
    return LoupeError(text, "Please report this as a bug, with the timeline")
