"""A stretch of the timeline, read and made ready to show. Request and WebSocket threads; one reader each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.trace.filters import Filter
from inspector.trace.rows import Row as Stored
from inspector.trace.store import Connection, Store
from inspector.web.charts import span_of
from inspector.web.query import Query, sides
from inspector.web.render import Row
from inspector.web.rows import ITEMS, Known, view

NEWEST: Final = 200
"""Rows of a page."""
LIST_BYTES: Final = 1 << 20
"""A list answer up to this size is parsed for its row: how many items, which hints (10 ms a megabyte)."""
LISTS_BYTES: Final = 4 << 20
"""How much of them a page parses; beyond that a row shows its method and size."""
LIVE_SPAN_MS: Final = 10_000.0


@dataclass(frozen=True, slots=True)
class Scale:
    """The time axis of the waterfall. t0_us: wall clock of its left end. Later rows begin at the left again."""

    t0_us: int
    span_ms: float

    def x(self, at_us: int) -> float:
        """Where a moment stands, in per cent."""
        return (at_us - self.t0_us) / 1000 % self.span_ms / self.span_ms * 100

    def width(self, ms: float, x: float) -> float:
        """How wide a time is, in per cent; what would pass the right end is cut there."""
        return min(ms / self.span_ms * 100, 100 - x)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a recording. older, newer: seqs to go on from (`before`, `after`), None at an end.

    searched_to: the search for these rows stopped at this seq because it had looked at enough.
    live: it ends with the newest event of the session being recorded.
    """

    rows: Sequence[Stored]
    older: int | None = None
    newer: int | None = None
    searched_to: int | None = None
    live: bool = False


def stretch(
    store: Store, session: int, wanted: Filter, *, before: int | None, after: int | None, around: int | None
) -> Stretch:
    """The rows before or after a seq, those around one, or the newest."""
    if after is not None:
        page = store.page(session, wanted, after=after, limit=NEWEST)
        first = page[0].seq if page else after + 1
        more = page[-1].seq if page.more else page.scanned_to
        return Stretch(page, first if first > 1 else None, more, page.scanned_to)
    if before is None and around is not None:
        return _around(store, session, wanted, around)
    page = store.page(session, wanted, before=before, limit=NEWEST)
    older = page[0].seq if page.more else page.scanned_to
    newer = None if before is None else (page[-1].seq if page else before - 1)
    return Stretch(page, older, newer, page.scanned_to, live=before is None)


def _around(store: Store, session: int, wanted: Filter, seq: int) -> Stretch:
    """The newest rows when `seq` is among them, else half a page before it and half a page after."""
    newest = stretch(store, session, wanted, before=None, after=None, around=None)
    if newest.older is None or (newest.rows and newest.rows[0].seq <= seq):
        return newest
    back = store.page(session, wanted, before=seq + 1, limit=NEWEST // 2)
    on = store.page(session, wanted, after=seq, limit=NEWEST // 2)
    older = back[0].seq if back.more else back.scanned_to
    newer = on[-1].seq if on.more else on.scanned_to
    return Stretch([*back, *on], older, newer, back.scanned_to)


def scale_of(rows: Sequence[Stored], live: bool) -> Scale:
    """The shortest round axis that holds these rows; a live one leaves room to go on."""
    if not rows:
        return Scale(0, LIVE_SPAN_MS)
    ms = (rows[-1].at_us - rows[0].at_us) / 1000
    return Scale(rows[0].at_us, span_of(max(ms * 1.02, LIVE_SPAN_MS if live else 10.0)))


def head(store: Store, session: int, seq: int) -> Stored | None:
    """One event without the rest of a long raw."""
    found = store.page(session, after=seq - 1, limit=1)
    return found[0] if found and found[0].seq == seq else None


def eras_of(connections: Iterable[Connection]) -> dict[int, Era]:
    """The era of each connection, where it is known."""
    found: dict[int, Era] = {}
    for each in connections:
        if each.era == MODERN:
            found[each.c] = MODERN
        elif each.era == HANDSHAKE:
            found[each.c] = HANDSHAKE
    return found


def whole_lists(store: Store, rows: Sequence[Stored]) -> list[Stored]:
    """The rows, list answers with all of their bytes as far as that is cheap."""
    left = LISTS_BYTES
    out = []
    for row in rows:
        if (
            row.cut
            and row.kind == "result"
            and row.method in ITEMS
            and (row.bytes or 0) <= min(left, LIST_BYTES)
        ):
            left -= row.bytes or 0
            row = replace(row, raw_head=store.raw(row.session, row.seq))
        out.append(row)
    return out


def rows_of(
    store: Store,
    stored: Sequence[Stored],
    query: Query,
    connections: Sequence[Connection],
    scale: Scale | None,
    *,
    with_sides: bool = False,
    on: int | None = None,
    invalid: Collection[int] = (),
) -> list[Row]:
    """The rows as the templates show them, with their links and marks. scale: None leaves the marks out.

    invalid: seqs of results that break their tool's outputSchema.
    """
    letters = sides(connections) if with_sides else {}
    known = Known(eras_of(connections), _asked(store, stored), invalid)
    lengths = _lengths(stored, known)
    noted = store.annotated(query.session, [row.seq for row in stored]) if scale is not None else set()
    found = []
    for one in whole_lists(store, stored):
        row = view(one, href=query.link("/timeline", ("e", one.seq)), known=known)
        row.side, row.outlined = letters.get(one.c, ("", False))
        row.on, row.noted = one.seq == on, one.seq in noted
        if scale is not None:
            row.x = scale.x(one.at_us)
            row.width = scale.width(lengths.get(one.seq, 0.0), row.x)
        found.append(row)
    return found


def _asked(store: Store, rows: Sequence[Stored]) -> dict[int, Stored]:
    """The requests that the HTTP events among `rows` belong to, read one by one where they are not among them."""
    known = {row.seq: row for row in rows}
    wanted = {row.pair for row in rows if row.t == "http" and row.pair is not None}
    for seq in wanted - known.keys():
        if (found := head(store, rows[0].session, seq)) is not None:
            known[seq] = found
    return {seq: known[seq] for seq in wanted if seq in known}


def _lengths(rows: Sequence[Stored], known: Known) -> dict[int, float]:
    """By seq of a request: how long it took, in ms, when its end is among `rows`."""
    found: dict[int, float] = {}
    for row in rows:
        if row.pair is None:
            continue
        if row.t == "rpc" and row.ms is not None:
            found[row.pair] = row.ms
        elif row.t == "http" and row.pair in known.asked:
            found[row.pair] = (row.dt_us - known.asked[row.pair].dt_us) / 1000
    return found


def stderr_before(store: Store, row: Stored, after: int = 0, most: int = 40) -> list[str]:
    """The last stderr lines of the connection before `row`; only those after the event `after`, when it is given."""
    found = store.page(row.session, Filter(c=(row.c,), t=frozenset({"stderr"})), before=row.seq, limit=most)
    return [text_of(line) for line in found if line.seq > after]


def text_of(row: Stored) -> str:
    """The line of a stderr or noise event, as far as the listing holds it."""
    return (row.raw_head or b"").decode("utf-8", "backslashreplace").rstrip("\r\n")
