"""New timeline rows pushed over a WebSocket. One request thread a socket, and simple-websocket's reader thread."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from flask import Flask, Response, g, request
from flask_sock import Sock
from simple_websocket import ConnectionClosed
from werkzeug.datastructures import MultiDict
from wsproto.utilities import LocalProtocolError

from inspector.trace.feed import Feed
from inspector.wire.events import Event

Args = MultiDict[str, str]
Wanted = Callable[[Event], bool]

IDLE_S: Final = 0.1
"""How long a quiet socket sleeps before it looks whether its peer is still there."""
BATCH_S: Final = 0.08
"""How long the first event of a batch waits for company: 50 clients at 1,000 events/s cost 0.7 s of CPU in
5 s with batches, 5.4 s without (measured)."""
ROW_S: Final = 0.002
"""A page is left alone this long for each row it was sent: a browser queues without bound, and was a minute behind."""
TEXT_BYTES: Final = 60_000
RESTARTING: Final = 1012
TRY_LATER: Final = 1013
GONE: Final = (ConnectionClosed, LocalProtocolError, OSError)


@dataclass(frozen=True, slots=True)
class Window:
    """Where rows go. rows: selector of the element whose children are rows. keep: rows it holds at most."""

    rows: str
    keep: int


WINDOWS: Final = {"mini": Window("#mini-rows", 60), "full": Window("#timeline-rows", 500)}


def by_connection(args: Args) -> Wanted:
    """The filter of `?c=1&c=2`: events of these connections, or all without `c`."""
    wanted = set(args.getlist("c", type=int))
    return lambda event: not wanted or event.c in wanted


class Live:
    """The WebSocket `/live?view=mini|full&after=SEQ&c=N…` over one feed.

    render_rows(events, args): HTML, one row an event. render_gap(url, args): HTML of one row that replaces itself
    with what `url` answers: `rows_path` with the page's own query and `after=` and `until=` (inclusive).
    Order is kept and nothing is sent twice: the row that stands for missed events sits where they belong,
    whatever arrives after it.
    most: sockets open at once. stall_s: how long a peer may refuse to read before it is cut off.
    """

    def __init__(
        self,
        feed: Feed,
        render_rows: Callable[[Sequence[Event], Args], str],
        render_gap: Callable[[str, Args], str],
        *,
        rows_path: str,
        wanted: Callable[[Args], Wanted] = by_connection,
        most: int = 32,
        stall_s: float = 10.0,
    ) -> None:
        self.feed = feed
        self.render_rows = render_rows
        self.render_gap = render_gap
        self.rows_path = rows_path
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
                _Page(self, ws, request.args).follow()
        finally:
            with self._lock:
                self.open_sockets -= 1
            hang_up(ws, RESTARTING)


class _Page:
    """One open page: what it looks at, and the last seq it was told of."""

    def __init__(self, live: Live, ws: Any, args: Args) -> None:
        self._live = live
        self._ws = ws
        self._args = args
        self._window = WINDOWS["full" if args.get("view") == "full" else "mini"]
        self._wanted = live.wanted(args)
        self._position = min(args.get("after", live.feed.last_seq, type=int), live.feed.last_seq)
        self._sent = 0  # rows, the last time

    def follow(self) -> None:
        """Send until the peer is gone; ends by return or by one of GONE."""
        with self._live.feed.subscribe() as subscription:
            self._catch_up()  # with what was committed between the rendering of the page and now
            while self._ws.connected:
                events = subscription.get(IDLE_S) or []
                if events:
                    # The batch fills meanwhile; a closed peer raises.
                    self._ws.receive(timeout=max(BATCH_S, self._sent * ROW_S))
                    events += subscription.get(0) or []
                self._show(events)
                if subscription.lost:
                    subscription.resync()
                    self._catch_up()

    def _catch_up(self) -> None:
        newest = self._live.feed.last_seq
        if newest > self._position:
            self._ws.send(push(self._window, self._gap(self._position, newest), 1))
            self._position = newest

    def _show(self, events: list[Event]) -> None:
        fresh = [event for event in events if event.seq > self._position]
        if fresh:
            self._position = fresh[-1].seq
            rows = [event for event in fresh if self._wanted(event)][-self._window.keep :]
            self._sent = len(rows)
            for text in self._texts(rows):
                self._ws.send(text)

    def _texts(self, events: list[Event]) -> Iterator[str]:
        """WebSocket texts of at most about 64 kB for these events."""
        if not events:
            return
        rows = self._live.render_rows(events, self._args)
        if len(rows.encode()) <= TEXT_BYTES:
            yield push(self._window, rows, len(events))
        elif len(events) == 1:
            yield push(self._window, self._gap(events[0].seq - 1, events[0].seq), 1)
        else:
            middle = len(events) // 2
            yield from self._texts(events[:middle])
            yield from self._texts(events[middle:])

    def _gap(self, after: int, until: int) -> str:
        query = [
            (name, value) for name, value in self._args.items(multi=True) if name not in ("after", "until")
        ]
        query += [("after", str(after)), ("until", str(until))]
        return self._live.render_gap(f"{self._live.rows_path}?{urlencode(query)}", self._args)


def push(window: Window, rows: str, count: int) -> str:
    """Partials that append `count` rows and drop the oldest ones beyond the window.

    htmx looks targets up before it inserts, so the rows to drop are counted without the new ones.
    """
    stay = max(0, window.keep - count)
    return (
        f'<hx-partial hx-target="{window.rows} > :nth-last-child(n+{stay + 1})" hx-swap="delete"></hx-partial>'
        f'<hx-partial hx-target="{window.rows}" hx-swap="beforeend">{rows}</hx-partial>'
    )


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
