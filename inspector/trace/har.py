"""HAR 1.2 of the HTTP connections of a trace, as pieces of bytes. Any thread; memory is bounded, see docs/exports.md.

Source: the HAR 1.2 specification (softwareishard.com). What HAR has no place for is left out and counted in the
log's `comment`: stdio, stderr, processes, errors of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from inspector.trace.exporting import Fields, Source, count, pairs, pieces, text
from inspector.trace.file import encode
from inspector.trace.rows import rfc3339

ENTRY_TEXT: Final = 4 << 20
"""Characters of one body that are kept; the rest is counted in the entry's comment."""
OPEN_TEXT: Final = 64 << 20
"""Characters kept over all exchanges that have not ended yet."""
OPEN_MOST: Final = 2000
EPOCH: Final = rfc3339(0)
NEVER_ENDED: Final = "the recording holds no end of this exchange"


def har(source: Source, *, version: str = "") -> Iterator[bytes]:
    """The whole document. version: of this program, for `creator`. Raises FileError before the first piece."""
    source.survey()
    return pieces(_Har(source, version).document())


@dataclass(slots=True)
class _Body:
    """Text of one direction as far as it is kept. size: characters; left: those beyond it.

    base64: some of it is; encoded: all of it, and the entry says so where HAR has a place for that (in answers).
    """

    parts: list[str] = field(default_factory=list)
    size: int = 0
    left: int = 0
    base64: bool = False
    encoded: bool = False
    rebuilt: bool = False

    def add(self, more: str, room: int) -> None:
        kept = more[: max(0, min(room, ENTRY_TEXT - self.size))]
        self.parts.append(kept)
        self.size += len(kept)
        self.left += len(more) - len(kept)

    @property
    def text(self) -> str:
        return "".join(self.parts)


@dataclass(slots=True)
class _Exchange:
    """An HTTP request under way, and what came for it."""

    request: Fields
    sent: _Body = field(default_factory=_Body)
    came: _Body = field(default_factory=_Body)
    response: Fields | None = None
    red: bool = False


class _Har:
    def __init__(self, source: Source, version: str) -> None:
        self.source = source
        self.version = version
        self.open: dict[int, _Exchange] = {}
        self.kept = 0
        self.pages: dict[Any, Fields] = {}
        self.left_out = self.entries = 0

    def document(self) -> Iterator[bytes]:
        creator = {"name": "mcp-loupe", "version": self.version or "unknown"}
        yield b'{"log":{"version":"1.2","creator":' + encode(creator).strip() + b',"entries":['
        for event in self.source.events():
            if (entry := self._take(event)) is not None:
                yield self._line(entry)
        for exchange in list(self.open.values()):
            yield self._line(self._entry(exchange, None))
        rest = encode({"pages": list(self.pages.values()), "comment": self._comment()}).strip()
        yield b"\n]," + rest[1:] + b"}\n"

    def _line(self, entry: Fields) -> bytes:
        self.entries += 1
        return (b"\n" if self.entries == 1 else b",\n") + encode(entry).strip()

    def _comment(self) -> str:
        header = self.source.header
        said = [text(header.get("title")), text(header.get("note"))]
        said.append(
            "Secrets were replaced." if self.source.redacted else "Not redacted: it may hold secrets."
        )
        if self.left_out:
            said.append(
                f"{self.left_out} events have no place in HAR and are left out: frames over stdio, stderr, processes, "
                "errors the recorder noted."
            )
        return " ".join(one for one in [*said, *self.source.survey().remarks] if one)

    # --- events

    def _take(self, event: Fields) -> Fields | None:
        """Add the event to its exchange; the entry, when it is the exchange's end."""
        t = event.get("t")
        if t == "connection":
            self._page(event)
            return None
        if t == "http":
            return self._http(event)
        exchange = self.open.get(event["http"]) if isinstance(event.get("http"), int) else None
        if exchange is None:
            self.left_out += 1
            return None
        exchange.red |= "red" in event
        body = exchange.sent if event.get("dir") == "c2s" else exchange.came
        name = "raw" if t == "rpc" else "data"
        if event.get("enc") == "base64":
            body.base64 = True
        self._add(body, _as_sent(text(event.get(name)), event.get("sse"), body))
        return None

    def _http(self, event: Fields) -> Fields | None:
        if event.get("phase") == "request":
            evicted = self.open.pop(next(iter(self.open))) if len(self.open) >= OPEN_MOST else None
            self.open[event["seq"]] = _Exchange(event, red="red" in event)
            return self._entry(evicted, None) if evicted is not None else None
        exchange = self.open.get(event["pair"]) if isinstance(event.get("pair"), int) else None
        if exchange is None:
            self.left_out += 1
            return None
        exchange.red |= "red" in event
        body = text(event.get("body"))
        if event.get("phase") == "end":
            del self.open[event["pair"]]
            if body and not exchange.came.parts:
                exchange.came.base64 = event.get("enc") == "base64"
                self._add(exchange.came, body)
            return self._entry(exchange, event)
        if "sse" in event:  # a comment, or an event that carries no frame
            self._add(exchange.came, _as_sent(body, event["sse"], exchange.came))
        else:
            exchange.response = event
        return None

    def _add(self, body: _Body, more: str) -> None:
        before = body.size
        body.add(more, OPEN_TEXT - self.kept)
        self.kept += body.size - before

    def _page(self, event: Fields) -> None:
        """One page a connection: what viewers group entries by."""
        target = event.get("target")
        if isinstance(target, dict) and "url" in target and len(self.pages) < OPEN_MOST:
            c = count(event.get("c"))
            self.pages.setdefault(
                c,
                {
                    "id": f"c{c}",
                    "startedDateTime": text(event.get("at")) or EPOCH,
                    "title": text(event.get("label")) or f"connection {c}",
                    "pageTimings": {},
                },
            )

    # --- entries

    def _entry(self, exchange: _Exchange, end: Fields | None) -> Fields:
        self.kept -= exchange.sent.size + exchange.came.size
        request, response = exchange.request, exchange.response or {}
        wait = _between(request, exchange.response or end)
        receive = _between(exchange.response, end)
        entry: Fields = {
            "startedDateTime": text(request.get("at")) or EPOCH,
            "time": wait + receive,
            "request": self._request(exchange, text(response.get("version"))),
            "response": self._response(exchange, end),
            "cache": {},
            "timings": {"send": 0, "wait": wait, "receive": receive},
        }
        if (c := count(request.get("c"))) in self.pages:
            entry["pageref"] = f"c{c}"
        if said := self._remarks(exchange, end):
            entry["comment"] = "; ".join(said)
        return entry

    def _request(self, exchange: _Exchange, version: str) -> Fields:
        request, headers = exchange.request, pairs(exchange.request.get("headers"))
        found: Fields = {
            "method": text(request.get("method")),
            "url": text(request.get("url")),
            "httpVersion": version or "unknown",
            "cookies": _cookies(headers),
            "headers": _named(headers),
            "queryString": _query(text(request.get("url"))),
            "headersSize": -1,
            "bodySize": _size(request),
        }
        if exchange.sent.parts:
            found["postData"] = {"mimeType": _header(headers, "content-type"), "text": exchange.sent.text}
        return found

    def _response(self, exchange: _Exchange, end: Fields | None) -> Fields:
        response = exchange.response or {}
        headers = pairs(response.get("headers"))
        size = _size(end or {})
        content: Fields = {"size": max(size, 0), "mimeType": _header(headers, "content-type") or "x-unknown"}
        if exchange.came.parts:
            content["text"] = exchange.came.text
            if exchange.came.base64 and not exchange.came.rebuilt and len(exchange.came.parts) == 1:
                content["encoding"], exchange.came.encoded = "base64", True
        return {
            "status": count(response.get("status")) or 0,
            "statusText": text(response.get("reason")),
            "httpVersion": text(response.get("version")) or "unknown",
            "cookies": _set_cookies(headers),
            "headers": _named(headers),
            "content": content,
            "redirectURL": _header(headers, "location"),
            "headersSize": -1,
            "bodySize": size,
        }

    def _remarks(self, exchange: _Exchange, end: Fields | None) -> list[str]:
        found = [] if end is not None else [NEVER_ENDED]
        if exchange.response is None:
            found.append("no answer was recorded")
        if end is not None and end.get("aborted"):
            found.append("the client hung up, or the connection broke off")
        if exchange.red:
            found.append("secrets were replaced; sizes are those that crossed the wire")
        if exchange.came.rebuilt:
            found.append("the text of the event stream is written anew from its recorded events")
        for body, name in ((exchange.sent, "request"), (exchange.came, "answer")):
            if body.base64 and not body.encoded:
                found.append(f"bytes of the {name} that are no UTF-8 stand in its text as base64")
            if body.left:
                found.append(f"{body.left} more characters of the {name} are in the trace only")
        return found


