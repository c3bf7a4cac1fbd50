"""Every fault of the chaos server that is a call, as the pages show it: the sentence, whose it is, what to try."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from catalog_screen import squeezed, words
from flask.testing import FlaskClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wire"))

from bench import chaos_http
from faults import HANDSHAKE_HTTP, MODERN_HTTP, OURS, STDIO, Expected

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.errors import LoupeError, TimedOut
from inspector.settings.paths import Paths
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec
from inspector.settings.targets import demo_spec
from inspector.trace.rows import Row
from inspector.web.app import create_app
from inspector.web.guard import Guard
from inspector.wire.connection import CONNECTED, Connection

ORIGIN = "http://127.0.0.1:8003"
WAIT_S = 30.0
HANG_S = 0.4
ARGUMENTS = {"slow_drip": '{"milliseconds":0}', "late_answer": '{"seconds":0.8}'}
WHOSE = {"peer": ("server", "peer"), "console": ("Loupe",)}


class Screens:
    """A console with the chaos server on three lanes, and a signed-in client."""

    def __init__(self, console: Console, client: FlaskClient, keys: dict[str, str]) -> None:
        self.console = console
        self.client = client
        self.keys = keys

    def ready(self, lane: str) -> Connection:
        """The lane's connection, opened anew after a fault that ended it."""
        server = self.console.server(self.keys[lane])
        if server.connection is None or server.state != CONNECTED:
            return self.console.connect(self.keys[lane])
        return server.connection

    def call(self, lane: str, tool: str, timeout: float | None) -> Call:
        connection = self.ready(lane)
        arguments = ARGUMENTS.get(tool, "{}")
        call = self.console.calls.start(connection, self.keys[lane], tool, arguments, timeout=timeout)
        ended = threading.Event()
        call.future.add_done_callback(lambda _: ended.set())
        assert ended.wait(WAIT_S)
        return call

    def text(self, path: str) -> str:
        """The words of a page, white space made single, control marks and all."""
        answer = self.client.get(path, base_url=ORIGIN, headers={"HX-Request-Type": "partial"})
        assert answer.status_code == 200, (path, answer.status_code)
        return words(answer.text)

    def errors_since(self, c: int, seq: int, wanted: frozenset[str]) -> list[Row]:
        """The error events of a connection after `seq`, once all `wanted` classes are recorded."""
        with self.console.recorder.feed.subscribe() as heard:
            for _ in range(int(WAIT_S * 4)):
                assert self.console.recorder.flush(WAIT_S)
                with self.console.store() as store:
                    rows = store.page(self.console.recorder.session, after=seq, before=None, limit=5000)
                found = [row for row in rows if row.t == "error" and row.c == c]
                if wanted <= {row.body["class"] for row in found}:
                    return found
                heard.get(0.25)
        raise AssertionError(f"{wanted} not recorded; only {[row.body['class'] for row in found]}")


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    folder = tmp_path_factory.mktemp("faults")
    folder.chmod(0o700)
    with ExitStack() as stack:
        modern, handshake = stack.enter_context(chaos_http()), stack.enter_context(chaos_http())
        console = stack.enter_context(Console(Paths.locate(folder)))
        over_http = ServerSpec("http", STREAMABLE_HTTP, era="modern", url=modern)
        specs = {
            "stdio": demo_spec("chaos"),
            "modern": over_http,
            "handshake": replace(over_http, name="old http", url=handshake, era="handshake"),
        }
        keys = {lane: console.servers_file.add(spec) for lane, spec in specs.items()}
        guard = Guard(8003)
        client = create_app(console, guard).test_client()
        assert client.get(f"/login?token={guard.mint()}", base_url=ORIGIN).status_code == 303
        yield Screens(console, client, keys)


ROWS = [
    pytest.param(lane, name, expected, id=f"{lane}-{name}")
    for lane, table in (("stdio", STDIO), ("modern", MODERN_HTTP), ("handshake", HANDSHAKE_HTTP))
    for name, expected in table.items()
]


@pytest.mark.parametrize(("lane", "name", "expected"), ROWS)
def test_the_pages_say_what_a_fault_was_and_whose(
    screens: Screens, lane: str, name: str, expected: Expected
) -> None:
    connection = screens.ready(lane)
    start = screens.console.journal.last_seq
    call = screens.call(lane, name, HANG_S if expected.error is TimedOut else None)
    page = screens.text(f"/call/{screens.keys[lane]}/result/{call.id}")
    assert call.outcome is not None
    problem: LoupeError | None = call.outcome.error
    if expected.error is None:
        assert problem is None
        assert "ok" in page or "tool error" in page or "input" in page
    else:
        assert isinstance(problem, expected.error)
        assert squeezed(problem.message) in squeezed(page)
        assert any(word in page for word in WHOSE[call.outcome.origin])
    if expected.ends:  # before the events are read: the end of stdout may be what brings one
        screens.console.disconnect(screens.keys[lane])
    for row in screens.errors_since(connection.c, start, expected.classes):
        shown = screens.text(f"/timeline/event/{row.seq}")
        assert squeezed(row.body["message"]) in squeezed(shown)
        assert row.body["origin"] == ("console" if row.body["class"] in OURS else "peer")
        assert any(word in shown for word in WHOSE[row.body["origin"]])
