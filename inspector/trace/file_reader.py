"""Reading a portable trace file line by line; memory stays flat. Any thread. A trace is untrusted input."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from inspector.errors import FileError
from inspector.trace.file import FORMAT, LINE_BYTES, VERSION

DEPTH = 64


def read_trace(path: Path) -> TraceReader:
    """Open a trace file; use with `with`. Raises FileError when it is no trace we can read."""
    return TraceReader(path)


class TraceReader:
    """`header` at once, events by iterating, and then `trailer` and what is wrong.

    incomplete: there is no trailer, as after a crash; what came is all that was written in whole lines.
    problem: a sentence when the trailer does not fit the lines before it, else None.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trailer: dict[str, Any] | None = None
        self.incomplete = False
        self.problem: str | None = None
        self._digest = hashlib.sha256()
        self._line_number = 0
        try:
            self._file = cast("IO[bytes]", gzip.open(path) if path.suffix == ".gz" else path.open("rb"))  # noqa: SIM115
        except OSError as problem:
            raise self._unreadable(problem) from problem
        try:
            self.header = self._read_header()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The events, as dicts with the names of the trace format. Raises FileError at a damaged line."""
        count = last_seq = 0
        while line := self._line():
            fields = self._parse(line)
            if fields.get("t") == "end":
                self.trailer = fields
                self.problem = self._mismatch(fields, count)
                return
            last_seq = self._check_seq(fields, last_seq)
            count += 1
            self._digest.update(line)
            yield fields
        self.incomplete = True

    def close(self) -> None:
        self._file.close()

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
        return header

    def _line(self) -> bytes:
        """The next whole line; empty at the end, or where the file breaks off."""
        self._line_number += 1
        try:
            line = self._file.readline(LINE_BYTES + 1)
        except EOFError:  # a gzip stream that was never finished
            return b""
        except (OSError, zlib.error) as problem:
            raise self._unreadable(problem) from problem
        if len(line) > LINE_BYTES:
            raise self._damaged(f"is longer than {LINE_BYTES >> 20} MiB")
        return line if line.endswith(b"\n") else b""

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line)
        except RecursionError:
            raise self._damaged(f"is nested deeper than {DEPTH}") from None
        except ValueError:
            raise self._damaged("is not JSON") from None
        if not isinstance(value, dict):
            raise self._damaged("is not a JSON object")
        # No value is deeper than its text has brackets: most lines need no second look.
        if line.count(b"{") + line.count(b"[") > DEPTH and _deeper_than(value, DEPTH):
            raise self._damaged(f"is nested deeper than {DEPTH}")
        return value

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

    def _unreadable(self, problem: Exception) -> FileError:
        why = getattr(problem, "strerror", None) or problem
        return FileError(
            f"The trace file {self.path} cannot be read: {why}.", "Check the path, or choose another file."
        )


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
