from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from inspector.errors import FileError
from inspector.trace.file import TraceFileWriter, encode, event_line
from inspector.trace.file_reader import read_trace
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

ROOT = Path(__file__).parents[2]
RAW = '{"jsonrpc":"2.0","id":9007199254740993,"method":"grüße","params":{"a":1.0,"a":1}}'.encode()


def some_events() -> list[Event]:
    return [
        Event(
            "connection",
            1,
            LOCAL,
            {"label": "one", "transport": "stdio", "target": {"argv": ["x"], "env_names": []}},
        ),
        Event("rpc", 1, C2S, {"eol": "lf"}, RAW, "request", "grüße", "9007199254740993", cause="user"),
        Event("rpc", 1, S2C, {"eol": "crlf", "http": 1}, b'{"id":1}', "result", id="9007199254740993"),
        Event("rpc", 1, S2C, {"why": "invalid UTF-8"}, b'{"id":"\xff"}', "unparsed"),
        Event("noise", 1, S2C, {"why": "not JSON"}, b"Listening\xf0"),
        Event("stderr", 1, S2C, {}, "schön\u2028".encode()),
        Event("http", 1, S2C, {"phase": "response", "status": 502, "headers": [["a", "b"]]}, b"<html>"),
        Event("proc", 1, LOCAL, {"what": "exited", "code": 3, "pid": 7}),
        Event(
            "error",
            1,
            LOCAL,
            {"origin": "console", "code": None, "class": "TimedOut", "message": "m"},
            pair=2,
        ),
    ]


def write(path: Path, events: list[Event], **options: Any) -> TraceFileWriter:
    journal = Journal()
    writer = TraceFileWriter(path, journal, title="a title", note="a note", tool_version="0.1", **options)
    for event in events:
        journal.emit(event)
    writer.close()
    return writer


def test_a_written_file_reads_back_with_the_names_of_the_format(tmp_path: Path) -> None:
    path = tmp_path / "one.mcptrace.jsonl"
    events = some_events()
    write(path, events)
    with read_trace(path) as trace:
        header, lines = trace.header, list(trace)
    assert {name: header[name] for name in ("t", "format", "v", "minor", "title", "note", "redaction")} == {
        "t": "header", "format": "mcp-trace", "v": 1, "minor": 0, "title": "a title", "note": "a note", "redaction": None,
    }  # fmt: skip
    assert header["tool"] == {"name": "mcp-loupe", "version": "0.1"}
    assert header["clock"]["mono_unit"] == "us"
    own = [{k: v for k, v in line.items() if k not in ("at", "dt", "c", "seq", "dir")} for line in lines]
    assert own == [
        {"t": "connection", "label": "one", "transport": "stdio", "target": {"argv": ["x"], "env_names": []}},
        {"t": "rpc", "kind": "request", "method": "grüße", "cause": "user", "id": 9007199254740993,
         "raw": RAW.decode(), "bytes": len(RAW), "eol": "lf"},
        {"t": "rpc", "kind": "result", "method": "grüße", "cause": "user", "id": 9007199254740993, "pair": 2,
         "ms": events[2].ms, "raw": '{"id":1}', "bytes": 8, "eol": "crlf", "http": 1},
        {"t": "rpc", "kind": "unparsed", "raw": base64.b64encode(b'{"id":"\xff"}').decode(), "enc": "base64",
         "bytes": 10, "why": "invalid UTF-8"},
        {"t": "noise", "enc": "base64", "data": base64.b64encode(b"Listening\xf0").decode(), "why": "not JSON"},
        {"t": "stderr", "enc": "utf8", "data": "schön\u2028"},
        {"t": "http", "body": "<html>", "phase": "response", "status": 502, "headers": [["a", "b"]]},
        {"t": "proc", "what": "exited", "code": 3, "pid": 7},
        {"t": "error", "pair": 2, "origin": "console", "code": None, "class": "TimedOut", "message": "m"},
    ]  # fmt: skip
    assert [line["seq"] for line in lines] == list(range(1, 10))
    assert [line["dt"] for line in lines] == [event.dt_us for event in events]
    assert (trace.incomplete, trace.problem) == (False, None)


def test_the_bytes_are_one_object_a_line_with_the_digest_of_all_before(tmp_path: Path) -> None:
    path = tmp_path / "one.mcptrace.jsonl"
    write(path, some_events())
    content = path.read_bytes()
    assert content.endswith(b"\n")
    *before, last = content.splitlines(keepends=True)
    assert all(isinstance(json.loads(line), dict) for line in before)
    assert len(before) == 10
    assert json.loads(last) == {
        "t": "end", "events": 9, "complete": True, "redaction_counts": {}, "redaction_skipped": [],
        "sha256": hashlib.sha256(b"".join(before)).hexdigest(),
    }  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_in_gz_is_packed_without_a_time(tmp_path: Path) -> None:
    path = tmp_path / "one.mcptrace.jsonl.gz"
    write(path, some_events())
    assert path.read_bytes()[4:8] == bytes(4)
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 11
    with read_trace(path) as trace:
        assert len(list(trace)) == 9
    assert (trace.incomplete, trace.problem) == (False, None)


