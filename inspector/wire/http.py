"""The streamable HTTP transport, both eras: one POST a frame, answers as JSON or SSE. Loop thread.

Source: MCP 2026-07-28 basic/transports/streamable-http and 2025-11-25 basic/transports.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from inspector.errors import ConnectionLost, HttpFailed, LoupeError
from inspector.later import Later
from inspector.protocol import eras, frames
from inspector.protocol.eras import Era
from inspector.protocol.frames import Frame
from inspector.protocol.headers import http_headers, stream_headers
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import Renewed, authorizer
from inspector.wire.dispatcher import Dispatcher, Waiter
from inspector.wire.events import Event
from inspector.wire.http_base import BODY_KEPT, Exchange, Pairs, exchange, make_client, merge, refuse_status
from inspector.wire.link import Link, Outgoing, cancellation
from inspector.wire.reading import classify
from inspector.wire.sse import Position, SseEvent

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = Later("httpx2")

CLOSE_S = 2.0
DRAIN_S = 0.25
DRAIN_BYTES = 1024 * 1024
STREAM_TRIES = 5


class SessionLost(HttpFailed):
    """HTTP 404 to a request that carried `session`: the server forgot us (field report C2)."""

    def __init__(self, session: str, facts: dict[str, Any]) -> None:
        text = "The server answered HTTP 404: it no longer knows this session"
        super().__init__(text, "Connect again", facts=facts)
        self.session = session


class _Asking:
    """One request under way: the task's scope, its end, and what broke."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.problem: LoupeError | None = None


async def _first(event: anyio.Event, race: anyio.CancelScope) -> None:
    await event.wait()
    race.cancel()


