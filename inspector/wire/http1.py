"""Splits one direction of an HTTP/1.1 connection into heads, bodies and ends, losing no byte. Pure; any thread.

Source: RFC 9112 (message framing). For a tap: every byte fed comes out again in some piece's `raw`, in order; what
is no HTTP comes out too, as `opaque`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

HEAD_CAP: Final = 64 * 1024
HEAD, BODY, END, OPAQUE = "head", "body", "end", "opaque"
_CHUNK: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t\r]*(?:;|\Z)")
"""The size of a chunk; int() would take a sign too, and a negative one never ends."""

Pairs = list[list[str]]


@dataclass(slots=True)
class Head:
    """A start line and its headers. parts: the start line's three words."""

    parts: tuple[str, str, str]
    headers: Pairs
    _named: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def get(self, name: str) -> str:
        """All values of a header, joined by commas; empty when it is absent. name: in lower case."""
        if not self._named:
            for key, value in self.headers:
                key, before = key.lower(), self._named.get(key.lower())
                self._named[key] = value if before is None else f"{before}, {value}"
        return self._named.get(name, "")

    @property
    def status(self) -> int:
        return int(self.parts[1]) if self.parts[1].isdecimal() else 0


@dataclass(slots=True)
class Piece:
    """raw: bytes as they crossed. payload: what of them is body, without chunk framing. head: of a `head` piece."""

    kind: str
    raw: bytes = b""
    payload: bytes = b""
    head: Head | None = field(default=None)


class Http1Splitter:
    """Feed it what crosses; it gives the pieces. bodiless(head) tells an answer that has no body although it may
    announce one (to HEAD, 1xx, 204, 304)."""

    def __init__(self, *, requests: bool, bodiless: Callable[[Head], bool] = lambda _head: False) -> None:
        self._requests = requests
        self._bodiless = bodiless
        self._held = bytearray()
        self._at = 0
        """Where in `_held` that begins which was not given out yet: taking a piece copies that piece and no more."""
        self._looked = 0
        """How far `_held` was looked through for the end of a head."""
        self._left = 0
        self._state: Callable[[], Iterator[Piece]] = self._head
        self._until_close = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces that became whole; a body's bytes come as they are, whole or not."""
        self._held += chunk
        progress = True
        while progress and self._rest:
            progress = False
            for piece in self._state():
                progress = True
                yield piece
        del self._held[: self._at]
        self._looked = max(0, self._looked - self._at)
        self._at = 0

    def finish(self) -> Iterator[Piece]:
        """The stream ended: the bytes still held, and the end of a body that lasts until then."""
        if self._rest:
            yield Piece(OPAQUE, self._take(self._rest))
        if self._until_close:
            self._until_close = False
            yield Piece(END)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._held[self._at : self._at + size])
        self._at += len(taken)
        return taken

    @property
    def _rest(self) -> int:
        """Bytes that were not given out yet."""
        return len(self._held) - self._at

    def _head(self) -> Iterator[Piece]:
        end = self._held.find(b"\r\n\r\n", max(self._at, self._looked))
        if end < 0:
            self._looked = max(self._at, len(self._held) - 3)
            if self._rest > HEAD_CAP:
                yield self._give_up()
            return
        head = _parsed(bytes(self._held[self._at : end]))
        if head is None:
            yield self._give_up()
            return
        yield Piece(HEAD, self._take(end + 4 - self._at), head=head)
        yield from self._framed(head)

    def _framed(self, head: Head) -> Iterator[Piece]:
        """Choose how the body ends (RFC 9112 section 6.3)."""
        length = head.get("content-length")
        if not self._requests and (head.status == 101 or self._bodiless(head)):
            if head.status == 101:
                self._state = self._opaque
            else:
                yield Piece(END)
        elif "chunked" in head.get("transfer-encoding").lower():
            self._state = self._chunk_line
        elif length.isdecimal() and int(length):
            self._left = int(length)
            self._state = self._sized
        elif length or self._requests:
            yield Piece(END)
        else:
            self._until_close = True
            self._state = self._endless

    def _sized(self) -> Iterator[Piece]:
        raw = self._take(self._left)
        self._left -= len(raw)
        yield Piece(BODY, raw, raw)
        if not self._left:
            self._state = self._head
            yield Piece(END)

    def _endless(self) -> Iterator[Piece]:
        raw = self._take(self._rest)
        yield Piece(BODY, raw, raw)

    def _chunk_line(self) -> Iterator[Piece]:
        line = self._line()
        size = _CHUNK.match(line.rstrip(b"\n"))
        if size is not None:
            yield Piece(BODY, self._take(len(line)))
            self._left = int(size[1], 16)
            self._state = self._chunk if self._left else self._trailers
        elif line or self._rest > HEAD_CAP:
            yield self._give_up()

    def _chunk(self) -> Iterator[Piece]:
        raw = self._take(self._left)
        self._left -= len(raw)
        yield Piece(BODY, raw, raw)
        if not self._left:
            self._state = self._after_chunk

    def _after_chunk(self) -> Iterator[Piece]:
        line = self._line()
        if line and not line.strip():
            yield Piece(BODY, self._take(len(line)))
            self._state = self._chunk_line
        elif line or self._rest > HEAD_CAP:
            yield self._give_up()

    def _trailers(self) -> Iterator[Piece]:
        line = self._line()
        if line:
            yield Piece(BODY, self._take(len(line)))
            if not line.strip():
                self._state = self._head
                yield Piece(END)
        elif self._rest > HEAD_CAP:
            yield self._give_up()

    def _line(self) -> bytes:
        """The next line with its end, left where it is; empty while it is not whole."""
        return bytes(self._held[self._at : self._held.find(b"\n", self._at) + 1])

    def _opaque(self) -> Iterator[Piece]:
        yield Piece(OPAQUE, self._take(self._rest))

    def _give_up(self) -> Piece:
        self._state = self._opaque
        return Piece(OPAQUE, self._take(self._rest))


def _parsed(raw: bytes) -> Head | None:
    first, *lines = raw.lstrip(b"\r\n").decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not any(word.startswith("HTTP/1.") for word in words):
        return None
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            return None
        headers.append([name, value.strip()])
    return Head((words[0], words[1], words[2] if len(words) > 2 else ""), headers)
