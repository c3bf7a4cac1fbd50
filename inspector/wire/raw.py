"""Sending bytes a well-behaved client would never send, on an open connection. Loop thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from inspector.errors import ConnectionLost, LoupeError, PeerError, UsageError
from inspector.protocol import frames
from inspector.wire.connection import CONNECTED, Connection
from inspector.wire.dispatcher import Outgoing, Reply, Waiter
from inspector.wire.events import id_text
from inspector.wire.http import HttpTransport
from inspector.wire.http_base import exchange

NO_ID = "raw"
"""Under which key a frame without an id waits: an id-less error of the peer can still settle it."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back: a reply, an error (the peer's, or what broke), or neither when nothing came in time."""

    reply: Reply | None = None
    error: LoupeError | None = None
    request_seq: int | None = None

    @property
    def code(self) -> int | None:
        return self.error.code if isinstance(self.error, PeerError) else None

    @property
    def status(self) -> int | None:
        """The HTTP status, when it came over HTTP."""
        found = self.error.facts.get("status") if self.error is not None else None
        return found if isinstance(found, int) else None


async def send_raw(
    connection: Connection, raw: bytes, *, wait_s: float, headers: Mapping[str, str] | None = None
) -> RawAnswer:
    """Send `raw` exactly, and wait at most `wait_s` for what answers it.

    Over stdio a newline follows it; over HTTP it is the body and `headers` replace ours. Raises UsageError when
    a request with the same id is in flight: its answer could not be told from this one's.
    """
    frame = frames.classify(raw)
    key = id_text(frame.id) if frame.has_id else NO_ID
    dispatcher = connection.dispatcher
    if connection.state != CONNECTED or dispatcher.transport is None:
        raise ConnectionLost("The connection is not open", "Connect first")
    if key in dispatcher.waiting:
        raise UsageError(f"A request with id {key} is in flight", "Use another id")
    params = frame.value.get("params") if isinstance(frame.value, dict) else None
    kind = frames.UNPARSED if frame.kind == frames.NOISE else frame.kind
    out = Outgoing(raw, kind, frame.id, frame.method, params if isinstance(params, dict) else None, "user")
    out.headers = headers or {}
    waiter = Waiter(out)
    dispatcher.waiting[key] = waiter
    try:
        with anyio.move_on_after(wait_s):
            await dispatcher.transport.request(waiter)
    except LoupeError as problem:
        waiter.fail(problem)
    finally:
        dispatcher.waiting.pop(key, None)
        if frame.has_id and not waiter.done.is_set():
            dispatcher.remember(key, "timed out", waiter)
    return RawAnswer(waiter.reply, waiter.error, waiter.sent.seq if waiter.sent else None)


async def send_http(connection: Connection, method: str, headers: Mapping[str, str], body: bytes) -> None:
    """One HTTP request of any method with these headers and no others of ours; what comes is recorded, not routed."""
    transport = connection.transport
    if not isinstance(transport, HttpTransport):
        raise UsageError("Method and headers are free on streamable HTTP only", "Send the bytes alone")
    link = connection.link
    frame = frames.classify(body)
    kind = frames.UNPARSED if frame.kind == frames.NOISE else frame.kind

    def on_sent(seq: int) -> None:
        if body:
            link.sent(Outgoing(body, kind, frame.id, frame.method, None, "user"), http=seq, eol="none")

    pairs = list(headers.items())
    async with exchange(
        transport.client, link, method, transport.url, pairs, body or None, on_sent=on_sent, cause="user"
    ) as found:
        if found.media_type != "text/event-stream":
            answer = await found.body()
            if answer.strip():
                link.received(answer, eol="none", http=found.seq)
            return
        async for event in found.events():
            if event.data is not None and event.data.strip():
                link.received(event.data, eol="none", http=found.seq, sse=event.facts())
