"""A trace is untrusted input: each limit has its sentence, and what is odd is told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from inspector.errors import FileError
from inspector.trace.file_reader import Limits, read_trace

HEADER = b'{"t":"header","format":"mcp-trace","v":1,"minor":0}\n'


def lines(count: int, filler: bytes = b"") -> bytes:
    return b"".join(b'{"t":"note","seq":%d,"x":"%s"}\n' % (n, filler) for n in range(1, count + 1))


@pytest.mark.parametrize(
    ("name", "content", "limits", "says"),
    [
        ("a.jsonl", lines(3), Limits(events=2), "holds more than 2 events"),
        ("a.jsonl", lines(3, b"x" * 500_000), Limits(unpacked=1 << 20), "is larger than 1 MiB when unpacked"),
        ("a.jsonl.gz", lines(3, b"x" * 900_000), Limits(), "is packed more than 100 to 1"),
        ("a.jsonl", lines(1, b"x" * (2 << 20)), Limits(line=1 << 20), "line 2 is longer than 1 MiB"),
        ("a.jsonl", b'{"seq":1,"x":[[1]]}\n', Limits(depth=2), "line 2 is nested deeper than 2"),
        ("a.jsonl", b'{"seq":1,"x":1,"y":2,"z":3,"e":4}\n', Limits(keys=4), "line 2 has an object with more than 4"),
    ],
)  # fmt: skip
def test_a_limit_that_is_passed_says_which(
    name: str, content: bytes, limits: Limits, says: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(HEADER + content) if name.endswith(".gz") else HEADER + content)
    with pytest.raises(FileError, match=says):
        with read_trace(path, limits) as trace:
            list(trace)


def test_what_no_writer_of_ours_writes_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        HEADER
        + b'{"seq":1,"a":"\\ud83d\\ude00"}\n{"seq":2,"a":1,"a":2}\n{"seq":3,"a":NaN}\n{"seq":4,"a":"\\udc00"}\n'
    )
    with read_trace(path) as trace:
        assert len(list(trace)) == 4
    assert trace.oddities == {"duplicate keys": 3, "NaN or infinity": 4, "lone surrogates": 5}
