"""Writes a trace file again, redacted or as it is: what did not change is copied, byte for byte. Any thread."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from inspector.errors import FileError
from inspector.trace.file import Redaction, cannot_write, create, encode, trailer_of
from inspector.trace.file_reader import read_trace
from inspector.trace.redact.names import MARKER

_MARKERS = re.compile(MARKER.pattern.encode())


def rewrite(source: Path, target: Path, redaction: Redaction | None = None) -> dict[str, Any]:
    """Write the trace in `source` to the new file `target`; returns its trailer.

    Without redaction the content is the same, byte for byte; the trailer of a file that had none says
    `complete: false`. Raises FileError as the reader and the writer do; a damaged source leaves no target.
    """
    with read_trace(source) as trace:
        try:
            file = create(target)
        except OSError as problem:
            raise cannot_write(target, problem) from problem
        try:
            with closing(file):
                trailer = _copy(trace, file, redaction)
        except FileError:
            target.unlink()
            raise
        except OSError as problem:
            raise cannot_write(target, problem) from problem
        if trace.problem is not None:
            target.unlink()
            raise FileError(f"{source}: {trace.problem}", "Ask for the file again.")
    return trailer


def _copy(trace: Any, file: IO[bytes], redaction: Redaction | None) -> dict[str, Any]:
    digest, events, last_seq = hashlib.sha256(), 0, 0
    header = _header_line(trace, redaction)
    digest.update(header)
    file.write(header)
    for line, fields in trace.lines():
        if redaction is not None and (changed := redaction.apply(fields)) is not fields:
            line = encode(changed)
        digest.update(line)
        file.write(line)
        events, last_seq = events + 1, fields["seq"]
    before = trace.trailer or {"complete": False}
    trailer = trailer_of(events, last_seq, digest.hexdigest(), redaction, before)
    trailer |= {name: value for name, value in before.items() if name not in trailer}
    file.write(encode(trailer))
    return trailer


def _header_line(trace: Any, redaction: Redaction | None) -> bytes:
    if redaction is None:
        return bytes(trace.header_line)
    said = {name: trace.header[name] for name in ("title", "note") if name in trace.header}
    said = {name: value for name, value in redaction.apply(said).items() if name in said}
    return encode({**trace.header, **said, "redaction": redaction.header()})


def last_number(lines: Iterator[tuple[bytes, dict[str, Any]]]) -> int:
    """The highest number of a marker in a file that was redacted before; 0 when there is none."""
    return max((int(number) for line, _ in lines for number in _MARKERS.findall(line)), default=0)


def markers_in(events: Iterable[dict[str, Any]]) -> int:
    """The same of events that are values already."""
    return last_number((encode(fields), fields) for fields in events)
