"""Faults of the chaos server that strike at the start, the handshake or a list, as the pages show them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from catalog_screen import squeezed, words
from flask.testing import FlaskClient

from inspector.console.console import Console
from inspector.errors import LoupeError
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.web.app import create_app
from inspector.web.guard import Guard
from inspector.wire.connection import CONNECTED

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "http://127.0.0.1:8006"
PATIENT = Timeouts(probe=60.0, connect=90.0, call=60.0, close=10.0)
IN_VAIN = {
    "mute": Timeouts(probe=0.5, connect=1.0, call=20.0, close=0.5),
    "mute_on_probe": replace(PATIENT, probe=1.0),
}
"""For a server that never says a word: no wait for it is long enough."""
WHOSE = {"peer": ("server", "peer"), "console": ("Loupe",)}

FAILS = {
    "usage_on_stdout",
    "exit_at_start",
    "mute",
    "refuse_handshake",
    "other_modern_version",
    "empty_handshake",
}
"""Faults after which nothing can be asked; every other one leaves a connection that works."""
SHOWS = {
    "banner": "noise", "info_lines": "noise", "usage_on_stdout": "is this the command of the MCP server?",
    "exit_on_probe": "exited",
    "cursor_repeats": "twice", "cursor_endless": "pages", "tools_not_a_list": "", "odd_ttl": "-5",
    "broken_tools": "broken",
}  # fmt: skip
FAULTS = [
    "banner", "info_lines", "usage_on_stdout", "exit_at_start", "mute", "slow_start=0.1", "stderr_at_start",
    "stderr_on_probe", "exit_on_probe", "mute_on_probe", "handshake_only", "modern_only", "era_lock",
    "integer_ids_only", "unknown_version", "other_modern_version", "empty_handshake", "refuse_handshake",
    "huge_list=500", "cursor_repeats", "cursor_empty", "cursor_refused", "no_hints", "odd_ttl=-5", "broken_tools",
    "tools_not_a_list", "eager_list_changed",
]  # fmt: skip


class Desk:
    def __init__(self, console: Console, client: FlaskClient) -> None:
        self.console = console
        self.client = client

    def text(self, path: str) -> str:
        answer = self.client.get(path, base_url=ORIGIN, follow_redirects=True)
        assert answer.status_code == 200, (path, answer.status_code)
        return words(answer.text)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("starts")
    folder.chmod(0o700)
    with Console(Paths.locate(folder)) as console:
        guard = Guard(8006)
        client = create_app(console, guard).test_client()
        assert client.get(f"/login?token={guard.mint()}", base_url=ORIGIN).status_code == 303
        yield Desk(console, client)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_the_start_or_in_a_list_is_told_and_harms_no_more_than_it_must(
    desk: Desk, fault: str
) -> None:
    name = fault.split("=")[0]
    argv = (sys.executable, "-m", "inspector.demo.chaos", "--fault", fault)
    key = desk.console.servers_file.add(
        ServerSpec(name, argv=argv, env={"PYTHONPATH": str(ROOT)}, timeouts=IN_VAIN.get(name, PATIENT))
    )
    start = desk.console.journal.last_seq
    problem: LoupeError | None = None
    try:
        desk.console.connect(key)
    except LoupeError as caught:
        problem = caught
    assert (problem is not None) == (name in FAILS), problem
    page = desk.text(f"/servers/{key}")
    if problem is not None:
        assert squeezed(problem.message) in squeezed(page)
    else:
        assert desk.console.server(key).state == CONNECTED
        reply = desk.console.connection(key).ask("tools/call", {"name": "echo", "arguments": {}})
        assert reply.result["content"]
    everything = page + desk.text(f"/catalog/{key}/tools")
    assert SHOWS.get(name, "") in everything
    said(desk, key, start)
    desk.console.disconnect(key)


def said(desk: Desk, key: str, start: int) -> None:
    """Every error event of the connection is on its page, with its owner."""
    assert desk.console.recorder.flush(20)
    connection = desk.console.server(key).connection
    assert connection is not None
    with desk.console.store() as store:
        rows = store.page(desk.console.recorder.session, after=start, before=None, limit=5000)
    for row in rows:
        if row.t == "error" and row.c == connection.c:
            shown = desk.text(f"/timeline/event/{row.seq}")
            assert squeezed(row.body["message"]) in squeezed(shown)
            assert any(word in shown for word in WHOSE[row.body["origin"]])
