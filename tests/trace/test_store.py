from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from recordings import Recording, request

from inspector.errors import StorageError
from inspector.trace import filters
from inspector.trace.filters import Filter
from inspector.trace.recorder import Recorder
from inspector.trace.rows import Row
from inspector.trace.store import Page, Store
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

ALL = 50_000


def stamp(seq: int) -> Event:
    """The event of the large recording at a seq: three connections, every tenth stderr, every thousandth an error."""
    c = seq % 3 + 1
    if seq % 1000 == 0:
        return Event("error", c, LOCAL, {"origin": "console", "class": "TimedOut", "message": f"late {seq}"})
    if seq % 10 == 0:
        return Event("stderr", c, S2C, raw=b"line %d" % seq)
    cause = "lab" if seq % 777 == 0 else "user"
    raw = b'{"jsonrpc":"2.0","method":"m","params":%d}' % seq
    return Event("rpc", c, C2S, {"eol": "lf"}, raw, "notification", f"notifications/n{seq % 5}", cause=cause)


@cache
def stamped() -> dict[int, Event]:
    """The events of the large recording by seq."""
    return {seq: stamp(seq) for seq in range(1, ALL + 1)}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """50,000 events in session 1, and a few of another session after them."""
    path = tmp_path_factory.mktemp("large") / "trace.db"
    for count in (ALL, 7):
        journal = Journal()
        recorder = Recorder(path, journal, tool_version="0.0")
        for seq in range(1, count + 1):
            journal.emit(stamp(seq))
        assert recorder.flush(60)
        recorder.close()
    with Store(path) as store:
        yield store


def seqs(rows: list[Row]) -> list[int]:
    return [row.seq for row in rows]


def those(condition: Callable[[Event], bool]) -> list[int]:
    return [seq for seq, event in stamped().items() if condition(event)]


FILTERS: list[tuple[Filter, Callable[[Event], bool]]] = [
    (Filter(), lambda e: True),
    (Filter(c=(2,)), lambda e: e.c == 2),
    (Filter(c=(3, 1, 3)), lambda e: e.c in (1, 3)),
    (Filter(t=frozenset({"stderr"})), lambda e: e.t == "stderr"),
    (Filter(t=frozenset({"stderr", "error", "http"})), lambda e: e.t in ("stderr", "error")),
    (Filter(c=(1, 2), t=frozenset({"stderr"})), lambda e: e.t == "stderr" and e.c in (1, 2)),
    (Filter(c=(1,), t=frozenset({"rpc"})), lambda e: e.t == "rpc" and e.c == 1),
    (Filter(errors_only=True), lambda e: e.t == "error"),
    (Filter(errors_only=True, c=(2,)), lambda e: e.t == "error" and e.c == 2),
    (Filter(dir="local"), lambda e: e.dir == "local"),
    (Filter(cause="lab"), lambda e: e.cause == "lab"),
    (Filter(kind=frozenset({"notification"}), c=(1,)), lambda e: e.kind == "notification" and e.c == 1),
    (Filter(method="N3"), lambda e: e.method == "notifications/n3"),
    (Filter(method="%"), lambda e: False),
    (Filter(c=()), lambda e: False),
    (Filter(c=(9,)), lambda e: False),
]


@pytest.mark.parametrize(("wanted", "condition"), FILTERS)
def test_pages_in_either_direction_are_exact_windows(
    large: Store, wanted: Filter, condition: Callable[[Event], bool]
) -> None:
    every = those(condition)
    for edge in (0, 1, 999, 25_000, 49_995, ALL, ALL + 1):
        newer, older = every[bisect_right(every, edge) :], every[: bisect_left(every, edge)]
        up = large.page(1, wanted, after=edge, limit=7)
        down = large.page(1, wanted, before=edge, limit=7)
        assert (seqs(up), up.more) == (newer[:7], len(newer) > 7)
        assert (seqs(down), down.more) == (older[-7:], len(older) > 7)


def test_walking_page_by_page_meets_every_event_once(large: Store) -> None:
    walked: list[int] = []
    after, more = 0, True
    while more:
        page = large.page(1, Filter(c=(1, 3)), after=after, limit=3000)
        walked += seqs(page)
        after, more = walked[-1], page.more
    assert walked == those(lambda e: e.c in (1, 3))


def test_without_an_edge_the_newest_events_come(large: Store) -> None:
    assert seqs(large.page(1, limit=3)) == [ALL - 2, ALL - 1, ALL]
    assert seqs(large.page(2, limit=3)) == [5, 6, 7]
    assert large.page(3) == []


