"""What the HTTP tap writes down: requests, answers, server-sent events and the frames in them. Loop thread."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.protocol import frames
from inspector.wire.events import C2S, S2C, id_text
from inspector.wire.http1 import Head
from inspector.wire.http_base import BODY_KEPT
from inspector.wire.link import LINE_CAP, Link
from inspector.wire.sse import SseEvent, SseSplitter, SseTooLong
from inspector.wire.tap_record import TapRecord

SSE: Final = "text/event-stream"
HELD_CAP: Final = 4 * LINE_CAP
"""Bytes held of all bodies that are not whole yet: clients may open any number of connections."""
WHATEVER_ZLIB_KNOWS: Final = zlib.MAX_WBITS | 32


class HttpRecord:
    """The tapped server. A second connection is recorded only while two clients use one id at once: answers are
    paired by id, and two clients may well both count from 1."""

    def __init__(self, record: TapRecord, origin: str) -> None:
        self.record = record
        self.origin = origin
        self.held = 0
        self._lanes: list[tuple[Link, set[str]]] = [(record.link, set())]

    def connection(self) -> Exchanges:
        """The record of one more connection of a client."""
        return Exchanges(self)

    def lane(self, id_: str | None) -> Link:
        """The first connection on which this id is not in flight."""
        for link, in_flight in self._lanes:
            if id_ not in in_flight:
                in_flight.update([id_] if id_ is not None else [])
                return link
        self._lanes.append((self.record.new_link(), {id_} if id_ is not None else set()))
        return self._lanes[-1][0]

    def settled(self, link: Link, id_: str | None) -> None:
        for lane, in_flight in self._lanes:
            if lane is link:
                in_flight.discard(id_ or "")

    def unreachable(self, text: str) -> None:
        remedy = "Is the server running, and is this its port?"
        self.record.safely(self.record.link.anomaly, "network", text, origin="console", remedy=remedy)
        self.record.say(text)


@dataclass(slots=True)
class _Exchange:
    """A request under way. seq: of its `http` event, 0 until it is recorded."""

    head: Head
    body: bytearray = field(default_factory=bytearray)
    size: int = 0
    unsent: str = ""
    link: Link | None = None
    id: str | None = None
    seq: int = 0
    answer: Head | None = None
    answer_body: bytearray = field(default_factory=bytearray)
    answer_size: int = 0
    events: SseSplitter | None = None
    unpacking: Any = None
    unread: str = ""


class Exchanges:
    """The requests of one client's connection, answered in their order. Every method is safe: see TapRecord."""

    def __init__(self, record: HttpRecord) -> None:
        self.http = record
        self._open: deque[_Exchange] = deque()
        self._asking: _Exchange | None = None

    def bodiless(self, head: Head) -> bool:
        """Whether this answer has no body, whatever its headers say."""
        to_head = bool(self._open) and self._open[0].head.parts[0] == "HEAD"
        return to_head or head.status < 200 or head.status in (204, 304)

    def asked(self, head: Head) -> None:
        self._asking = _Exchange(head)
        self._open.append(self._asking)

    def sent(self, payload: bytes) -> None:
        if self._asking is not None:
            self._asking.size += len(payload)
            if (
                not self._asking.unsent and not self._asking.seq
            ):  # else an early answer had it recorded as it was
                self._asking.unsent = self._hold(self._asking.body, payload)

    def asked_whole(self) -> None:
        """The request is complete: record it before its last byte is passed on."""
        exchange, self._asking = self._asking, None
        if exchange is not None:
            self._do(self._record_request, exchange)

    def answering(self, head: Head) -> None:
        if head.status >= 200 or head.status == 101:
            self._do(self._record_head, self._current(), head)

    def came(self, payload: bytes) -> None:
        if payload:
            self._do(self._take, self._current(), payload)

    def answered(self) -> None:
        """The answer is complete; a 1xx before it has none of its own to complete."""
        exchange = self._current()
        if exchange is not None and exchange.answer is not None:
            self._open.popleft()
            self._do(self._record_end, exchange, None)

    def close(self) -> None:
        """The connection ended: what is still open broke off."""
        while self._open:
            self._do(self._record_end, self._open.popleft(), True)

    def _do(self, work: Any, exchange: _Exchange | None, *args: Any) -> None:
        if exchange is not None:
            self.http.record.safely(work, exchange, *args)

    def _current(self) -> _Exchange | None:
        return self._open[0] if self._open else None

    def _hold(self, body: bytearray, payload: bytes) -> str:
        """Keep more of a body. When there is no room, none of it is kept, and this says why."""
        if len(body) + len(payload) > LINE_CAP:
            why = f"it has more than {LINE_CAP:,} bytes"
        elif self.http.held + len(payload) > HELD_CAP:
            why = f"bodies that are not whole yet hold {HELD_CAP:,} bytes already"
        else:
            body += payload
            self.http.held += len(payload)
            return ""
        self._let_go(body)
        return why

    def _let_go(self, body: bytearray) -> bytes:
        """All that was held of a body, and is held no longer."""
        raw = bytes(body)
        self.http.held -= len(body)
        body.clear()
        return raw

    # --- what is recorded

    def _record_request(self, exchange: _Exchange) -> None:
        if exchange.seq:
            return
        method, path, _version = exchange.head.parts
        raw = self._let_go(exchange.body)
        frame = frames.classify(raw) if raw else None
        if frame is not None and frame.kind == frames.REQUEST:
            exchange.id = id_text(frame.id)
        exchange.link = self.http.lane(exchange.id)
        exchange.seq = exchange.link.emit(
            "http", C2S, phase="request", method=method, url=f"{self.http.origin}{path}",
            headers=exchange.head.headers, bytes=exchange.size,
        )  # fmt: skip
        if raw:
            self.http.record.sent(exchange.link, raw, http=exchange.seq, frame=frame)
        if exchange.unsent:
            text = f"The body of this request was passed on but not recorded: {exchange.unsent}"
            exchange.link.anomaly("too-long", text, origin="console", pair=exchange.seq)

    def _record_head(self, exchange: _Exchange, head: Head) -> None:
        self._record_request(exchange)  # an answer may come before the whole request is sent
        assert exchange.link is not None
        exchange.answer = head
        version, _status, reason = head.parts
        exchange.link.emit(
            "http", S2C, phase="response", pair=exchange.seq, status=head.status, reason=reason,
            version=version, headers=head.headers,
        )  # fmt: skip
        encoding = head.get("content-encoding").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            exchange.unpacking = zlib.decompressobj(WHATEVER_ZLIB_KNOWS)
        elif encoding not in ("", "identity"):
            self._unread(exchange, f"it is compressed as {encoding}")
        if head.get("content-type").split(";")[0].strip().lower() == SSE:
            exchange.events = SseSplitter()

    def _unread(self, exchange: _Exchange, why: str) -> None:
        """The body is passed on all the same."""
        assert exchange.link is not None
        exchange.unread = why
        text = f"The body of this answer was passed on but not recorded: {why}"
        exchange.link.anomaly("unasked-encoding", text, origin="console", pair=exchange.seq)

    def _take(self, exchange: _Exchange, payload: bytes) -> None:
        exchange.answer_size += len(payload)
        if exchange.unread or exchange.answer is None:
            return
        try:
            if exchange.unpacking is not None:
                payload = exchange.unpacking.decompress(payload, LINE_CAP)
                if exchange.unpacking.unconsumed_tail:
                    self._unread(exchange, f"it unpacks to more than {LINE_CAP:,} bytes")
                    self._let_go(exchange.answer_body)
                    return
            if exchange.events is not None:
                for event in exchange.events.feed(payload):
                    self._event(exchange, event)
                return
        except (zlib.error, SseTooLong) as problem:
            self._unread(exchange, str(problem))
            return
        if why := self._hold(exchange.answer_body, payload):
            self._unread(exchange, why)

    def _event(self, exchange: _Exchange, event: SseEvent) -> None:
        assert exchange.link is not None
        if event.data is None or event.event not in ("", "message"):  # a comment, or HTTP+SSE's `endpoint`
            exchange.link.emit(
                "http", S2C, phase="response", pair=exchange.seq, sse=event.facts(), bytes=event.size,
                raw=event.data,
            )  # fmt: skip
            return
        self.http.record.received(exchange.link, event.data, eol="none", http=exchange.seq, sse=event.facts())

    def _record_end(self, exchange: _Exchange, aborted: bool | None) -> None:
        self._record_request(exchange)
        assert exchange.link is not None
        raw = self._let_go(exchange.answer_body)
        frame = frames.classify(raw) if raw else None
        kept = None
        if frame is not None and frame.kind != frames.NOISE:
            self.http.record.received(exchange.link, raw, eol="none", http=exchange.seq, frame=frame)
        elif raw:
            kept = raw[:BODY_KEPT]
        left = exchange.events.left_over() if exchange.events is not None else b""
        if left.strip():
            exchange.link.noise(left, "unterminated server-sent event", eol="none", http=exchange.seq)
        exchange.link.emit(
            "http", S2C, phase="end", pair=exchange.seq, raw=kept, bytes=exchange.answer_size, aborted=aborted
        )
        self.http.settled(exchange.link, exchange.id)
