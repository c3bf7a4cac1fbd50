"""The two splitters give the same whatever the pieces are, and what the standard says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.wire import stdio
from inspector.wire.sse import SseEvent, SseSplitter, SseTooLong
from inspector.wire.stdio import LineSplitter

CAP, KEPT = 40, 8
CUTS = st.lists(st.integers(0, 400), max_size=12)
LINES = st.lists(
    st.sampled_from([b"{}", b"\n", b"\r\n", b"\r", b" ", b"a" * 39, b"b" * 50, b"\xff", b"x", b"\n\n"])
    | st.binary(max_size=6),
    max_size=12,
).map(b"".join)
STREAMS = st.lists(
    st.sampled_from(
        [b"data: x", b"data:y", b"data", b"event: e", b"id: 7", b"id", b"id: \0", b"retry: 15", b"retry: x", b":", b": c",
         b"\n", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"data: " + b"z" * 50, b"other: 1", b"\xf0\x9f"]
    ),
    max_size=24,
).map(b"".join)  # fmt: skip


def pieces(whole: bytes, cuts: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    return [whole[start:end] for start, end in itertools.pairwise(edges)]


def split_lines(parts: Sequence[bytes]) -> list[tuple[Any, ...]]:
    got: list[tuple[Any, ...]] = []
    splitter = LineSplitter(
        lambda raw, eol: got.append((raw, eol)), lambda head, size: got.append((head, "cut", size))
    )
    for part in parts:
        splitter.feed(part)
    splitter.finish()
    return got


def lines_by_the_book(whole: bytes) -> list[tuple[Any, ...]]:
    got: list[tuple[Any, ...]] = []
    *ended, rest = whole.split(b"\n")
    for line in ended:
        if len(line) > CAP:
            got.append((line[:KEPT], "cut", len(line)))
        else:
            got.append((line[:-1], "crlf") if line.endswith(b"\r") else (line, "lf"))
    if rest:
        got.append((rest[:KEPT], "cut", len(rest)) if len(rest) > CAP else (rest, "none"))
    return got


@pytest.fixture(scope="module", autouse=True)
def _small_caps() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio, "LINE_CAP", CAP)
        patch.setattr(stdio, "CUT_KEPT", KEPT)
        yield


@given(LINES, CUTS)
@example(b"a" * 41 + b"\n", [])
@example(b"a" * 40 + b"\r\n", [40, 41])
def test_lines_are_the_same_however_the_bytes_arrive(whole: bytes, cuts: list[int]) -> None:
    assert split_lines(pieces(whole, cuts)) == lines_by_the_book(whole)


def events_of(parts: Sequence[bytes], cap: int = 10_000) -> tuple[list[dict[str, Any]], str]:
    splitter = SseSplitter(cap)
    got: list[SseEvent] = []
    try:
        for part in parts:
            got.extend(splitter.feed(part))
    except SseTooLong:
        return [asdict(event) for event in got], "too long"
    return [asdict(event) for event in got], ""


def events_by_the_book(whole: bytes) -> list[dict[str, Any]]:
    """The parsing of WHATWG HTML 9.2.6, on the whole stream at once; comments kept, sizes left out."""
    got, current, lines = [], SseEvent(), list[bytes]()
    for line in re.split(rb"\r\n|\r|\n", whole.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        if not line:
            current.data = b"\n".join(lines) if lines else None
            if lines or current.facts():
                got.append(asdict(current))
            current, lines = SseEvent(), []
            continue
        name, colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        text = value.decode("utf-8", "backslashreplace")
        if colon and not name:
            current.comments.append(text)
        elif name == b"data":
            lines.append(value)
        elif name == b"event":
            current.event = text
        elif name == b"id" and "\0" not in text:
            current.id = text
        elif name == b"retry" and re.fullmatch("[0-9]{1,11}", text):
            current.retry = int(text)
    return got


@given(STREAMS, CUTS)
@example(b"data: x\r\r", [8])
@example(b"data: x\r\n\r\ndata: y\n\n", [8, 9, 10, 11])
def test_events_are_the_same_however_the_bytes_arrive(whole: bytes, cuts: list[int]) -> None:
    got = events_of(pieces(whole, cuts))
    assert got == events_of([whole])
    assert [{**event, "size": 0} for event in got[0]] == events_by_the_book(whole)


@given(STREAMS, CUTS)
def test_the_cap_on_an_event_strikes_at_the_same_event_however_the_bytes_arrive(
    whole: bytes, cuts: list[int]
) -> None:
    assert events_of(pieces(whole, cuts), cap=45) == events_of([whole], cap=45)


def test_a_carriage_return_ends_an_event_at_once() -> None:
    assert [event.data for event in SseSplitter().feed(b"data: now\r\r")] == [b"now"]
