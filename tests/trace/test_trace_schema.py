from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from inspector.errors import StorageError
from inspector.trace.schema import open_database


def test_a_new_database_is_private_and_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trace.db"
    with closing(open_database(path, create=True)) as db:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert db.journal_mode == "wal"
        assert db.conn.execute("PRAGMA synchronous").fetchone() == (1,)
        assert db.conn.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
        assert {"session", "connection", "event", "snapshot", "tally"} <= set(db.table_names())
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    open_database(path, create=True).close()
    before = path.read_bytes()
    open_database(path, create=True).close()
    assert path.read_bytes() == before


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    open_database(path, create=True).close()
    with closing(open_database(path, create=False)) as db:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.conn.execute("DELETE FROM event")


def test_reading_where_nothing_was_recorded_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no recording database at") as caught:
        open_database(tmp_path / "trace.db", create=False)
    assert caught.value.remedy == "Start mcp-loupe once to make it."
    assert not (tmp_path / "trace.db").exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "trace.db"
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="it is not a database"):
        open_database(path, create=create)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE contacts (name)")
    with pytest.raises(StorageError, match="is a database of another program"):
        open_database(path, create=True)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    with closing(open_database(path, create=True)) as db:
        later = {"migration_set": "mcp_loupe", "name": "m9999_later", "applied_at": "2030-01-01"}
        db.table("_sqlite_migrations").insert(later)
    for create in (True, False):
        with pytest.raises(StorageError, match=r"newer version of mcp-loupe \(m9999_later\)") as caught:
            open_database(path, create=create)
        assert caught.value.remedy.startswith("Update mcp-loupe")


def test_an_older_database_is_updated_by_the_writer_and_refused_by_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    with closing(open_database(path, create=True)) as db:
        db.table("snapshot").drop()
        db.table("_sqlite_migrations").delete_where("name = ?", ["m0002_snapshots"])
    with pytest.raises(StorageError, match="made by an older version"):
        open_database(path, create=False)
    with closing(open_database(path, create=True)) as db:
        assert db.table("snapshot").exists()


def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be used: ") as caught:
        open_database(tmp_path / "file" / "trace.db", create=True)
    assert "choose another data folder" in caught.value.remedy
