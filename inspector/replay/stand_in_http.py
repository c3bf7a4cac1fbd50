"""The stand-in on streamable HTTP, loopback only; one thread a connection.

A JSON body for a lone answer, server-sent events when notifications come before it. It mints no session and offers
no GET stream: both are optional in every revision, and a trace has neither to give.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.errors import NetworkFailed
from inspector.replay.stand_in import Play, StandIn
from inspector.wire.link import LINE_CAP

PATH: Final = "/mcp"
JSON: Final = "application/json"
SSE: Final = "text/event-stream"
LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class StandInSite(ThreadingHTTPServer):
    """The listening socket. Raises NetworkFailed when the port is taken."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, stand_in: StandIn, port: int, *, timing: bool = False) -> None:
        self.stand_in = stand_in
        self.timing = timing
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as problem:
            raise NetworkFailed(
                f"Port {port} cannot be listened on: {problem.strerror}",
                "Choose another, or 0 for any free one",
            ) from None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PATH}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is nobody's error."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: StandInSite

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        came = time.monotonic()
        refused = self._refusal()
        if refused is not None:
            self._respond(
                refused, f"The stand-in answers POST {PATH} from this machine.\n".encode(), "text/plain",
                (("Connection", "close"),),  # its body is not read
            )  # fmt: skip
            self.close_connection = True
            return
        play = self.server.stand_in.play(self.rfile.read(int(self.headers["Content-Length"])))
        if play is None:
            self._respond(202)
        elif len(play.steps) == 1 and not play.hold and JSON in self.headers.get("Accept", JSON):
            self._wait(play.steps[0].after_us, came)
            self._respond(play.status, play.steps[0].raw, JSON)
        else:
            self._stream(play, came)

    def do_GET(self) -> None:
        self._respond(405, headers=(("Allow", "POST"),))

    do_DELETE = do_GET

    def _refusal(self) -> int | None:
        """The status for a request that is none to us: another path, another origin (DNS rebinding), no length."""
        origin = self.headers.get("Origin")
        if origin is not None and not _local(origin):
            return HTTPStatus.FORBIDDEN
        if urlsplit(self.path).path != PATH:
            return HTTPStatus.NOT_FOUND
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return HTTPStatus.LENGTH_REQUIRED
        too_large = len(length) > len(str(LINE_CAP)) or int(length) > LINE_CAP
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if too_large else None

    def _respond(
        self, status: int, body: bytes = b"", kind: str = "", headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.send_response(status)
        for name, value in (*((("Content-Type", kind),) if kind else ()), *headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, play: Play, came: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", SSE)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        for step in play.steps:
            self._wait(step.after_us, came)
            lines = b"\n".join(b"data: " + line for line in step.raw.replace(b"\r", b"").split(b"\n"))
            self.wfile.write(b"event: message\n" + lines + b"\n\n")
        if play.hold:  # until the client goes away
            select.select([self.connection], [], [])
        self.close_connection = True

    def _wait(self, after_us: int, came: float) -> None:
        if self.server.timing:
            time.sleep(max(came + after_us / 1e6 - time.monotonic(), 0))


def _local(origin: str) -> bool:
    try:
        return urlsplit(origin).hostname in LOCAL
    except ValueError:
        return False


def serve_http(stand_in: StandIn, port: int, *, timing: bool = False) -> int:
    """Serve until SIGINT or SIGTERM; the first stdout line is `{"url","pid"}`. The exit code."""
    with StandInSite(stand_in, port, timing=timing) as site:
        sys.stdout.write(json.dumps({"url": site.url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        threading.Thread(target=site.serve_forever, daemon=True).start()
        ended.wait()
        site.shutdown()
    return 0
