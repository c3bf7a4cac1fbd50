"""The portable trace file, version 1: written as things happen on the `trace-file` thread, read back on any.

Contract: docs/trace-format.md. One JSON object a line, a header first, a trailer last; gzip when the name ends
in `.gz`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import queue
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol, cast

from inspector.errors import FileError
from inspector.protocol.numbers import integer
from inspector.trace.rows import rfc3339
from inspector.wire.events import Event, Journal

FORMAT, VERSION, MINOR = "mcp-trace", 1, 0
LINE_BYTES = 32 << 20
RAWS = {"rpc": "raw", "http": "body"}
"""The field of an event's own bytes, for all but these `data`."""
CUT_BYTES = 4 << 20
"""How much of a raw is kept when its line would be too long; escaped it may take six times as much."""


class Redaction(Protocol):
    """What hides secrets: its rules for the header, its work on one event's fields, its sums for the trailer."""

    def header(self) -> dict[str, Any]: ...
    def apply(self, fields: dict[str, Any]) -> dict[str, Any]: ...
    def counts(self) -> dict[str, int]: ...
    def skipped(self) -> list[Any]: ...


# -- an event as a line


def event_fields(event: Event) -> dict[str, Any]:
    """The event under the names of the trace format, raw as a string or base64."""
    fields: dict[str, Any] = {
        "t": event.t,
        "seq": event.seq,
        "c": event.c,
        "at": rfc3339(event.at_us),
        "dt": event.dt_us,
        "dir": event.dir,
    }
    if event.kind is not None:
        fields["kind"] = event.kind
    if event.method is not None:
        fields["method"] = event.method
    if event.pair is not None:
        fields["pair"] = event.pair
    if event.ms is not None:
        fields["ms"] = event.ms
    if event.cause is not None:
        fields["cause"] = event.cause
    if event.id is not None:
        plain = event.id.isascii() and event.id.isdigit()
        fields["id"] = integer(event.id) if plain else json.loads(event.id, parse_int=integer)
    if event.raw is not None:
        _add_raw(fields, event.t, event.raw)
    for name, value in event.body.items():
        if name not in fields:
            fields[name] = value
    return fields


def event_line(event: Event, redaction: Redaction | None = None) -> bytes:
    """The event's line, with LF. A raw too long for a reader's limit is cut, and the line says so."""
    fields = line_fields(event, digest=redaction is None)
    return encode(fields if redaction is None else redaction.apply(fields))


def line_fields(event: Event, *, digest: bool) -> dict[str, Any]:
    """The fields of the event's line. digest: give the one of a raw that is cut; of what is hidden it would tell."""
    fields = event_fields(event)
    if event.raw is not None and len(event.raw) > CUT_BYTES and _too_long(event.raw, fields):
        fields = event_fields(replace(event, raw=_head(event.raw)))
        fields |= {"cut": True, "full_bytes": len(event.raw)}
        if digest:
            fields["sha256"] = hashlib.sha256(event.raw).hexdigest()
        if event.t == "rpc":
            fields["bytes"] = len(event.raw)
    return fields


def _too_long(raw: bytes, fields: dict[str, Any]) -> bool:
    return len(raw) > LINE_BYTES or len(encode(fields)) > LINE_BYTES


def _add_raw(fields: dict[str, Any], t: str, raw: bytes) -> None:
    name = RAWS.get(t, "data")
    try:
        fields[name] = raw.decode("utf-8")
    except UnicodeDecodeError:
        fields[name] = base64.b64encode(raw).decode("ascii")
        fields["enc"] = "base64"
    else:
        if name == "data":
            fields["enc"] = "utf8"
    if t == "rpc":
        fields["bytes"] = len(raw)


def _head(raw: bytes) -> bytes:
    """The first CUT_BYTES, not ending inside a character."""
    end = CUT_BYTES
    while end > CUT_BYTES - 4 and raw[end] & 0xC0 == 0x80:
        end -= 1
    return raw[:end]


_LINE_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_LONG = 4096
_LONG_FIELDS = ("raw", "body", "data")
_CONTROL = bytes(range(32))


def encode(fields: dict[str, Any]) -> bytes:
    """Strict JSON and LF. Lone surrogates stay as escapes; what JSON has no number for becomes its name."""
    for name in _LONG_FIELDS:
        raw = fields.get(name)
        if isinstance(raw, str) and len(raw) > _LONG and (line := _spliced(fields, name, raw)):
            return line
    try:
        text = _LINE_TEXT(fields)
    except ValueError:
        return encode(_finite(fields))
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def _spliced(fields: dict[str, Any], name: str, raw: str) -> bytes | None:
    """The same line, its one long text escaped apart, in a third of the time; None when that needs rare escapes."""
    try:
        content = raw.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if len(content.translate(None, _CONTROL)) != len(content):
        return None
    names = list(fields)
    at = names.index(name)
    before = encode({each: fields[each] for each in names[:at]})[:-2]
    after = encode({each: fields[each] for each in names[at + 1 :]})[1:]
    escaped = content.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    comma, then = b"," if at else b"", b"," if len(names) > at + 1 else b""
    return b"".join((before, comma, b'"', name.encode(), b'":"', escaped, b'"', then, after))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value


# -- writing


