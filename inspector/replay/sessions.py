"""What a recorded session holds as questions and answers, read from the database. One thread with its own store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from inspector.errors import FileError, UsageError
from inspector.protocol import frames
from inspector.replay.exchanges import Exchange, Gathering, Recorded, Recording, read_recording
from inspector.settings.paths import Paths
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.trace.store import Session, Store
from inspector.wire.events import C2S, S2C

PREFIX: Final = "session:"
STEP: Final = 500
RPC: Final = frozenset({"rpc"})
WHOLE: Final = frozenset({"rpc", "http", "connection"})
MOST_BYTES: Final = 1 << 30
"""Of a session that is held in memory whole, as a stand-in has to; the limit of a trace file."""


def recording_named(name: str, data_dir: Path | None = None) -> Recording:
    """The trace file of that path, or a session of the recording database, written `session:N`.

    Raises FileError, StorageError, or UsageError for a session that is none.
    """
    if not name.startswith(PREFIX):
        return read_recording(Path(name))
    number = name.removeprefix(PREFIX)
    with Store(Paths.locate(data_dir).database) as store:
        return read_session(store, _session(store, number))


def session_of(store: Store, number: int) -> Session:
    """The session of that number. Raises UsageError."""
    return _session(store, str(number))


def _session(store: Store, number: str) -> Session:
    known = {str(each.id): each for each in store.sessions()}
    if number not in known:
        last = ", ".join(list(known)[:5]) or "none"
        raise UsageError(
            f"There is no recorded session {number}.", f"Choose one that exists; the newest: {last}."
        )
    return known[number]


def read_session(store: Store, session: Session, c: int | None = None) -> Recording:
    """The whole session, or one connection of it, as a trace file would give it."""
    gathering = Gathering()
    held = 0
    for row in rows(store, session.id, Filter(c=None if c is None else (c,), t=WHOLE)):
        held += row.bytes or 0
        if held > MOST_BYTES:
            raise FileError(f"Session {session.id} holds more than 1 GiB.", "Choose one connection of it.")
        gathering.take(_fields(row))
    if not gathering.exchanges:
        raise FileError(
            f"Session {session.id} holds no request of a client.",
            "Choose a session in which something was asked.",
        )
    header = {"created": session.started_at, "title": session.title}
    return Recording(
        Path(f"{PREFIX}{session.id}"), header, gathering.exchanges, gathering.connections,
        incomplete=session.ended_at is None,
    )  # fmt: skip


def rows(store: Store, session: int, wanted: Filter) -> Iterator[Row]:
    """The events that `wanted` lets through, oldest first, each with the whole of its raw."""
    after = 0
    while True:
        page = store.page(session, wanted, after=after, limit=STEP)
        for row in page:
            yield whole(store, row)
        last = page[-1].seq if page.more else page.scanned_to
        if last is None:
            return
        after = last


def whole(store: Store, row: Row) -> Row:
    found = store.row(row.session, row.seq) if row.cut else None
    return row if found is None else found


def exchange_of(store: Store, session: int, seq: int) -> Exchange | None:
    """The request at `seq` with its answer; None when a client asked nothing there."""
    asked = store.row(session, seq)
    if asked is None or not is_question(asked):
        return None
    exchange = exchange_from(asked)
    answer = store.pair_of(session, seq)
    if answer is not None and answer.t == "rpc":
        exchange.answer, exchange.ms = recorded(whole(store, answer)), answer.ms
    return exchange


def is_question(row: Row) -> bool:
    """Whether a client asked here. Of what it could not say as JSON-RPC nothing can be sent again."""
    return row.t == "rpc" and row.dir == C2S and row.kind == frames.REQUEST and row.method is not None


def is_answer(row: Row) -> bool:
    return row.t == "rpc" and row.dir == S2C and row.kind in (frames.RESULT, frames.ERROR)


def exchange_from(asked: Row) -> Exchange:
    """The request alone; `asked` with the whole of its raw."""
    frame = recorded(asked)
    value = frame.value if isinstance(frame.value, dict) else {}
    return Exchange(asked.c, str(asked.method), value.get("params"), frame)


def recorded(row: Row) -> Recorded:
    """A frame as an exchange holds it; `row` with the whole of its raw."""
    raw = row.raw_head or b""
    value, _why = frames.parse(raw)
    size = row.bytes if row.bytes is not None else len(raw)
    cut = row.body.get("cut") is True
    return Recorded(row.seq, row.dt_us, str(row.kind), raw, size, None, row.body.get("http"), cut, value)


def _fields(row: Row) -> dict[str, Any]:
    """The row under the names of the trace format, its bytes as they are."""
    own = {
        "t": row.t, "seq": row.seq, "c": row.c, "dt": row.dt_us, "dir": row.dir, "kind": row.kind,
        "method": row.method, "pair": row.pair, "ms": row.ms, "raw": row.raw_head, "bytes": row.bytes,
    }  # fmt: skip
    return {**row.body, **{name: value for name, value in own.items() if value is not None}}
