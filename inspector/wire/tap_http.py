"""The tap on HTTP: listens on loopback and passes every byte on to one server, but for the Host header. Loop thread.

One connection of a client is one connection to the server: framing, keep-alive, streams and hanging up (which is how
the modern era cancels) cross as they are. Only `Host` is rewritten, as a proxy must: it names the server, not us.
"""

from __future__ import annotations

import re
import signal
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.abc

from inspector.errors import NetworkFailed
from inspector.wire.http1 import BODY, END, HEAD, Head, Http1Splitter
from inspector.wire.http_base import is_loopback
from inspector.wire.tap_http_record import HttpRecord
from inspector.wire.tap_record import TapRecord

HOST: Final = "127.0.0.1"
CONNECT_S: Final = 10.0
_HOST_LINE: Final = re.compile(rb"(?im)^(host[ \t]*:[ \t]*)[^\r\n]*")

Stream = anyio.abc.ByteStream


class HttpTap:
    """Passes what comes to 127.0.0.1:`port` on to the server of `url`. Port 0 takes any free one."""

    def __init__(self, url: str, port: int, record: TapRecord) -> None:
        parts = urlsplit(url)
        self.port = port
        self.record = HttpRecord(record, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
        self.path = parts.path or "/"
        self.query = f"?{parts.query}" if parts.query else ""
        self.host = parts.hostname or ""
        self.tls = parts.scheme == "https"
        self.server_port = parts.port or (443 if self.tls else 80)
        self.netloc = parts.netloc.rpartition("@")[2]

    def run(self, ready: Callable[[str], None]) -> int:
        """Serve until SIGINT or SIGTERM; `ready` gets the URL clients connect to. Raises NetworkFailed."""
        return anyio.run(self._serve, ready)

    async def _serve(self, ready: Callable[[str], None]) -> int:
        try:
            listener = await anyio.create_tcp_listener(local_host=HOST, local_port=self.port)
        except OSError as problem:
            text = f"Port {self.port} cannot be listened on: {problem.strerror or problem}"
            raise NetworkFailed(text, "Choose another, or 0 for any free one") from None
        self.port = int(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610 - no Django here
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(_until_told, tasks.cancel_scope)
            ready(f"http://{HOST}:{self.port}{self.path}{self.query}")
            await listener.serve(self._client)
        return 0

    async def _client(self, client: Stream) -> None:
        """One connection of a client. Nothing that befalls it may reach the others."""
        try:
            async with client:
                await Relay(self, client).run()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            return  # it left
        except Exception as problem:  # noqa: BLE001
            self.record.record.say(f"One connection was dropped: {type(problem).__name__}: {problem}")

    async def connect(self) -> Stream:
        with anyio.fail_after(CONNECT_S):
            if self.tls:
                context = ssl.create_default_context()
                return await anyio.connect_tcp(
                    self.host, self.server_port, ssl_context=context, tls_standard_compatible=False
                )
            return await anyio.connect_tcp(self.host, self.server_port)


async def _until_told(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as numbers:
        async for _number in numbers:
            scope.cancel()
            return


class Relay:
    """A client's connection and the one to the server behind it."""

    def __init__(self, tap: HttpTap, client: Stream) -> None:
        self.tap = tap
        self.client = client
        self.exchanges = tap.record.connection()
        self._left = False
        self._requests = Http1Splitter(requests=True)
        self._answers = Http1Splitter(requests=False, bodiless=self.exchanges.bodiless)

    async def run(self) -> None:
        try:
            server = await self.tap.connect()
        except (OSError, TimeoutError, anyio.BrokenResourceError) as problem:
            await self._unreachable(problem)
            return
        async with server:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._up, server)
                    await self._down(server)
                    tasks.cancel_scope.cancel()
            finally:
                self.exchanges.close()
                self.tap.record.record.flush()

    async def _up(self, server: Stream) -> None:
        """From the client to the server; a client that only stops sending may still read."""
        with suppress(anyio.ClosedResourceError):
            try:
                async for chunk in self.client:
                    passed, refusal = self.requests(chunk)
                    if refusal:
                        await self.client.send(refusal)
                        await server.aclose()
                        return
                    if passed:
                        await server.send(passed)
                    self.tap.record.record.flush()
                self._left = True
                await server.send_eof()
            except (anyio.BrokenResourceError, NotImplementedError, OSError):
                await server.aclose()

    async def _down(self, server: Stream) -> None:
        """From the server to the client, until the server closes."""
        with suppress(anyio.ClosedResourceError):
            try:
                async for chunk in server:
                    await self.client.send(self.answers(chunk))
                    self.tap.record.record.flush()
            except (anyio.BrokenResourceError, OSError):
                return
            for piece in self._answers.finish():
                if piece.kind == END and not self._left:  # a client that left may be why the server closed
                    self.exchanges.answered()
                await self.client.send(piece.raw)

    def requests(self, chunk: bytes) -> tuple[bytes, bytes]:
        """What to pass on of the client's bytes; or a refusal to send back, and then hang up."""
        passed = []
        for piece in self._requests.feed(chunk):
            raw = piece.raw
            if piece.head is not None:
                if not _ours(piece.head):
                    return b"", _refusal(421, "the Host header names another machine than this one")
                raw = _HOST_LINE.sub(lambda line: line[1] + self.tap.netloc.encode(), raw, count=1)
                self.exchanges.asked(piece.head)
            elif piece.kind == BODY:
                self.exchanges.sent(piece.payload)
            elif piece.kind == END:
                self.exchanges.asked_whole()
            passed.append(raw)
        return b"".join(passed), b""

    def answers(self, chunk: bytes) -> bytes:
        """What to pass on of the server's bytes, which is all of them."""
        for piece in self._answers.feed(chunk):
            if piece.kind == HEAD and piece.head is not None:
                self.exchanges.answering(piece.head)
            elif piece.kind == BODY:
                self.exchanges.came(piece.payload)
            elif piece.kind == END:
                self.exchanges.answered()
        return chunk

    async def _unreachable(self, problem: Exception) -> None:
        """The server cannot be reached: say so to whoever asks, in HTTP, for a client shows that best."""
        why = str(problem) or "it did not accept a connection in time"
        text = f"{self.tap.netloc} could not be reached: {why}"
        self.tap.record.unreachable(text)
        await self.client.receive()
        await self.client.send(_refusal(502, text))


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
