"""A trace as what exports read: its header and its events, walked twice, without secrets. Any thread; flat memory.

`har`, `otlp` and `html` take a `Source` and give pieces of bytes, so a command line can write them and a page can
send them as a download.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from inspector.trace.file_reader import Limits, TraceReader, read_trace
from inspector.trace.redact import Redactor
from inspector.trace.redact.names import MARKER

Fields = dict[str, Any]


class MakeRedactor(Protocol):
    """Makes the redactor of one pass: `console.redacting.redactor_for` with its rules given, or `Redactor`'s own."""

    def __call__(self, *, before: Fields | None, first: int) -> Redactor: ...


@dataclass(slots=True)
class Survey:
    """What the first walk found. counts: events by `t`; remarks: sentences about the file itself."""

    events: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)


class Source:
    """The events of one trace.

    header: of the trace format, with title and note as they may be shown. walk: the events as recorded, from the
    start each time it is called. make: how secrets are hidden; None only when the person asked for that.
    """

    def __init__(
        self, header: Fields, walk: Callable[[Survey], Iterator[Fields]], make: MakeRedactor | None
    ) -> None:
        self.header = header
        self.redacted = make is not None or bool(header.get("redaction"))
        self._walk = walk
        self._make = make
        self._survey: Survey | None = None
        self._learned: tuple[tuple[str, str], ...] = ()
        self._first = 1

    def survey(self) -> Survey:
        """Walk it once: counts, and what redaction learns. Done by itself; raises FileError at damage."""
        if self._survey is None:
            found = Survey()
            learner = self._redactor() if self._make is not None else None
            for event in self._walk(found):
                found.events += 1
                found.counts[str(event.get("t"))] += 1
                if learner is not None:
                    learner.apply(event)
                    self._note_markers(event)
            self._survey = found
            if learner is not None:
                self._learned = learner.learned
                self._say_header()
        return self._survey

    def events(self) -> Iterator[Fields]:
        """The events as they may leave this machine."""
        redactor = self.redactor()
        if redactor is None:
            return self._walk(Survey())
        return (redactor.apply(event) for event in self._walk(Survey()))

    def redactor(self) -> Redactor | None:
        """A redactor for one more walk, which knows what the first one learned."""
        self.survey()
        if self._make is None:
            return None
        found = self._redactor()
        found.learn(self._learned)
        return found

    def _redactor(self) -> Redactor:
        assert self._make is not None
        return self._make(before=self.header.get("redaction"), first=self._first)

    def _note_markers(self, event: Fields) -> None:
        """The highest number of an earlier redaction, so that ours go on after it."""
        if self.header.get("redaction") and event.get("red"):
            numbers = [int(number) for number in MARKER.findall(str(event))]
            self._first = max([self._first, *[number + 1 for number in numbers]])

    def _say_header(self) -> None:
        """Title and note without secrets, and the rules that were applied."""
        redactor = self._redactor()
        redactor.learn(self._learned)
        said = {
            name: redactor.text(text) for name in ("title", "note") if is_text(text := self.header.get(name))
        }
        self.header = {**self.header, **said, "redaction": redactor.header()}


def of_file(path: Path, make: MakeRedactor | None, limits: Limits | None = None) -> Source:
    """A trace file. Raises FileError when it is none."""

    def walk(found: Survey) -> Iterator[Fields]:
        with read_trace(path, limits) as reader:
            yield from reader
            found.remarks += _remarks(reader)

    with read_trace(path, limits) as reader:
        header = reader.header
    return Source(header, walk, make)


def _remarks(reader: TraceReader) -> list[str]:
    found = [reader.problem] if reader.problem else []
    if reader.incomplete:
        found.append("The recording broke off: the file has no end.")
    return found + [f"Line {line} has {what}." for what, line in reader.oddities.items()]


# --- fields of somebody else's file: any of them may be of any type, or absent


def is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str)


def text(value: Any) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A whole number that is not negative, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def pairs(value: Any) -> list[tuple[str, str]]:
    """Header pairs; what is none is left out."""
    found = value if isinstance(value, list) else []
    return [
        (one[0], one[1])
        for one in found
        if isinstance(one, list) and len(one) == 2 and is_text(one[0]) and is_text(one[1])
    ]


def pieces(parts: Iterator[bytes], size: int = 64 * 1024) -> Iterator[bytes]:
    """The same bytes in fewer pieces: a download of a line each would be slow."""
    held: list[bytes] = []
    length = 0
    for part in parts:
        held.append(part)
        length += len(part)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)
