"""The detail pane of one event: what its tabs show. Request threads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.catalog.jsontext import utf8
from inspector.console.console import Console
from inspector.errors import UsageError
from inspector.protocol.header_check import Compared, SchemaOf, compared
from inspector.trace.filters import Filter
from inspector.trace.rows import HEAD_BYTES
from inspector.trace.rows import Row as Stored
from inspector.trace.store import Store
from inspector.web.explain import Around, Explained, explain
from inspector.web.listing import eras_of, head, stderr_before
from inspector.web.masking import shown_body, shown_headers
from inspector.web.render import Row
from inspector.web.rows import Known, header, view
from inspector.web.verdicts import invalid_outputs
from inspector.wire.connection import CONNECTED, CONNECTING
from inspector.wire.events import C2S

TABS: Final = ("explain", "raw", "pretty", "pair", "headers")
PRETTY_BYTES: Final = 512 * 1024
"""Larger JSON is not laid out: that takes a second a megabyte."""
RAW_BYTES: Final = 64 * 1024
READ_BYTES: Final = 8 << 20
"""Up to here a raw is read to show its beginning; beyond it, the 4 KiB at hand are shown."""
HEX_BYTES: Final = 2048
NEAR: Final = 20
"""Frames sent after an HTTP request among which its body is looked for: the next one, unless others were quicker."""


@dataclass(slots=True)
class Bytes:
    """An event's bytes for reading. text: their beginning when they are UTF-8, else `hex` lines. size: of all."""

    size: int
    text: str | None = None
    hex: Sequence[str] = ()
    shown: int = 0
    made: bool = False
    """The event has no bytes of its own: `text` is its recorded fields as JSON."""

    @property
    def left_out(self) -> int:
        return self.size - self.shown


@dataclass(slots=True)
class Half:
    """One of a pair. text: laid out when it is short enough, else None."""

    row: Row
    title: str
    text: str | None


@dataclass(slots=True)
class Headers:
    """The headers of one HTTP request or answer, secrets masked."""

    title: str
    seq: int
    pairs: list[tuple[str, str]]
    beside: list[Compared] = field(default_factory=list)
    """The MCP headers of a modern request beside what its body says."""


@dataclass(slots=True)
class Detail:
    """Everything the pane shows for the chosen tab; what other tabs need stays empty."""

    row: Row
    stored: Stored
    tab: str
    tabs: list[str]
    line: str
    pair: Stored | None = None
    explained: Explained | None = None
    raw: Bytes | None = None
    pretty: str | None = None
    halves: list[Half] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)


def detail(console: Console, store: Store, session: int, seq: int, tab: str) -> Detail:
    """What to show of one event. Raises UsageError when the recording has no such event."""
    stored = head(store, session, seq)
    if stored is None:
        raise UsageError(
            f"There is no event #{seq} in this recording.",
            "It may belong to an earlier one: choose it above the list.",
        )
    connections = [each for each in store.connections(session) if each.c == stored.c]
    eras = eras_of(connections)
    pair = _pair(store, stored)
    exchange = _exchange(store, stored)
    asked = {pair.seq: pair} if pair is not None else {}
    tabs = [name for name in TABS if (name != "pair" or pair) and (name != "headers" or exchange)]
    invalid = invalid_outputs(console, [stored])
    known = Known(eras, asked, invalid)
    found = Detail(view(stored, known=known), stored, tab, tabs, _line(stored, pair), pair)
    found.tab = tab if tab in tabs else "explain"
    if found.tab == "explain":
        lines, during = _stderr(store, stored, pair)
        found.explained = explain(
            stored,
            Around(
                eras.get(stored.c), pair, _status(exchange), lines, _is_open(console, stored), during,
                invalid.get(seq), _content_type(exchange),
            ),
        )  # fmt: skip
        if session != console.recorder.session and store.opened(session):
            found.explained = of_file(found.explained)
    elif found.tab == "raw":
        found.raw = _bytes(store, stored)
    elif found.tab == "pretty":
        found.pretty = _pretty(store, stored)
    elif found.tab == "pair" and pair is not None:
        found.halves = [_half(store, each) for each in sorted((stored, pair), key=lambda each: each.seq)]
    elif found.tab == "headers":
        found.headers = [_headers_of(store, each) for each in exchange]
    return found


def of_file(found: Explained) -> Explained:
    """The same for an event out of a file: who its client was, Loupe does not know."""
    facts = [(name, "the client" if value == "Loupe" else value) for name, value in found.facts]
    return replace(found, facts=facts, lead=found.lead.replace("Sent by Loupe;", "Sent by the client;"))


def _line(row: Stored, pair: Stored | None) -> str:
    """`#21, answer to #19`."""
    if pair is None:
        return f"#{row.seq}"
    if row.t == "error":
        return f"#{row.seq}, about #{pair.seq}"
    return (
        f"#{row.seq}, answered by #{pair.seq}" if pair.seq > row.seq else f"#{row.seq}, answer to #{pair.seq}"
    )


def _pair(store: Store, row: Stored) -> Stored | None:
    if row.t == "error" and row.pair is not None:
        return head(store, row.session, row.pair)
    return store.pair_of(row.session, row.seq) if row.t in ("rpc", "http") else None


