"""Splits a server-sent event stream into events, keeping what others throw away. Pure; any thread.

Source: WHATWG HTML "Server-sent events": lines end with CR, LF or CRLF; a leading BOM is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from inspector.wire.link import LINE_CAP

CR = 0x0D
DEFAULT_RETRY_S = 1.0
LEAST_RETRY_S = 0.5
"""However short a `retry` the server names: it does not set our pace."""


@dataclass(slots=True)
class SseEvent:
    """One event: `data` joined by LF (None when it had no data line), comments as sent, `size` in stream bytes."""

    data: bytes | None = None
    event: str = ""
    id: str | None = None
    retry: int | None = None
    comments: list[str] = field(default_factory=list)
    size: int = 0

    def facts(self) -> dict[str, object]:
        """The trace format's `sse` object: only what was there."""
        found: dict[str, object] = {}
        if self.event:
            found["event"] = self.event
        if self.id is not None:
            found["id"] = self.id
        if self.retry is not None:
            found["retry"] = self.retry
        if self.comments:
            found["comment"] = "\n".join(self.comments)
        return found


@dataclass(slots=True)
class Position:
    """How far a server's events were read, and how long it asks to be left alone before the rest is asked for."""

    last_id: str | None = None
    retry_s: float = DEFAULT_RETRY_S

    def note(self, event: SseEvent) -> None:
        if event.id is not None:
            self.last_id = event.id or None  # an empty one takes the last back
        if event.retry is not None:
            self.retry_s = max(event.retry / 1000, LEAST_RETRY_S)


class SseTooLong(ValueError):
    """One event grew past the cap."""


class SseSplitter:
    """Feed it chunks split anywhere; it gives the events as they become whole.

    A CR ends its line at once; the LF of a CRLF counts into the size of what follows.
    """

    def __init__(self, cap: int | None = None) -> None:
        self.cap = LINE_CAP if cap is None else cap
        self._held = bytearray()
        self._scanned = 0
        self._after_cr = False
        self._current = SseEvent()
        self._lines: list[bytes] = []
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Raises SseTooLong, after the events before it, when one event passes the cap."""
        self._held += chunk
        start = 0
        while (end := self._line_end(max(start, self._scanned))) >= 0:
            cr = self._held[end] == CR
            if end == start and not cr and self._after_cr:
                self._current.size += 1
            elif (event := self._take(bytes(self._held[start:end]))) is not None:
                yield event
            self._after_cr = cr
            start = end + 1
        del self._held[:start]
        self._scanned = len(self._held)
        self._check(self._current.size + len(self._held))

    def _check(self, size: int) -> None:
        if size > self.cap:
            raise SseTooLong(f"one server-sent event of more than {self.cap:,} bytes")

    def _line_end(self, start: int) -> int:
        """Where the next CR or LF is, -1 while there is none."""
        lf = self._held.find(b"\n", start)
        cr = self._held.find(b"\r", start, lf if lf >= 0 else len(self._held))
        return cr if cr >= 0 else lf

    def _take(self, line: bytes) -> SseEvent | None:
        """Take a line in; the event that it ended, if it ended one."""
        self._current.size += len(line) + 1
        self._check(self._current.size)
        if self._first:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            self._current.comments.append(line[1:].removeprefix(b" ").decode("utf-8", "backslashreplace"))
        else:
            name, _, value = line.partition(b":")
            self._field(name, value.removeprefix(b" "))
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._lines.append(value)
            return
        text = value.decode("utf-8", "backslashreplace")
        if name == b"event":
            self._current.event = text
        elif name == b"id" and "\0" not in text:
            self._current.id = text
        elif name == b"retry" and text.isascii() and text.isdigit() and len(text) < 12:
            self._current.retry = int(text)

    def _dispatch(self) -> SseEvent | None:
        event = self._current
        if self._lines:
            event.data = b"\n".join(self._lines)
        self._current, self._lines = SseEvent(), []
        return event if event.data is not None or event.facts() else None

    def left_over(self) -> bytes:
        """What the stream ended with before the blank line: an event that never became one."""
        rest = b"\n".join(self._lines)
        return rest + bytes(self._held)
