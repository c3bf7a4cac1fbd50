"""Trace files as wholes: written, read and written again; cut anywhere; changed anywhere; redacted twice."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted import plant
from trace_schema import wrong_in

from inspector.errors import FileError
from inspector.trace.file import TraceFileWriter
from inspector.trace.file_reader import read_trace
from inspector.trace.redact import Redactor, Rules
from inspector.trace.rewriting import last_number, rewrite
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["password", "token", "a", "url", "nextCursor", "properties"])
VALUES = st.sampled_from(
    ["hunter2-x", "http://u:p4ss@h/?q=v1", "Bearer abc12345678", "plain", '\\"\n\u2028é😀', "/home/annabel/x"]
)
SECRETIVE = st.dictionaries(
    NAMES, VALUES | JSON | st.builds(json.dumps, st.dictionaries(NAMES, VALUES, max_size=2)), max_size=4
)
RAWS = st.builds(
    lambda value, ascii: json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass"),
    SECRETIVE | JSON,
    st.booleans(),
) | st.binary(max_size=40)
EVENTS = st.lists(
    st.builds(lambda raw: Event("rpc", 1, C2S, {"eol": "lf"}, raw, "request", "m"), RAWS)
    | st.builds(lambda raw: Event("stderr", 1, S2C, {}, raw), RAWS)
    | st.builds(lambda url: Event("http", 1, C2S, {"phase": "request", "url": url, "headers": [["Cookie", url]]}), VALUES)
    | st.builds(lambda what: Event("proc", 1, LOCAL, {"what": what}), st.text(max_size=5)),
    max_size=5,
)  # fmt: skip
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def rules() -> Rules:
    return Rules.default(["known-value-42"], user="annabel", home="/home/annabel")


def write(path: Path, events: list[Event], redaction: Redactor | None = None) -> bytes:
    journal = Journal()
    writer = TraceFileWriter(path, journal, title="t", tool_version="0", redaction=redaction)
    for event in events:
        journal.emit(event)
    writer.close()
    return path.read_bytes()


@QUICK
@given(EVENTS, st.booleans())
def test_write_read_write_gives_the_same_bytes(events: list[Event], redact: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "one.jsonl"), Path(folder, "two.jsonl")
        content = write(one, events, Redactor(rules()) if redact else None)
        rewrite(one, two)
        assert two.read_bytes() == content
        assert wrong_in(one) == []


@QUICK
@given(EVENTS)
def test_redacting_a_file_gives_the_events_that_redacted_recording_gives(events: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain, later = Path(folder, "plain.jsonl"), Path(folder, "later.jsonl")
        write(plain, events)
        rewrite(plain, later, Redactor(rules()))
        with read_trace(later) as trace, read_trace(plain) as source:
            for event, before in zip(trace, source, strict=True):
                for name in before:
                    assert type(event[name]) is type(before[name])
                _same_shape(event.get("raw"), before.get("raw"))
        assert (trace.problem, trace.incomplete) == (None, False)
        assert wrong_in(later) == []


def _same_shape(after: Any, before: Any) -> None:
    """Where the raw was JSON it still is, with the same types at the same places."""
    try:
        old = json.loads(before)
    except (ValueError, TypeError):
        return
    assert _shape(json.loads(after)) == _shape(old)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(inner) for inner in value.values()]
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return type(value).__name__


@QUICK
@given(EVENTS, st.floats(0, 1, exclude_max=True))
def test_a_prefix_that_holds_the_header_opens_as_incomplete(events: list[Event], part: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.jsonl")
        content = write(path, events, Redactor(rules()))
        header = content.index(b"\n") + 1
        path.write_bytes(content[: header + int(part * (len(content) - header))])
        with read_trace(path) as trace:
            seqs = [event["seq"] for event in trace]
        assert seqs == list(range(1, len(seqs) + 1))
        assert trace.incomplete


@QUICK
@given(EVENTS, st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_a_flipped_byte_before_the_trailer_is_noticed(events: list[Event], part: float, bit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.jsonl")
        content = bytearray(write(path, events, Redactor(rules())))
        trailer = content.rindex(b"\n", 0, len(content) - 1) + 1
        content[int(part * trailer)] ^= 1 << bit
        path.write_bytes(content)
        try:
            with read_trace(path) as trace:
                list(trace)
        except FileError:
            return
        assert trace.problem is not None or trace.incomplete


def test_redacting_twice_changes_nothing_and_numbers_go_on(tmp_path: Path) -> None:
    one, two, three = (tmp_path / f"{n}.jsonl" for n in range(3))
    write(one, plant().events, Redactor(rules()))
    rewrite(one, two, Redactor(rules()))
    assert two.read_bytes().splitlines()[1:-1] == one.read_bytes().splitlines()[1:-1]
    with read_trace(two) as trace:
        before, highest = trace.header["redaction"], last_number(trace.lines())
    assert highest > 50
    own = Redactor(Rules.default(texts=["ordinary"], user="", home=""), before=before, first=highest + 1)
    rewrite(two, three, own)
    assert f"[redacted:T1:{highest + 1}]".encode() in three.read_bytes()
    with read_trace(three) as trace:
        list(trace)
    ids = [rule["id"] for rule in trace.header["redaction"]["rules"]]
    assert sorted(set(ids)) == sorted(ids) and {"R1", "R9", "T1"} <= set(ids)
    assert trace.trailer is not None and trace.trailer["redaction_counts"]["T1"] == 1
    assert trace.trailer["redaction_counts"]["R1"] >= 9


def test_a_marker_of_more_digits_than_any_is_somebodys_text(tmp_path: Path) -> None:
    text = b"[redacted:R1:7] [redacted:R1:" + b"9" * 5000 + b"]"
    write(tmp_path / "one.jsonl", [Event("stderr", 1, S2C, {}, text)])
    with read_trace(tmp_path / "one.jsonl") as trace:
        assert last_number(trace.lines()) == 7


def test_an_incomplete_file_stays_incomplete_when_it_is_written_again(tmp_path: Path) -> None:
    content = write(tmp_path / "one.jsonl", [Event("stderr", 1, S2C, {}, b"x") for _ in range(3)])
    (tmp_path / "cut.jsonl").write_bytes(b"".join(content.splitlines(keepends=True)[:-1]))
    trailer = rewrite(tmp_path / "cut.jsonl", tmp_path / "two.jsonl")
    assert (trailer["events"], trailer["complete"]) == (3, False)


def test_sums_of_a_trailer_that_are_none_are_left_out_and_its_other_fields_kept(tmp_path: Path) -> None:
    content = write(tmp_path / "one.jsonl", [Event("stderr", 1, S2C, {}, b"password=hunter2-x")])
    *lines, last = content.splitlines(keepends=True)
    odd = {"redaction_counts": ["R2"], "redaction_skipped": 5, "later": 1}
    (tmp_path / "odd.jsonl").write_bytes(
        b"".join([*lines, json.dumps(json.loads(last) | odd).encode(), b"\n"])
    )
    trailer = rewrite(tmp_path / "odd.jsonl", tmp_path / "two.jsonl", Redactor(rules()))
    assert (trailer["redaction_counts"], trailer["redaction_skipped"]) == ({"R2": 1}, [])
    assert (trailer["complete"], trailer["later"]) == (True, 1)


def test_a_damaged_file_is_not_made_to_look_whole(tmp_path: Path) -> None:
    content = write(tmp_path / "one.jsonl", [Event("stderr", 1, S2C, {}, b"before")])
    (tmp_path / "bad.jsonl").write_bytes(content.replace(b"before", b"behind"))
    with pytest.raises(FileError, match="changed after it was written"):
        rewrite(tmp_path / "bad.jsonl", tmp_path / "two.jsonl")
    assert not (tmp_path / "two.jsonl").exists()


def test_equal_content_packs_to_equal_bytes(tmp_path: Path) -> None:
    write(tmp_path / "one.jsonl.gz", plant().events)
    rewrite(tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz")
    rewrite(tmp_path / "two.jsonl.gz", tmp_path / "three.jsonl.gz")
    rewrite(tmp_path / "two.jsonl.gz", tmp_path / "plain.jsonl")
    assert (tmp_path / "two.jsonl.gz").read_bytes() == (tmp_path / "three.jsonl.gz").read_bytes()
    assert not re.search(rb'"complete":false', (tmp_path / "plain.jsonl").read_bytes())
