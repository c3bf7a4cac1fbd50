"""Reading a portable trace file line by line; memory stays flat. Any thread. A trace is untrusted input."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from inspector.errors import FileError
from inspector.trace.file import FORMAT, LINE_BYTES, VERSION

DEPTH = 64
_RATIO_FROM = 1 << 20
"""Unpacked bytes from which on the packing ratio counts: a short file may well be that regular."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a trace from somebody else may ask of us. Bytes; `ratio` unpacked to packed; `keys` of one object."""

    unpacked: int = 1 << 30
    ratio: int = 100
    line: int = LINE_BYTES
    events: int = 2_000_000
    depth: int = DEPTH
    keys: int = 10_000


def read_trace(path: Path, limits: Limits | None = None) -> TraceReader:
    """Open a trace file; use with `with`. Raises FileError when it is no trace we can read."""
    return TraceReader(path, limits or Limits())


class TraceReader:
    """`header` at once, events by iterating, and then `trailer` and what is wrong.

    incomplete: there is no trailer, as after a crash; what came is all that was written in whole lines.
    problem: a sentence when the trailer does not fit the lines before it, else None.
    oddities: what no writer of ours writes (duplicate keys, NaN, lone surrogates), with its first line.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self.limits = limits
        self.oddities: dict[str, int] = {}
        self._unpacked = 0
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)
        self.trailer: dict[str, Any] | None = None
        self.incomplete = False
        self.problem: str | None = None
        self._digest = hashlib.sha256()
        self._line_number = 0
        self.header_line = b""
        try:
            self._packed = path.open("rb")
            self._is_gzip = path.suffix == ".gz"
            self._file = (
                cast("IO[bytes]", gzip.GzipFile(fileobj=self._packed)) if self._is_gzip else self._packed
            )
        except OSError as problem:
            raise self._unreadable(problem) from problem
        try:
            self.header = self._read_header()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events, as dicts with the names of the trace format. Raises FileError at a damaged line."""
        return (fields for _, fields in self.lines())

    def lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """The same, each with its line as it stands in the file, so that it can be copied."""
        count = last_seq = 0
        while line := self._line():
            fields = self._parse(line)
            if fields.get("t") == "end":
                self.trailer = fields
                self.problem = self._mismatch(fields, count)
                return
            last_seq = self._check_seq(fields, last_seq)
            count += 1
            if count > self.limits.events:
                raise self._too_much(f"holds more than {self.limits.events:,} events")
            self._digest.update(line)
            yield line, fields
        self.incomplete = True

    @property
    def read_bytes(self) -> int:
        """How far into the file, as it lies on the disk, reading has come."""
        return self._packed.tell()

    @property
    def line_number(self) -> int:
        """The line read last; the header is line 1."""
        return self._line_number

    def close(self) -> None:
        self._file.close()
        self._packed.close()

    def __enter__(self) -> TraceReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_header(self) -> dict[str, Any]:
        line = self._line()
        header = self._parse(line) if line else {}
        if header.get("t") != "header" or header.get("format") != FORMAT:
            raise FileError(
                f"{self.path} is not an MCP trace: its first line is no trace header.", "Choose another file."
            )
        version = header.get("v")
        if not isinstance(version, int) or version < 1:
            raise FileError(
                f"{self.path} does not say which version of the trace format it has.", "Choose another file."
            )
        if version > VERSION:
            raise FileError(
                f"{self.path} was made by a newer version (trace format {version}).",
                "Please update mcp-loupe.",
            )
        self._digest.update(line)
        self.header_line = line
        return header

    def _line(self) -> bytes:
        """The next whole line; empty at the end, or where the file breaks off."""
        self._line_number += 1
        try:
            line = self._file.readline(self.limits.line + 1)
        except EOFError:  # a gzip stream that was never finished
            return b""
        except (OSError, zlib.error) as problem:
            raise self._unreadable(problem) from problem
        if len(line) > self.limits.line:
            raise self._damaged(f"is longer than {self.limits.line >> 20} MiB")
        self._unpacked += len(line)
        if self._unpacked > self.limits.unpacked:
            raise self._too_much(f"is larger than {self.limits.unpacked >> 20} MiB when unpacked")
        if self._is_gzip and self._unpacked > max(_RATIO_FROM, self.limits.ratio * self._packed.tell()):
            raise self._too_much(f"is packed more than {self.limits.ratio} to 1, as no recording is")
        return line if line.endswith(b"\n") else b""

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            value = self._decoder.decode(line.decode("utf-8"))
        except RecursionError:
            raise self._damaged(f"is nested deeper than {self.limits.depth}") from None
        except ValueError:
            raise self._damaged("is not JSON") from None
        if not isinstance(value, dict):
            raise self._damaged("is not a JSON object")
        # No value is deeper than its text has brackets: most lines need no second look.
        depth = self.limits.depth
        if line.count(b"{") + line.count(b"[") > depth and _deeper_than(value, depth):
            raise self._damaged(f"is nested deeper than {depth}")
        if b"\\ud" in line.lower() and _has_lone_surrogate(value):
            self._odd("lone surrogates")
        return value

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(pairs) > self.limits.keys:
            raise self._damaged(f"has an object with more than {self.limits.keys:,} keys")
        found = dict(pairs)
        if len(found) != len(pairs):
            self._odd("duplicate keys")
        return found

    def _constant(self, name: str) -> float:
        self._odd("NaN or infinity")
        return float(name)

    def _odd(self, what: str) -> None:
        self.oddities.setdefault(what, self._line_number)

    def _check_seq(self, fields: dict[str, Any], last_seq: int) -> int:
        seq = fields.get("seq")
        if not isinstance(seq, int) or seq <= last_seq:
            raise self._damaged("has a seq that does not rise")
        return seq

    def _mismatch(self, trailer: dict[str, Any], count: int) -> str | None:
        if trailer.get("sha256") != self._digest.hexdigest():
            return "The file was changed after it was written: its checksum does not match."
        if trailer.get("events") != count:
            return f"The file says {trailer.get('events')} events, but holds {count}."
        return None

    def _damaged(self, what: str) -> FileError:
        return FileError(
            f"{self.path}, line {self._line_number} {what}.", "The file is damaged: ask for it again."
        )

    def _too_much(self, what: str) -> FileError:
        return FileError(
            f"{self.path} {what}.", "Do not open it unless you trust its maker; then raise the limit."
        )

    def _unreadable(self, problem: Exception) -> FileError:
        why = getattr(problem, "strerror", None) or problem
        return FileError(
            f"The trace file {self.path} cannot be read: {why}.", "Check the path, or choose another file."
        )


def _has_lone_surrogate(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _deeper_than(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