def test_between_two_edges_nothing_outside_comes(large: Store) -> None:
    assert seqs(large.page(1, after=10, before=13)) == [11, 12]


def test_a_search_says_how_far_it_looked_and_goes_on_from_there(
    large: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "SCAN_ROWS", 10_000)
    wanted = Filter(text="LATE 32000")
    walked: list[tuple[list[int], int | None]] = []
    after: int | None = 0
    while after is not None:
        page = large.page(1, wanted, after=after)
        walked.append((seqs(page), page.scanned_to))
        after = page.scanned_to
    assert walked == [([], 10_000), ([], 20_000), ([], 30_000), ([32_000], 40_000), ([], 50_000), ([], None)]
    assert large.page(1, wanted, before=ALL).scanned_to == 40_000


def test_a_search_on_an_index_looks_only_at_what_the_index_holds(
    large: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "SCAN_ROWS", 1000)
    page = large.page(1, Filter(text="line 1", t=frozenset({"stderr", "error"})), after=0, limit=1)
    assert (seqs(page), page.more, page.scanned_to) == ([10], True, None)
    page = large.page(1, Filter(text="nowhere", t=frozenset({"stderr", "error"})), after=0)
    # 99 of every 1,000 events are stderr: the 1000th line is event 10,100.
    assert (seqs(page), page.scanned_to) == ([], 10_100)


def test_a_search_stops_after_so_many_bytes(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "SCAN_BYTES", 3000)
    for _ in range(5):
        recording.emit(Event("stderr", 1, S2C, raw=b"x" * 1000))
    with recording.read() as store:
        assert store.page(1, Filter(text="y"), after=0).scanned_to == 3
        assert store.page(1, Filter(text="y"), after=3).scanned_to is None


@pytest.mark.parametrize(
    "typed", ["GRÜSSE", "grÜße", 'say "hi"', "C:\\temp", "tab\there", "\U0001f600", "late answer"]
)
def test_text_is_found_as_typed_and_as_json_escapes_it(recording: Recording, typed: str) -> None:
    text = 'GRÜSSE grÜße say "hi" C:\\temp tab\there \U0001f600'
    for ascii in (True, False):
        raw = json.dumps({"jsonrpc": "2.0", "method": text}, ensure_ascii=ascii).encode()
        recording.emit(Event("rpc", 1, C2S, {}, raw, "notification"))
    recording.emit(Event("stderr", 1, S2C, raw=text.encode()))
    recording.emit(Event("error", 1, LOCAL, {"message": "Late Answer"}))
    with recording.read() as store:
        assert seqs(store.page(1, Filter(text=typed))) == ([4] if typed == "late answer" else [1, 2, 3])


def test_counts_are_kept_by_connection_and_kind(large: Store) -> None:
    assert large.counts(1) == {"error": 50, "errors": 50, "stderr": 4950, "rpc": 45_000}
    of_two = [event.t for event in stamped().values() if event.c == 2]
    assert large.counts(1, 2) == {
        **{t: of_two.count(t) for t in set(of_two)},
        "errors": of_two.count("error"),
    }
    assert large.counts(1, 9) == {"errors": 0}
    assert (large.last_seq(1), large.last_seq(2), large.last_seq(9)) == (ALL, 7, 0)


def test_neighbours_and_the_next_error_follow_the_filter(large: Store) -> None:
    assert large.neighbours(1, 25_000) == (24_999, 25_001)
    assert large.neighbours(1, 25_000, Filter(t=frozenset({"stderr"}))) == (24_990, 25_010)
    assert large.neighbours(1, 1, Filter(errors_only=True)) == (None, 1000)
    assert large.next_error(1, 1000) == 2000
    assert large.next_error(1, 1000, Filter(c=(1,))) == 3000
    assert large.next_error(1, ALL) is None


def plans(store: Store, read: Callable[[], object]) -> list[str]:
    """The steps of SQLite's plan for every statement that `read` runs."""
    asked: list[str] = []
    store._db.conn.set_trace_callback(asked.append)
    try:
        read()
    finally:
        store._db.conn.set_trace_callback(None)
    assert asked
    return [step[3] for sql in asked for step in store._db.conn.execute(f"EXPLAIN QUERY PLAN {sql}")]


@pytest.mark.parametrize(
    "wanted", [*(wanted for wanted, _ in FILTERS), Filter(text="x"), Filter(text="x", c=(1,))]
)
def test_listings_walk_an_index_and_sort_nothing(large: Store, wanted: Filter) -> None:
    for read in (
        lambda: large.page(1, wanted, after=100),
        lambda: large.page(1, wanted, before=1000),
        lambda: large.neighbours(1, 100, wanted),
        lambda: large.next_error(1, 100, wanted),
    ):
        for step in plans(large, read):
            assert step.startswith(
                ("SEARCH event USING", "SEARCH tally USING", "LIST SUBQUERY", "SCAN json_each")
            )


