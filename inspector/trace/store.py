"""Reading recordings: one `Store` for one request thread, read-only."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from inspector.trace.filters import Filter, find
from inspector.trace.rows import COLUMNS, HEAD_BYTES, Row
from inspector.trace.schema import open_database, storage_error

MAX_SEQ = 2**63 - 1

_FIELDS = ", ".join(COLUMNS[:-1])
_ROWS = f"SELECT id, {_FIELDS}, CASE WHEN bytes <= {HEAD_BYTES} THEN raw END FROM event"  # noqa: S608

_WHOLE = f"SELECT {_FIELDS}, raw FROM event WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"  # noqa: S608
LISTED = 200
_STEP = 500
"""Events read in one go when all of a session are wanted: the write-ahead log must be able to shrink meanwhile."""

_SNAPSHOTS = """
    SELECT id, session, seq, server_key, what, at_us, era, declared, pages, totals, sha256, order_sha256
    FROM snapshot"""


class Page(list[Row]):
    """Rows, oldest first.

    more: whether there are further ones in the direction asked. scanned_to: set when the search stopped because
    it had looked at enough, at this seq; ask again from there (`after` or `before`) to search further.
    """

    def __init__(self, rows: Iterable[Row], *, more: bool, scanned_to: int | None) -> None:
        super().__init__(rows)
        self.more = more
        self.scanned_to = scanned_to


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the recorder, or a file that was opened (`opened`: its name).

    ended_at is None while it runs, and for ever when it was killed; of a file, when it is incomplete.
    bytes: what its events hold, raw and fields; indexes and free space of the database come on top.
    """

    id: int
    started_at: str
    wall0_us: int
    title: str
    note: str
    tool_version: str
    ended_at: str | None
    events: int
    errors: int
    bytes: int = 0
    opened: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """What has become known of one connection; None is not known (yet)."""

    session: int
    c: int
    label: str | None
    server_key: str | None
    transport: str | None
    target: dict[str, Any] | None
    era: str | None
    protocol_version: str | None
    server_info: dict[str, Any] | None
    client_capabilities: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that was opened, or is being read (state `reading`, verdict None).

    read_bytes of file_bytes: how far, packed. header: the file's first line. verdict: {incomplete, problem,
    oddities, trailer}, see `TraceReader`. pid, pid_started: the process that reads it.
    """

    session: int
    token: str
    name: str
    file_bytes: int
    opened_at: str
    pid: int
    pid_started: float
    read_bytes: int
    read_events: int
    header: dict[str, Any]
    verdict: dict[str, Any] | None
    state: str


@dataclass(frozen=True, slots=True)
class Note:
    """A person's remark on one event."""

    id: int
    session: int
    seq: int
    at_us: int
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A catalog at one moment; the fields are those of `Recorder.save_snapshot`."""

    id: int
    session: int
    seq: int
    server_key: str
    what: str
    at_us: int
    era: str | None
    declared: dict[str, Any]
    pages: list[dict[str, Any]]
    totals: dict[str, Any]
    sha256: str
    order_sha256: str


class Store:
    """A read connection; belongs to the thread that made it. Every method raises StorageError when reading fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_database(path, create=False)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- sessions and connections

    def sessions(self) -> list[Session]:
        """All sessions, newest first."""
        return [
            Session(*row)
            for row in self._all("""
                SELECT id, started_at, wall0_us, title, note, tool_version, ended_at,
                    coalesce((SELECT sum(n) FROM tally WHERE session = id), 0),
                    coalesce((SELECT sum(bad) FROM tally WHERE session = id), 0),
                    coalesce((SELECT sum(bytes) FROM tally WHERE session = id), 0),
                    (SELECT name FROM opened WHERE session = id)
                FROM session WHERE state = 'ready' ORDER BY id DESC""")
        ]

    def opened(self, session: int | None = None) -> list[Opened]:
        """The files that were opened or are being read, newest first; or the one a session is made of."""
        which, values = ("", ()) if session is None else ("AND session.id = ?", (session,))
        sql = f"""
            SELECT session, token, name, file_bytes, opened_at, pid, pid_started, read_bytes, read_events, header,
                verdict, state
            FROM opened JOIN session ON session.id = opened.session
            WHERE state != 'deleting' {which} ORDER BY session DESC"""  # noqa: S608 - our own text only
        return [
            Opened(*[*row[:9], json.loads(row[9]), _json(row[10]), row[11]])
            for row in self._all(sql, *values)
        ]

    def unfinished(self) -> list[int]:
        """Sessions whose deletion was begun."""
        return [id for (id,) in self._all("SELECT id FROM session WHERE state = 'deleting'")]

    def note(self, id: int) -> Note | None:
        found = self._all("SELECT id, session, seq, at_us, text FROM note WHERE id = ?", id)
        return Note(*found[0]) if found else None

    def noted(self, session: int, seq: int | None = None) -> list[Row]:
        """The `note` events that a file holds, on one event or (the first LISTED) on any."""
        if seq is not None:
            found = self._all(
                f"{_ROWS} WHERE session = ? AND pair = ? AND t = 'note' LIMIT ?", session, seq, LISTED
            )
        else:
            found = self._all(
                f"{_ROWS} WHERE session = ? AND t = 'note' ORDER BY seq LIMIT ?", session, LISTED
            )
        return [self._row(row) for row in found]

    def notes(self, session: int, seq: int | None = None) -> list[Note]:
        """The remarks on a session, or on one event of it, in the order of the events."""
        which, values = ("", (session,)) if seq is None else (" AND seq = ?", (session, seq))
        sql = f"SELECT id, session, seq, at_us, text FROM note WHERE session = ?{which} ORDER BY seq, id"  # noqa: S608
        return [Note(*row) for row in self._all(sql, *values)]

    def annotated(self, session: int, seqs: Iterable[int]) -> set[int]:
        """Which of these events carry a remark, written here or come in the file."""
        sql = """
            SELECT seq FROM note WHERE session = ? AND seq IN (SELECT value FROM json_each(?))
            UNION SELECT pair FROM event
            WHERE session = ? AND pair IN (SELECT value FROM json_each(?)) AND t = 'note'"""
        wanted = json.dumps(list(seqs))
        return {seq for (seq,) in self._all(sql, session, wanted, session, wanted)}

    def connections(self, session: int) -> list[Connection]:
        """The connections of a session, in the order they were opened."""
        return [
            Connection(*[*row[:5], _json(row[5]), *row[6:8], _json(row[8]), _json(row[9])])
            for row in self._all(
                """SELECT session, c, label, server_key, transport, target, era, protocol_version, server_info,
                client_capabilities FROM connection WHERE session = ? ORDER BY c""",
                session,
            )
        ]

    def counts(self, session: int, c: int | None = None) -> dict[str, int]:
        """Events by `t`, and `errors` over all of them; of one connection, or of the session."""
        which, values = ("", (session,)) if c is None else (" AND c = ?", (session, c))
        found: Counter[str] = Counter(errors=0)
        for t, n, bad in self._all(f"SELECT t, n, bad FROM tally WHERE session = ?{which}", *values):  # noqa: S608
            found[t] += n
            found["errors"] += bad
        return dict(found)

    def last_seq(self, session: int) -> int:
        """The newest seq, 0 when there is none."""
        return int(self._all("SELECT coalesce(max(seq), 0) FROM event WHERE session = ?", session)[0][0])

    # -- events

    def page(
        self,
        session: int,
        filter: Filter | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 200,
    ) -> Page:
        """Up to `limit` rows after a seq, or the last ones before a seq; with neither, the newest ones."""
        down = after is None
        seqs, scanned_to = self._find(session, filter, after, before, down, limit + 1)
        more = len(seqs) > limit
        return Page(self._rows(session, seqs[:limit]), more=more, scanned_to=None if more else scanned_to)

    def row(self, session: int, seq: int) -> Row | None:
        """One event, with the whole of raw."""
        found = self._all(f"SELECT id, {_FIELDS}, raw FROM event WHERE session = ? AND seq = ?", session, seq)  # noqa: S608
        return self._row(found[0]) if found else None

    def raw(self, session: int, seq: int) -> bytes | None:
        """The exact bytes of one event."""
        found = self._all("SELECT raw FROM event WHERE session = ? AND seq = ?", session, seq)
        return found[0][0] if found else None

    def events(self, session: int, after: int = 0, until: int = MAX_SEQ) -> Iterator[Row]:
        """Every event after a seq up to another, each with the whole of raw; memory stays flat."""
        found = _STEP
        while found == _STEP:
            found = 0
            for row in self._each(_WHOLE, session, after, until, _STEP):
                yield self._row((None, *row))
                found, after = found + 1, row[1]

    def pair_of(self, session: int, seq: int) -> Row | None:
        """The answer to the request at `seq`, or the request that the answer at `seq` belongs to.

        Without an answer: the error noted instead (a time-out, say).
        """
        asked = f"{_ROWS} WHERE session = ? AND seq = (SELECT pair FROM event WHERE session = ? AND seq = ?)"  # noqa: S608
        answer = f"{_ROWS} WHERE session = ? AND pair = ? ORDER BY t = 'rpc' DESC, seq LIMIT 1"
        found = self._all(asked, session, session, seq) or self._all(answer, session, seq)
        return self._row(found[0]) if found else None

    def neighbours(
        self, session: int, seq: int, filter: Filter | None = None
    ) -> tuple[int | None, int | None]:
        """The seqs before and after `seq` that the filter lets through, as far as one bounded search sees."""
        older, _ = self._find(session, filter, None, seq, True, 1)
        newer, _ = self._find(session, filter, seq, None, False, 1)
        return next(iter(older), None), next(iter(newer), None)

    def next_error(self, session: int, after: int, filter: Filter | None = None) -> int | None:
        """The seq of the first error after a seq that the filter lets through."""
        wanted = replace(filter or Filter(), errors_only=True)
        return next(iter(self._find(session, wanted, after, None, False, 1)[0]), None)

    # -- snapshots

    def snapshots(self, server_key: str, what: str, limit: int = 50) -> list[Snapshot]:
        """What a server listed, newest first, over all sessions."""
        sql = f"{_SNAPSHOTS} WHERE server_key = ? AND what = ? ORDER BY id DESC LIMIT ?"
        return [_snapshot(row) for row in self._all(sql, server_key, what, limit)]

    def latest_snapshot(self, server_key: str, what: str) -> Snapshot | None:
        return next(iter(self.snapshots(server_key, what, 1)), None)

    def snapshot(self, id: int) -> Snapshot | None:
        found = self._all(f"{_SNAPSHOTS} WHERE id = ?", id)
        return _snapshot(found[0]) if found else None

    # -- inside

    def _find(
        self,
        session: int,
        wanted: Filter | None,
        after: int | None,
        before: int | None,
        down: bool,
        limit: int,
    ) -> tuple[list[int], int | None]:
        try:
            found = find(
                self._db.conn,
                session,
                wanted or Filter(),
                after=0 if after is None else after,
                before=MAX_SEQ if before is None else before,
                descending=down,
                limit=limit,
            )
        except sqlite3.Error as problem:
            raise storage_error(self.path, problem) from problem
        return found.seqs, found.scanned_to

    def _rows(self, session: int, seqs: Sequence[int]) -> list[Row]:
        where = "WHERE session = ? AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
        return [self._row(row) for row in self._all(f"{_ROWS} {where}", session, json.dumps(seqs))]

    def _row(self, columns: Sequence[Any]) -> Row:
        id, *fields, body, raw = columns
        *fields, size, cause, op, bad = fields
        if raw is None and size is not None:
            # Only the head is read: fetching the column would read all of it, however long.
            with self._db.conn.blobopen("event", "raw", id, readonly=True) as blob:
                raw = blob.read(HEAD_BYTES)
        return Row(*[*fields, size, cause, op, bool(bad), json.loads(body), raw])

    def _each(self, sql: str, *values: Any) -> Iterator[Any]:
        try:
            yield from self._db.conn.execute(sql, values)
        except sqlite3.Error as problem:
            raise storage_error(self.path, problem) from problem

    def _all(self, sql: str, *values: Any) -> list[Any]:
        try:
            return self._db.conn.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise storage_error(self.path, problem) from problem


def _json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _snapshot(columns: Sequence[Any]) -> Snapshot:
    *plain, declared, pages, totals, sha256, order_sha256 = columns
    parsed = [json.loads(text) for text in (declared, pages, totals)]
    return Snapshot(*[*plain, *parsed, sha256, order_sha256])
