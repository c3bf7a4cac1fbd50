"""Recording: events go on a queue on the emitting thread; the `trace-writer` thread commits and announces them."""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from sqlite_utils import Database

from inspector.errors import StorageError
from inspector.trace.feed import Feed
from inspector.trace.inserting import insert_events
from inspector.trace.rows import rfc3339
from inspector.trace.schema import open_database, storage_error
from inspector.wire.events import Event, Journal

BATCH_EVENTS = 1000
BATCH_BYTES = 8 << 20
GATHER_S = 0.02
"""How close commits follow each other under load. 800 a second with five events each cost three times the CPU of
50 with eighty, on the writer and on the loop it disturbs (measured)."""
LOAD = 8
"""Under load: this many commits within `LOAD_S`. A person who calls a tool is never kept waiting."""
LOAD_S = 0.3
OPEN_TIMEOUT = 30.0

T = TypeVar("T")
State = Literal["recording", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Health:
    """How recording goes. backlog: events not committed yet; dropped: events lost since it failed or stopped."""

    state: State
    committed_seq: int
    backlog: int
    error: str | None
    dropped: int = 0


@dataclass(slots=True)
class _Work:
    """Something to run on the writer's thread, in one transaction, after all events queued before it."""

    run: Callable[[Database], Any]
    done: Future[Any]


class Recorder:
    """One session of one journal, being written. It attaches its `sink` to the journal itself.

    A write that fails ends the recording: `health()` says so from then on, and every later event is counted in
    `dropped`. Raises StorageError when the database cannot be opened.
    """

    def __init__(
        self, path: Path, journal: Journal, *, title: str = "", note: str = "", tool_version: str
    ) -> None:
        self.path = path
        self.feed = Feed()
        self._journal = journal
        self._queue: queue.SimpleQueue[Event | _Work | None] = queue.SimpleQueue()
        self._state: State = "recording"
        self._error: StorageError | None = None
        self._committed_seq = 0
        self._identity = (0, 0)
        self.session = 0
        # Counters with one writing thread each (the emitter's under the journal's lock): no lock on the hot path.
        self._accepted = self._accepted_bytes = self._refused = 0
        self._settled = self._settled_bytes = self._discarded = 0
        self._begun: deque[float] = deque(maxlen=LOAD)  # when the last batches were taken
        self._hurry = threading.Event()
        opened: Future[int] = Future()
        facts = {
            "started_at": rfc3339(time.time_ns() // 1000),
            "wall0_us": journal.wall0_us,
            "title": title,
            "note": note,
            "tool_version": tool_version,
        }
        self._thread = threading.Thread(
            target=self._run, args=(facts, opened), name="trace-writer", daemon=True
        )
        self._thread.start()
        _result(opened, OPEN_TIMEOUT, path)
        journal.attach(self.sink)

    # -- any thread

    def sink(self, event: Event) -> None:
        """Take an event; called under the journal's lock."""
        if self._state != "recording":
            self._refused += 1
            return
        self._accepted += 1
        self._accepted_bytes += len(event.raw or b"")
        self._queue.put(event)

    def health(self) -> Health:
        error = self._error.message if self._error else None
        return Health(self._state, self._committed_seq, self.backlog, error, self.dropped)

    @property
    def backlog(self) -> int:
        """Events taken but not settled yet."""
        return max(self._accepted - self._settled, 0)

    @property
    def backlog_bytes(self) -> int:
        """Raw bytes held in memory for the events of `backlog`."""
        return max(self._accepted_bytes - self._settled_bytes, 0)

    @property
    def dropped(self) -> int:
        """Events that were emitted and will never be in the database."""
        return self._refused + self._discarded

    def flush(self, timeout: float) -> bool:
        """Wait until every event emitted before this call is committed; False when it failed or took too long."""
        try:
            self.write(lambda db: None, timeout)
        except StorageError:
            return False
        return True

    def write(self, run: Callable[[Database], T], timeout: float) -> T:
        """Run a change on the writer's thread, in one transaction, and wait for it. Raises StorageError."""
        if self._state != "recording":
            raise self._refusal()
        done: Future[T] = Future()
        self._queue.put(_Work(run, done))
        self._hurry.set()
        return _result(done, timeout, self.path)

    def save_snapshot(
        self,
        *,
        seq: int,
        server_key: str,
        what: str,
        at_us: int,
        era: str | None,
        declared: dict[str, Any],
        pages: list[dict[str, Any]],
        totals: dict[str, Any],
        sha256: str,
        order_sha256: str,
        timeout: float = 10.0,
    ) -> int:
        """Keep a catalog as it was after event `seq`; its id.

        pages: `cursor`, `seq` of the rpc event that holds the raw answer, `bytes`, `ttl_ms` and `cache_scope`
        only when sent. declared: the client capabilities we declared.
        """
        columns = {
            "session": self.session, "seq": seq, "server_key": server_key, "what": what, "at_us": at_us, "era": era,
            "declared": json.dumps(declared), "pages": json.dumps(pages), "totals": json.dumps(totals),
            "sha256": sha256, "order_sha256": order_sha256,
        }  # fmt: skip
        return self.write(lambda db: _insert(db, "snapshot", columns), timeout)

    def close(self, timeout: float = 10.0) -> None:
        """Stop taking events, commit what is queued, close the database. Raises StorageError when it takes longer."""
        self._journal.detach(self.sink)
        self._queue.put(None)
        self._hurry.set()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise StorageError(
                f"The recording could not be finished within {timeout:g} s: {self.backlog} events are not written.",
                "Check the disk of the data folder.",
            )

    def _refusal(self) -> StorageError:
        return self._error or StorageError(
            "The recording has been stopped.", "Start mcp-loupe again to record."
        )

    # -- trace-writer

    def _run(self, facts: dict[str, Any], opened: Future[int]) -> None:
        try:
            db = open_database(self.path, create=True)
        except StorageError as problem:
            opened.set_exception(problem)
            return
        try:
            self.session = _insert(db, "session", facts)
            self._identity = _identity(self.path)
        except (sqlite3.Error, OSError) as problem:
            opened.set_exception(storage_error(self.path, problem))
        else:
            opened.set_result(self.session)
            self._serve(db)
        finally:
            db.close()

    def _serve(self, db: Database) -> None:
        while self._step(db):
            pass
        self._finish(db)
        while not self._queue.empty():  # what an emit or a write under way put behind the stop
            self._step(db)

    def _step(self, db: Database) -> bool:
        """Settle one batch; False when told to stop."""
        *queued, last = self._take()
        events = [item for item in (*queued, last) if isinstance(item, Event)]
        if events:
            self._record(db, events)
        if isinstance(last, _Work):
            self._perform(db, last)
        return last is not None

    def _take(self) -> list[Event | _Work | None]:
        """Wait for something, then take what else is queued: up to one batch of events, or the first other thing."""
        items: list[Event | _Work | None] = []
        size = 0
        item = self._queue.get()
        if isinstance(item, Event):
            self._gather()
        while True:
            items.append(item)
            if not isinstance(item, Event):
                return items
            size += len(item.raw or b"")
            if len(items) >= BATCH_EVENTS or size >= BATCH_BYTES:
                return items
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return items

    def _gather(self) -> None:
        """Under load, let events come together for one commit; somebody who waits for the writer ends it."""
        now, begun = time.monotonic(), self._begun
        if len(begun) == LOAD and now - begun[0] < LOAD_S and (left := begun[-1] + GATHER_S - now) > 0:
            self._hurry.wait(left)
            now = time.monotonic()
        self._hurry.clear()
        begun.append(now)

    def _record(self, db: Database, events: list[Event]) -> None:
        if self._state == "recording":
            try:
                self._commit(db, events)
            except Exception as problem:  # noqa: BLE001 - whatever it is must be shown; a dead thread shows nothing
                self._fail(problem)
        if self._state != "recording":
            self._discarded += len(events)
        self._settled_bytes += sum(len(event.raw or b"") for event in events)
        self._settled += len(events)

    def _commit(self, db: Database, events: list[Event]) -> None:
        with db.atomic():
            insert_events(db, self.session, events)
        if _identity(self.path) != self._identity:
            raise StorageError(
                f"The recording database {self.path} was removed or replaced while recording.",
                "Start mcp-loupe again to record into a new one.",
            )
        self._committed_seq = events[-1].seq
        self.feed.publish(events[0].seq, events[-1].seq, events)

    def _perform(self, db: Database, work: _Work) -> None:
        if self._state != "recording":
            work.done.set_exception(self._refusal())
            return
        try:
            with db.atomic():
                result = work.run(db)
        except Exception as problem:  # noqa: BLE001 - handed to the thread that waits
            work.done.set_exception(storage_error(self.path, problem))
        else:
            work.done.set_result(result)

    def _fail(self, problem: Exception) -> None:
        self._error = storage_error(self.path, problem)
        self._state = "failed"

    def _finish(self, db: Database) -> None:
        if self._state != "recording":
            return
        try:
            with db.atomic():
                ended = (rfc3339(time.time_ns() // 1000), self.session)
                db.conn.execute("UPDATE session SET ended_at = ? WHERE id = ?", ended)
        except sqlite3.Error as problem:
            self._fail(problem)
        else:
            self._state = "stopped"


def _result(future: Future[T], timeout: float, path: Path) -> T:
    try:
        return future.result(timeout)
    except TimeoutError:
        raise StorageError(
            f"The recording database {path} did not answer within {timeout:g} s.",
            "Check the disk of the data folder, and whether another program keeps the file locked.",
        ) from None


def _insert(db: Database, table: str, columns: dict[str, Any]) -> int:
    return cast(int, db.table(table).insert(columns).last_pk)


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
