from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from recordings import Recording, request

from inspector.errors import StorageError
from inspector.trace.inserting import LARGE_RAW
from inspector.trace.recorder import Recorder
from inspector.trace.rows import body_text, row_of
from inspector.trace.store import Store
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

ROOT = Path(__file__).parents[2]


def test_events_are_stored_with_every_column(recording: Recording) -> None:
    asked, answered = recording.exchange('"c17"', tool_error=True)
    with recording.read() as store:
        session = recording.recorder.session
        first, second = store.page(session)
    assert (first.seq, first.kind, first.method, first.rpc_id) == (asked, "request", "tools/call", '"c17"')
    assert (first.pair, first.ms, first.cause, first.bad) == (None, None, "user", False)
    assert first.raw_head == b'{"jsonrpc":"2.0","id":"c17","method":"tools/call"}'
    assert first.bytes == len(first.raw_head)
    assert (second.seq, second.pair, second.method, second.bad) == (answered, asked, "tools/call", True)
    assert second.ms == (second.dt_us - first.dt_us) / 1000
    assert second.body == {"eol": "lf", "tool_error": True}
    assert second.at_us == recording.journal.wall0_us + second.dt_us


@pytest.mark.parametrize(
    "body",
    [{"eol": "lf", "bytes": 278}, {"bytes": 278, "eol": "lf"}, {"eol": "lf", "bytes": True}, {"eol": 'a"b', "bytes": 1},
     {"eol": ["lf"], "bytes": 1}, {"eol": "crlf"}, {"eol": "none", "bytes": 2, "why": "\u00e9"}, {}],
)  # fmt: skip
def test_a_body_is_written_as_json_writes_it(body: dict[str, object]) -> None:
    assert body_text(body) == json.dumps(body, separators=(",", ":"))


def test_a_large_frame_is_kept_to_the_byte_in_its_place(recording: Recording) -> None:
    """Above LARGE_RAW the bytes are written into the pages of the database, not bound to the statement."""
    sizes = (3, LARGE_RAW, LARGE_RAW + 1, 0, 3_219_482, 5)
    raws = [random.Random(size).randbytes(size) for size in sizes]
    for raw in raws:
        recording.emit(Event("noise", 1, S2C, {"why": "not JSON"}, raw))
    assert recording.recorder.flush(20)
    with closing(sqlite3.connect(recording.path)) as db:
        stored = db.execute("SELECT seq, bytes, typeof(raw), raw FROM event ORDER BY id").fetchall()
    assert stored == [(at, len(raw), "blob", raw) for at, raw in enumerate(raws, start=1)]


def test_an_announced_event_looks_as_the_store_gives_it(recording: Recording) -> None:
    with recording.recorder.feed.subscribe() as subscription:
        recording.emit(Event("noise", 1, S2C, {"why": "not JSON"}, b"\xff" * 5000))
        announced = subscription.get(20)
    assert announced is not None
    with recording.read() as store:
        stored = store.page(recording.recorder.session)
    assert [row_of(recording.recorder.session, event) for event in announced] == stored
    assert stored[0].cut


def test_what_is_announced_is_already_committed(recording: Recording) -> None:
    with recording.recorder.feed.subscribe() as subscription, Store(recording.path) as store:
        for number in range(50):
            recording.emit(request(str(number)))
            announced = subscription.get(20)
            assert announced is not None
            assert store.last_seq(recording.recorder.session) >= announced[-1].seq
    assert recording.recorder.feed.last_seq == 50


def test_a_lost_reader_catches_up_from_the_store_without_a_gap(recording: Recording) -> None:
    seen: list[int] = []
    session = recording.recorder.session
    with recording.recorder.feed.subscribe(maxsize=10) as subscription, Store(recording.path) as store:
        emitter = threading.Thread(target=lambda: [recording.emit(request(str(n))) for n in range(3000)])
        emitter.start()
        overflows = 0
        while len(seen) < 3000:
            got = subscription.get(20)
            assert got is not None
            if subscription.lost:
                overflows += 1
                subscription.resync()
                after = seen[-1] if seen else 0
                seen += [row.seq for row in store.page(session, after=after, limit=10_000)]
            seen += [event.seq for event in got if not seen or event.seq > seen[-1]]
        emitter.join(20)
    assert seen == list(range(1, 3001))
    assert overflows > 0


