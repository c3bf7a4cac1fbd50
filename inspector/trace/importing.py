"""Reads a trace file into the recording database, in slices. Any thread of any process; it opens its own connection.

A session that is being read into has the state `reading` and is not shown; what breaks off, or is cancelled by killing
the process, is deleted (`deleting.py`), so that nothing half-read stays.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import psutil

from inspector.errors import FileError
from inspector.trace.deleting import delete_slices
from inspector.trace.file_reader import Limits, TraceReader, read_trace
from inspector.trace.imported import Lines, Misfit, moment_or_none
from inspector.trace.inserting import insert_events
from inspector.trace.rows import escaped, rfc3339
from inspector.trace.schema import open_database, storage_error
from inspector.wire.events import Event

SLICE_EVENTS: Final = 2000
SLICE_BYTES: Final = 8 << 20
MOST_CONNECTIONS: Final = 1000
_LONGEST_TITLE: Final = 500
_LONGEST_NOTE: Final = 20_000
_HEADER_BYTES: Final = 64 << 10

T = TypeVar("T")
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far: bytes of the file as it lies on the disk, events so far."""

    read_bytes: int
    file_bytes: int
    events: int


class Import:
    """One file being read into a new session; use as a context manager, then `keep` it or it is deleted.

    name: what people call the file; token: by which another process finds this import. watch: told of each event.
    Raises FileError, one sentence, when the file is no trace we take, and StorageError.
    """

    def __init__(
        self, database: Path, file: Path, *, name: str, token: str = "", limits: Limits | None = None
    ) -> None:
        self.name = name
        self._file = file
        self._path = database
        self._reader = self._said(lambda: read_trace(file, limits))
        self.file_bytes = file.stat().st_size
        self._lines = Lines()
        self._kept = False
        self.server_keys: dict[int, str] = {}
        try:
            self.db = open_database(database, create=True)
            try:
                self.session = self._begin(token)
            except BaseException:
                self.db.close()
                raise
        except BaseException:
            self._reader.close()
            raise

    @property
    def reader(self) -> TraceReader:
        return self._reader

    def read(self, progress: Callable[[Progress], None], watch: Watch) -> None:
        """All events, slice by slice; then the verdict on the file."""
        keys: dict[tuple[str, str], str] = {}
        events = last_us = 0
        for batch, sizes in self._slices():
            for event in batch:
                if event.t == "connection":
                    self._server_key(event, keys)
                watch(event)
            events, last_us = events + len(batch), batch[-1].at_us
            done = Progress(self._reader.read_bytes, self.file_bytes, events)
            self._write(lambda batch=batch, sizes=sizes, done=done: self._store(batch, sizes, done))  # type: ignore[misc]
            progress(done)
        self._write(lambda: self._finish(last_us))

    def raw(self, seq: int) -> bytes:
        """The bytes of an event that was read."""
        sql = "SELECT raw FROM event WHERE session = ? AND seq = ?"
        found = self.db.conn.execute(sql, (self.session, seq)).fetchone()
        return (found[0] if found else None) or b""

    def connection(self, c: int) -> tuple[str | None, dict[str, Any]]:
        """The era of a connection and the capabilities its client declared, as far as the file says."""
        sql = "SELECT era, client_capabilities FROM connection WHERE session = ? AND c = ?"
        era, declared = self.db.conn.execute(sql, (self.session, c)).fetchone() or (None, None)
        found = json.loads(declared) if declared else {}
        return era, found if isinstance(found, dict) else {}

    def save_snapshot(self, columns: dict[str, Any]) -> None:
        """Keep a catalog; the columns are those of `Recorder.save_snapshot`, dicts and lists as values."""
        plain = {
            name: json.dumps(value) if isinstance(value, dict | list) else value
            for name, value in columns.items()
        }
        self._write(lambda: self.db.table("snapshot").insert({"session": self.session, **plain}))

    def keep(self) -> None:
        """The session is whole: show it from now on."""
        self._write(
            lambda: self.db.conn.execute("UPDATE session SET state = 'ready' WHERE id = ?", (self.session,))
        )
        self._kept = True

    def __enter__(self) -> Import:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._kept:
                for _ in delete_slices(self.db, self.session):
                    pass
        finally:
            self._reader.close()
            self.db.close()

    # -- inside

    def _begin(self, token: str) -> int:
        header = self._reader.header
        clock = header.get("clock")
        wall0 = moment_or_none(clock.get("wall0") if isinstance(clock, dict) else None)
        created = moment_or_none(header.get("created"))
        first = next((us for us in (wall0, created) if us is not None), 0)
        tool = header.get("tool")
        made_by = f"{tool.get('name')} {tool.get('version')}" if isinstance(tool, dict) else ""
        kept = header if len(self._reader.header_line) <= _HEADER_BYTES else {"v": header["v"]}
        process = psutil.Process()

        def insert() -> int:
            conn = self.db.conn
            found = conn.execute(
                """INSERT INTO session (started_at, wall0_us, title, note, tool_version, ended_at, state)
                VALUES (?, ?, ?, ?, ?, NULL, 'reading')""",
                (rfc3339(first), first, said(header.get("title"), _LONGEST_TITLE),
                 said(header.get("note"), _LONGEST_NOTE), said(made_by, 200)),
            )  # fmt: skip
            conn.execute(
                """INSERT INTO opened (session, token, name, file_bytes, opened_at, pid, pid_started, read_bytes,
                read_events, header) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)""",
                (found.lastrowid, token, self.name, self.file_bytes, rfc3339(_now_us()), os.getpid(),
                 process.create_time(), json.dumps(kept)),
            )  # fmt: skip
            return int(found.lastrowid or 0)

        return int(self._write(insert))

    def _slices(self) -> Iterator[tuple[list[Event], dict[int, int]]]:
        batch: list[Event] = []
        sizes: dict[int, int] = {}
        size = 0
        lines = self._said(self._reader.lines)
        while True:
            item = self._said(lambda: next(lines, None))
            if item is not None:
                try:
                    event, bytes_ = self._lines.event(item[1])
                except Misfit as problem:
                    raise FileError(
                        f"{self.name}, line {self._reader.line_number} {problem}.",
                        "The file does not follow the trace format: ask its maker.",
                    ) from None
                batch.append(event)
                if bytes_ is not None:
                    sizes[event.seq] = bytes_
                size += len(item[0])
            if batch and (item is None or len(batch) >= SLICE_EVENTS or size >= SLICE_BYTES):
                yield batch, sizes
                batch, sizes, size = [], {}, 0
            if item is None:
                return

    def _server_key(self, event: Event, keys: dict[tuple[str, str], str]) -> None:
        """One key for all connections to the same server, as their first events name it."""
        if event.c in self.server_keys:
            return
        if len(self.server_keys) >= MOST_CONNECTIONS:
            raise FileError(
                f"{self.name} holds more than {MOST_CONNECTIONS:,} connections.",
                "Do not open it unless you trust its maker.",
            )
        told = f"{event.body.get('label') or event.c}", json.dumps(event.body.get("target"), sort_keys=True)
        self.server_keys[event.c] = keys.setdefault(told, recorded_key(self.session, event.c))

    def _store(self, batch: list[Event], sizes: dict[int, int], done: Progress) -> None:
        insert_events(self.db, self.session, batch, sizes, self.server_keys)
        self.db.conn.execute(
            "UPDATE opened SET read_bytes = ?, read_events = ? WHERE session = ?",
            (done.read_bytes, done.events, self.session),
        )

    def _finish(self, last_us: int) -> None:
        reader = self._reader
        verdict = {
            "incomplete": reader.incomplete,
            "problem": reader.problem,
            "oddities": reader.oddities,
            "odd_events": self._lines.odd,
            "trailer": reader.trailer,
        }
        whole = not reader.incomplete and reader.problem is None and last_us
        conn = self.db.conn
        conn.execute(
            "UPDATE opened SET verdict = ?, read_bytes = file_bytes WHERE session = ?",
            (json.dumps(verdict), self.session),
        )
        conn.execute(
            "UPDATE session SET ended_at = ? WHERE id = ?",
            (rfc3339(last_us) if whole else None, self.session),
        )

    def _write(self, run: Callable[[], Any]) -> Any:
        try:
            with self.db.atomic():
                return run()
        except OverflowError:
            raise FileError(
                f"{self.name} holds a number that no recording has.", "Ask its maker for it again."
            ) from None
        except sqlite3.Error as problem:
            raise storage_error(self._path, problem) from problem

    def _said(self, read: Callable[[], T]) -> T:
        """What `read` gives; its errors name the file as people know it."""
        try:
            return read()
        except FileError as problem:
            raise FileError(problem.message.replace(str(self._file), self.name), problem.remedy) from None


def recorded_key(session: int, c: int) -> str:
    """The key of a server that is only in a file; no configured server's key begins with a tilde."""
    return f"~{session}.{c}"


def said(value: Any, longest: int) -> str:
    """A text of the header, cut; what is no text is left out."""
    return escaped(value[:longest]) if isinstance(value, str) else ""


def _now_us() -> int:
    return time.time_ns() // 1000
