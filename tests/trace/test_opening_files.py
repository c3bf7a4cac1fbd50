"""A trace file in the recordings: what is kept, refused, flagged, trimmed and written out again."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import opened
import pytest

from inspector.console.exporting import Work, written
from inspector.console.opening import BROKEN_OFF, open_file
from inspector.console.recordings import due
from inspector.errors import FileError
from inspector.settings.retention import Retention
from inspector.trace.file_reader import Limits, read_trace
from inspector.trace.importing import SLICE_EVENTS
from inspector.trace.session_file import Range
from inspector.trace.store import Session, Store

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "traces").glob("*.mcptrace.jsonl*"))
NUMBERS = count()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings") / "loupe.db"


def read(database: Path, file: Path, **options: Any) -> int:
    return open_file(database, file, file.name, f"t{next(NUMBERS)}", **options)


def exported(database: Path, session: int, target: Path, span: Range | None = None) -> Path:
    work = Work(session, span or Range(), None, target.with_suffix(".seen"))
    written(database, work, "gz" if target.suffix == ".gz" else "trace", target)
    return target


@pytest.mark.parametrize("file", SHIPPED, ids=lambda path: path.name)
def test_a_file_that_was_opened_is_exported_again_byte_for_byte(
    database: Path, tmp_path: Path, file: Path
) -> None:
    target = exported(database, read(database, file), tmp_path / file.name)
    assert target.read_bytes() == file.read_bytes()


def test_the_lists_of_a_file_become_catalogs_of_its_servers_page_by_page(
    database: Path, tmp_path: Path
) -> None:
    pages = [{"tools": [{"name": "a"}], "nextCursor": "x"}, {"tools": [{"name": "b"}]}]
    first = opened.answer(3, 2, {"ttlMs": 1, **pages[0]}, "tools/list")
    raw = first["raw"].replace('"ttlMs": 1', f'"ttlMs": {"9" * 5_000}')  # more digits than Python reads
    events = [
        opened.introduced(), request := opened.request(2, "tools/list"), {**first, "raw": raw, "bytes": len(raw)},
        opened.request(4, "tools/list", {"cursor": "x"}), opened.answer(5, 4, pages[1], "tools/list"),
        opened.request(6, "tools/list"), opened.answer(7, 6, pages[0], "tools/list"),
    ]  # fmt: skip
    session = read(database, opened.write(tmp_path / "pages.mcptrace.jsonl", events))
    with Store(database) as store:
        (connection,) = store.connections(session)
        assert connection.server_key == f"~{session}.1"
        broken, whole = store.snapshots(f"~{session}.1", "tools")
    assert [page["seq"] for page in whole.pages] == [3, 5]
    assert whole.totals["count"] == 2
    assert whole.totals["wire_bytes"] == sum(len(events[n]["raw"]) for n in (2, 4))
    assert broken.totals["problem"] == BROKEN_OFF
    assert request["seq"] == 2


def test_a_file_without_its_last_line_and_one_with_a_flipped_byte_say_so(
    database: Path, tmp_path: Path
) -> None:
    cut = opened.write(tmp_path / "cut.mcptrace.jsonl", opened.exchange(), whole=False)
    flipped = opened.write(tmp_path / "flipped.mcptrace.jsonl", opened.exchange())
    flipped.write_bytes(flipped.read_bytes().replace(b"status", b"statut", 1))
    first, second = read(database, cut), read(database, flipped)
    with Store(database) as store:
        incomplete, damaged = store.opened(first)[0].verdict, store.opened(second)[0].verdict
        ends = {each.id: each.ended_at for each in store.sessions()}
    assert incomplete is not None and incomplete["incomplete"] is True
    assert damaged is not None and "checksum" in damaged["problem"]
    assert ends[first] is None and ends[second] is None


WRONG: list[tuple[str, Any, str]] = [
    ("a number too large", opened.event(2, "stderr", data="x", enc="utf8", pair=2**63), "\"pair\""),
    ("a connection that is a text", opened.event(2, "stderr", data="x", enc="utf8", c="1"), '"c"'),
    ("month 13", opened.event(2, "stderr", data="x", enc="utf8", at="2026-13-01T00:00:00.000000Z"), '"at"'),
    ("a status that is a list", opened.event(2, "http", phase="response", status=[200]), '"status"'),
    ("a frame without raw", opened.event(2, kind="request", bytes=0), "raw"),
    ("environment values", opened.event(2, "connection", target={"env": {"A": "b"}}), '"target"'),
    ("a second header", {**opened.HEADER, "seq": 2}, '"t"'),
    ("no JSON", b"{nope\n", "JSON"),
    ("depth", b'{"t":"x","seq":2,"a":' + b"[" * 100_000 + b"\n", ""),
    ("a seq that falls", opened.introduced(1), "rise"),
    ("a year 0", opened.event(2, "stderr", data="x", enc="utf8", at="0001-01-01T00:00:00.000000Z"), '"at"'),
]  # fmt: skip


@pytest.mark.parametrize(("line", "word"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_wrong_line_refuses_the_file_by_name_and_line_and_nothing_stays(
    database: Path, tmp_path: Path, line: Any, word: str
) -> None:
    file = opened.write(tmp_path / "wrong.mcptrace.jsonl", [opened.introduced(), line])
    with Store(database) as store:
        before = (len(store.sessions()), len(store.opened()), store.unfinished())
    with pytest.raises(FileError) as refused:
        read(database, file)
    assert refused.value.message.startswith("wrong.mcptrace.jsonl") and "\n" not in refused.value.message
    assert word in refused.value.message and str(tmp_path) not in refused.value.message
    with Store(database) as store:
        assert (len(store.sessions()), len(store.opened()), store.unfinished()) == before


def test_more_than_the_limits_is_refused_after_slices_were_written_and_nothing_stays(
    database: Path, tmp_path: Path
) -> None:
    events = [opened.event(seq, "stderr", data="x", enc="utf8") for seq in range(1, SLICE_EVENTS + 50)]
    file = opened.write(tmp_path / "many.mcptrace.jsonl.gz", events)
    with pytest.raises(FileError, match="holds more than"):
        read(database, file, limits=Limits(events=SLICE_EVENTS + 10))
    with Store(database) as store:
        assert all(each.name != file.name for each in store.opened())


def test_what_no_writer_of_ours_writes_is_flagged_and_shown(database: Path, tmp_path: Path) -> None:
    common = b'"c":1,"at":"2026-11-30T00:00:02.000000Z","dt":2,"dir":"local",'
    twice = b'{"t":"stderr","seq":2,' + common + b'"enc":"utf8","data":"a","data":"b"}\n'
    nan = b'{"t":"cache","seq":3,' + common + b'"key":NaN,"verdict":"hit","why":"\\ud800"}\n'
    events = [
        opened.introduced(), twice, nan, opened.request(4, bytes=999_999_999),
        opened.event(5, "noise", data="%%%", enc="base64", why="?"), opened.event(6, "hologram", what={"a": [1]}),
    ]  # fmt: skip
    session = read(database, opened.write(tmp_path / "odd.mcptrace.jsonl", events))
    with Store(database) as store:
        verdict = store.opened(session)[0].verdict
        sized = store.row(session, 4)
        assert store.counts(session)["hologram"] == 1
        assert store.raw(session, 5) == b"%%%"
    assert verdict is not None
    assert verdict["oddities"] == {"duplicate keys": 3, "NaN or infinity": 4, "lone surrogates": 4}
    assert verdict["odd_events"] == {"sizes that do not fit the text": 4, "base64 that is none": 5}
    assert sized is not None and sized.bytes == len(sized.raw_head or b"")
    wrong = b'{"t":"cache","seq":2,' + common + b'"key":"k","why":"w","verdict":"\\ud800"}\n'
    with pytest.raises(FileError, match='line 3 has no valid "verdict"'):
        read(database, opened.write(tmp_path / "wrong.mcptrace.jsonl", [opened.introduced(), wrong]))


def test_a_trimmed_export_is_numbered_anew_with_its_references_and_keeps_who_the_server_is(
    database: Path, tmp_path: Path
) -> None:
    events = [
        *opened.exchange(),
        opened.event(6, "catalog", what="tools", count=1, pages=[{"seq": 3}, {"seq": 5}]),
    ]
    session = read(database, opened.write(tmp_path / "trim.mcptrace.jsonl", events))
    target = exported(database, session, tmp_path / "part.mcptrace.jsonl", Range(5, 6))
    with read_trace(target) as reader:
        lines = list(reader)
        assert (reader.incomplete, reader.problem) == (False, None)
        assert reader.trailer is not None and reader.trailer["complete"] is True
    assert [(each["t"], each["seq"]) for each in lines] == [("connection", 1), ("rpc", 2), ("catalog", 3)]
    assert "pair" not in lines[1]
    assert lines[2]["pages"] == [{}, {"seq": 2}]


def test_an_export_of_a_range_to_the_end_of_an_exchange_keeps_the_pair(
    database: Path, tmp_path: Path
) -> None:
    session = read(database, opened.write(tmp_path / "pair.mcptrace.jsonl", opened.exchange()))
    target = exported(database, session, tmp_path / "pair.part.mcptrace.jsonl", Range(4, 5))
    with read_trace(target) as reader:
        assert [(each["seq"], each.get("pair")) for each in reader] == [(1, None), (2, None), (3, 2)]


def test_a_redacted_frame_keeps_the_size_it_had_on_the_wire(database: Path, tmp_path: Path) -> None:
    frame = opened.request(2) | {"bytes": 500, "red": [["/params", "R2"]]}
    session = read(database, opened.write(tmp_path / "red.mcptrace.jsonl", [opened.introduced(), frame]))
    with Store(database) as store:
        row = store.page(session, after=1)[0]
    assert row.bytes == 500
    assert json.loads(row.raw_head or b"")["method"] == "tools/call"


def test_retention_names_the_old_ones_and_then_the_oldest_until_the_rest_fits() -> None:
    sessions = [
        Session(n, "", 0, "", "", "", "", 1, 0, size)
        for n, size in [(1, 900_000), (2, 700_000), (3, 600_000), (4, 500_000)]
    ]
    ages = {1: 40.0, 2: 20.0, 3: 10.0, 4: 0.0}
    kept = {2: "it is being recorded"}
    found = due(sessions, ages, Retention(30, 1), lambda each: kept.get(each.id, ""))
    assert [(each.id, why) for each, why in found] == [
        (1, "older than 30 days"), (3, "over 1 MB in all"), (4, "over 1 MB in all"),
    ]  # fmt: skip
    assert due(sessions, ages, Retention(), lambda each: "") == []