def test_lone_surrogates_and_odd_bytes_do_not_stop_a_recording(recording: Recording) -> None:
    raw = b'{"jsonrpc":"2.0","method":"\\ud800","id":"\\udfff"}'
    recording.emit(Event("rpc", 1, S2C, {"x": "\ud800"}, raw, "request", "\ud800", '"\udfff"'))
    recording.emit(Event("stderr", 1, S2C, raw=bytes(range(256))))
    recording.emit(Event("noise", 1, S2C, raw=b""))
    with recording.read() as store:
        odd, binary, empty = store.page(recording.recorder.session)
        assert (odd.method, odd.rpc_id, odd.body) == ("\\ud800", '"\\udfff"', {"x": "\ud800"})
        assert store.raw(odd.session, odd.seq) == raw
        assert binary.raw_head == bytes(range(256))
        assert (empty.raw_head, empty.bytes) == (b"", 0)


def test_connection_events_fill_in_what_becomes_known(recording: Recording) -> None:
    target = {"argv": ["server"], "cwd": "/", "env_names": ["HOME"]}
    first = {"label": "one", "server_key": "k", "transport": "stdio", "target": target}
    recording.emit(Event("connection", 1, LOCAL, first))
    recording.emit(Event("connection", 2, LOCAL, {"label": "two"}))
    later = {"era": "modern", "protocol_version": "2026-07-28", "server_info": {"name": "s"}}
    recording.emit(Event("connection", 1, LOCAL, later))
    with recording.read() as store:
        one, two = store.connections(recording.recorder.session)
    assert (one.label, one.server_key, one.transport, one.target) == ("one", "k", "stdio", target)
    assert (one.era, one.protocol_version, one.server_info) == ("modern", "2026-07-28", {"name": "s"})
    assert one.client_capabilities is None
    assert (two.c, two.label, two.era) == (2, "two", None)


def test_sessions_of_one_database_stay_apart(start: Callable[..., Recording]) -> None:
    first, second = start("first"), start("second")
    first.exchange("1")
    second.emit(Event("error", 1, LOCAL, {"class": "TimedOut"}))
    assert first.recorder.flush(20)
    first.recorder.close()
    with second.read() as store:
        newest, oldest = store.sessions()
        assert [row.t for row in store.page(newest.id)] == ["error"]
    assert (newest.title, newest.events, newest.errors, newest.ended_at) == ("second", 1, 1, None)
    assert (oldest.title, oldest.events, oldest.errors) == ("first", 2, 0)
    assert oldest.ended_at is not None
    assert oldest.started_at <= oldest.ended_at


def test_a_snapshot_comes_back_as_it_was_saved(recording: Recording) -> None:
    pages = [{"cursor": None, "seq": 2, "bytes": 10, "ttl_ms": 0, "cache_scope": "private"}]
    saved = [
        recording.recorder.save_snapshot(
            seq=2,
            server_key="k",
            what=what,
            at_us=5,
            era=None,
            declared={"roots": {}},
            pages=pages,
            totals={"count": 1},
            sha256="ab",
            order_sha256="cd",
        )
        for what in ("tools", "prompts", "tools")
    ]
    with recording.read() as store:
        latest = store.latest_snapshot("k", "tools")
        assert latest is not None
        assert latest == store.snapshot(saved[2])
        assert (latest.seq, latest.era, latest.pages, latest.totals) == (2, None, pages, {"count": 1})
        assert [one.id for one in store.snapshots("k", "tools", 10)] == [saved[2], saved[0]]
        assert store.latest_snapshot("k", "resources") is None
        assert store.snapshot(99) is None


def test_a_full_disk_ends_the_recording_loudly_and_later_events_are_counted(recording: Recording) -> None:
    recorder = recording.recorder
    recording.exchange("1")
    assert recorder.flush(20)
    # The limit is SQLite's own: the write fails with SQLITE_FULL, as on a full disk.
    recorder.write(lambda db: db.conn.execute("PRAGMA max_page_count = 30").fetchall(), 20)
    for _ in range(1000):
        recording.emit(Event("stderr", 1, S2C, raw=b"x" * 1000))
    assert not recorder.flush(20)
    health = recorder.health()
    assert health.state == "failed"
    assert health.error is not None
    assert health.error.endswith("cannot be used: there is no space left.")
    recording.emit(request("9"))
    assert recorder.dropped + health.committed_seq == recording.journal.last_seq == 1003
    assert recorder.health().backlog == recorder.backlog_bytes == 0
    with pytest.raises(StorageError, match="no space left"):
        recorder.write(lambda db: None, 20)
    with Store(recording.path) as store:
        assert store.last_seq(recorder.session) == health.committed_seq >= 2


