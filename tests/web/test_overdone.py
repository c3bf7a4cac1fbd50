"""Too much of everything, by kind of screen: each page stays small and says what was cut, and what is sent is exact."""

from __future__ import annotations

import hashlib
import html
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of
from flask.testing import FlaskClient

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec

SERVERS = Path(__file__).resolve().parents[1] / "servers"
sys.path.insert(0, str(SERVERS))
sys.path.insert(0, str(SERVERS.parent / "security"))

import overdone as server  # noqa: E402

MOST = 400_000


@dataclass
class Over:
    console: Console
    client: FlaskClient

    def get(self, path: str, *, whole: bool = False) -> str:
        """A page or part, which must be an answer and small."""
        answer = self.client.get(path, base_url=ORIGIN, headers={} if whole else PARTIAL)
        assert answer.status_code == 200, answer.text[:500]
        assert len(answer.data) < MOST, (path[:80], len(answer.data))
        assert "<script>" not in answer.text.replace("</script>", "")
        return answer.text

    def post(self, path: str, **fields: object) -> str:
        answer = self.client.post(path, base_url=ORIGIN, headers={"Origin": ORIGIN, **PARTIAL}, data=fields)
        assert answer.status_code in (200, 422), answer.text[:500]
        assert len(answer.data) < MOST, (path[:80], len(answer.data))
        return answer.text

    def begin(self, what: str, tool: str) -> Call:
        self.post("/call/over", what=what, tool=tool, mode="json", json="{}", unchecked="1")
        return self.console.calls.recent("over")[0]

    def run(self, what: str, tool: str) -> str:
        """What the result pane shows at the end."""
        call = self.begin(what, tool)
        call.future.result(WAIT_S)
        return self.get(f"/call/over/result/{call.id}")

    def question(self) -> str:
        deadline = time.monotonic() + WAIT_S
        while not (found := self.console.asking.waiting("over")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return found[0].id


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Over]:
    folder = tmp_path_factory.mktemp("over")
    folder.chmod(0o700)
    declare = ("elicitation", "io.modelcontextprotocol/tasks")
    spec = ServerSpec("over", argv=(sys.executable, str(SERVERS / "overdone.py")), declare=declare)
    with console_of(folder, {"over": spec}) as (console, client):
        console.connect("over")
        yield Over(console, client)


@pytest.mark.parametrize("tool", ["word", "links", "page", "task"])
def test_a_result_of_a_megabyte_a_field_is_a_small_page_that_says_what_it_left_out(
    over: Over, tool: str
) -> None:
    page = over.run("tools", tool)
    assert "more items are in the raw answer" in page if tool == "page" else "more characters" in page
    assert 'href="javascript:' not in page


@pytest.mark.parametrize("what", ["prompts", "resources", "templates"])
def test_items_listed_with_a_megabyte_a_field_make_small_pages(over: Over, what: str) -> None:
    over.console.refresh("over", what)
    page = over.get(f"/call/over?what={what}", whole=True)
    assert "\u202e" not in re.sub(r'value="[^"]*"', "", page)
    tool = {"prompts": "p", "resources": "x://one", "templates": "x://{+a}"}[what]
    if what != "templates":
        over.begin(what, tool).future.result(WAIT_S)
    over.get(f"/call/over?what={what}&tool={quote(tool)}", whole=True)


def test_a_hostile_template_is_said_to_be_malformed_in_a_sentence(over: Over) -> None:
    over.console.refresh("over", "templates")
    for template in server.TEMPLATES[1:5]:
        page = over.get(f"/call/over?what=templates&tool={quote(template)}", whole=True)
        assert 'class="field__e is-warn call__wrong"' in page, template[:40]
    fields = {"what": "templates", "tool": "javascript:{a}", "a:/a": "alert(1)"}
    sent = over.post("/call/over", **fields)
    assert 'href="javascript:' not in sent


def test_endless_proposals_are_cut_to_what_the_specification_allows(over: Over) -> None:
    fields = {"what": "prompts", "tool": "p", "argument": "/a", "a:/a": "v"}
    options = re.findall(
        r'<option value="(.*?)"(?: label="(.*?)")?>', over.post("/call/over/complete", **fields)
    )
    assert len(options) == 99
    assert options[0] == ("value 0 \u202e", "value 0 U+202E")


def test_a_state_of_five_megabytes_goes_back_byte_for_byte_and_shows_its_size(over: Over) -> None:
    call = over.begin("tools", "state")
    id_ = over.question()
    page = over.get(f"/call/over/result/{call.id}")
    over.post(f"/call/over/answer/{id_}", do="accept")
    call.future.result(WAIT_S)
    page = html.unescape(over.get(f"/call/over/result/{call.id}"))
    assert hashlib.sha256(server.STATE.encode()).hexdigest() in page
    assert "requestState of 7,500,002 B echoed byte for byte" in page


@pytest.mark.parametrize("tool", ["asks", "many"])
def test_a_question_of_a_megabyte_or_of_two_thousand_inputs_can_be_read_and_declined(
    over: Over, tool: str
) -> None:
    call = over.begin("tools", tool)
    id_ = over.question()
    page = over.get(f"/call/over/result/{call.id}")
    assert "The server asks you" in page
    over.post(f"/call/over/answer/{id_}", do="decline")
    call.future.result(WAIT_S)
    over.get(f"/call/over/result/{call.id}")


def test_a_subscription_that_agrees_to_a_megabyte_is_shown_small(over: Over) -> None:
    over.post("/call/over/client/listen", uris="x://one")
    deadline = time.monotonic() + WAIT_S
    while not over.console.subscriptions.of("over")[0].count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "The server agreed to" in over.get("/call/over/client", whole=True)
