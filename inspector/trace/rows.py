"""An event as a database row, and a row as a value for readers. Pure, any thread."""

from __future__ import annotations

import builtins
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from inspector.wire.events import Event

HEAD_BYTES = 4096
"""How much of a raw a listing carries."""

COLUMNS = (
    "session", "seq", "c", "at_us", "dt_us", "t", "dir", "kind", "method", "rpc_id", "pair", "ms", "bytes",
    "cause", "op", "bad", "body", "raw",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One recorded event. Times in microseconds, `ms` since the request, `bytes` the length of the whole raw.

    rpc_id: JSON text. body: the remaining trace fields of this `t`. raw_head: the first 4 KiB of raw in
    listings and announcements, all of it from `Store.row`; None when the event has none.
    """

    session: int
    seq: int
    c: int
    at_us: int
    dt_us: int
    t: str
    dir: str
    kind: str | None
    method: str | None
    rpc_id: str | None
    pair: int | None
    ms: float | None
    bytes: int | None
    cause: str | None
    op: str | None
    bad: bool
    body: dict[str, Any]
    raw_head: builtins.bytes | None

    @property
    def cut(self) -> bool:
        """Whether raw goes on after `raw_head`. `bytes` of a redacted raw are those it had on the wire."""
        if self.raw_head is None or self.bytes is None or len(self.raw_head) >= self.bytes:
            return False
        return "red" not in self.body or bool(self.body.get("cut")) or len(self.raw_head) == HEAD_BYTES


def columns_of(session: int, event: Event) -> tuple[Any, ...]:
    """The event in the order of COLUMNS."""
    raw, size = event.raw, None if event.raw is None else len(event.raw)
    if event.t == "rpc" and "red" in event.body and isinstance(event.body.get("bytes"), int):
        size = event.body["bytes"]  # of a frame that a tap redacted: what it had on the wire
    return (
        session, event.seq, event.c, event.at_us, event.dt_us, event.t, event.dir, event.kind,
        _text(event.method), _text(event.id), event.pair, event.ms, size,
        _text(event.cause), _text(event.op), is_bad(event), body_text(event.body), raw,
    )  # fmt: skip


_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_ENDINGS = frozenset({"lf", "crlf", "none"})


def body_text(body: dict[str, Any]) -> str:
    """The body as compact JSON. Nearly every frame has only its line ending and size: those are written at once."""
    if len(body) == 2:
        size, eol = body.get("bytes"), body.get("eol")
        if type(size) is int and type(eol) is str and eol in _ENDINGS and next(iter(body)) == "eol":
            return f'{{"eol":"{eol}","bytes":{size}}}'
    return _ENCODE(body)


def row_of(session: int, event: Event) -> Row:
    """The announced event as `Store.page` would give it, without asking the database."""
    *columns, _, _ = columns_of(session, event)
    head = None if event.raw is None else event.raw[:HEAD_BYTES]
    return Row(*[*columns, event.body, head])


def is_bad(event: Event) -> bool:
    """Whether the event counts as an error: the definition behind every "errors" figure of the timeline.

    A JSON-RPC error, a tool error, a failure we noted, an HTTP status of 400 or more, a process that ended by
    itself with a code or signal. Noise and stderr are not errors, nor is a server of the handshake era that
    refuses our probe: it does what it should.
    """
    body = event.body
    if event.t == "rpc":
        refused_probe = event.cause == "probe" and event.kind == "error"
        return not refused_probe and (event.kind == "error" or body.get("tool_error") is True)
    if event.t == "http":
        status = body.get("status")
        return isinstance(status, int) and status >= 400
    if event.t == "proc":
        ended = body.get("what") == "exited" and not body.get("expected")
        return ended and bool(body.get("code") or body.get("signal"))
    return event.t == "error"


def _text(value: str | None) -> str | None:
    """SQLite takes UTF-8 only: a lone surrogate, legal in JSON, becomes its escape (raw keeps what was sent)."""
    return value if value is None or value.isascii() else escaped(value)


def escaped(text: str) -> str:
    """A lone surrogate, legal in JSON and in no UTF-8, as its escape; else the same."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def rfc3339(us: int) -> str:
    """Microseconds since the epoch as RFC 3339 in UTC with all six digits."""
    return f"{_second(us // 1_000_000)}.{us % 1_000_000:06d}Z"


@lru_cache(16)
def _second(s: int) -> str:
    """One second holds many events, and they come in order."""
    return datetime.fromtimestamp(s, UTC).isoformat(timespec="seconds").removesuffix("+00:00")