def _exchange(store: Store, row: Stored) -> list[Stored]:
    """The HTTP request an event belongs to, and its answer as far as it came; empty for other transports."""
    seq = row.body.get("http") if row.t in ("rpc", "noise") else None
    if row.t == "http":
        seq = row.seq if row.body.get("phase") == "request" else row.pair
    if not isinstance(seq, int):
        return []
    found = [head(store, row.session, seq), store.pair_of(row.session, seq)]
    return [each for each in found if each is not None and each.t == "http"]


def _status(exchange: Sequence[Stored]) -> int | None:
    status = exchange[-1].body.get("status") if exchange else None
    return status if isinstance(status, int) else None


def _content_type(exchange: Sequence[Stored]) -> str:
    return header(exchange[-1].body.get("headers"), "content-type") if exchange else ""


def _stderr(store: Store, row: Stored, pair: Stored | None) -> tuple[list[str], bool]:
    """The stderr lines that belong to an event, and whether all of them came between a request and this end of it.

    What the server wrote for another request proves nothing of this one: it stands in only where there is none.
    """
    failed = row.t == "rpc" and (row.kind == "error" or row.body.get("tool_error") is True)
    if failed or (row.t == "error" and pair is not None):
        lines = stderr_before(store, row, after=pair.seq) if pair is not None and pair.seq < row.seq else []
        if lines or failed:
            return lines, True
    wanted = row.t == "error" or (row.t == "proc" and row.body.get("what") == "exited")
    return (stderr_before(store, row) if wanted else []), False


def _is_open(console: Console, row: Stored) -> bool:
    """Whether the connection of an event still lives."""
    if row.session != console.recorder.session:
        return False
    live = (server.connection for server in console.servers())
    return any(one is not None and one.c == row.c and one.state in (CONNECTED, CONNECTING) for one in live)


def _fields(row: Stored) -> str:
    """What was recorded of an event without bytes, as JSON."""
    known = {"t": row.t, "seq": row.seq, "c": row.c, "dir": row.dir, "pair": row.pair, **shown_body(row)}
    return json.dumps({key: value for key, value in known.items() if value is not None}, ensure_ascii=False)


def _read(store: Store, row: Stored, most: int) -> bytes:
    """The bytes of an event, or what the listing holds of them when there are more than `most`."""
    whole = store.raw(row.session, row.seq) if row.cut and (row.bytes or 0) <= most else None
    return whole if whole is not None else row.raw_head or b""


def _bytes(store: Store, row: Stored) -> Bytes:
    if row.raw_head is None:
        text = _fields(row)
        size = len(utf8(text))
        return Bytes(size, text, shown=size, made=True)
    raw = _read(store, row, READ_BYTES)
    size = len(raw) if len(raw) > HEAD_BYTES or row.bytes is None else row.bytes
    part = raw[:RAW_BYTES]
    try:
        text = part.decode()
    except UnicodeDecodeError as problem:
        if problem.start < len(part) - 3 or len(part) == size:
            return Bytes(size, None, hex_lines(part[:HEX_BYTES]), min(len(part), HEX_BYTES))
        part = part[: problem.start]  # the cut fell inside a character
        text = part.decode()
    return Bytes(size, text, shown=len(part))


def hex_lines(raw: bytes) -> list[str]:
    """A dump of 16 bytes a line: offset, bytes, ASCII."""
    lines = []
    for at in range(0, len(raw), 16):
        piece = raw[at : at + 16]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in piece)
        lines.append(f"{at:08x}  {piece.hex(' '):<47}  {letters}")
    return lines


def _pretty(store: Store, row: Stored) -> str | None:
    """Text for the JSON layout; None when it is too large."""
    if row.raw_head is None:
        return _fields(row)
    if (row.bytes or 0) > PRETTY_BYTES:
        return None
    return _read(store, row, PRETTY_BYTES).decode("utf-8", "backslashreplace")


def _half(store: Store, row: Stored) -> Half:
    title = {"c2s": "Sent", "s2c": "Received"}.get(row.dir, "Noted")
    return Half(view(row), title, _pretty(store, row))


def beside(store: Store, row: Stored, schema_of: SchemaOf | None = None) -> list[Compared]:
    """The MCP headers of an HTTP request beside its body. schema_of: gives a tool's inputSchema."""
    sent = Filter(c=(row.c,), t=frozenset({"rpc"}), dir=C2S)
    for frame in store.page(row.session, sent, after=row.seq, limit=NEAR):
        if frame.body.get("http") == row.seq:
            return compared(row.body.get("headers") or [], _read(store, frame, PRETTY_BYTES), schema_of)
    return []


def _headers_of(store: Store, row: Stored) -> Headers:
    body = row.body
    if body.get("phase") == "request":
        title = f"{body.get('method', '')} request"
        return Headers(title, row.seq, shown_headers(body.get("headers")), beside(store, row))
    title = f"{body.get('version', 'HTTP')} {body.get('status', '')} {body.get('reason', '')}".strip()
    return Headers(title, row.seq, shown_headers(body.get("headers")))


def neighbours(store: Store, session: int, seq: int, wanted: Filter) -> tuple[int | None, int | None]:
    """The seqs of the errors before and after an event, as far as one bounded search sees."""
    errors = replace(wanted, errors_only=True)
    before = store.page(session, errors, before=seq, limit=1)
    return (before[0].seq if before else None), store.next_error(session, seq, wanted)
