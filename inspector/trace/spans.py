"""MCP requests and notifications as OpenTelemetry spans, from the events of a trace. One thread at a time.

Attribute names: OpenTelemetry semantic conventions for MCP, as listed in docs/exports.md; nothing else is on a span.
A request is a span from its frame to its answer; a notification is one without length.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from inspector.protocol import eras
from inspector.protocol.clipping import clipped
from inspector.trace.exporting import Fields, count, pairs, text
from inspector.trace.redact.names import MARKER
from inspector.trace.rows import escaped

CLIENT, SERVER = 3, 2
"""SpanKind of OTLP: a request we made, and one made of us."""
OPEN_MOST: Final = 10_000
SHORT: Final = 200
LONG: Final = 4096
CONTENT: Final = 64 * 1024
UNANSWERED: Final = "_OTHER"
"""The conventions' value for what has no name among theirs."""
SETTLING: Final = frozenset(("timeout", "cancelled", "connection-closed", "stream-ended", "write-failed"))
"""Classes of our errors after which a request gets no answer any more."""
_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")
_ADDRESS: Final = re.compile(
    r"(https?)://(?:[^/?#]*@)?(\[[0-9A-Fa-f:.]+\]|[^/:?#]+)(?::(\d+))?", re.IGNORECASE
)
_WITH_URI: Final = frozenset(
    ("resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated")
)


@dataclass(slots=True)
class Span:
    """One span. Ids are bytes (16, 8), parent_id b"" for none; times in nanoseconds since the epoch."""

    c: int
    name: str
    kind: int
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    start_ns: int
    end_ns: int
    attributes: dict[str, str | int]
    failed: bool = False
    message: str = ""


@dataclass(slots=True)
class _Connection:
    """What is known of a connection so far."""

    transport: str = ""
    version: str = ""
    address: str = ""
    port: int | None = None
    session: str = ""
    label: str = ""