def test_single_rows_and_counts_are_looked_up(large: Store) -> None:
    for read in (
        lambda: large.row(1, 100),
        lambda: large.raw(1, 100),
        lambda: large.pair_of(1, 100),
        lambda: large.counts(1),
        lambda: large.counts(1, 1),
        lambda: large.last_seq(1),
        lambda: large.connections(1),
        lambda: large.latest_snapshot("k", "tools"),
    ):
        assert not [step for step in plans(large, read) if step.startswith("SCAN")]


def test_request_and_answer_find_each_other(recording: Recording) -> None:
    asked, answered = recording.exchange("1")
    unanswered = recording.emit(request("2"))
    recording.emit(Event("error", 1, LOCAL, {"class": "TimedOut"}, pair=unanswered))
    with recording.read() as store:

        def pair(seq: int) -> int | None:
            found = store.pair_of(1, seq)
            return found and found.seq

        assert (pair(asked), pair(answered)) == (answered, asked)
        assert (pair(unanswered), pair(4)) == (4, unanswered)
        assert pair(99) is None
    late = recording.emit(Event("rpc", 1, S2C, {}, b"{}", "result", id="2"))
    with recording.read() as store:
        assert pair(unanswered) == late


def test_a_listing_carries_heads_and_a_row_everything(recording: Recording) -> None:
    raws = [b"s" * 4096, b"l" * 4097, bytes(range(256)) * 20_000, None]
    for raw in raws:
        recording.emit(Event("stderr", 1, S2C, raw=raw))
    with recording.read() as store:
        page = store.page(1)
        assert [row.raw_head for row in page] == [raw and raw[:4096] for raw in raws]
        assert [row.bytes for row in page] == [4096, 4097, 5_120_000, None]
        assert [row.cut for row in page] == [False, True, True, False]
        whole = [store.row(1, seq) for seq in range(1, 5)]
        assert [row and row.raw_head for row in whole] == raws
        assert [store.raw(1, seq) for seq in range(1, 5)] == raws
        assert (store.row(1, 99), store.raw(1, 99)) == (None, None)


BAD: list[tuple[str, str | None, dict[str, Any], bool]] = [
    ("rpc", "error", {}, True),
    ("rpc", "result", {"tool_error": True}, True),
    ("rpc", "result", {}, False),
    ("rpc", "request", {}, False),
    ("error", None, {"class": "TimedOut"}, True),
    ("noise", None, {"why": "not JSON"}, False),
    ("stderr", None, {}, False),
    ("http", None, {"phase": "response", "status": 399}, False),
    ("http", None, {"phase": "response", "status": 400}, True),
    ("http", None, {"phase": "request"}, False),
    ("proc", None, {"what": "exited", "code": 0}, False),
    ("proc", None, {"what": "exited", "code": 1}, True),
    ("proc", None, {"what": "exited", "signal": "SIGSEGV"}, True),
    ("proc", None, {"what": "exited", "signal": "SIGTERM", "expected": True}, False),
    ("proc", None, {"what": "spawned", "pid": 1}, False),
]


def test_what_counts_as_an_error(recording: Recording) -> None:
    for t, kind, body, _ in BAD:
        recording.emit(Event(t, 1, S2C, body, kind=kind))
    with recording.read() as store:
        assert [row.bad for row in store.page(1)] == [bad for *_, bad in BAD]
        assert seqs(store.page(1, Filter(errors_only=True))) == [
            n for n, case in enumerate(BAD, 1) if case[3]
        ]
        assert store.counts(1)["errors"] == sum(bad for *_, bad in BAD)
        assert seqs(store.page(1, Filter(kind=frozenset({"error"})))) == [1]


def test_a_store_whose_table_is_gone_says_so(recording: Recording) -> None:
    recording.emit(request("1"))
    with recording.read() as store:
        recording.recorder.write(lambda db: db.table("event").drop(), 20)
        for read in (lambda: store.page(1), lambda: store.row(1, 1), lambda: store.last_seq(1)):
            with pytest.raises(StorageError, match="no such table: event"):
                read()


def test_a_reader_sees_new_events_without_opening_again(recording: Recording) -> None:
    recording.emit(request("1"))
    with recording.read() as store:
        assert seqs(store.page(1)) == [1]
        recording.emit(request("2"))
        assert recording.recorder.flush(20)
        page = store.page(1)
        assert isinstance(page, Page)
        assert seqs(page) == [1, 2]
