"""A recorded session as the lines of a trace file: a range of it, with its notes, redacted or not. Any thread.

It reads the events one by one, so memory stays flat however long the session is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

from inspector.trace.file import FORMAT, MINOR, VERSION, Redaction, encode, line_fields, trailer_of
from inspector.trace.filters import Filter
from inspector.trace.rows import Row, rfc3339
from inspector.trace.store import MAX_SEQ, Note, Session, Store
from inspector.wire.events import LOCAL, Event

_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Range:
    """The events first ≤ seq ≤ last; the default is all of them."""

    first: int = 1
    last: int = MAX_SEQ

    def holds(self, seq: int) -> bool:
        return self.first <= seq <= self.last


def fields_of(row: Row, *, digest: bool = True) -> dict[str, Any]:
    """A stored event, with the whole of raw, under the names of the format."""
    event = Event(
        row.t, row.c, row.dir, row.body, row.raw_head, row.kind, row.method, row.rpc_id, row.pair, row.ms,
        row.cause, row.op, row.seq, row.at_us, row.dt_us,
    )  # fmt: skip
    fields = line_fields(event, digest=digest)
    if row.t == "rpc" and row.bytes is not None:
        fields["bytes"] = row.bytes  # of one that came cut or redacted: what it had on the wire
    return fields


def exported(store: Store, session: Session, span: Range, *, digest: bool = True) -> Iterator[dict[str, Any]]:
    """The events of a range and the notes on them, numbered anew when it does not begin at the first.

    The connection events before the range come along: they say whose frames these are. A reference to an event that
    is left out is left out too.
    """
    before = list(_connections_before(store, session.id, span.first))
    numbers = {row.seq: number for number, row in enumerate(before, 1)}
    shift = span.first - 1 - len(before)

    def number(seq: Any) -> int | None:
        if not isinstance(seq, int):
            return None
        return numbers.get(seq, seq - shift if span.holds(seq) else None)

    last = 0
    for row in _chain(before, store.events(session.id, span.first - 1, span.last)):
        fields = fields_of(row, digest=digest)
        if shift:
            fields = renumbered(fields, number)
        last = fields["seq"]
        yield fields
    for note in store.notes(session.id):
        if (about := number(note.seq)) is not None:
            last += 1
            yield _note_fields(note, session, last, about)


def _chain(before: list[Row], rest: Iterator[Row]) -> Iterator[Row]:
    yield from before
    yield from rest


def _connections_before(store: Store, session: int, first: int) -> Iterator[Row]:
    wanted, after = Filter(t=frozenset({"connection"})), 0
    while first > 1:
        page = store.page(session, wanted, after=after, limit=_PAGE)
        yield from (row for row in page if row.seq < first)
        if not page.more or page[-1].seq >= first:
            return
        after = page[-1].seq


def renumbered(fields: dict[str, Any], number: Any) -> dict[str, Any]:
    """The event under its new number, its references too."""
    fields = fields | {"seq": number(fields["seq"])}
    for name in ("pair", "http"):
        if isinstance(fields.get(name), int):
            if (new := number(fields[name])) is None:
                del fields[name]
            else:
                fields[name] = new
    if fields["t"] == "catalog" and isinstance(fields.get("pages"), list):
        fields["pages"] = [_page_renumbered(page, number) for page in fields["pages"]]
    return fields


def _page_renumbered(page: Any, number: Any) -> Any:
    if not isinstance(page, dict) or "seq" not in page:
        return page
    new = number(page["seq"])
    rest = {name: value for name, value in page.items() if name != "seq"}
    return rest if new is None else {**rest, "seq": new}


def _note_fields(note: Note, session: Session, seq: int, about: int) -> dict[str, Any]:
    return {
        "t": "note", "seq": seq, "c": 0, "at": rfc3339(note.at_us), "dt": note.at_us - session.wall0_us,
        "dir": LOCAL, "pair": about, "text": note.text,
    }  # fmt: skip


def header_of(session: Session, redaction: Redaction | None, before: dict[str, Any] | None) -> dict[str, Any]:
    """The header's fields. before: the header of the file the session was read from.

    redaction: its preview was shown to a person, so the header says `reviewed`.
    """
    said: dict[str, Any] = {"title": session.title, "note": session.note}
    if redaction is not None:
        said = {name: value for name, value in redaction.apply(said).items() if name in said}
    own = {
        "t": "header", "format": FORMAT, "v": VERSION, "minor": MINOR,
        "tool": {"name": "mcp-loupe", "version": session.tool_version}, "created": session.started_at,
        "title": "", "note": "", "clock": {"wall0": rfc3339(session.wall0_us), "mono_unit": "us"},
        "redaction": None,
    }  # fmt: skip
    found = own | (before or {}) | said
    if redaction is not None:
        found["redaction"] = redaction.header() | {"reviewed": True}
    return found


def write_trace(
    file: IO[bytes],
    header: dict[str, Any],
    events: Iterator[dict[str, Any]],
    redaction: Redaction | None,
    before: dict[str, Any] | None = None,
    *,
    complete: bool = True,
) -> dict[str, Any]:
    """Write the lines; `events` are redacted already. before: the trailer of the file it came from. The new trailer."""
    digest = hashlib.sha256()
    count = last = 0

    def write(fields: dict[str, Any]) -> None:
        line = encode(fields)
        digest.update(line)
        file.write(line)

    write(header)
    for fields in events:
        write(fields)
        count, last = count + 1, fields["seq"]
    summed = {**(before or {}), "complete": complete}
    trailer = trailer_of(count, last, digest.hexdigest(), redaction, summed)
    file.write(encode(trailer))
    return trailer
