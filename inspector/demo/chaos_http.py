"""The chaos server on streamable HTTP: every byte written by hand; one thread per connection."""

from __future__ import annotations

import base64
import binascii
import os
import signal
import socket
import socketserver
import ssl
import stat
import struct
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.demo.chaos_faults import CALL, INITIALIZE, VERSION_KEY, Ask, State, dumps
from inspector.demo.chaos_server import ChaosServer

PATH: Final = "/mcp"
JSON: Final = "application/json"
SSE: Final = "text/event-stream"
ALLOWED: Final = (
    "Content-Type, Accept, Authorization, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"
)


def event(frame: bytes) -> bytes:
    """A frame as one server-sent event."""
    return b"event: message\ndata: " + frame + b"\n\n"


class Exchange:
    """One HTTP request and the way back. Frames given to `frame` leave with `finish`: one as a JSON body,
    several as an event stream, none by waiting until the client goes away."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.state: State = handler.server.chaos.state
        self.path = handler.path
        self.session = handler.headers.get("Mcp-Session-Id", "")
        self.started = False
        self._mint = ""
        self._held: list[tuple[bytes, int]] = []

    def write(self, raw: bytes) -> None:
        """Exactly these bytes into the socket."""
        self.started = True
        self.handler.wfile.write(raw)

    def head(self, status: str, *headers: str) -> None:
        """A status line (`200 OK`) and header lines, then the blank line."""
        extra = [f"Mcp-Session-Id: {self._mint}"] if self._mint else []
        origin = self.handler.headers.get("Origin")
        if origin:
            extra += [
                f"Access-Control-Allow-Origin: {origin}",
                "Access-Control-Expose-Headers: Mcp-Session-Id",
            ]
        self.write("\r\n".join((f"HTTP/1.1 {status}", *extra, *headers, "", "")).encode("latin-1"))

    def respond(self, status: str, body: bytes = b"", kind: str = JSON, *headers: str) -> None:
        """A whole response with its length; no content type for an empty body."""
        typed = (f"Content-Type: {kind}",) if body and kind else ()
        self.head(status, *typed, f"Content-Length: {len(body)}", *headers)
        self.write(body)

    def stream(self, *pieces: bytes, end: bool = True) -> None:
        """An event stream, one chunk per piece; without `end` the connection breaks off inside it."""
        self.head("200 OK", f"Content-Type: {SSE}", "Transfer-Encoding: chunked", "Connection: close")
        for piece in pieces:
            self.chunk(piece)
        if end:
            self.chunk(b"")
        self.hang_up()

    def chunk(self, piece: bytes) -> None:
        self.write(b"%x\r\n" % len(piece) + piece + b"\r\n")

    def hang_up(self) -> None:
        """Close the connection after this exchange."""
        self.started = True
        self.handler.close_connection = True

    def reset(self) -> None:
        """Close so that the client gets a TCP reset."""
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # By descriptor: the server would shut the socket down first, and that is an orderly end.
        os.close(self.handler.connection.detach())
        self.hang_up()

    def wait(self) -> None:
        """Block until the client goes away."""
        self.hang_up()
        while self.handler.connection.recv(65_536):
            pass

    def frame(self, raw: bytes, status: int = 200) -> None:
        self._held.append((raw, status))

    def later(self, seconds: float, raw: bytes) -> None:
        time.sleep(seconds)
        self.frame(raw)

    def when_cancelled(self, ask: Ask, raw: bytes) -> None:
        headed = threading.Lock()

        def answer() -> None:
            # On the thread of the cancellation, whose connection must not end with this one.
            with headed, suppress(OSError, ValueError):
                self.chunk(event(raw))
                self.chunk(b"")
                self.handler.connection.shutdown(socket.SHUT_WR)

        # Known as waiting before the client can see the head, and so can cancel; the answer still comes after it.
        with headed:
            self.state.waiting[dumps(ask.id)] = answer
            self.head("200 OK", f"Content-Type: {SSE}", "Transfer-Encoding: chunked", "Connection: close")
        self.wait()

    def accepted(self) -> None:
        self.respond("202 Accepted")

    def finish(self) -> None:
        if len(self._held) == 1:
            raw, status = self._held[0]
            self.respond(f"{status} {PHRASES.get(status, 'Error')}", raw)
        elif self._held:
            self.stream(*(event(raw) for raw, _ in self._held))
        elif not self.started:
            self.wait()

    def admit(self, ask: Ask) -> bool:
        if ask.modern:
            problem = self._mismatch(ask)
            if problem:
                self.frame(ask.error(-32020, problem), 400)
        elif ask.method == INITIALIZE:
            self.state.sessions_made += 1
            self._mint = f"chaos-session-{self.state.sessions_made}"
            self.state.sessions.add(self._mint)
        elif self.session not in self.state.sessions:
            self.refuse_session(self.state.unknown_session if self.session else 400)
        return not self._held

    def refuse_session(self, status: int) -> None:
        error = {"code": -32600, "message": "Session not found" if self.session else "Session id missing"}
        self.frame(dumps({"jsonrpc": "2.0", "id": None, "error": error}), status)

    def _mismatch(self, ask: Ask) -> str:
        """The first header that does not say what the body says, as a sentence, or an empty string."""
        wanted = {"MCP-Protocol-Version": ask.params["_meta"][VERSION_KEY], "Mcp-Method": ask.method}
        if ask.method == CALL:
            wanted["Mcp-Name"] = str(ask.params.get("name"))
            arguments = ask.params.get("arguments")
            owner = arguments.get("owner") if isinstance(arguments, dict) else None
            if wanted["Mcp-Name"] == "echo" and owner is not None:
                wanted["Mcp-Param-Owner"] = str(owner)
        for name, value in wanted.items():
            sent = self.handler.headers.get(name)
            if sent is None or decoded(sent) != value:
                return f"{name}: header {sent!r}, body {value!r}"
        return ""


PHRASES: Final = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


def decoded(value: str) -> str:
    """A header value with the base64 sentinel taken off (S/server/tools#x-mcp-header)."""
    if value.startswith("=?base64?") and value.endswith("?="):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return value
    return value


class Handler(BaseHTTPRequestHandler):
    """Reads requests; what is written back is `Exchange`'s alone."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Site

    def log_message(self, *_args: Any) -> None:
        """Say nothing: stderr belongs to the faults."""

    def _strike(self, out: Exchange) -> bool:
        return self.server.chaos.strike(self.command, Ask(self.command), out)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        out = Exchange(self)
        accept = self.headers.get("Accept", "")
        if not self._strike(out):
            if not self._local_origin():
                out.respond("403 Forbidden")
            elif self.path != PATH:
                out.respond("404 Not Found")
            elif JSON not in accept or SSE not in accept:
                text = f"Not Acceptable: Client must accept both {JSON} and {SSE}"
                error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": text}}
                out.respond("406 Not Acceptable", dumps(error))
            else:
                self.server.chaos.handle(body, out)
        out.finish()

    def do_GET(self) -> None:
        out = Exchange(self)
        if not self._strike(out):
            out.respond(
                "405 Method Not Allowed" if self.path == PATH else "404 Not Found", b"", "", "Allow: POST"
            )

    def do_DELETE(self) -> None:
        out = Exchange(self)
        if not self._strike(out):
            known = out.session in out.state.sessions
            out.state.sessions.discard(out.session)
            out.respond("204 No Content" if known else "405 Method Not Allowed")

    def do_OPTIONS(self) -> None:
        out = Exchange(self)
        if not self._strike(out):
            methods = "Access-Control-Allow-Methods: POST, GET, DELETE"
            out.respond("204 No Content", b"", "", methods, f"Access-Control-Allow-Headers: {ALLOWED}")

    def _local_origin(self) -> bool:
        origin = self.headers.get("Origin")
        return origin is None or urlsplit(origin).hostname in ("localhost", "127.0.0.1", "::1")


class Site(socketserver.ThreadingTCPServer):
    """The listening socket, on loopback only."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, chaos: ChaosServer, port: int) -> None:
        self.chaos = chaos
        self.state = chaos.state
        self.scheme = "http"
        super().__init__(("127.0.0.1", port), Handler)

    def use_certificate(self, pem: str) -> None:
        """Speak TLS with the certificate and key in this file."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        # The handshake belongs to the connection's thread: here a plain client would stop the accepting one.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}{PATH}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is nobody's error; anything else is told on stderr."""
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            sys.stderr.write(f"chaos: {problem!r}\n")


def serve_http(chaos: ChaosServer, port: int) -> int:
    """Serve until SIGINT, SIGTERM or, when stdin is a pipe, its EOF. The first stdout line is `{"url","pid"}`."""
    with Site(chaos, port) as site:
        chaos.start(site)
        sys.stdout.write(dumps({"url": site.url, "pid": os.getpid()}).decode() + "\n")
        sys.stdout.flush()
        threading.Thread(target=site.serve_forever, daemon=True).start()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            if stat.S_ISFIFO(os.fstat(0).st_mode) or stat.S_ISSOCK(os.fstat(0).st_mode):
                while os.read(0, 65_536):
                    pass
            else:
                signal.pause()
        except KeyboardInterrupt:
            return 130
    return 0