class HttpTransport:
    """A streamable HTTP endpoint. `era`, `version` and `session_id` are set as they become known."""

    kind = "streamable-http"

    def __init__(
        self, link: Link, spec: ServerSpec, dispatcher: Dispatcher, tokens: TokenStore | None = None
    ) -> None:
        assert spec.url is not None
        self.link = link
        self.spec = spec
        self.url = spec.url
        self.dispatcher = dispatcher
        self.era: Era = eras.MODERN
        self.version: str | None = None
        self.session_id: str | None = None
        self.stream_open = False
        """Whether the GET stream is held on which notifications nobody asked for reach us (handshake era)."""
        self._heard = 0
        self.ended = anyio.Event()
        self.client: httpx2.AsyncClient = make_client(spec)
        self.auth = authorizer(link, spec, tokens, self.client)
        self._closing = False
        self._open: set[anyio.CancelScope] = set()
        self._listening: anyio.CancelScope | None = None

    def headers_for(self, out: Outgoing) -> Pairs:
        method = out.method if out.kind in (frames.REQUEST, frames.NOTIFICATION) else None
        params = dict(out.params) if out.params else None
        base = http_headers(self.era, self.version, self._session_of(out), method, params)
        return merge(base, self.spec.headers, out.headers)

    def _session_of(self, out: Outgoing) -> str | None:
        """The session a message belongs to; while a lost one is opened again, others still go out under the lost one,
        and are asked again."""
        return self.session_id if self.era == eras.HANDSHAKE and out.method != "initialize" else None

    async def request(self, waiter: Waiter) -> None:
        """Returns at the answer: what the server still sends behind it is read in a task of its own.

        Some servers take 40 ms to end a stream whose answer is long there (Nagle meets a delayed ACK).
        """
        assert self.dispatcher.spawn is not None
        asking = _Asking()
        self.dispatcher.spawn(self._ask, waiter, asking)
        try:
            async with anyio.create_task_group() as race:
                for event in (waiter.done, asking.ended):
                    race.start_soon(_first, event, race.cancel_scope)
        except anyio.get_cancelled_exc_class():
            asking.scope.cancel()
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_S):
                await asking.ended.wait()
            raise
        if asking.problem is not None and not waiter.done.is_set():
            raise asking.problem

    async def _ask(self, waiter: Waiter, asking: _Asking) -> None:
        try:
            with asking.scope:
                await self._until_closed(waiter.out, waiter)
        except LoupeError as problem:
            asking.problem = problem
        finally:
            asking.ended.set()

    async def send(self, out: Outgoing) -> None:
        await self._until_closed(out, None)

    async def _until_closed(self, out: Outgoing, waiter: Waiter | None) -> None:
        """One exchange, which `close` ends."""
        if self._closing:
            raise self.lost()
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                await self._post(out, waiter)
            finally:
                self._open.discard(scope)
        if scope.cancelled_caught:
            raise self.lost()

    def pending(self) -> str:
        return ""

    async def abandon(self, waiter: Waiter, reason: str) -> None:
        """Modern: closing the answer's stream is the cancellation. Handshake: say so with a notification."""
        if self.era == eras.MODERN or self._closing:
            return
        try:
            await self.send(cancellation(waiter.out, reason))
        except LoupeError:
            return  # recorded by the exchange

    async def _post(self, out: Outgoing, waiter: Waiter | None) -> None:
        """One exchange; once more when a new token was got meanwhile without a person."""
        token = await self._token()
        try:
            await self._post_once(out, waiter, token)
        except Renewed:
            await self._post_once(out, waiter, await self._token(), last=True)

    async def _token(self) -> dict[str, str]:
        if self.auth is None:
            return {}
        self.auth.version = self.version
        return await self.auth.header()

    async def _post_once(
        self, out: Outgoing, waiter: Waiter | None, token: dict[str, str], *, last: bool = False
    ) -> None:
        def on_sent(seq: int) -> None:
            event = self.link.sent(out, http=seq, eol="none")
            if waiter is not None:
                waiter.sent = event

        headers = merge(self.headers_for(out), token)
        session = self._session_of(out)
        position = Position()
        broke: ConnectionLost | None = None
        try:
            async with exchange(
                self.client, self.link, "POST", self.url, headers, out.raw, on_sent=on_sent, cause=out.cause
            ) as found:
                if out.method == "initialize" and found.status < 400 and self.era == eras.HANDSHAKE:
                    self.session_id = found.response.headers.get("mcp-session-id")
                if found.media_type == "text/event-stream" and found.status < 400:
                    await self._read_stream(found, waiter, position)
                else:
                    if self.auth is not None and not last:
                        await self.auth.heed(found, token.get("Authorization"))
                    await self._read_body(found, out, waiter, session)
        except ConnectionLost as problem:
            if waiter is None or not self._resumable(position):
                raise
            broke = problem
        if self._resumable(position) and waiter is not None and not waiter.done.is_set():
            await self._resume(position, waiter)
            if not waiter.done.is_set():
                raise broke or self._unanswered(waiter)

    def _resumable(self, position: Position) -> bool:
        return self.era == eras.HANDSHAKE and position.last_id is not None

    async def _read_body(
        self, found: Exchange, out: Outgoing, waiter: Waiter | None, session: str | None
    ) -> None:
        body = await found.body()
        frame = await classify(body) if body.strip() else None
        refusal = _refused_session(found, frame, body, session, out.id)
        if refusal is not None and waiter is not None and not isinstance(refusal, SessionLost):
            waiter.fail(refusal)  # first, so that the body's own error does not end the call with less
        if frame is not None and frame.kind != frames.NOISE:
            _, event = self.link.received(body, eol="none", http=found.seq, frame=frame)
            if not isinstance(refusal, SessionLost):
                self._take(frame, event, found, waiter)
        else:
            found.kept += body[:BODY_KEPT]
        if refusal is not None:
            name = "http-status" if isinstance(refusal, SessionLost) else "session-rule"
            self.link.anomaly(
                name, refusal.message, pair=found.seq, remedy=refusal.remedy, http_status=found.status
            )
            raise refusal
        if waiter is not None and waiter.done.is_set():
            return
        if waiter is None and (found.status < 300 or (frame is not None and frame.kind == frames.ERROR)):
            return  # taken, or refused with an error that is recorded and that nobody waits for
        problem = refuse_status(found, body, self.url, frame.why if frame is not None else "")
        self.link.anomaly(
            "http-status", problem.message, pair=found.seq, remedy=problem.remedy, http_status=found.status
        )
        raise problem

    def _take(self, frame: Frame, event: Event, found: Exchange, waiter: Waiter | None) -> None:
        """Route the frame of a body, and say what of its HTTP clients in general would not accept."""
        self.dispatcher.received(frame, event, waiter)
        if waiter is None:
            return
        if waiter.error is not None:
            waiter.error.facts.setdefault("status", found.status)
        elif found.status == 202:
            text = "The server answered a request with HTTP 202, whose body most clients never read"
            remedy = "Answer requests with HTTP 200; 202 is for notifications"
            self.link.anomaly("http-status", text, pair=found.seq, remedy=remedy, http_status=202)
        if found.status < 300 and found.media_type != "application/json":
            text = f"The answer came as {found.media_type or 'no content type'}, not as application/json"
            remedy = "Set Content-Type: application/json; most clients refuse anything else"
            self.link.anomaly("http-wrong-type", text, pair=found.seq, remedy=remedy)

    async def _read_stream(self, found: Exchange, waiter: Waiter | None, position: Position) -> None:
        async with aclosing(found.events()) as events:
            async for event in events:
                position.note(event)
                self._event(event, found)
                if waiter is not None and waiter.done.is_set():
                    await self._drain(events, found)
                    return
        if waiter is not None and not waiter.done.is_set() and not self._resumable(position):
            raise self._unanswered(waiter)

    def _unanswered(self, waiter: Waiter) -> ConnectionLost:
        """Record that the stream ended before the answer; returns the error to raise."""
        text = "The server ended the event stream without answering the request"
        self.link.anomaly("stream-ended", text, pair=waiter.sent.seq if waiter.sent else None)
        return ConnectionLost(
            text, "Look at the server's log; a lost stream means a lost request: run it again"
        )

    async def _drain(self, events: AsyncIterator[SseEvent], found: Exchange) -> None:
        """What still comes shortly after the answer, bounded in time and bytes."""
        drained = 0
        with anyio.move_on_after(DRAIN_S), suppress(httpx2.HTTPError):
            async for event in events:
                self._event(event, found)
                drained += event.size
                if drained > DRAIN_BYTES:
                    return

    async def _resume(self, position: Position, waiter: Waiter) -> None:
        """Ask for the rest of a stream that broke off after an event with an id (2025-11-25, resumability)."""
        for _ in range(STREAM_TRIES):
            await anyio.sleep(position.retry_s)
            async with anyio.create_task_group() as race:
                race.start_soon(_first, waiter.done, race.cancel_scope)
                with suppress(LoupeError):  # recorded by the exchange
                    await self._listen_once(position)
                race.cancel_scope.cancel()
            if waiter.done.is_set():
                return

    def _event(self, event: SseEvent, found: Exchange) -> None:
        if event.data is None or not event.data.strip():
            self.link.emit(
                "http", "s2c", phase="response", pair=found.seq, sse=event.facts(), bytes=event.size
            )
            return
        if event.event not in ("", "message"):
            why = f"a server-sent event named {event.event!r}; MCP's are named message or not at all"
            self.link.noise(event.data, why, eol="none", http=found.seq, sse=event.facts())
            return
        # Without the waiter: an odd frame settles nothing here, for the right one may follow.
        self.dispatcher.received(
            *self.link.received(event.data, eol="none", http=found.seq, sse=event.facts())
        )

    async def listen(self) -> None:
        """Handshake era: hold the optional GET stream open. Its failure is noted and harms nothing (report C3).

        One that ends or breaks off is asked for again from there; after STREAM_TRIES that brought nothing it is
        given up.
        """
        if self._listening is not None:
            self._listening.cancel()
        with anyio.CancelScope() as scope:
            self._listening = scope
            position = Position()
            tries = 0
            while tries < STREAM_TRIES and not self._closing:
                heard = self._heard
                try:
                    await self._listen_once(position, unasked=True)
                except ConnectionLost:
                    pass  # recorded by the exchange
                except LoupeError:
                    return
                tries = 0 if self._heard > heard else tries + 1
                await anyio.sleep(position.retry_s)

    async def _listen_once(self, position: Position, *, unasked: bool = False) -> None:
        """One GET; raises HttpFailed when the server offers no stream. unasked: for what belongs to no request."""
        headers = merge(self._stream_headers(position.last_id), await self._token())
        async with exchange(
            self.client, self.link, "GET", self.url, headers, None, cause="housekeeping"
        ) as found:
            if found.status != 200 or found.media_type != "text/event-stream":
                raise HttpFailed("The server offers no stream of its own")
            self.stream_open |= unasked
            try:
                async for event in found.events():
                    position.note(event)
                    self._heard += event.data is not None
                    self._event(event, found)
            finally:
                self.stream_open &= not unasked

    def _stream_headers(self, last_id: str | None) -> Pairs:
        return merge(stream_headers(self.version, self.session_id, last_id), self.spec.headers)

    async def close(self) -> None:
        """End the session politely (handshake era), within a bound, and drop the sockets."""
        self._closing = True
        for scope in (*self._open, *([self._listening] if self._listening is not None else [])):
            scope.cancel()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_S):
            if self.session_id is not None and self.era == eras.HANDSHAKE:
                try:
                    headers = merge(self._stream_headers(None), await self._token())
                    async with exchange(
                        self.client, self.link, "DELETE", self.url, headers, None, cause="housekeeping"
                    ):
                        pass
                except LoupeError:
                    pass
            await self.client.aclose()
        self.ended.set()

    def lost(self) -> ConnectionLost:
        return ConnectionLost("The connection was closed by Loupe", "Connect again")


def _refused_session(
    found: Exchange, frame: Frame | None, body: bytes, session: str | None, id_: Any
) -> HttpFailed | None:
    """The error when the server does not take our session id: 404 as it should, or 400 and 401 that speak of it.

    An error under the request's own id is about the request: servers refuse a session before they read that.
    """
    if session is None:
        return None
    facts = {"status": found.status, "http_seq": found.seq, "body": body[:2048].decode("utf-8", "replace")}
    error = frame.value["error"] if frame is not None and frame.kind == frames.ERROR else {}
    if found.status == 404 and error.get("code") != -32601:
        return SessionLost(session, facts)
    own = frame is not None and frame.has_id and frame.id == id_
    if found.status in (400, 401) and b"session" in body.lower() and not own:
        text = f"The server answered HTTP {found.status} to our session id; a lost session is to be answered with 404"
        return HttpFailed(text, "Connect again: that starts a new session", facts=facts)
    return None
