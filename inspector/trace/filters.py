"""Which events a reader wants, and finding their seqs without reading more than a bounded part. Reader threads.

Every listing is a keyset scan along one index of `event`. The index is the one whose part of the session is
smallest (the maintained counts of `tally` tell); conditions no index answers are checked on at most SCAN_ROWS
rows, or SCAN_BYTES of text, a call, and the answer says how far that got.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

FIRST_ROWS = 2_000
"""Looked at first: where a page is full by then, the walk to where looking ends is not worth its while."""
SCAN_ROWS = 50_000
SCAN_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; what is left out holds for every event.

    c: connection numbers. t, kind: any of these. method, text: a part of it, ASCII letters in either case;
    text is looked for in raw and in the body fields, as typed and as JSON would escape it.
    """

    c: tuple[int, ...] | None = None
    t: frozenset[str] = frozenset()
    dir: str | None = None
    kind: frozenset[str] = frozenset()
    method: str = ""
    text: str = ""
    errors_only: bool = False
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """seqs in the order of the scan; scanned_to: where it stopped because it had looked at enough, else None."""

    seqs: list[int]
    scanned_to: int | None


@dataclass(frozen=True, slots=True)
class _Axis:
    """An index to walk: its condition, and one walk for each of its values."""

    name: str
    index: str
    where: str
    values: tuple[Any, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class _Range:
    """after < seq < before, walked from `after` up or from `before` down."""

    after: int
    before: int
    descending: bool

    @property
    def order(self) -> str:
        return "DESC" if self.descending else "ASC"

    def until(self, seq: int) -> _Range:
        """The same walk, ending with `seq`."""
        return replace(self, after=seq - 1) if self.descending else replace(self, before=seq + 1)


def find(
    conn: sqlite3.Connection,
    session: int,
    wanted: Filter,
    *,
    after: int,
    before: int,
    descending: bool,
    limit: int,
) -> Found:
    """The first `limit` seqs between `after` and `before` (both exclusive) that `wanted` lets through."""
    axis = _axis(conn, session, wanted)
    span = _Range(after, before, descending)
    condition, values = _rest(wanted, axis.name)
    if not condition:
        return _scan(conn, session, axis, span, (condition, values, wanted.text), limit, None)
    found = Found([], None)
    for most in (min(FIRST_ROWS, SCAN_ROWS), SCAN_ROWS):
        bound = _bound(conn, session, axis, span, most)
        found = _scan(conn, session, axis, span, (condition, values, wanted.text), limit, bound)
        if bound is None or found.scanned_to != bound:
            break
    return found


def _scan(
    conn: sqlite3.Connection,
    session: int,
    axis: _Axis,
    span: _Range,
    rest: tuple[str, tuple[Any, ...], str],
    limit: int,
    bound: int | None,
) -> Found:
    """rest: the condition, its values and the text to look for. bound: the last seq that is looked at."""
    condition, values, text = rest
    if bound is not None:
        span = span.until(bound)
    columns = "seq, raw, body" if text else "seq"
    sql = _walk(axis, span, columns, condition)
    cursors = [conn.execute(sql, _values(session, axis, value, span) + values) for value in axis.values]
    rows = heapq.merge(*cursors, key=lambda row: row[0], reverse=span.descending)
    try:
        return _collect(rows, text, limit, bound)
    finally:
        for cursor in cursors:
            cursor.close()


def _collect(rows: Iterator[Sequence[Any]], text: str, limit: int, bound: int | None) -> Found:
    seqs: list[int] = []
    needles = _needles(text)
    looked_at = 0
    for row in rows:
        seq = row[0]
        if not text or _contains(row[1:], needles):
            seqs.append(seq)
            if len(seqs) == limit:
                return Found(seqs, None)
        if text:
            looked_at += len(row[1] or b"") + len(row[2])
            if looked_at >= SCAN_BYTES:
                return Found(seqs, seq)
    return Found(seqs, bound)


def _axis(conn: sqlite3.Connection, session: int, wanted: Filter) -> _Axis:
    """The cheapest index for the filter."""
    counted = conn.execute("SELECT c, t, n, bad FROM tally WHERE session = ?", (session,)).fetchall()
    types = wanted.t or (frozenset({"rpc"}) if wanted.kind else frozenset())
    axes = [_Axis("", "event_seq", "", (None,), sum(n for _, _, n, _ in counted))]
    if wanted.c is not None:
        cost = sum(n for c, _, n, _ in counted if c in wanted.c)
        axes.append(_Axis("c", "event_c_seq", "AND c = ?", tuple(dict.fromkeys(wanted.c)), cost))
    if types:
        cost = sum(n for _, t, n, _ in counted if t in types)
        axes.append(_Axis("t", "event_t_seq", "AND t = ?", tuple(sorted(types)), cost))
    if wanted.errors_only or wanted.kind == {"error"}:
        axes.append(_Axis("bad", "event_bad_seq", "AND bad = 1", (None,), sum(bad for *_, bad in counted)))
    # Of equals the last: it leaves the fewest conditions over.
    return min(reversed(axes), key=lambda axis: axis.cost)


def _rest(wanted: Filter, axis: str) -> tuple[str, tuple[Any, ...]]:
    """The conditions the index does not answer, as SQL and its values. Empty when there are none."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.c is not None and axis != "c":
        parts.append(_among("c", wanted.c))
    if wanted.t and axis != "t":
        parts.append(_among("t", sorted(wanted.t)))
    if wanted.kind:
        parts.append(_among("kind", sorted(wanted.kind)))
    if wanted.errors_only and axis != "bad":
        parts.append(("bad = 1", ()))
    if wanted.dir is not None:
        parts.append(("dir = ?", (wanted.dir,)))
    if wanted.cause is not None:
        parts.append(("cause = ?", (wanted.cause,)))
    if wanted.method:
        parts.append(("instr(lower(method), lower(?)) > 0", (wanted.method,)))
    # The unary plus keeps SQLite on the index chosen here.
    condition = "".join(f" AND +{text}" for text, _ in parts)
    if wanted.text and not condition:
        condition = " AND true"
    return condition, tuple(value for _, values in parts for value in values)


def _among(column: str, values: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    return f"{column} IN ({', '.join('?' * len(values))})", tuple(values)


def _walk(axis: _Axis, span: _Range, columns: str, condition: str) -> str:
    return (
        f"SELECT {columns} FROM event INDEXED BY {axis.index} "  # noqa: S608 - our own names only
        f"WHERE session = ? AND seq > ? AND seq < ? {axis.where}{condition} ORDER BY seq {span.order}"
    )


def _values(session: int, axis: _Axis, value: Any, span: _Range) -> tuple[Any, ...]:
    own = () if value is None else (value,)
    return (session, span.after, span.before, *own)


def _bound(conn: sqlite3.Connection, session: int, axis: _Axis, span: _Range, most: int) -> int | None:
    """The seq of the last of `most` rows that may be looked at; None when the whole range is short enough."""
    sql = f"{_walk(axis, span, 'seq', '')} LIMIT 1 OFFSET {most - 1}"
    ends: list[int] = [
        row[0]
        for value in axis.values
        if (row := conn.execute(sql, _values(session, axis, value, span)).fetchone())
    ]
    if not ends:
        return None
    return max(ends) if span.descending else min(ends)


def _needles(text: str) -> tuple[bytes, ...]:
    """The text as UTF-8 and as the inside of a JSON string, with and without `\\u` escapes; lower case."""
    spelled = (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
    return tuple(dict.fromkeys(one.encode("utf-8", "surrogatepass").lower() for one in spelled))


def _contains(texts: Sequence[bytes | str | None], needles: tuple[bytes, ...]) -> bool:
    for text in texts:
        if text:
            hay = (text.encode("utf-8") if isinstance(text, str) else text).lower()
            if any(needle in hay for needle in needles):
                return True
    return False