@pytest.mark.parametrize("end", ["", ".gz"])
def test_what_was_written_is_in_the_file_before_it_is_closed(tmp_path: Path, end: str) -> None:
    code = """
import os, sys
from pathlib import Path
from inspector.trace.file import TraceFileWriter
from inspector.wire.events import *
journal = Journal()
path = Path(sys.argv[1])
writer = TraceFileWriter(path, journal, tool_version="0")
size = 0
for n in range(5):
    journal.emit(Event("stderr", 1, S2C, raw=os.urandom(5000).hex().encode()))
    while path.stat().st_size < size + 5000: pass
    size = path.stat().st_size
os._exit(9)
"""
    path = tmp_path / f"one.mcptrace.jsonl{end}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, timeout=60, check=False)
    assert done.returncode == 9
    with read_trace(path) as trace:
        assert [line["seq"] for line in trace] == [1, 2, 3, 4, 5]
    assert (trace.incomplete, trace.trailer) == (True, None)


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_file_cut_anywhere_opens_up_to_its_last_whole_line(tmp_path: Path, end: str) -> None:
    whole, part = tmp_path / f"whole.jsonl{end}", tmp_path / f"part.jsonl{end}"
    write(whole, some_events())
    content = whole.read_bytes()
    for length in range(2, len(content), 7):
        part.write_bytes(content[:length])
        kept = content[:length] if not end else zlib.decompressobj(31).decompress(content[:length])
        lines = kept.count(b"\n")
        if lines == 0:
            with pytest.raises(FileError, match="its first line is no trace header"):
                read_trace(part)
            continue
        with read_trace(part) as trace:
            assert [line["seq"] for line in trace] == list(range(1, min(lines, 10)))
        assert (trace.incomplete, trace.problem) == (lines < 11, None)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    write(path, some_events())
    path.write_bytes(path.read_bytes().replace(b"TimedOut", b"TimedIn!"))
    with read_trace(path) as trace:
        list(trace)
    assert trace.problem == "The file was changed after it was written: its checksum does not match."


def test_values_json_cannot_hold_still_make_strict_lines() -> None:
    event = Event(
        "note", 1, LOCAL, {"inf": float("inf"), "in": [float("nan"), 1.5], "half": "\ud800"}, id='"\ud800"'
    )

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    fields = json.loads(event_line(event), parse_constant=refuse)
    assert (fields["inf"], fields["in"], fields["half"], fields["id"]) == (
        "inf",
        ["nan", 1.5],
        "\ud800",
        "\ud800",
    )