@dataclass(slots=True)
class Spans:
    """Makes spans of events taken in order.

    key: what tells this recording from others, so that ids are the same each time it is exported and differ
    between recordings. contents: put arguments and results on the spans too.
    """

    key: str
    contents: bool = False
    _connections: dict[int, _Connection] = field(default_factory=dict)
    _open: dict[int, Span] = field(default_factory=dict)
    _last_ns: int = 0

    def take(self, event: Fields) -> Iterator[Span]:
        """The spans that are complete with this event."""
        yield from map(_utf8, self._take(event))

    def _take(self, event: Fields) -> Iterator[Span]:
        self._last_ns = max(self._last_ns, at_ns(event))
        t = event.get("t")
        if t == "connection":
            self._connected(event)
        elif t == "http":
            self._session(event)
        elif t == "rpc":
            yield from self._frame(event)
        elif t == "error" and text(event.get("class")) in SETTLING and (span := self._settled(event)):
            yield _failed(span, event["class"], text(event.get("message")), at_ns(event))

    def _settled(self, event: Fields) -> Span | None:
        """The request the event answers, which waits no longer."""
        pair = event.get("pair")
        return self._open.pop(pair, None) if isinstance(pair, int) else None

    def rest(self) -> Iterator[Span]:
        """What never got an answer, as far as the recording goes."""
        for span in self._open.values():
            yield _utf8(_failed(span, UNANSWERED, "no answer was recorded", self._last_ns))
        self._open = {}

    def ids(self, seq: Any) -> tuple[bytes, bytes] | None:
        """(trace id, span id) of the request with this seq, while it waits for its answer."""
        span = self._open.get(seq) if isinstance(seq, int) else None
        return (span.trace_id, span.span_id) if span is not None else None

    def label(self, c: int) -> str:
        """What the connection is called."""
        return self._known(c).label

    # --- what becomes known of a connection

    def _known(self, c: Any) -> _Connection:
        number = count(c) or 0
        if number not in self._connections and len(self._connections) >= OPEN_MOST:
            return _Connection()
        return self._connections.setdefault(number, _Connection())

    def _connected(self, event: Fields) -> None:
        known, target = self._known(event.get("c")), event.get("target")
        known.transport = text(event.get("transport")) or known.transport
        known.version = text(event.get("protocol_version")) or known.version
        known.label = text(event.get("label"))[:SHORT] or known.label
        url = _ADDRESS.match(text(target.get("url"))) if isinstance(target, dict) else None
        if url is not None:
            default = 443 if url[1].lower() == "https" else 80
            known.address, known.port = url[2].strip("[]"), int(url[3][:5]) if url[3] else default

    def _session(self, event: Fields) -> None:
        for name, value in pairs(event.get("headers")):
            if name.lower() == "mcp-session-id":
                marker = MARKER.search(value)
                self._known(event.get("c")).session = marker[1] if marker else value[:SHORT]

    # --- frames

    def _frame(self, event: Fields) -> Iterator[Span]:
        kind, seq = event.get("kind"), event.get("seq")
        if kind == "notification":
            yield self._span(event)
        elif kind == "request" and isinstance(seq, int):
            if len(self._open) >= OPEN_MOST:
                oldest = self._open.pop(next(iter(self._open)))
                yield _failed(oldest, UNANSWERED, "no answer was recorded", self._last_ns)
            self._open[seq] = self._span(event)
        elif kind in ("result", "error") and (span := self._settled(event)) is not None:
            yield self._answered(span, event)

    def _span(self, event: Fields) -> Span:
        known, seq = self._known(event.get("c")), event.get("seq")
        params = _object(_parsed(event).get("params"))
        method = text(event.get("method"))[:SHORT]
        attributes: dict[str, str | int] = {"mcp.method.name": method}
        if "id" in event:
            attributes["jsonrpc.request.id"] = id_of(event["id"])
        target = self._about(method, params, attributes)
        meta = _object(params.get("_meta"))
        if version := text(meta.get(eras.META_VERSION))[:SHORT] or known.version:
            attributes["mcp.protocol.version"] = version
        if known.session:
            attributes["mcp.session.id"] = known.session
        if known.transport:
            attributes["network.transport"] = "pipe" if known.transport == "stdio" else "tcp"
        if known.address and known.port is not None:
            attributes |= {"server.address": known.address, "server.port": known.port}
        own = hashlib.sha256(f"{self.key}|{seq}".encode("utf-8", "backslashreplace")).digest()
        parent = _PARENT.fullmatch(text(meta.get("traceparent")))
        trace_id, parent_id = own[:16], b""
        if parent is not None and int(parent[1], 16) and int(parent[2], 16):
            trace_id, parent_id = bytes.fromhex(parent[1]), bytes.fromhex(parent[2])
        start = at_ns(event)
        return Span(
            count(event.get("c")) or 0, f"{method} {target}".strip(), CLIENT if event.get("dir") == "c2s" else SERVER,
            trace_id, own[16:24], parent_id, start, start, attributes,
        )  # fmt: skip

    def _about(self, method: str, params: Fields, attributes: dict[str, str | int]) -> str:
        """Adds what the request is about; returns what the span's name says of it."""
        name = text(params.get("name"))[:SHORT]
        if method == "tools/call":
            attributes |= {"gen_ai.tool.name": name, "gen_ai.operation.name": "execute_tool"}
            if self.contents and "arguments" in params:
                attributes["gen_ai.tool.call.arguments"] = _content(params["arguments"])
            return name
        if method == "prompts/get":
            attributes["gen_ai.prompt.name"] = name
            return name
        if method in _WITH_URI:
            attributes["mcp.resource.uri"] = text(params.get("uri"))[:LONG]
        return ""

    def _answered(self, span: Span, event: Fields) -> Span:
        known = self._known(event.get("c"))
        span.end_ns = max(at_ns(event), span.start_ns)
        if known.session:
            span.attributes.setdefault("mcp.session.id", known.session)
        if event.get("kind") == "error":
            error = _object(_parsed(event).get("error"))
            code = id_of(error.get("code"))
            span.attributes["rpc.response.status_code"] = code
            return _failed(span, code, text(error.get("message")), span.end_ns)
        method = span.attributes["mcp.method.name"]
        if method == "initialize" or (self.contents and method == "tools/call"):
            result = _object(_parsed(event).get("result"))
            if method == "initialize":
                known.version = text(result.get("protocolVersion"))[:SHORT] or known.version
                span.attributes["mcp.protocol.version"] = known.version
            else:
                span.attributes["gen_ai.tool.call.result"] = _content(result)
        if event.get("tool_error"):
            return _failed(span, "tool_error", "", span.end_ns)
        return span


def _failed(span: Span, kind: str, message: str, end_ns: int) -> Span:
    span.end_ns = max(end_ns, span.start_ns)
    span.attributes["error.type"] = kind
    span.failed, span.message = True, message[:LONG]
    return span


def _utf8(span: Span) -> Span:
    """Protobuf takes UTF-8 only: a lone surrogate, legal in JSON, becomes its escape."""
    texts = [span.name, span.message, *(one for one in span.attributes.values() if isinstance(one, str))]
    if all(map(str.isascii, texts)):
        return span
    span.name, span.message = escaped(span.name), escaped(span.message)
    for name, value in span.attributes.items():
        span.attributes[name] = escaped(value) if isinstance(value, str) else value
    return span


def _parsed(event: Fields) -> Fields:
    """What `raw` holds, when it is a JSON object."""
    if event.get("enc") == "base64" or event.get("cut"):
        return {}
    try:
        return _object(json.loads(text(event.get("raw"))))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}


def id_of(value: Any) -> str:
    """An id or a code as text."""
    found = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found[:SHORT]


def _content(value: Any) -> str:
    return clipped(json.dumps(value, ensure_ascii=False, separators=(",", ":")), CONTENT)


def at_ns(event: Fields) -> int:
    """When it happened; 0 when it does not say."""
    try:
        found = datetime.fromisoformat(text(event.get("at")))
        return max(0, round(found.timestamp() * 1_000_000) * 1000)
    except (ValueError, OverflowError):
        return 0
