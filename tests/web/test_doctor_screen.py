"""The doctor's page: nothing starts on GET; the steps come as they are known; what is wrong is said with its remedy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from catalog_screen import words
from flask import Flask
from flask.testing import FlaskClient

from inspector.console.console import Console
from inspector.doctor.step import Step
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.web.app import create_app
from inspector.web.doctor import Examination
from inspector.web.guard import Guard

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "http://127.0.0.1:8005"
CHAOS = (sys.executable, "-m", "inspector.demo.chaos")


class Desk:
    def __init__(self, console: Console, app: Flask, client: FlaskClient) -> None:
        self.console, self.app, self.client = console, app, client

    def add(self, *options: str) -> str:
        patient = Timeouts(probe=60.0, connect=90.0, call=60.0, close=30.0)
        return self.console.servers_file.add(
            ServerSpec("patient", argv=(*CHAOS, *options), env={"PYTHONPATH": str(ROOT)}, timeouts=patient)
        )

    def examined(self, key: str, **fields: str) -> tuple[Examination, str]:
        """Post, wait for the end, and the words of the page."""
        answer = self.client.post(
            f"/servers/{key}/doctor", base_url=ORIGIN, data=fields, headers={"Origin": ORIGIN}
        )
        assert answer.status_code == 303
        found: Examination = self.app.extensions["doctor"][key]
        thread = next((one for one in thread_list() if one.name == f"doctor {key}"), None)
        if thread is not None:
            thread.join(60)
        assert found.done
        return found, words(self.client.get(f"/servers/{key}/doctor", base_url=ORIGIN).text)


def thread_list() -> list:  # type: ignore[type-arg]
    import threading

    return threading.enumerate()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Console(Paths.locate(tmp_path / "data")) as console:
        guard = Guard(8005)
        app = create_app(console, guard)
        client = app.test_client()
        assert client.get(f"/login?token={guard.mint()}", base_url=ORIGIN).status_code == 303
        yield Desk(console, app, client)


def test_opening_the_page_examines_nothing(desk: Desk) -> None:
    key = desk.add()
    page = words(desk.client.get(f"/servers/{key}/doctor", base_url=ORIGIN).text)
    assert "Nothing has been started yet" in page
    assert desk.app.extensions.get("doctor", {}) == {}


def test_a_healthy_server_is_told_so_and_every_step_is_shown(desk: Desk) -> None:
    found, page = desk.examined(desk.add())
    assert [step.evidence for step in found.steps if step.ok is not True] == []
    assert "nothing wrong found" in page
    assert all(words(step.evidence) in page for step in found.steps)


def test_what_is_wrong_stands_with_its_remedy(desk: Desk) -> None:
    found, page = desk.examined(desk.add("--fault", "exit_at_start"))
    assert f"{found.failed} failed" in page
    assert "It wants a credential" in page


def test_deliberate_faults_are_sent_only_when_asked_for(desk: Desk) -> None:
    key = desk.add()
    plain, _ = desk.examined(key)
    assert not any(step.name.startswith("probe:") for step in plain.steps)
    probed, page = desk.examined(key, probe="1")
    assert sum(step.name.startswith("probe:") for step in probed.steps) >= 5
    assert "probe: unknown method" in page


def test_an_examination_that_was_stopped_is_not_said_to_have_found_nothing(desk: Desk) -> None:
    key = desk.add()
    found = Examination(False, 0, steps=[Step("command", True, "It is there.")])
    desk.app.extensions["doctor"] = {key: found}

    def page() -> str:
        return words(desk.client.get(f"/servers/{key}/doctor", base_url=ORIGIN).text)

    assert "Examining, step by step." in page() and "Stop " in page()
    desk.client.post(f"/servers/{key}/doctor/cancel", base_url=ORIGIN, headers={"Origin": ORIGIN})
    assert "Stopping after this step." in page()
    found.done = True
    assert "stopped before its end" in page() and "nothing wrong found" not in page()