@pytest.mark.parametrize(
    ("unit", "size"),
    [(b"\x01", 6 << 20), ("é".encode(), 33 << 20), (b"\xff", 26 << 20), ("😀".encode(), 33 << 20)],
)
def test_a_raw_too_long_for_a_reader_is_cut_and_says_so(tmp_path: Path, unit: bytes, size: int) -> None:
    raw = b'"' + unit * (size // len(unit))
    path = tmp_path / "one.jsonl"
    write(path, [Event("rpc", 1, S2C, {}, raw, "unparsed")])
    with read_trace(path) as trace:
        (line,) = trace
    assert (line["cut"], line["full_bytes"], line["bytes"]) == (True, len(raw), len(raw))
    assert line["sha256"] == hashlib.sha256(raw).hexdigest()
    kept = base64.b64decode(line["raw"]) if "enc" in line else line["raw"].encode()
    assert raw.startswith(kept)
    assert 4 * 2**20 - 4 < len(kept) <= 4 * 2**20
    assert ("enc" in line) == (unit == b"\xff")


class Hiding:
    """Hides one word, as a redaction would."""

    hits = 0

    def header(self) -> dict[str, Any]:
        return {
            "profile": "test",
            "rules": [{"id": "R1", "kind": "text", "what": "secret"}],
            "reviewed": False,
        }

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        if "secret" not in fields.get("raw", ""):
            return fields
        self.hits += 1
        return fields | {"raw": fields["raw"].replace("secret", "[redacted:R1:1]"), "red": [["", "R1"]]}

    def counts(self) -> dict[str, int]:
        return {"R1": self.hits}

    def skipped(self) -> list[Any]:
        return []


def test_redaction_is_declared_applied_and_summed(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    write(path, [Event("rpc", 1, C2S, {}, b'{"id":1,"x":"secret"}')], redaction=Hiding())
    with read_trace(path) as trace:
        (line,) = trace
    assert line["raw"] == '{"id":1,"x":"[redacted:R1:1]"}'
    assert line["bytes"] == 21
    assert trace.header["redaction"]["profile"] == "test"
    assert trace.trailer is not None
    assert trace.trailer["redaction_counts"] == {"R1": 1}
    assert b"secret" not in path.read_bytes().split(b"\n", 1)[1]


def test_no_digest_of_a_redacted_original_is_written() -> None:
    event = Event("rpc", 1, C2S, {}, b"x" * (33 * 2**20))
    assert b"sha256" not in event_line(event, Hiding())


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("precious")
    journal = Journal()
    with pytest.raises(FileError, match="exists already"):
        TraceFileWriter(path, journal, tool_version="0")
    assert path.read_text() == "precious"
    assert journal.sinks == []


def test_a_folder_that_is_missing_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="could not be written: No such file or directory"):
        TraceFileWriter(tmp_path / "no" / "one.jsonl", Journal(), tool_version="0")


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_write_that_fails_is_loud_and_later_events_are_counted(tmp_path: Path, end: str) -> None:
    # The system itself refuses to let the file grow, as on a full disk.
    code = """
import os, resource, sys
from pathlib import Path
from inspector.errors import FileError
from inspector.trace.file import TraceFileWriter
from inspector.wire.events import *
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
journal = Journal()
writer = TraceFileWriter(Path(sys.argv[1]), journal, tool_version="0")
for n in range(100):
    journal.emit(Event("stderr", 1, S2C, raw=os.urandom(1000)))
try:
    writer.close()
except FileError as problem:
    print(problem.message)
    print(writer.failed == problem.message, 0 < writer.dropped <= 100)
"""
    path = tmp_path / f"one.jsonl{end}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path)],
        env=environment,
        timeout=60,
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().splitlines() == [
        f"The trace file {path} could not be written: File too large.",
        "True True",
    ]
    assert done.stderr == b""


HEADER = b'{"t":"header","format":"mcp-trace","v":1,"minor":0}\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "its first line is no trace header"),
        (b'{"t":"header"}\n', "its first line is no trace header"),
        (b"{}", "its first line is no trace header"),
        (b"\x00\xff\n", "line 1 is not JSON"),
        (b'{"t":"header","format":"mcp-trace"}\n', "does not say which version"),
        (HEADER.replace(b'"v":1', b'"v":2'), r"made by a newer version \(trace format 2\)"),
        (HEADER + b"broken\n", "line 2 is not JSON"),
        (HEADER + b"[1]\n", "line 2 is not a JSON object"),
        (HEADER + b'{"t":"rpc","seq":1}\n{"t":"rpc","seq":1}\n', "line 3 has a seq that does not rise"),
        (HEADER + b'{"t":"rpc"}\n', "line 2 has a seq that does not rise"),
        (HEADER + b'{"seq":1,"x":' + b"[" * 64 + b"]" * 64 + b"}\n", "line 2 is nested deeper than 64"),
        (HEADER + b'{"seq":1,"x":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n", "line 2 is nested deeper than 64"),
        (HEADER + b'{"seq":1,"x":"' + b"x" * 2**25 + b'"}\n', "line 2 is longer than 32 MiB"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileError, match=says):
        with read_trace(path) as trace:
            list(trace)


def test_nesting_at_the_limit_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(HEADER + b'{"seq":1,"x":' + b"[" * 63 + b"]" * 63 + b',"s":"' + b"[" * 99 + b'"}\n')
    with read_trace(path) as trace:
        assert len(list(trace)) == 1


def test_a_minor_step_and_unknown_events_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(HEADER.replace(b'"minor":0', b'"minor":7') + b'{"t":"hologram","seq":1,"odd":{}}\n')
    with read_trace(path) as trace:
        assert list(trace) == [{"t": "hologram", "seq": 1, "odd": {}}]


def test_a_damaged_gzip_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl.gz"
    path.write_bytes(b"not gzip at all")
    with pytest.raises(FileError, match="cannot be read"):
        read_trace(path)


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    writer = write(path, some_events())
    size = path.stat().st_size
    writer.sink(Event("note", 1, LOCAL))
    writer.close()
    assert (path.stat().st_size, writer.dropped) == (size, 1)


@pytest.mark.parametrize("odd", ["", '\\"', "\x7f\u2028ü\U0001f600", "\n\t\r", "\x00\x1f\x08\x0c", "\ud800"])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_long_text_is_escaped_as_json_escapes_it(odd: str, place: str) -> None:
    long = {"raw": '{"a":"b\\\\c"}' * 500 + odd}
    about = {"t": "rpc", "method": 'x"\\' + odd, "bytes": 3, "red": [["/a", "R1"]]}
    parts = {
        "first": long | about,
        "middle": dict(list(about.items())[:2]) | long | about,
        "last": about | long,
    }
    fields = parts[place]
    line = encode(fields)
    if "\ud800" in odd:
        assert json.loads(line) == fields
    else:
        assert line.decode() == json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
