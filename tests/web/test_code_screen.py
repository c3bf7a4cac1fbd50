"""The code screen: nothing runs on GET, calls wait for a person, and what a run did is all there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from catalog_screen import words
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.console.scripts import ScriptRun
from inspector.settings.paths import Paths
from inspector.settings.spec import Timeouts
from inspector.settings.targets import demo_spec
from inspector.web import code
from inspector.web.app import create_app
from inspector.web.guard import Guard

ORIGIN = "http://127.0.0.1:8006"
WAIT_S = 30.0
PAIR = ("logs", "tracker")
PATIENT = Timeouts(probe=30.0, connect=60.0, call=30.0)


class Desk:
    """A console with the demo pair connected, and a signed-in browser."""

    def __init__(self, console: Console, client: FlaskClient) -> None:
        self.console, self.client = console, client
        self.keys = [console.servers_file.add(replace(demo_spec(name), timeouts=PATIENT)) for name in PAIR]
        for key in self.keys:
            console.connect(key)

    def get(self, path: str, **query: object) -> TestResponse:
        return self.client.get(path, base_url=ORIGIN, query_string=query)

    def post(self, path: str, **form: object) -> TestResponse:
        return self.client.post(path, base_url=ORIGIN, data=form, headers={"Origin": ORIGIN})

    def start(self, code: str, **form: object) -> ScriptRun:
        answer = self.post("/code/run", server=self.keys, code=code, flows="allow", **form)
        assert answer.status_code == 303, words(answer.text)
        return self.console.scripts.get(answer.location.split("run=")[1])

    def waiting(self, run: ScriptRun) -> int:
        """The number of the call that waits for a person."""
        assert run.waiting.wait_for_ask(WAIT_S)
        assert run.waiting.ask is not None
        return run.waiting.ask.call.n

    def ended(self, run: ScriptRun) -> str:
        """The page of a run that is over."""
        assert run.thread is not None
        run.thread.join(WAIT_S)
        assert run.done
        return words(self.get("/code", run=run.id).text)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Console(Paths.locate(tmp_path_factory.mktemp("code") / "data")) as console:
        guard = Guard(8006)
        client = create_app(console, guard).test_client()
        assert client.get(f"/login?token={guard.mint()}", base_url=ORIGIN).status_code == 303
        yield Desk(console, client)


def test_the_page_offers_the_classic_task_beside_the_functions_and_runs_nothing(desk: Desk) -> None:
    page = desk.get("/code")
    assert page.status_code == 200
    shown = words(page.text)
    assert "demo_logs__search_logs()" in shown and "def demo_tracker__create_issue(*, title: str" in shown
    assert desk.console.scripts.recent() == []
    assert desk.get("/code/run").status_code == 405


def test_calls_wait_for_a_person_and_the_run_tells_what_became_of_them(desk: Desk) -> None:
    page = desk.get("/code").text
    found = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert found is not None
    run = desk.start(html.unescape(found[1]), typed="1")
    assert desk.waiting(run) == 1
    asked = words(desk.get("/code", run=run.id).text)
    assert "demo-logs__search_logs from line 1" in asked and "Allow this call" in asked
    assert desk.post(f"/code/runs/{run.id}/answer", n="1", decision="call").status_code == 303
    assert desk.waiting(run) == 2
    stale = desk.post(f"/code/runs/{run.id}/answer", n="1", decision="call")
    assert stale.status_code == 422 and "does not wait for an answer any more" in words(stale.text)
    assert desk.post(f"/code/runs/{run.id}/answer", n="2", decision="tool").status_code == 303
    shown = desk.ended(run)
    assert "10000 entries, 7 distinct messages" in shown
    assert "3 done 1 failed 0 unknown" in shown and "1 read" in shown
    assert "its database was locked" in shown and "line 7" in shown
    assert "The loop would not fit a window of 200,000 tokens" in shown
    assert "L00001" not in shown


def test_a_resumed_run_sends_only_what_was_not_done(desk: Desk) -> None:
    first = desk.console.scripts.recent()[0]
    assert [call.status for call in first.calls] == ["done"] * 4 + ["failed"]
    run = desk.start(first.code, resume=first.id, allow="*")
    shown = desk.ended(run)
    assert run.result is not None and run.result.error is None
    assert [call.status for call in run.calls] == ["reused"] * 4 + ["done"] * 4
    assert "recorded in the run before; nothing was sent" in shown


def test_a_denied_call_and_a_stopped_run_are_told(desk: Desk) -> None:
    run = desk.start("demo_tracker__list_issues()")
    desk.post(f"/code/runs/{run.id}/answer", n=desk.waiting(run), decision="deny")
    assert "PermissionError: demo_tracker__list_issues: the call was not allowed" in desk.ended(run)
    busy = desk.start("demo_tracker__list_issues()\nwhile True: pass", allow="*", turn_s="60")
    desk.post(f"/code/runs/{busy.id}/stop")
    assert "The run was stopped" in desk.ended(busy)


def test_hostile_output_is_shown_and_acts_on_nothing(desk: Desk) -> None:
    run = desk.start("print('<script>x</script>\\x1b[31m\\u202e')", allow="*")
    desk.ended(run)
    page = desk.get("/code", run=run.id).text
    assert "no tool loop to compare with" in words(page) and not re.search(r"Saved -?[\d.]+.%", words(page))
    assert "<script>x" not in page and "\x1b" not in page and "\u202e" not in page


def test_wrong_input_keeps_the_script_and_says_the_next_thing_to_try(desk: Desk) -> None:
    for form, said in (
        ({"server": desk.keys, "code": "  "}, "The script is empty"),
        ({"server": [], "code": "print(1)"}, "No server is chosen"),
        ({"server": desk.keys, "code": "print(1)", "calls": "-3"}, "calls=-3 cannot be"),
        ({"server": ["none"], "code": "print(1)"}, "none"),
    ):
        answer = desk.post("/code/run", **form)
        assert answer.status_code == 422 and said in words(answer.text)
        assert str(form["code"]).strip() in answer.text
    kept = {"calls": "-3", "allow": "a_*", "deny": "b_*", "name": "mine"}
    page = desk.post("/code/run", server=desk.keys, code="print(1)", flows="block", **kept).text
    for name, value in kept.items():
        assert re.search(rf'name="{name}" value="{re.escape(value)}"', page), f"{name} was lost"
    assert 'value="block" checked' in page and 'name="typed" value="1">' in page
    assert desk.get("/code", run="code-99").status_code == 422


def test_scripts_are_saved_shown_and_deleted(desk: Desk) -> None:
    desk.post("/code/scripts", name="my  script", code="print(1)\r\nprint(2)", server=desk.keys)
    assert desk.console.saved_scripts.all() == {"my script": "print(1)\nprint(2)"}
    assert "print(1)\nprint(2)</textarea>" in desk.get("/code", script="my script").text
    assert "needs a name" in words(desk.post("/code/scripts", name="", code="x").text)
    desk.post("/code/scripts", delete="my script")
    assert desk.console.saved_scripts.all() == {}


def test_the_functions_of_many_tools_come_after_the_page_and_can_be_given_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "AT_ONCE", 0)
    at = {"server": "demo-tracker"}
    page = desk.get("/code", **at).text
    assert 'id="writing"' in page and 'hx-get="/code/functions?server=demo-tracker"' in page
    assert 'href="/code?functions=none&amp;server=demo-tracker"' in page
    given_up = desk.get("/code", functions="none", **at).text
    assert "were not written" in given_up and 'id="writing"' not in given_up
    assert "def demo_tracker__create_issue" in words(desk.get("/code", functions="now", **at).text)
    assert 'id="writing"' not in desk.get("/code", **at).text  # they are at hand now
