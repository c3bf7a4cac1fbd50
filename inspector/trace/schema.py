"""The recording database: its tables, how it is opened, and what to say when it cannot be. Any thread.

A `Database` belongs to the thread that opened it. Every database that may be written is opened here with WAL,
so readers never wait for the writer, and `synchronous=NORMAL`, so a killed process loses nothing committed
(a power cut may lose the last commits, never the file).
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlite_utils import Database, Migrations

from inspector.errors import StorageError

BUSY_MS = 10_000
"""How long a write waits for another process that writes to the same database."""
WAL_LIMIT_BYTES = 64 << 20

migrations = Migrations("mcp_loupe")


@migrations()
def m0001_recordings(db: Database) -> None:
    """Sessions, their connections and events, and how many there are of each."""
    db.execute("""
        CREATE TABLE session (
            id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, wall0_us INTEGER NOT NULL, title TEXT NOT NULL,
            note TEXT NOT NULL, tool_version TEXT NOT NULL, ended_at TEXT)""")
    db.execute("""
        CREATE TABLE connection (
            session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE, c INTEGER NOT NULL,
            label TEXT, server_key TEXT, transport TEXT, target TEXT, era TEXT, protocol_version TEXT,
            server_info TEXT, client_capabilities TEXT, PRIMARY KEY (session, c)) WITHOUT ROWID""")
    # raw comes last: a long one lies on overflow pages that nothing before it has to walk through.
    db.execute("""
        CREATE TABLE event (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
            seq INTEGER NOT NULL, c INTEGER NOT NULL, at_us INTEGER NOT NULL, dt_us INTEGER NOT NULL,
            t TEXT NOT NULL, dir TEXT NOT NULL, kind TEXT, method TEXT, rpc_id TEXT, pair INTEGER, ms REAL,
            bytes INTEGER, cause TEXT, op TEXT, bad INTEGER NOT NULL, body TEXT NOT NULL, raw BLOB)""")
    db.execute("CREATE UNIQUE INDEX event_seq ON event(session, seq)")
    db.execute("CREATE INDEX event_c_seq ON event(session, c, seq)")
    db.execute("CREATE INDEX event_t_seq ON event(session, t, seq)")
    db.execute("CREATE INDEX event_bad_seq ON event(session, seq) WHERE bad = 1")
    db.execute("CREATE INDEX event_pair ON event(session, pair) WHERE pair IS NOT NULL")
    db.execute("""
        CREATE TABLE tally (
            session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE, c INTEGER NOT NULL,
            t TEXT NOT NULL, n INTEGER NOT NULL, bad INTEGER NOT NULL,
            PRIMARY KEY (session, c, t)) WITHOUT ROWID""")


@migrations()
def m0002_snapshots(db: Database) -> None:
    """Catalogs at one moment; the raw answers stay in `event`, `pages` says which."""
    db.execute("""
        CREATE TABLE snapshot (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
            seq INTEGER NOT NULL, server_key TEXT NOT NULL, what TEXT NOT NULL, at_us INTEGER NOT NULL, era TEXT,
            declared TEXT NOT NULL, pages TEXT NOT NULL, totals TEXT NOT NULL, sha256 TEXT NOT NULL,
            order_sha256 TEXT NOT NULL)""")
    db.execute("CREATE INDEX snapshot_server ON snapshot(server_key, what, id)")
    db.execute("CREATE INDEX snapshot_session ON snapshot(session)")


@migrations()
def m0003_opened_files(db: Database) -> None:
    """Files that were opened, notes, how much each session keeps, and sessions that are not (or no longer) whole."""
    # reading: a file is being read into it; deleting: its events are going, a slice at a time. Both are not shown.
    db.execute("ALTER TABLE session ADD COLUMN state TEXT NOT NULL DEFAULT 'ready'")
    db.execute("""
        CREATE TABLE opened (
            session INTEGER PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE, token TEXT NOT NULL,
            name TEXT NOT NULL, file_bytes INTEGER NOT NULL, opened_at TEXT NOT NULL, pid INTEGER NOT NULL,
            pid_started REAL NOT NULL, read_bytes INTEGER NOT NULL, read_events INTEGER NOT NULL,
            header TEXT NOT NULL, verdict TEXT)""")
    db.execute("""
        CREATE TABLE note (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
            seq INTEGER NOT NULL, at_us INTEGER NOT NULL, text TEXT NOT NULL)""")
    db.execute("CREATE INDEX note_seq ON note(session, seq)")
    db.execute("ALTER TABLE tally ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0")
    db.execute("""
        UPDATE tally SET bytes = summed.bytes FROM (
            SELECT session, c, t, sum(coalesce(length(raw), 0) + length(body)) AS bytes FROM event
            GROUP BY session, c, t) AS summed
        WHERE (summed.session, summed.c, summed.t) = (tally.session, tally.c, tally.t)""")


def open_database(path: Path, *, create: bool) -> Database:
    """The recording database at `path`: made, migrated and writable with `create`, else an existing one read-only.

    The file gets mode 0600 and a folder made for it 0700. Raises StorageError.
    """
    try:
        if create:
            _make_file(path)
        elif not path.is_file():
            raise StorageError(
                f"There is no recording database at {path}.", "Start mcp-loupe once to make it."
            )
        db = _connect(path, "rw" if create else "ro")
        try:
            _prepare(db, path, create=create)
        except BaseException:
            db.close()
            raise
        return db
    except (OSError, sqlite3.Error) as problem:
        raise storage_error(path, problem) from problem


def _make_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def _connect(path: Path, mode: str) -> Database:
    conn = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=BUSY_MS / 1000)
    conn.execute("PRAGMA foreign_keys = ON")
    # Plugins installed for sqlite-utils elsewhere have no business in a recording.
    return Database(conn, recursive_triggers=False, execute_plugins=False)


def _prepare(db: Database, path: Path, *, create: bool) -> None:
    _check_ours(db, path)
    if not create:
        if migrations.pending(db):
            raise StorageError(
                f"{path} was made by an older version and is not updated yet.",
                "Start this version of mcp-loupe once; it updates the file.",
            )
        return
    db.conn.execute("PRAGMA journal_mode = WAL")
    db.conn.execute("PRAGMA synchronous = NORMAL")
    db.conn.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
    # IMMEDIATE, so that a second process starting now waits instead of making the same tables.
    db.conn.execute("BEGIN IMMEDIATE")
    try:
        migrations.apply(db)
    except BaseException:
        db.rollback()
        raise
    db.commit()


def _check_ours(db: Database, path: Path) -> None:
    tables = {name for (name,) in db.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    applied = {migration.name for migration in migrations.applied(db)}
    if tables and not applied:
        raise StorageError(
            f"{path} is a database of another program.",
            "Choose another data folder, or move that file away.",
        )
    with Database(memory=True, execute_plugins=False) as empty:
        known = {migration.name for migration in migrations.pending(empty)}
    if newer := applied - known:
        raise StorageError(
            f"{path} was made by a newer version of mcp-loupe ({', '.join(sorted(newer))}).",
            "Update mcp-loupe, or choose another data folder.",
        )


_SAYINGS: tuple[tuple[int, str, str], ...] = (
    (sqlite3.SQLITE_FULL, "there is no space left", "Free some space on that disk and start again."),
    (
        sqlite3.SQLITE_READONLY,
        "it is read-only",
        "Make the file and its folder writable, or choose another data folder.",
    ),
    (
        sqlite3.SQLITE_CANTOPEN,
        "it cannot be opened",
        "Check that the folder exists and that you may write to it.",
    ),
    (sqlite3.SQLITE_PERM, "you may not write to it", "Check the permissions, or choose another data folder."),
    (sqlite3.SQLITE_BUSY, "another program keeps it locked", "Close the other program and try again."),
    (sqlite3.SQLITE_NOTADB, "it is not a database", "Move that file away; a new one will be made."),
    (sqlite3.SQLITE_CORRUPT, "it is damaged", "Move that file away; a new one will be made."),
    (sqlite3.SQLITE_IOERR, "the disk reported a fault", "Check the disk, or choose another data folder."),
)


def storage_error(path: Path, problem: Exception) -> StorageError:
    """What went wrong with the database at `path`, as a sentence and what to try next."""
    if isinstance(problem, StorageError):
        return problem
    if isinstance(problem, OSError):
        return StorageError(
            f"The recording database {path} cannot be used: {problem.strerror or problem}.",
            "Check the folder and its permissions, or choose another data folder.",
        )
    primary = (getattr(problem, "sqlite_errorcode", None) or 0) & 0xFF
    for code, what, remedy in _SAYINGS:
        if primary == code:
            return StorageError(f"The recording database {path} cannot be used: {what}.", remedy)
    if isinstance(problem, sqlite3.Error):
        return StorageError(
            f"The recording database {path} was refused by SQLite: {problem}.",
            "Move that file away if it was changed by hand; a new one will be made.",
        )
    return StorageError(
        f"Something could not be written to the recording database {path} ({type(problem).__name__}: {problem}).",
        "This is a fault of mcp-loupe: please report it.",
    )
