"""The HTTP+SSE transport of 2024-11-05 (deprecated): answers come on one long GET stream. Loop thread."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc

from inspector.errors import ConnectionLost, HttpFailed, LoupeError
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.wire.auth import authorizer
from inspector.wire.dispatcher import Dispatcher, Waiter
from inspector.wire.http_base import BODY_KEPT, Exchange, Pairs, exchange, make_client, merge, refuse_status
from inspector.wire.link import Link, Outgoing, cancellation
from inspector.wire.sse import SseEvent


class SseTransport:
    """A GET stream whose first event names where to POST."""

    kind = "sse"

    def __init__(
        self, link: Link, spec: ServerSpec, dispatcher: Dispatcher, tokens: TokenStore | None = None
    ) -> None:
        assert spec.url is not None
        self.link = link
        self.spec = spec
        self.url = spec.url
        self.dispatcher = dispatcher
        self.endpoint: str | None = None
        self.ended = anyio.Event()
        self.client = make_client(spec)
        self.auth = authorizer(link, spec, tokens, self.client)
        self._ready = anyio.Event()
        self._failure: LoupeError | None = None
        self._closing = False
        self._stream: anyio.CancelScope | None = None

    async def start(self, tasks: anyio.abc.TaskGroup) -> None:
        """Open the stream and wait for its endpoint event; raises what went wrong instead."""
        tasks.start_soon(self._listen)
        await self._ready.wait()
        if self._failure is not None:
            raise self._failure

    async def _token(self) -> dict[str, str]:
        return await self.auth.header() if self.auth is not None else {}

    async def _listen(self) -> None:
        try:
            headers = merge([("Accept", "text/event-stream")], self.spec.headers, await self._token())
            with anyio.CancelScope() as self._stream:
                async with exchange(
                    self.client, self.link, "GET", self.url, headers, None, cause="housekeeping"
                ) as found:
                    await self._follow(found)
        except LoupeError as problem:
            self._failure = problem
        if self.endpoint is None and self._failure is None:
            self._failure = HttpFailed(
                "The event stream ended before it named an endpoint",
                "Is this the path of an HTTP+SSE server?",
            )
        self._ready.set()
        self.ended.set()
        self.dispatcher.fail_all(self.lost)

    async def _follow(self, found: Exchange) -> None:
        if self.auth is not None:
            self.auth.note(found)
        if found.status != 200 or found.media_type != "text/event-stream":
            body = await found.body()
            found.kept += body[:BODY_KEPT]
            raise refuse_status(found, body, self.url)
        async for event in found.events():
            self._event(event, found.seq)

    def _event(self, event: SseEvent, http: int) -> None:
        if event.event == "endpoint" and event.data is not None:
            self.link.emit(
                "http",
                "s2c",
                phase="response",
                pair=http,
                sse=event.facts(),
                bytes=event.size,
                raw=event.data,
            )
            self._named(event.data.decode("utf-8", "replace").strip())
        elif event.data is None or not event.data.strip():
            self.link.emit("http", "s2c", phase="response", pair=http, sse=event.facts(), bytes=event.size)
        else:
            self.dispatcher.received(
                *self.link.received(event.data, eol="none", http=http, sse=event.facts())
            )

    def _named(self, endpoint: str) -> None:
        """Take the POST address; one of another origin is refused, since our headers would go there."""
        try:
            full = urljoin(self.url, endpoint)
            ours, theirs = urlsplit(self.url), urlsplit(full)
        except ValueError as problem:
            text = f"The server names an endpoint that is no URL: {problem}"
            self._failure = HttpFailed(text, "Send a path or a URL in the endpoint event")
            self._ready.set()
            return
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            self._failure = HttpFailed(
                f"The server names an endpoint of another origin: {full}",
                "Refused: your headers would be sent there",
            )
        else:
            self.endpoint = full
        self._ready.set()

    async def request(self, waiter: Waiter) -> None:
        await self._post(waiter.out, waiter)
        await waiter.done.wait()

    async def send(self, out: Outgoing) -> None:
        await self._post(out, None)

    def pending(self) -> str:
        return ""

    async def abandon(self, waiter: Waiter, reason: str) -> None:
        if self._closing or self.ended.is_set():
            return
        try:
            await self.send(cancellation(waiter.out, reason))
        except LoupeError:
            return  # recorded by the exchange

    async def _post(self, out: Outgoing, waiter: Waiter | None) -> None:
        def on_sent(seq: int) -> None:
            event = self.link.sent(out, http=seq, eol="none")
            if waiter is not None:
                waiter.sent = event

        if self.endpoint is None or self.ended.is_set():
            raise self.lost()
        base: Pairs = [("Content-Type", "application/json")]
        headers = merge(base, self.spec.headers, out.headers, await self._token())
        async with exchange(
            self.client, self.link, "POST", self.endpoint, headers, out.raw, on_sent=on_sent, cause=out.cause
        ) as found:
            body = await found.body()
            found.kept += body[:BODY_KEPT]
            if self.auth is not None:
                self.auth.note(found)
            if found.status >= 300:
                problem = refuse_status(found, body, self.endpoint)
                self.link.anomaly("http-status", problem.message, pair=found.seq, http_status=found.status)
                raise problem

    def lost(self) -> ConnectionLost:
        if self._closing:
            return ConnectionLost("The connection was closed by Loupe", "Connect again")
        why = f": {self._failure.message}" if self._failure is not None else ""
        return ConnectionLost(
            f"The server ended its event stream{why}", "Look at the server's log, then reconnect"
        )

    async def close(self) -> None:
        self._closing = True
        if self._stream is not None:
            self._stream.cancel()
        with anyio.CancelScope(shield=True), anyio.move_on_after(2):
            await self.client.aclose()
        self.ended.set()