def _as_sent(data: str, sse: Any, body: _Body) -> str:
    """A body's text; of a server-sent event, its lines."""
    if not isinstance(sse, dict):
        return data
    body.rebuilt = True
    lines = [
        f"{name}: {sse[name]}" for name in ("event", "id", "retry") if isinstance(sse.get(name), str | int)
    ]
    lines += [f": {line}" for line in text(sse.get("comment")).splitlines()]
    lines += [f"data: {line}" for line in data.split("\n")] if data else []
    return "\n".join([*lines, "", ""])


def _between(first: Fields | None, then: Fields | None) -> float:
    """Milliseconds by the monotonic clock; 0 when one of the two is not known."""
    a, b = count((first or {}).get("dt")), count((then or {}).get("dt"))
    return max(0, b - a) / 1000 if a is not None and b is not None else 0


def _size(event: Fields) -> int:
    found = count(event.get("bytes"))
    return -1 if found is None else found


def _named(headers: list[tuple[str, str]]) -> list[Fields]:
    return [{"name": name, "value": value} for name, value in headers]


def _header(headers: list[tuple[str, str]], wanted: str) -> str:
    return next((value for name, value in headers if name.lower() == wanted), "")


def _query(url: str) -> list[Fields]:
    try:
        found = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # a marker of ours where brackets mean an IPv6 address, say
        found = parse_qsl(url.partition("?")[2].partition("#")[0], keep_blank_values=True)
    return [{"name": name, "value": value} for name, value in found]


def _cookies(headers: list[tuple[str, str]]) -> list[Fields]:
    found = [value for name, value in headers if name.lower() == "cookie"]
    parts = [part.strip().partition("=") for value in found for part in value.split(";") if part.strip()]
    return [{"name": name, "value": value} for name, _, value in parts]


def _set_cookies(headers: list[tuple[str, str]]) -> list[Fields]:
    found = []
    for name, value in headers:
        if name.lower() == "set-cookie":
            first, *rest = [part.strip().partition("=") for part in value.split(";")]
            flags = {flag.lower(): setting for flag, _, setting in rest}
            cookie: Fields = {"name": first[0], "value": first[2]}
            cookie |= {key: flags[key] for key in ("path", "domain") if key in flags}
            found.append(cookie | {"httpOnly": "httponly" in flags, "secure": "secure" in flags})
    return found
