"""A real console server on a free port, with a few plain routes where the screens would be."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Blueprint, Flask, abort
from simple_websocket import Client
from wsproto.events import Ping

from inspector.errors import NetworkFailed, UsageError
from inspector.trace.feed import Feed, Subscription
from inspector.trace.rows import Row, row_of
from inspector.web.app import WebServer, create_app, listen
from inspector.web.guard import Guard, spawns
from inspector.web.live import Live
from inspector.web.pushing import Args, Drawing
from inspector.wire.events import LOCAL, Event

WAIT_S = 30.0


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class WatchedFeed(Feed):
    """A feed whose tests can wait for a reader to leave."""

    def __init__(self) -> None:
        super().__init__()
        self.left = threading.Semaphore(0)

    def drop(self, subscription: Subscription) -> None:
        super().drop(subscription)
        self.left.release()


class Peer(Client):
    """A WebSocket client that does two things as browsers do, and simple-websocket's does not.

    It names the port in its Host header, and it sees a text that came along with the handshake.
    """

    @property
    def pong_received(self) -> bool:
        return self._pong.is_set()

    @pong_received.setter
    def pong_received(self, came: bool) -> None:
        self._pong = getattr(self, "_pong", threading.Event())
        (self._pong.set if came else self._pong.clear)()

    def say(self, word: str) -> None:
        """Send a word and wait until it is there: it is heard before what is published afterwards."""
        self.send(word)
        self.pong_received = False
        self.sock.send(self.ws.send(Ping()))
        assert self._pong.wait(WAIT_S)

    def handshake(self) -> None:
        self.host = f"{self.host}:{self.port}"
        super().handshake()
        self._handle_events()
        self.connected = True  # the reader thread finds out when a close came along, too


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str


@dataclass
class Site:
    """A running console: its parts, and how a browser would talk to it."""

    app: Flask
    guard: Guard
    clock: Clock
    port: int
    feed: WatchedFeed
    ran: list[str] = field(default_factory=list)
    stored: list[Event] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    cookie: str = ""
    live: Live = field(init=False)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, **headers: str | None) -> Answer:
        """One request; underscores in header names are hyphens, None leaves a header out.

        The cookie goes along, and a same-origin Origin with a POST, as from one of our pages.
        """
        given: dict[str, str | None] = {"Cookie": self.cookie or None}
        if method == "POST" and "Sec_Fetch_Site" not in headers:
            given["Origin"] = self.origin
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in given.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request(method, path, headers=sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        finally:
            connection.close()

    def sign_in(self) -> None:
        answer = self.ask("GET", f"/login?token={self.guard.mint()}")
        assert answer.status == 303
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def socket(self, query: str = "", **headers: str) -> Peer:
        """A WebSocket on /live, by default with our own Origin and the cookie."""
        sent = {"Origin": self.origin, "Cookie": self.cookie} | headers
        client = Peer(f"ws://127.0.0.1:{self.port}/live{query}", headers=sent)
        self.clients.append(client)
        return client

    def follow(self, query: str = "") -> Peer:
        """A socket that is surely subscribed: it has been told of the newest event."""
        if not self.feed.last_seq:
            self.publish(Event("note", 0, LOCAL, {"pad": ""}))
        client = self.socket(f"?after={self.feed.last_seq - 1}&{query}")
        assert f"<li>{self.feed.last_seq}" in client.receive(timeout=WAIT_S)
        return client

    def newest(self, args: Args, most: int) -> list[Row]:
        """What the store would give: the last events published."""
        return [row_of(1, event) for event in self.stored[-most:]]

    def publish(self, *events: Event) -> None:
        """Announce events as the recorder does, numbered on from the last."""
        first = self.feed.last_seq + 1
        for seq, event in enumerate(events, first):
            event.seq = seq
        self.stored.extend(events)
        self.feed.publish(first, first + len(events) - 1, events)


def demo(site_ran: list[str]) -> Blueprint:
    """Routes in place of the screens."""
    routes = Blueprint("demo", __name__)

    @routes.get("/")
    def home() -> str:
        return "home"

    @routes.post("/run")
    @spawns
    def run() -> str:
        site_ran.append("run")
        return "ran"

    @routes.get("/fails/<kind>")
    def fails(kind: str) -> str:
        if kind == "usage":
            raise UsageError("The port is not a number.", "Write --port 8000.")
        if kind == "network":
            raise NetworkFailed("<b>example</b> refused the connection.", "Is the server running?")
        if kind == "missing":
            abort(404, "There is no server named weather.")
        raise RuntimeError("a secret detail")

    return routes


@contextmanager
def running(**live: Any) -> Iterator[Site]:
    """A console on a free port, nobody signed in; afterwards no thread of it is left. live: options of Live."""
    before = set(threading.enumerate())
    listening = listen("127.0.0.1", 0)
    clock = Clock()
    guard = Guard(listening.getsockname()[1], clock=clock)
    feed = WatchedFeed()
    app = create_app(SimpleNamespace(feed=feed), guard, screens=(), late={})
    site = Site(app, guard, clock, listening.getsockname()[1], feed)
    app.register_blueprint(demo(site.ran))
    drawing = Drawing(
        lambda event: row_of(1, event), site.newest, rows, older, "<i>{}</i>".format, unfiltered
    )
    site.live = Live(feed, drawing, **live)
    site.live.attach(app)
    server = WebServer(app, listening)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield site
    finally:
        server.stop()
        thread.join(WAIT_S)
        for client in site.clients:
            client.thread.join(WAIT_S)
    assert set(threading.enumerate()) - before == set()


def unfiltered(args: Args) -> bool:
    return "c" not in args


def rows(shown: Sequence[Row], args: Args) -> str:
    return "".join(f"<li>{row.seq}{row.body['pad']}</li>" for row in shown)


def older(args: Args, before: int, passed: int) -> str:
    return f"<li data-before='{before}' data-passed='{passed}'></li>"


@pytest.fixture
def start() -> Callable[..., AbstractContextManager[Site]]:
    """For tests that run a console of their own."""
    return running


@pytest.fixture
def site() -> Iterator[Site]:
    with running() as console:
        yield console


@pytest.fixture
def signed_in(site: Site) -> Site:
    site.sign_in()
    return site