class TraceFileWriter:
    """Writes everything a journal emits from now on into a new file. It attaches its `sink` itself.

    Attach it before the first event, so that the file's seqs start at 1. After a failed write `failed` holds the
    sentence, later events are counted in `dropped`, and `close` raises. FileError when the file cannot be made
    or exists already.
    """

    def __init__(
        self,
        path: Path,
        journal: Journal,
        *,
        title: str = "",
        note: str = "",
        redaction: Redaction | None = None,
        tool_version: str,
    ) -> None:
        self.path = path
        self.failed: str | None = None
        self._journal = journal
        self._redaction = redaction
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._closed = False
        self._accepted = self._events = self._last_seq = 0
        self._digest = hashlib.sha256()
        try:
            self._file = create(path)
        except OSError as problem:
            raise cannot_write(path, problem) from problem
        header = encode(_header(journal, title, note, redaction, tool_version))
        self._thread = threading.Thread(target=self._run, args=(header,), name="trace-file", daemon=True)
        self._thread.start()
        journal.attach(self.sink)

    def sink(self, event: Event) -> None:
        """Take an event; called under the journal's lock."""
        self._accepted += 1
        if self.failed is None and not self._closed:
            self._queue.put(event)

    @property
    def dropped(self) -> int:
        """Events taken that will never be in the file; 0 as long as nothing failed."""
        return self._accepted - self._events if self.failed or self._closed else 0

    def close(self, timeout: float = 10.0) -> None:
        """Write what is queued and the trailer. Raises FileError when that failed or takes longer."""
        if self._closed:
            return
        self._journal.detach(self.sink)
        self._closed = True
        self._queue.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            self.failed = f"The trace file {self.path} could not be finished within {timeout:g} s."
        if self.failed is not None:
            raise FileError(
                self.failed, "Check the disk; what was written before opens as an incomplete trace."
            )

    def _run(self, header: bytes) -> None:
        try:
            with self._file:
                self._write(header)
                self._file.flush()
                while self._drain():
                    self._file.flush()  # whole lines are on disk when we are killed
                self._write(self._trailer())
        except OSError as problem:
            self.failed = cannot_write(self.path, problem).message
        except Exception as problem:  # noqa: BLE001 - a dead thread would lose events unseen
            self.failed = (
                f"The trace file {self.path} could not be written ({type(problem).__name__}: {problem})."
            )

    def _drain(self) -> bool:
        """Wait for events and write all that are queued; False at the end."""
        event = self._queue.get()
        while event is not None:
            self._write(event_line(event, self._redaction))
            self._events += 1
            self._last_seq = event.seq
            try:
                event = self._queue.get_nowait()
            except queue.Empty:
                return True
        return False

    def _write(self, line: bytes) -> None:
        self._digest.update(line)
        self._file.write(line)

    def _trailer(self) -> bytes:
        return encode(trailer_of(self._events, self._last_seq, self._digest.hexdigest(), self._redaction))


def trailer_of(
    events: int, last_seq: int, sha256: str, redaction: Redaction | None, before: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The last line's fields. before: the trailer of the file these events were in, whose sums go on.

    That file may be anybody's: what is no sum in it is left out.
    """
    earlier = before or {}
    counted, skipped = earlier.get("redaction_counts"), earlier.get("redaction_skipped")
    counts = Counter(
        {rule: n for rule, n in (counted if isinstance(counted, dict) else {}).items() if isinstance(n, int)}
    )
    counts.update(redaction.counts() if redaction else {})
    whole = before is None or bool(before.get("complete"))
    return {
        "t": "end",
        "events": events,
        "complete": whole and events == last_seq,
        "redaction_counts": dict(counts),
        "redaction_skipped": [
            *(skipped if isinstance(skipped, list) else []),
            *(redaction.skipped() if redaction else []),
        ],
        "sha256": sha256,
    }


def _header(
    journal: Journal, title: str, note: str, redaction: Redaction | None, tool_version: str
) -> dict[str, Any]:
    said: dict[str, Any] = {"title": title, "note": note}
    if redaction is not None:
        said = redaction.apply(said)
    return {
        "t": "header",
        "format": FORMAT,
        "v": VERSION,
        "minor": MINOR,
        "tool": {"name": "mcp-loupe", "version": tool_version},
        "created": rfc3339(time.time_ns() // 1000),
        "title": said["title"],
        "note": said["note"],
        "clock": {"wall0": rfc3339(journal.wall0_us), "mono_unit": "us"},
        "redaction": redaction.header() if redaction else None,
    }


def create(path: Path) -> IO[bytes]:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    file = os.fdopen(opened, "wb")
    if path.suffix != ".gz":
        return file
    return cast("IO[bytes]", _Gzip(filename="", mode="wb", fileobj=file, mtime=0))


class _Gzip(gzip.GzipFile):
    """A gzip stream that closes the file under it too."""

    def close(self) -> None:
        file = cast("IO[bytes] | None", self.fileobj)
        try:
            super().close()
        finally:
            if file is not None:
                file.close()


def cannot_write(path: Path, problem: OSError) -> FileError:
    if isinstance(problem, FileExistsError):
        return FileError(f"{path} exists already.", "Choose another name, or remove that file.")
    return FileError(
        f"The trace file {path} could not be written: {problem.strerror or problem}.",
        "Check the folder, its permissions and the free space.",
    )
