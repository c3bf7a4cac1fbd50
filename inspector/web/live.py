"""New timeline rows pushed over a WebSocket. One request thread a socket, and simple-websocket's reader thread."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from flask import Flask, Response, g, request
from flask_sock import Sock
from simple_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError

from inspector.trace.feed import Feed
from inspector.web.pushing import Args, Drawing, Pushing, Wanted

RESTARTING: Final = 1012
TRY_LATER: Final = 1013
GONE: Final = (ConnectionClosed, LocalProtocolError, OSError)


def by_connection(args: Args) -> Wanted:
    """The filter of `?c=1&c=2`: events of these connections, or all without `c`."""
    wanted = set(args.getlist("c", type=int))
    return lambda event: not wanted or event.c in wanted


class Live:
    """The WebSocket `/live?view=mini|full&after=SEQ&c=N…` over one feed.

    drawing: how rows are made. wanted: the filter of a page's query. Order is kept and nothing is sent twice; what a
    page is not sent can be reached from its first row (see pushing.py).
    most: sockets open at once. stall_s: how long a peer may refuse to read before it is cut off.
    """

    def __init__(
        self,
        feed: Feed,
        drawing: Drawing,
        *,
        wanted: Callable[[Args], Wanted] = by_connection,
        most: int = 32,
        stall_s: float = 10.0,
    ) -> None:
        self.feed = feed
        self.drawing = drawing
        self.wanted = wanted
        self._most = most
        self._stall_s = stall_s
        self._lock = threading.Lock()
        self.open_sockets = 0

    def attach(self, app: Flask) -> None:
        """Add the route to `app`."""
        app.config["SOCK_SERVER_OPTIONS"] = {"ping_interval": 25, "max_message_size": 4096}
        app.after_request(no_answer_after_a_socket)
        Sock(app).route("/live")(self.live)

    def live(self, ws: Any) -> None:
        """Serve one socket until its peer leaves, stalls, or the console stops."""
        g.websocket = ws
        ws.sock = OneWriter(ws.sock, self._stall_s)
        with self._lock:
            admitted = self.open_sockets < self._most
            self.open_sockets += admitted
        if not admitted:
            hang_up(ws, TRY_LATER)
            return
        try:
            with suppress(*GONE):
                Pushing(self.feed, ws, request.args, self.drawing, self.wanted(request.args)).follow()
        finally:
            with self._lock:
                self.open_sockets -= 1
            hang_up(ws, RESTARTING)


class OneWriter:
    """A socket on which two threads may send: whole texts, one after the other, never stuck for ever.

    simple-websocket sends rows and pongs from two threads, with one bare `send` each. The time limit is the
    kernel's: a Python time-out would also cut the reader short.
    """

    def __init__(self, sock: socket.socket, stall_s: float) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        whole, part = divmod(stall_s, 1)
        limit = int(stall_s * 1000) if os.name == "nt" else struct.pack("ll", int(whole), int(part * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send(self, octets: bytes) -> int:
        """All of `octets`. Raises OSError when the peer is gone, or reads nothing for the time limit."""
        with self._lock:
            try:
                self._sock.sendall(octets)
            except OSError:
                # A text may be half sent: nothing more can follow it on this connection.
                with suppress(OSError):
                    self._sock.shutdown(socket.SHUT_RDWR)
                raise
        return len(octets)

    def close(self) -> None:
        """Called by the reader thread when the peer has gone: a send that waits for it ends at once."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def hang_up(ws: Any, code: int) -> None:
    """Close, so that the reader thread and the peer notice at once; htmx reconnects on both codes we use."""
    with suppress(*GONE):
        ws.close(code)
    with suppress(OSError):
        ws.sock.shutdown(socket.SHUT_RDWR)
    ws.thread.join(1.0)


class NoAnswer(Response):
    """What a view returns when its connection became a WebSocket and has ended."""

    def __call__(self, environ: Any, start_response: Any) -> Any:
        raise ConnectionAbortedError("the WebSocket on this connection has ended")


def no_answer_after_a_socket(response: Response) -> Response:
    """Keep werkzeug from writing an HTTP answer behind the close frame, which turns every code into 1006."""
    if "websocket" in g and "werkzeug.socket" in request.environ:
        return NoAnswer()
    return response
