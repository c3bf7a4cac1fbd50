"""What of a trace is no span, as OpenTelemetry log records: everything else that was recorded. One thread at a time.

Names: the semantic conventions where they have one, else `loupe.` and the field's name in the trace format; the list
is in docs/exports.md. A record that belongs to a request bears the ids of its span.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.protocol.clipping import clipped
from inspector.trace.exporting import Fields, count, pairs, text
from inspector.trace.rows import escaped
from inspector.trace.spans import CONTENT, LONG, OPEN_MOST, Span, Spans, at_ns, id_of

Value = str | int | float | bool | list[str]

UNSAID, INFO, WARN, ERROR = 0, 9, 13, 17
"""SeverityNumber of OTLP. A line of stderr does not say how grave it is, and neither do we."""
_LEFT_OUT: Final = frozenset(("t", "c", "at", "dt", "seq", "dir", "red", "raw", "body", "data"))
_MOST_HEADERS: Final = 200
_LONGEST_NAME: Final = 200


@dataclass(slots=True)
class Record:
    """One log record. Ids are bytes, empty when it belongs to no request; at_ns since the epoch."""

    c: int
    name: str
    at_ns: int
    severity: int
    body: str
    attributes: dict[str, Value]
    trace_id: bytes = b""
    span_id: bytes = b""


@dataclass(slots=True)
class Telling:
    """Events, taken in order, as spans and records; none is left out. key, contents: as for `Spans`."""

    key: str
    contents: bool = False
    spans: Spans = field(init=False)
    _carried: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spans = Spans(self.key, self.contents)

    def take(self, event: Fields) -> tuple[list[Span], Record | None]:
        """The spans that are complete with this event, and its record when it is no part of one."""
        belongs = self._span_of(event)
        found = list(self.spans.take(event))
        seq, carrier = event.get("seq"), event.get("http")
        opened = self.spans.ids(seq)
        if opened and isinstance(carrier, int):
            self._carried[carrier] = opened
            if len(self._carried) > OPEN_MOST:
                del self._carried[next(iter(self._carried))]
        if event.get("t") == "rpc" and (found or opened):
            return found, None
        return found, self._record(event, belongs)

    def rest(self) -> Iterator[Span]:
        """What never got an answer."""
        return self.spans.rest()

    def _span_of(self, event: Fields) -> tuple[bytes, bytes] | None:
        """The span of the request this event is about: it answers it, or came with its HTTP exchange."""
        for name in ("pair", "http"):
            if isinstance(number := event.get(name), int):
                found = self.spans.ids(number) or self._carried.get(number)
                if found:
                    return found
        return None

    def _record(self, event: Fields, belongs: tuple[bytes, bytes] | None) -> Record:
        t = text(event.get("t"))
        severity, body, attributes = _KINDS.get(t, _plain)(event, self.contents)
        used = _USED.get(t, frozenset())
        for name, value in event.items():
            if name not in _LEFT_OUT and name not in used and value is not None:
                if isinstance(value, dict | list) and t == "lab" and not self.contents:
                    continue  # what a tool was asked and said may be in it
                attributes[f"loupe.{name[:_LONGEST_NAME]}"] = _value(value)
        attributes["loupe.seq"] = count(event.get("seq")) or 0
        attributes["loupe.dir"] = text(event.get("dir"))
        trace_id, span_id = belongs or (b"", b"")
        safe = {escaped(name): _safe(value) for name, value in attributes.items()}
        return Record(
            count(event.get("c")) or 0, escaped(f"loupe.{t[:LONG]}"), at_ns(event), severity, escaped(body), safe,
            trace_id, span_id,
        )  # fmt: skip


def _value(value: Any) -> Value:
    """A field as an attribute: objects and lists as JSON text."""
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, str):
        return clipped(value, LONG)
    return clipped(json.dumps(value, ensure_ascii=False, separators=(",", ":")), CONTENT)


def _safe(value: Value) -> Value:
    """Protobuf takes UTF-8 only."""
    if isinstance(value, str):
        return escaped(value)
    return [escaped(one) for one in value] if isinstance(value, list) else value


# --- by kind: severity, body, and the attributes that have a name of the conventions

Said = tuple[int, str, dict[str, Value]]


def _plain(event: Fields, _contents: bool) -> Said:
    body = next(
        (found for name in ("label", "text", "why", "what", "key") if (found := text(event.get(name)))), ""
    )
    return INFO, clipped(body, CONTENT), {}


def _output(stream: str, severity: int) -> Callable[[Fields, bool], Said]:
    return lambda event, _contents: (
        severity, clipped(text(event.get("data")), CONTENT), {"log.iostream": stream},
    )  # fmt: skip


def _frame(event: Fields, contents: bool) -> Said:
    """A frame that is no part of a span: an answer nobody asked for, or what is no JSON-RPC."""
    attributes: dict[str, Value] = {}
    if method := text(event.get("method")):
        attributes["mcp.method.name"] = clipped(method, LONG)
    if "id" in event:
        attributes["jsonrpc.request.id"] = id_of(event["id"])
    about = " ".join(filter(None, (text(event.get("kind")), method)))
    return WARN, clipped(text(event.get("raw")), CONTENT) if contents else clipped(about, LONG), attributes


def _http(event: Fields, _contents: bool) -> Said:
    side = "request" if event.get("phase") == "request" else "response"
    attributes: dict[str, Value] = {}
    about = [text(event.get("phase"))]
    if method := text(event.get("method")):
        attributes |= {
            "http.request.method": clipped(method, LONG),
            "url.full": clipped(text(event.get("url")), LONG),
        }
        about = [method, text(event.get("url"))]
    if (status := count(event.get("status"))) is not None:
        attributes["http.response.status_code"] = status
        about = [str(status), text(event.get("reason"))]
    if (size := count(event.get("bytes"))) is not None:
        attributes["loupe.bytes" if "sse" in event else f"http.{side}.body.size"] = size
    headers: dict[str, list[str]] = {}
    found = pairs(event.get("headers"))
    if len(found) > _MOST_HEADERS:
        attributes["loupe.headers_left_out"] = len(found) - _MOST_HEADERS
    for name, value in found[:_MOST_HEADERS]:
        headers.setdefault(f"http.{side}.header.{name.lower()[:_LONGEST_NAME]}", []).append(
            clipped(value, LONG)
        )
    body = text(event.get("body")) or " ".join(filter(None, about))
    return INFO, clipped(body, CONTENT), {**attributes, **headers}


def _proc(event: Fields, _contents: bool) -> Said:
    attributes: dict[str, Value] = {}
    for name, told in (("pid", "process.pid"), ("code", "process.exit.code")):
        if isinstance(value := event.get(name), int):
            attributes[told] = _value(value)
    if isinstance(argv := event.get("argv"), list):
        attributes["process.command_args"] = [clipped(one, LONG) for one in argv if isinstance(one, str)]
    return INFO, clipped(text(event.get("what")), LONG), attributes


def _error(event: Fields, _contents: bool) -> Said:
    attributes: dict[str, Value] = {"error.type": clipped(text(event.get("class")), LONG) or "_OTHER"}
    if event.get("code") is not None:
        attributes["rpc.response.status_code"] = clipped(str(_value(event["code"])), LONG)
    return ERROR, clipped(text(event.get("message")), CONTENT), attributes


_KINDS: Final[dict[str, Callable[[Fields, bool], Said]]] = {
    "stderr": _output("stderr", UNSAID),
    "noise": _output("stdout", WARN),
    "rpc": _frame,
    "http": _http,
    "proc": _proc,
    "error": _error,
}
_USED: Final[dict[str, frozenset[str]]] = {
    "rpc": frozenset(("method", "id")),
    "http": frozenset(("method", "url", "status", "bytes", "headers")),
    "proc": frozenset(("pid", "code", "argv", "what")),
    "error": frozenset(("class", "code", "message")),
    "note": frozenset(("text",)),
}
"""Fields of a kind that are told under a name of the conventions, or are its body."""
