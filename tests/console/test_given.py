"""What a server was given stays hidden in exports of its recordings after it was changed or removed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from inspector.cli.trace_export import export
from inspector.console.console import Console
from inspector.settings.given import Given
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore

TINY = str(Path(__file__).parents[1] / "trace" / "tiny_server.py")
OLD, NEW, FROM_ENVIRONMENT = "correct-horse-1", "battery-staple-2", "out-of-the-environment-3"
BOUND = 40.0


def server(token: str) -> ServerSpec:
    """It says on stderr, and in an error, what it was given as MY_TOKEN."""
    return ServerSpec("tiny", argv=(sys.executable, TINY), env={"MY_TOKEN": token}, era="handshake")


def exported(folder: Path, number: int) -> str:
    done = CliRunner().invoke(export, [str(number), "--data-dir", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def lines_on_stderr(console: Console) -> int:
    assert console.recorder.flush(BOUND)
    with console.store() as store:
        return store.counts(console.recorder.session).get("stderr", 0)


def test_what_a_removed_or_changed_server_was_given_is_hidden_until_its_recording_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", FROM_ENVIRONMENT)
    with Console(Paths.locate(tmp_path)) as console:
        keys = [console.servers_file.add(server(value)) for value in (OLD, "${env:FAKE}", "0")]
        for key in keys:
            console.connect(key)
        old = console.recorder.session
        until(lambda: lines_on_stderr(console) == 3)
        early = console.exports.plan(old, lambda: console.secrets(old))
        assert {OLD, FROM_ENVIRONMENT} <= set(early.rules.known)
        console.remove(keys[1])
        console.servers_file.replace(keys[0], server(NEW))
        assert {OLD, FROM_ENVIRONMENT} <= set(console.secrets())
        assert NEW in console.exports.plan(old, lambda: console.secrets(old)).rules.known
        assert console.recorder.flush(BOUND)
        found = exported(tmp_path, old)
    assert found.count("starting with [redacted:R9:") == 2
    assert "starting with 0" in found
    assert not any(value in found for value in (OLD, FROM_ENVIRONMENT))
    file = tmp_path / "given" / f"{old}.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert FROM_ENVIRONMENT not in file.read_text()
    assert "${env:FAKE}" in file.read_text()
    with Console(Paths.locate(tmp_path)) as console:
        assert OLD in set(console.secrets(old))
        assert OLD not in set(console.secrets())
        with console.store() as store:
            (session,) = [each for each in store.sessions() if each.id == old]
        console.recordings.delete(session)
        until(lambda: not file.exists())


def test_values_of_recordings_that_are_not_there_any_more_are_forgotten(tmp_path: Path) -> None:
    given = Given(tmp_path / "given")
    for session in (1, 2):
        given.remember(session, [OLD])
    given.only([2])
    assert (given.of(1), given.of(2)) == ([], [OLD])
    (tmp_path / "given" / "2.json").write_text("[1, {}]")
    assert given.of(2) == []


def test_a_token_that_was_renewed_or_signed_out_of_is_known_for_the_run(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "tokens.json")
    tokens.update("http://h", tokens={"access_token": "first-access-token"})
    tokens.update("http://h", tokens={"access_token": "second-access-token"})
    tokens.forget("http://h")
    assert tokens.dropped == {"first-access-token", "second-access-token"}
    assert tokens.get("http://h") == {}
