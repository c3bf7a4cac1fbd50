"""`recording` and `timeline-page`: events into SQLite, and a page of them out again."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.report import Row, compared
from benchmarks.setting import READY_S, console_gc, scratch
from benchmarks.timing import Side, interleaved, p95
from inspector.trace.filters import Filter
from inspector.trace.recorder import Recorder
from inspector.trace.store import Store
from inspector.wire.events import C2S, S2C, Event, Journal

RAW = b'{"jsonrpc":"2.0","id":10,"result":{"content":[{"type":"text","text":"%s"}]}}' % (b"x" * 230)
FLOOR = 20_000
BACKLOG = 20_000
BATCH = 1000
FEW, MANY = 10_000, 1_000_000


def emit_pairs(journal: Journal, recorder: Recorder, frames: int) -> None:
    """Requests and their answers, 300 bytes each, as fast as the writer takes them."""
    for number in range(frames // 2):
        journal.emit(
            Event("rpc", 1 + number % 3, C2S, {"eol": "lf"}, RAW, "request", "tools/call", str(number))
        )
        journal.emit(Event("rpc", 1 + number % 3, S2C, {"eol": "lf"}, RAW, "result", None, str(number)))
        while recorder.backlog > BACKLOG:  # as the readers do: they pause, nothing is dropped
            time.sleep(0.001)


def recording() -> list[Row]:
    """Frames a second, from the first one made to the last one committed; then at a fixed pace."""
    console_gc()
    rounds, frames = 3, 200_000
    with scratch() as folder:
        ours = [_rate(_record, folder / f"ours{n}.db", frames) for n in range(rounds)]
        bare = [_rate(_bare, folder / f"bare{n}.db", frames) for n in range(rounds)]
        took, backlog, flushed = _paced(folder / "paced.db", FLOOR, seconds=8)
    per_cpu = median(cpu for _, cpu in ours)
    note = f"{per_cpu:,.0f} a second of CPU; making the frames is included"
    against = "sqlite3 executemany into one table without index"
    pace = f"at {FLOOR:,}/s for 8 s: backlog at most {backlog:,}, committed {flushed * 1000:.0f} ms after the last"
    return [
        Row(
            "recording",
            "/s",
            median(r for r, _ in ours),
            median(r for r, _ in bare),
            against,
            floor=FLOOR,
            note=note,
        ),
        Row(
            "recording, emit p95",
            "µs",
            p95(took) * 1e6,
            None,
            "nothing",
            note=f"worst {max(took) * 1e3:.1f} ms; {pace}",
        ),
    ]


def _rate(work: Callable[[Path, int], object], path: Path, frames: int) -> tuple[float, float]:
    """Frames a second, and frames a second of CPU."""
    cpu, wall = time.process_time(), time.perf_counter()
    work(path, frames)
    return frames / (time.perf_counter() - wall), frames / (time.process_time() - cpu)


def _record(path: Path, frames: int) -> None:
    journal = Journal()
    recorder = Recorder(path, journal, tool_version="benchmark")
    emit_pairs(journal, recorder, frames)
    recorder.close(READY_S)
    assert recorder.health().dropped == 0


def _bare(path: Path, frames: int) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER, raw BLOB)")
    for start in range(0, frames, BATCH):
        with db:
            rows = ((seq, time.time_ns(), RAW) for seq in range(start, start + BATCH))
            db.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)
    db.close()


def _paced(path: Path, rate: int, *, seconds: int) -> tuple[list[float], int, float]:
    """How long each emit held its caller, the largest backlog, and the wait for the last commit."""
    journal = Journal()
    recorder = Recorder(path, journal, tool_version="benchmark")
    took, backlog, began = [], 0, time.perf_counter()
    for number in range(rate * seconds):
        if number % 200 == 0:
            time.sleep(max(0.0, began + number / rate - time.perf_counter()))
            backlog = max(backlog, recorder.backlog)
        start = time.perf_counter()
        journal.emit(Event("rpc", 1, C2S, {"eol": "lf"}, RAW, "notification", "notifications/progress"))
        took.append(time.perf_counter() - start)
    last = time.perf_counter()
    assert recorder.flush(READY_S)
    flushed = time.perf_counter() - last
    recorder.close()
    return took, backlog, flushed


def timeline_page() -> list[Row]:
    """200 rows out of a million events, against 200 out of ten thousand: newest, in the middle, and filtered."""
    console_gc()
    with scratch() as folder:
        for frames in (FEW, MANY):
            _record(folder / f"{frames}.db", frames)
        with Store(folder / f"{FEW}.db") as few, Store(folder / f"{MANY}.db") as many:
            return [
                _pages("timeline-page", many, few, lambda store, n: store.page(1)),
                _pages("timeline-page, middle", many, few, lambda store, n: store.page(1, before=n // 2)),
                _pages(
                    "timeline-page, by method",
                    many,
                    few,
                    lambda store, n: store.page(1, Filter(method="tools/call")),
                ),
                _pages(
                    "timeline-page, no match",
                    many,
                    few,
                    lambda store, n: store.page(1, Filter(text="never said")),
                    3,
                ),
            ]


def _pages(name: str, many: Store, few: Store, page: Callable[[Store, int], object], rounds: int = 41) -> Row:
    times = interleaved(rounds, {"ours": Side(lambda: page(many, MANY)), "few": Side(lambda: page(few, FEW))})
    bounded = name.endswith("no match")
    note = "a bounded search: it stops after 50,000 rows and says so" if bounded else ""
    return compared(
        name, times["ours"], times["few"], f"{FEW:,} events", bar=None if bounded else 1.5, note=note
    )
