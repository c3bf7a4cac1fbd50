"""Recorded sessions and opened files: reading files in, notes, deleting, and what is kept how long. Any thread.

A file is read by a process of its own, so that it holds neither the pages nor the connections up; cancelling kills that
process and deletes what it had read. Changes go through the recorder's thread, the only one that writes here.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from inspector.console.opening import open_file
from inspector.console.worker import Worker
from inspector.errors import Cancelled, FileError, LoupeError, StorageError, UsageError
from inspector.settings.given import Given
from inspector.settings.paths import Paths, is_running, living_consoles
from inspector.settings.retention import Retention, RetentionFile
from inspector.trace import deleting
from inspector.trace.recorder import Recorder
from inspector.trace.store import Note, Opened, Session, Store

WRITE_S: Final = 30.0
DAY_S: Final = 86_400.0
JOBS_KEPT: Final = 50
LONGEST_NOTE: Final = 20_000
LONGEST_TITLE: Final = 500


@dataclass(slots=True)
class Job:
    """One file being read, or read. began_ms: since the epoch."""

    token: str
    name: str
    began_ms: int
    future: Future[int] = field(repr=False)

    @property
    def done(self) -> bool:
        return self.future.done()

    def session(self) -> int:
        """The session it became. Raises LoupeError: why there is none."""
        try:
            return self.future.result(0)
        except LoupeError:
            raise
        except CancelledError:
            raise Cancelled(f"Opening {self.name} was cancelled.", "Nothing of it was kept.") from None
        except Exception as problem:
            raise FileError(
                f"{self.name} could not be read ({type(problem).__name__}).",
                "If it opens with mcp-loupe trace show, please report this.",
            ) from problem


class Recordings:
    """What is recorded here. current: the session being written, which is never deleted."""

    def __init__(self, paths: Paths, recorder: Recorder, worker: Worker, store: Callable[[], Store]) -> None:
        self.retention_file = RetentionFile(paths.config / "retention.json")
        self._paths = paths
        self._recorder = recorder
        self._worker = worker
        self._store = store
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.retention_problem = ""
        self._began = time.time()
        self.forget: Callable[[str], None] = lambda server_key: None
        """Told of the server keys of a file that is deleted."""
        self.given = Given(paths.data / "given")

    def start(self) -> None:
        """Begin the upkeep: what was left half-done now, retention now and once a day."""
        threading.Thread(target=self._upkeep, name="recordings", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    # -- opening files

    def open(self, file: Path, name: str, *, remove: bool = False) -> Job:
        """Start to read a file. remove: it is a copy of ours, which goes when it was read."""
        token = secrets.token_hex(8)
        future = self._worker.submit(open_file, self._paths.database, file, name, token)
        job = Job(token, name, time.time_ns() // 1_000_000, future)
        with self._lock:
            self._jobs[token] = job
            while len(self._jobs) > JOBS_KEPT:
                self._jobs.popitem(last=False)

        def ended(done: Future[int]) -> None:  # on the loop's thread, which must not wait
            if remove:
                with suppress(OSError):
                    file.unlink()
            if done.cancelled() or done.exception() is not None:
                threading.Thread(target=self._drop, args=(token,), name="drop", daemon=True).start()

        future.add_done_callback(ended)
        return job

    def job(self, token: str) -> Job | None:
        with self._lock:
            return self._jobs.get(token)

    def running(self) -> list[Job]:
        with self._lock:
            return [job for job in self._jobs.values() if not job.done]

    def cancel(self, token: str) -> None:
        """End the reading; what was read is deleted."""
        job = self.job(token)
        if job is not None:
            job.future.cancel()

    def progress(self, token: str) -> Opened | None:
        """How far the reading is; None until it has begun, and when it broke off."""
        with self._store() as store:
            return next((each for each in store.opened() if each.token == token), None)

    # -- what people write

    def describe(self, session: int, title: str, note: str) -> None:
        values = (_text(title, LONGEST_TITLE), _text(note, LONGEST_NOTE), session)
        self._change("UPDATE session SET title = ?, note = ? WHERE id = ?", *values)

    def add_note(self, session: int, seq: int, text: str) -> None:
        """Pin a remark to an event. Raises UsageError when there is none of that number, or nothing is said."""
        text = _text(text, LONGEST_NOTE).strip()
        if not text:
            raise UsageError("The note is empty.", "Write something, or leave it.")
        with self._store() as store:
            if store.row(session, seq) is None:
                raise UsageError(f"There is no event #{seq} in this recording.", "Choose another event.")
        values = (session, seq, time.time_ns() // 1000, text)
        self._change("INSERT INTO note (session, seq, at_us, text) VALUES (?, ?, ?, ?)", *values)

    def change_note(self, note: Note, text: str) -> None:
        """Say something else; empty takes the note away."""
        text = _text(text, LONGEST_NOTE).strip()
        if text:
            self._change("UPDATE note SET text = ? WHERE id = ?", text, note.id)
        else:
            self._change("DELETE FROM note WHERE id = ?", note.id)

    # -- deleting

    def why_kept(self, session: Session) -> str:
        """Why a session cannot be deleted, or an empty string."""
        if session.id == self._recorder.session:
            return "it is being recorded"
        if session.ended_at is None and session.opened is None and self._others():
            return "another console may be recording it"
        return ""

    def delete(self, session: Session) -> None:
        """Take it out of the list now, and its events off the disk soon. Raises UsageError, StorageError."""
        if why := self.why_kept(session):
            raise UsageError(
                f"Recording {session.id} is not deleted: {why}.", "Stop recording it, then delete it."
            )
        with self._store() as store:
            keys = {each.server_key or "" for each in store.connections(session.id)}
        self._recorder.write(lambda db: deleting.mark(db, session.id), WRITE_S)
        for key in keys:
            if key.startswith("~"):
                self.forget(key)
        threading.Thread(target=self._delete, args=(session.id,), name="delete", daemon=True).start()

    # -- retention

    def retention(self) -> Retention:
        """Raises ConfigError."""
        return self.retention_file.load()

    def due(self, wanted: Retention) -> list[tuple[Session, str]]:
        """What `wanted` deletes now, oldest first, and why."""
        with self._store() as store:
            sessions = sorted(store.sessions(), key=lambda each: kept_since(each, store))
            ages = {each.id: (time.time() - kept_since(each, store)) / DAY_S for each in sessions}
        return due(sessions, ages, wanted, self.why_kept)

    def apply(self, wanted: Retention) -> int:
        """Delete what is due; how many."""
        found = self.due(wanted)
        for session, _ in found:
            self.delete(session)
        return len(found)

    # -- inside

    def _change(self, sql: str, *values: object) -> None:
        self._recorder.write(lambda db: db.conn.execute(sql, values) and None, WRITE_S)

    def _others(self) -> bool:
        return any(each.pid != os.getpid() for each in living_consoles(self._paths))

    def _upkeep(self) -> None:
        with suppress(LoupeError):
            self._sweep()
        while True:
            try:
                self.retention_problem = ""
                wanted = self.retention()
                if not wanted.off:
                    self.apply(wanted)
            except LoupeError as problem:
                self.retention_problem = f"{problem.message} {problem.remedy}"
            if self._stopping.wait(DAY_S):
                return

    def _sweep(self) -> None:
        """Delete what a killed process was reading, and go on with what a killed console was deleting."""
        with self._store() as store:
            dead = [
                each.session for each in store.opened()
                if each.state == "reading" and not is_running(each.pid, each.pid_started)
            ]  # fmt: skip
            unfinished = store.unfinished()
            self.given.only([each.id for each in store.sessions()])
        for session in [*dead, *unfinished]:
            self._delete(session)
        if not self._others():
            self._tidy()

    def _tidy(self) -> None:
        """Take away uploads and exports that a killed console left."""
        for folder in ("incoming", "exports"):
            for file in (self._paths.data / folder).glob("*"):
                with suppress(OSError):
                    if file.stat().st_mtime < self._began:
                        file.unlink()

    def _drop(self, token: str) -> None:
        with suppress(LoupeError), self._store() as store:
            for each in store.opened():
                if each.token == token and each.state == "reading":
                    self._delete(each.session)

    def _delete(self, session: int) -> None:
        with suppress(StorageError):  # the console is closing: the next one goes on
            self._recorder.write(lambda db: deleting.mark(db, session), WRITE_S)
            while self._recorder.write(lambda db: deleting.delete_some(db, session), WRITE_S):
                pass
            self.given.forget(session)


def kept_since(session: Session, store: Store) -> float:
    """When it came here, seconds since the epoch: a file when it was opened, whenever it was recorded."""
    opened = store.opened(session.id) if session.opened is not None else []
    return datetime.fromisoformat(opened[0].opened_at if opened else session.started_at).timestamp()


def due(
    sessions: list[Session], ages: dict[int, float], wanted: Retention, why_kept: Callable[[Session], str]
) -> list[tuple[Session, str]]:
    """Pure part of `Recordings.due`. sessions: oldest first; ages: days by id."""
    found: list[tuple[Session, str]] = []
    left = sum(each.bytes for each in sessions)
    most = None if wanted.megabytes is None else wanted.megabytes * 1_000_000
    for each in sessions:
        old = wanted.days is not None and ages[each.id] > wanted.days
        too_much = most is not None and left > most
        if (old or too_much) and not why_kept(each):
            found.append(
                (each, f"older than {wanted.days} days" if old else f"over {wanted.megabytes} MB in all")
            )
            left -= each.bytes
    return found


def _text(text: str, longest: int) -> str:
    return text.replace("\r\n", "\n").encode("utf-8", "backslashreplace").decode("utf-8")[:longest]
