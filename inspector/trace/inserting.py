"""Adding events to the recording database, as live and imported recordings do. The thread of the connection."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from sqlite_utils import Database

from inspector.trace.rows import COLUMNS, columns_of
from inspector.wire.events import Event

LONGEST_LABEL: Final = 200
LARGE_RAW: Final = 256 * 1024
"""Bytes of a frame above which it is written into the pages rather than bound: 3.2 MB would be copied twice."""

_INSERT_EVENT = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_INSERT_LARGE = _INSERT_EVENT.removesuffix("?)") + "zeroblob(?))"
_ADD_TALLY = """
    INSERT INTO tally (session, c, t, n, bad, bytes) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET n = n + excluded.n, bad = bad + excluded.bad, bytes = bytes + excluded.bytes"""
_CONNECTION_FIELDS = (
    "label", "server_key", "transport", "target", "era", "protocol_version", "server_info", "client_capabilities",
)  # fmt: skip
_JSON_FIELDS = ("target", "server_info", "client_capabilities")
_FILL_CONNECTION = f"""
    INSERT INTO connection (session, c, {", ".join(_CONNECTION_FIELDS)}) VALUES (?, ?{", ?" * len(_CONNECTION_FIELDS)})
    ON CONFLICT DO UPDATE SET {", ".join(f"{name} = coalesce(excluded.{name}, {name})" for name in _CONNECTION_FIELDS)}
"""  # noqa: S608
_SEQ, _C, _T, _BYTES, _BAD, _BODY, _RAW = map(COLUMNS.index, ("seq", "c", "t", "bytes", "bad", "body", "raw"))


def insert_events(
    db: Database,
    session: int,
    events: Sequence[Event],
    sizes: Mapping[int, int] | None = None,
    server_keys: Mapping[int, str] | None = None,
) -> None:
    """Add events to a session, with what is counted and known of its connections; the caller has a transaction.

    For events out of a file. sizes: by seq, the bytes one had on the wire when its raw is not those (it was cut, or
    redacted). server_keys: by connection, the key to keep instead of the one it was recorded under elsewhere.
    """
    rows = [columns_of(session, event) for event in events]
    if sizes:
        rows = [(*row[:_BYTES], sizes.get(row[_SEQ], row[_BYTES]), *row[_BYTES + 1 :]) for row in rows]
    for large, some in itertools.groupby(rows, lambda row: len(row[_RAW] or b"") > LARGE_RAW):
        if large:
            for row in some:
                _insert_large(db, row)
        else:
            db.conn.executemany(_INSERT_EVENT, some)
    db.conn.executemany(_ADD_TALLY, _tally(session, rows))
    for event in events:
        if event.t == "connection":
            key = (server_keys or {}).get(event.c, event.body.get("server_key"))
            db.conn.execute(_FILL_CONNECTION, _connection_columns(session, event, key))


def _insert_large(db: Database, row: tuple[Any, ...]) -> None:
    """One row; the column of its bytes is the last."""
    raw = row[_RAW]
    added = cast(int, db.conn.execute(_INSERT_LARGE, (*row[:_RAW], len(raw))).lastrowid)
    with db.conn.blobopen("event", "raw", added) as blob:
        blob.write(raw)


def _tally(session: int, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    counts: Counter[tuple[int, str]] = Counter()
    bad: Counter[tuple[int, str]] = Counter()
    kept: Counter[tuple[int, str]] = Counter()
    for row in rows:
        which = row[_C], row[_T]
        counts[which] += 1
        bad[which] += row[_BAD]
        kept[which] += len(row[_RAW] or b"") + len(row[_BODY])
    return [(session, *which, n, bad[which], kept[which]) for which, n in counts.items()]


def _connection_columns(session: int, event: Event, server_key: Any) -> tuple[Any, ...]:
    known = event.body | {"server_key": server_key}
    fields = [
        json.dumps(known[name]) if name in _JSON_FIELDS and known.get(name) is not None else known.get(name)
        for name in _CONNECTION_FIELDS
    ]
    if isinstance(fields[0], str):  # of a file, it may be anything
        fields[0] = fields[0][:LONGEST_LABEL]
    return (session, event.c, *fields)