def test_a_table_deleted_while_recording_ends_it_loudly(recording: Recording) -> None:
    with closing(sqlite3.connect(recording.path)) as conn:
        conn.execute("DROP TABLE event")
    recording.emit(request("1"))
    assert not recording.recorder.flush(20)
    health = recording.recorder.health()
    assert (health.state, health.dropped) == ("failed", 1)
    assert "no such table: event" in str(health.error)


def test_a_database_file_removed_while_recording_ends_it_loudly(recording: Recording) -> None:
    recording.path.unlink()
    recording.emit(request("1"))
    assert not recording.recorder.flush(20)
    assert recording.recorder.health().state == "failed"


def test_an_event_that_cannot_be_written_names_itself_as_our_fault(recording: Recording) -> None:
    recording.emit(Event("note", 0, LOCAL, {"bytes": b"no JSON"}))
    assert not recording.recorder.flush(20)
    assert "TypeError" in str(recording.recorder.health().error)


def test_a_change_that_fails_is_undone_and_recording_goes_on(recording: Recording) -> None:
    with pytest.raises(StorageError, match="no such table: nowhere"):
        recording.recorder.write(lambda db: db.conn.execute("INSERT INTO nowhere VALUES (1)"), 20)
    recording.emit(request("1"))
    assert recording.recorder.flush(20)
    assert recording.recorder.health().state == "recording"


def test_a_writer_that_is_held_up_does_not_hold_up_the_caller(recording: Recording) -> None:
    with closing(sqlite3.connect(recording.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        recording.emit(request("1"))
        assert not recording.recorder.flush(0.05)
        assert recording.recorder.health().backlog == 1
        assert recording.recorder.backlog_bytes == len(request("1").raw or b"")
        other.execute("ROLLBACK")
    assert recording.recorder.flush(20)
    assert recording.recorder.health().committed_seq == 1


def test_closing_commits_what_is_queued_and_detaches(recording: Recording) -> None:
    for number in range(5000):
        recording.emit(request(str(number)))
    recording.recorder.close()
    recording.recorder.close()
    recording.emit(request("later"))
    assert recording.recorder.health().state == "stopped"
    with pytest.raises(StorageError, match="has been stopped"):
        recording.recorder.write(lambda db: None, 20)
    with Store(recording.path) as store:
        assert store.last_seq(recording.recorder.session) == 5000


def test_a_recorder_that_cannot_open_its_database_says_so_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = Journal()
    with pytest.raises(StorageError, match="cannot be used"):
        Recorder(tmp_path / "file" / "trace.db", journal, tool_version="0.0")
    assert journal.sinks == []


def test_events_from_many_threads_are_stored_densely(recording: Recording) -> None:
    def emit(c: int) -> None:
        for number in range(500):
            recording.journal.emit(Event("rpc", c, C2S, {}, b"{}", "request", "ping", str(number)))

    threads = [threading.Thread(target=emit, args=(c,)) for c in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    with recording.read() as store:
        assert [row.seq for row in store.page(recording.recorder.session, limit=3000)] == list(range(1, 2001))
        assert store.counts(recording.recorder.session) == {"rpc": 2000, "errors": 0}


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_process_has_stored_everything_it_announced(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "trace.db"
    lines = random.Random(seed).randint(1, 8000)
    command = [sys.executable, str(ROOT / "tests" / "trace" / "recording_process.py"), str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        announced = 0
        for _ in range(lines):
            announced = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split(b"\n")[:-1]
        announced = int(rest[-1]) if rest else announced
    assert announced >= lines
    with Store(path) as store:
        (session,) = store.sessions()
        assert session.events == store.last_seq(session.id) >= announced
        assert len(store.page(session.id, limit=10**6)) == session.events
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
