"""The tap on HTTP: listens on loopback and passes every byte on to one server, but for the Host header. Loop thread.

One connection of a client is one connection to the server: framing, keep-alive, streams and hanging up (which is how
the modern era cancels) cross as they are. Only `Host` is rewritten, as a proxy must: it names the server, not us.

Written on asyncio's protocols: what comes is passed on in the very callback that brought it, and only then recorded.
"""

from __future__ import annotations

import asyncio
import re
import signal
import ssl
from collections.abc import Callable
from typing import Final, cast
from urllib.parse import urlsplit

from inspector.errors import NetworkFailed
from inspector.wire.http1 import BODY, END, HEAD, Head, Http1Splitter, Piece
from inspector.wire.http_base import is_loopback
from inspector.wire.tap_http_record import HttpRecord
from inspector.wire.tap_record import TapRecord

HOST: Final = "127.0.0.1"
CONNECT_S: Final = 10.0
GATHER_S: Final = 0.02
"""How long events are kept back: writing them down takes the interpreter from whoever passes the next bytes on."""
_HOST_LINE: Final = re.compile(rb"(?im)^(host[ \t]*:[ \t]*)[^\r\n]*")


class HttpTap:
    """Passes what comes to 127.0.0.1:`port` on to the server of `url`. Port 0 takes any free one."""

    def __init__(self, url: str, port: int, record: TapRecord) -> None:
        parts = urlsplit(url)
        self.port = port
        self.record = HttpRecord(record, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
        self.path = parts.path or "/"
        self.query = f"?{parts.query}" if parts.query else ""
        self.host = parts.hostname or ""
        self.server_port = parts.port or (443 if parts.scheme == "https" else 80)
        self.netloc = parts.netloc.rpartition("@")[2]
        self.tls = ssl.create_default_context() if parts.scheme == "https" else None
        self.relays: set[Relay] = set()
        self._gathering: asyncio.TimerHandle | None = None

    def run(self, ready: Callable[[str], None]) -> int:
        """Serve until SIGINT or SIGTERM; `ready` gets the URL clients connect to. Raises NetworkFailed."""
        return asyncio.run(self._serve(ready))

    async def _serve(self, ready: Callable[[str], None]) -> int:
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        try:
            listener = await loop.create_server(lambda: Relay(self, loop), HOST, self.port)
        except (OSError, OverflowError) as problem:
            why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
            text = f"Port {self.port} cannot be listened on: {why}"
            raise NetworkFailed(text, "Choose another, or 0 for any free one") from None
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told.set)
        self.port = int(listener.sockets[0].getsockname()[1])
        try:
            ready(f"http://{HOST}:{self.port}{self.path}{self.query}")
            await told.wait()
        finally:
            listener.close()
            for relay in list(self.relays):
                relay.drop()
        return 0

    def gather(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand over what was recorded, soon."""
        if self._gathering is None:
            self._gathering = loop.call_later(GATHER_S, self.hand_over)

    def hand_over(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self.record.record.flush()


class Relay(asyncio.Protocol):
    """A client's connection, and the one to the server behind it (`Beyond`)."""

    def __init__(self, tap: HttpTap, loop: asyncio.AbstractEventLoop) -> None:
        self.tap = tap
        self.loop = loop
        self.exchanges = tap.record.connection()
        self.client: asyncio.Transport | None = None
        self.server: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None
        self._unreachable = ""
        self._left = self._over = False
        self._requests = Http1Splitter(requests=True)
        self._answers = Http1Splitter(requests=False, bodiless=self.exchanges.bodiless)

    # --- the client's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.client = cast("asyncio.Transport", transport)
        self.client.pause_reading()
        self.tap.relays.add(self)
        self._opening = self.loop.create_task(self._open())

    async def _open(self) -> None:
        """Reach the server; until then the client's bytes wait in its socket."""
        try:
            async with asyncio.timeout(CONNECT_S):
                await self.loop.create_connection(
                    lambda: Beyond(self), self.tap.host, self.tap.server_port, ssl=self.tap.tls
                )
        except (
            OSError,
            UnicodeError,
        ) as problem:  # TimeoutError is one; a name too long for DNS is no Unicode
            why = str(problem) or "it did not accept a connection in time"
            self._unreachable = f"{self.tap.netloc} could not be reached: {why}"
            self.tap.record.unreachable(self._unreachable)
        if self.client is not None and not self.client.is_closing():
            self.client.resume_reading()
        elif self.server is not None:
            self.server.close()

    def data_received(self, data: bytes) -> None:
        if self.server is None:  # say so to whoever asks, in HTTP, for a client shows that best
            self._refuse(_refusal(502, self._unreachable))
            return
        try:
            pieces = list(self._requests.feed(data))
            passed = self._passed(pieces)
        except Exception as problem:  # noqa: BLE001 - nothing that befalls one connection may reach the others
            self._dropped(problem)
            return
        if passed is None:
            self._refuse(_refusal(421, "the Host header names another machine than this one"))
            return
        if passed:
            self.server.write(passed)
        self._note_requests(pieces)
        self.tap.gather(self.loop)

    def eof_received(self) -> bool:
        """A client that only stops sending may still read."""
        self._left = True
        if self.server is None:
            return False
        rest = b"".join(piece.raw for piece in self._requests.finish())
        if rest:
            self.server.write(rest)
        if not self.server.can_write_eof():
            return False
        self.server.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._left = True
        if self._opening is not None:
            self._opening.cancel()
        if self.server is not None:
            self.server.close()
        self.ended()

    def pause_writing(self) -> None:
        if self.server is not None:
            self.server.pause_reading()

    def resume_writing(self) -> None:
        if self.server is not None:
            self.server.resume_reading()

    # --- the server's side

    def came(self, data: bytes) -> None:
        """Bytes of the server: all of them are passed on."""
        if self.client is not None:
            self.client.write(data)
        try:
            for piece in self._answers.feed(data):
                if piece.kind == HEAD and piece.head is not None:
                    self.exchanges.answering(piece.head)
                elif piece.kind == BODY:
                    self.exchanges.came(piece.payload)
                elif piece.kind == END:
                    self.exchanges.answered()
        except Exception as problem:  # noqa: BLE001 - as above
            self._dropped(problem)
        self.tap.gather(self.loop)

    def server_ended(self) -> None:
        """It says no more: nor do we, once all is passed on."""
        for piece in self._answers.finish():
            if piece.kind == END and not self._left:  # a client that left may be why the server closed
                self.exchanges.answered()
        self.ended()
        if self.client is not None:
            self.client.close()

    # --- both

    def _passed(self, pieces: list[Piece]) -> bytes | None:
        """What to pass on of the client's bytes; None when it means another machine."""
        passed = []
        for piece in pieces:
            raw = piece.raw
            if piece.head is not None:
                if not _ours(piece.head):
                    return None
                raw = _HOST_LINE.sub(lambda line: line[1] + self.tap.netloc.encode(), raw, count=1)
            passed.append(raw)
        return b"".join(passed)

    def _note_requests(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.head is not None:
                self.exchanges.asked(piece.head)
            elif piece.kind == BODY:
                self.exchanges.sent(piece.payload)
            elif piece.kind == END:
                self.exchanges.asked_whole()

    def _refuse(self, answer: bytes) -> None:
        assert self.client is not None
        self.client.write(answer)
        self.client.close()

    def _dropped(self, problem: Exception) -> None:
        self.tap.record.record.say(f"One connection was dropped: {type(problem).__name__}: {problem}")
        self.drop()

    def drop(self) -> None:
        """Let go of both ends."""
        self.ended()
        for end in (self.client, self.server):
            if end is not None:
                end.abort()

    def ended(self) -> None:
        """What is still open broke off."""
        if not self._over:
            self._over = True
            self.tap.relays.discard(self)
            self.exchanges.close()
            self.tap.hand_over()


class Beyond(asyncio.Protocol):
    """The connection to the server."""

    def __init__(self, relay: Relay) -> None:
        self.relay = relay

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.relay.server = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.relay.came(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.server_ended()

    def pause_writing(self) -> None:
        if self.relay.client is not None:
            self.relay.client.pause_reading()

    def resume_writing(self) -> None:
        if self.relay.client is not None:
            self.relay.client.resume_reading()


def _ours(head: Head) -> bool:
    """Whether the client meant this machine: as Host is rewritten, the server cannot see a rebound DNS name."""
    try:
        named = urlsplit(f"//{head.get('host')}").hostname
    except ValueError:
        return False
    return named is None or is_loopback(named)


def _refusal(status: int, why: str) -> bytes:
    reasons = {421: "Misdirected Request", 502: "Bad Gateway"}
    body = f"mcp-loupe tap: {why}\n".encode()
    lines = (
        f"HTTP/1.1 {status} {reasons[status]}", "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}", "Connection: close", "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode() + body
