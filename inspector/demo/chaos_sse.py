"""Faults of event streams; run on the connection's thread."""

from __future__ import annotations

import itertools

from inspector.demo.chaos_faults import Ask, dumps, fault
from inspector.demo.chaos_http import SSE, Exchange, event
from inspector.demo.chaos_results import padded

LATE = dumps(
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "late"}}
)


@fault("http", "A6, SDK 1", "The whole event; no cap of 1 MiB.", takes=("bytes", 2_097_152))
def sse_big_event(ask: Ask, out: Exchange) -> None:
    """Sends the answer as one event whose data is exactly `bytes` bytes."""
    out.stream(event(padded(ask, ask.arg)))


@fault("http", "SDK 2", "The answer whole.")
def sse_split(ask: Ask, out: Exchange) -> None:
    """Sends one event cut inside a four-byte character, and CR LF cut in two."""
    raw = event(ask.result(content=[{"type": "text", "text": "party \U0001f389"}])).replace(b"\n", b"\r\n")
    cuts = (0, raw.index(b"\r") + 1, raw.index(b"\xf0\x9f") + 2, len(raw) - 1, len(raw))
    out.stream(*(raw[start:end] for start, end in itertools.pairwise(cuts)))


@fault("http", "SDK 1, SDK 2", "The notification behind the answer.")
def sse_after_response(ask: Ask, out: Exchange) -> None:
    """Sends a notification after the answer on the same stream."""
    out.stream(event(ask.answer()), event(LATE))


@fault("http", "SDK 2", "The comments in the raw stream, never as frames.")
def sse_keepalive_comments(ask: Ask, out: Exchange) -> None:
    """Sends comment lines before and after the answer."""
    out.stream(b": ping\n\n", b":\n\n", event(ask.answer()), b": bye\n\n")


@fault("http", "A10, SDK 1", "The notification that came, and that the stream broke off; the session lives.")
def sse_drop(ask: Ask, out: Exchange) -> None:
    """Sends a notification and breaks off before the answer."""
    out.stream(event(LATE), end=False)


@fault("http", "SDK 1", "A stream that ended without the answer.")
def sse_no_answer(ask: Ask, out: Exchange) -> None:
    """Ends the stream properly after a notification, with no answer."""
    out.stream(event(LATE))


@fault("http", "A6, SDK 1", "The bytes of the unfinished event; an event ends with a blank line.")
def sse_unfinished(ask: Ask, out: Exchange) -> None:
    """Sends the answer as an event without its final blank line."""
    out.stream(event(ask.answer())[:-2])


@fault("http", "A1, SDK 1", "The odd event as noise, the call fine.")
def sse_not_json(ask: Ask, out: Exchange) -> None:
    """Sends an event whose data is no JSON, then the answer."""
    out.stream(b"data: hello from the proxy\n\n", event(ask.answer()))


@fault("http", "SDK 2", "One frame from several data lines.")
def sse_many_data_lines(ask: Ask, out: Exchange) -> None:
    """Spreads the answer over several `data:` lines, cut at top-level members."""
    out.stream(b"data:" + ask.answer().replace(b',"', b',\ndata:"') + b"\n\n")


@fault("http", "SDK 2", "The frame, and id, retry and event name beside it.")
def sse_fields(ask: Ask, out: Exchange) -> None:
    """Sends a byte order mark, id, retry and an unknown field with the answer, lines ended by CR."""
    lines = (b"id: 7", b"retry: 1500", b"color: red", b"event: message", b"data: " + ask.answer(), b"", b"")
    out.stream(b"\xef\xbb\xbf" + b"\r".join(lines))


@fault("http", "SDK 2", "The event under its own name; the call open until the time-out.")
def sse_other_event(ask: Ask, out: Exchange) -> None:
    """Sends the answer as an event named `answer`, then ends the stream."""
    out.stream(b"event: answer\ndata: " + ask.answer() + b"\n\n")


@fault("http", "B5, SDK 1", "The result at once, though the stream stays open.")
def sse_never_ends(ask: Ask, out: Exchange) -> None:
    """Sends the answer and leaves the stream open until the client goes."""
    out.head("200 OK", f"Content-Type: {SSE}", "Transfer-Encoding: chunked", "Connection: close")
    out.chunk(event(ask.answer()))
    out.wait()
