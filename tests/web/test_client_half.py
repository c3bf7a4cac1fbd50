"""The client's half over a server that asks and offers everything, in both eras: what the pages do and show."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, words
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec
from inspector.trace.filters import Filter
from inspector.web.masking import host_of
from inspector.web.questions import odd_about

ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"
TASKS = "io.modelcontextprotocol/tasks"
DECLARED = ("roots", "sampling", "elicitation")


@dataclass
class Half:
    """The servers `old` and `new`, connected, and a signed-in browser."""

    console: Console
    client: FlaskClient

    def get(self, path: str, *, part: bool = False) -> TestResponse:
        return self.client.get(path, base_url=ORIGIN, headers=PARTIAL if part else {})

    def post(self, path: str, *, part: bool = True, **fields: object) -> TestResponse:
        headers = {"Origin": ORIGIN, **(PARTIAL if part else {})}
        return self.client.post(path, base_url=ORIGIN, headers=headers, data=fields)

    def run(self, key: str, what: str, tool: str, **fields: object) -> str:
        """Run to the end; what the result pane then says."""
        answer = self.post(f"/call/{key}", what=what, tool=tool, **fields)
        assert answer.status_code == 200, answer.text
        return self.ended(self.last(key))

    def start(self, key: str, tool: str, **fields: object) -> str:
        """Begin a call that asks; the id of its question."""
        assert self.post(f"/call/{key}", what="tools", tool=tool, **fields).status_code == 200
        return self.asked(key)

    def asked(self, key: str) -> str:
        """The id of the question that waits."""
        until(lambda: bool(self.console.asking.waiting(key)))
        return self.console.asking.waiting(key)[0].id

    def meta(self) -> dict[str, Any]:
        """The `_meta` that a call to `new` arrived with."""
        self.run("new", "tools", "meta")
        outcome = self.last("new").outcome
        assert outcome is not None and outcome.result is not None
        found: dict[str, Any] = json.loads(outcome.result["content"][0]["text"])
        return found

    def last(self, key: str) -> Call:
        return self.console.calls.recent(key)[0]

    def ended(self, call: Call) -> str:
        call.future.result(WAIT_S)
        return words(self.get(f"/call/{call.server_key}/result/{call.id}", part=True).text)

    def ended_or_cancelled(self, call: Call) -> str:
        """The same for a call that was given up."""
        until(call.future.done)
        return words(self.get(f"/call/{call.server_key}/result/{call.id}", part=True).text)


def until(so: Callable[[], bool]) -> None:
    """Wait for what another thread brings about, at most WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Half]:
    folder = tmp_path_factory.mktemp("half")
    folder.chmod(0o700)
    argv = (sys.executable, str(ASKING))
    specs = {
        "old": ServerSpec("old", argv=argv, declare=DECLARED, era="handshake"),
        "new": ServerSpec("new", argv=(*argv, "--modern"), declare=(*DECLARED, TASKS)),
    }
    with console_of(folder, specs) as (console, client):
        for key in specs:
            console.connect(key)
        yield Half(console, client)


def test_lists_other_than_tools_are_listed_on_request_and_shown(half: Half) -> None:
    page = half.get("/call/old?what=prompts").text
    assert "Its prompts were not listed yet" in page
    for what in ("prompts", "resources", "templates"):
        answer = half.post("/call/old/list", part=False, what=what)
        assert answer.headers["Location"] == f"/call/old?what={what}"
    prompts = words(half.get("/call/old?what=prompts").text)
    assert "greet" in prompts and "Greets somebody." in prompts
    assert "A picture" in words(half.get("/call/old?what=resources").text)


def test_a_prompt_is_asked_for_with_its_arguments(half: Half) -> None:
    half.console.refresh("old", "prompts")
    refused = half.post("/call/old", what="prompts", tool="greet", mode="form")
    assert refused.status_code == 422 and "not sent" in words(refused.text).lower()
    shown = half.run("old", "prompts", "greet", mode="form", **{"a:/name": "Ada", "a:/style": ""})
    assert "The server gave the prompt." in shown and "Greet Ada." in shown and "Role user" in shown
    assert half.last("old").arguments == '{"name":"Ada"}'


def test_a_resource_is_read_as_text_image_or_download(half: Half) -> None:
    assert "text of note://text" in half.run("old", "resources", "note://text")
    half.run("old", "resources", "note://image")
    call = half.last("old")
    shown = half.get(f"/call/old/result/{call.id}", part=True).text
    assert '<img class="call__img" src="data:image/png;base64,iVBORw0' in shown
    assert "resource · 256 B" in half.run("new", "resources", "note://blob")
    octets = half.get(f"/call/new/result/{half.last('new').id}/item/0").data
    assert octets == bytes(range(256))


def test_a_template_has_a_form_of_its_variables_and_is_expanded(half: Half) -> None:
    half.console.refresh("old", "templates")
    template = "note://{owner}{/path*}{?q,lang*}"
    page = half.get("/call/old", part=False).text  # the tab is there once the list is known
    assert "what=templates" in page
    form = words(
        half.client.get(
            "/call/old", base_url=ORIGIN, query_string={"what": "templates", "tool": template}
        ).text
    )
    assert "owner string required" in form and "path string items" in form and "q string" in form
    shown = half.run(
        "old", "templates", template, mode="form", **{"a:/owner": "a b", "a:/path": "x\ny/z", "lines:/path": "1",
        "a:/q": "ü", "a:/lang": "", "lines:/lang": "1"},
    )  # fmt: skip
    assert "text of note://a%20b/x/y%2Fz?q=%C3%BC" in shown


def test_a_missing_variable_and_a_malformed_template_send_nothing(half: Half) -> None:
    before = half.console.journal.last_seq
    missing = half.post("/call/old", what="templates", tool="note://{owner}", mode="json", json="{}")
    assert missing.status_code == 422 and "needs a value for “owner”" in words(missing.text)
    malformed = half.post("/call/old", what="templates", tool="note://{", mode="json", json="{}")
    assert malformed.status_code == 422 and "URI template is malformed" in words(malformed.text)
    page = half.client.get(
        "/call/old", base_url=ORIGIN, query_string={"what": "templates", "tool": "note://{"}
    )
    assert "Type the whole URI by hand" in words(page.text)
    assert half.console.journal.last_seq == before


def test_arguments_are_completed_with_what_the_server_proposes(half: Half) -> None:
    fields = {"what": "prompts", "tool": "greet", "argument": "/name", "a:/name": "A", "a:/style": "formal"}
    assert re.findall('value="(.*?)"', half.post("/call/old/complete", **fields).text) == ["Ada", "Alan"]
    half.console.refresh("old", "prompts")
    page = half.get("/call/old?what=prompts&tool=greet").text
    assert 'hx-post="/call/old/complete"' in page and '<datalist id="f0-list">' in page
    refused = half.post("/call/old/complete", what="tools", tool="ask", argument="/x")
    assert refused.status_code == 422


@pytest.mark.parametrize("key", ["old", "new"])
def test_a_question_of_the_server_is_answered_by_its_form(half: Half, key: str) -> None:
    id_ = half.start(key, "ask")
    call = half.last(key)
    page = half.get(f"/call/{key}/result/{call.id}", part=True).text
    assert "Who are you?" in words(page) and f'id="{id_}-f0"' in page
    assert half.get(f"/call/{key}/result/{call.id}?asked={id_}", part=True).status_code == 204
    wrong = half.post(f"/call/{key}/answer/{id_}", do="accept", **{"a:/name": "Ada", "a:/age": "-1"})
    assert wrong.status_code == 422 and "less than the minimum" in words(wrong.text)
    alone = half.post(
        f"/call/{key}/answer/{id_}", part=False, do="accept", **{"a:/name": "Ada", "a:/age": "-1"}
    )
    assert alone.status_code == 422 and "<title>Call" in alone.text, "without script it is a whole page"
    assert 'value="Ada"' in alone.text and "less than the minimum" in words(alone.text)
    assert (
        half.post(f"/call/{key}/answer/{id_}", do="accept", **{"a:/name": "Ada", "a:/age": "3"}).status_code
        == 200
    )
    shown = half.ended(call)
    assert '{"action": "accept", "content": {"name": "Ada", "age": 3}}' in shown
    again = half.post(f"/call/{key}/answer/{id_}", do="decline")
    assert again.status_code == 422 and "waits for no answer any more" in words(again.text)


@pytest.mark.parametrize(("do", "action"), [("decline", "decline"), ("cancel", "cancel")])
def test_a_question_can_be_turned_down(half: Half, do: str, action: str) -> None:
    id_ = half.start("old", "ask")
    half.post(f"/call/old/answer/{id_}", do=do)
    assert f'{{"action": "{action}"}}' in half.ended(half.last("old"))


def test_sampling_is_answered_by_hand_and_any_json_may_be_sent(half: Half) -> None:
    id_ = half.start("old", "ask_model")
    asked = words(half.get(f"/call/old/result/{half.last('old').id}", part=True).text)
    assert "The server asks for a model's answer Say one word. Your answer" in asked
    half.post(f"/call/old/answer/{id_}", do="accept", text="Word.")
    assert '"content": {"type": "text", "text": "Word."}' in half.ended(half.last("old"))
    id_ = half.start("old", "ask_model")
    half.post(f"/call/old/answer/{id_}", do="accept", text="cancel")
    assert '"text": "cancel"' in half.ended(half.last("old"))
    id_ = half.start("old", "ask_model")
    for wrong in ("[1]", "", '{"n":NaN}'):
        assert half.post(f"/call/old/answer/{id_}", do="raw", raw=wrong).status_code == 422
    half.post(f"/call/old/answer/{id_}", do="raw", raw='{"nonsense":1}')
    assert '{"nonsense": 1}' in half.ended(half.last("old"))
    id_ = half.start("old", "ask_model")
    half.post(f"/call/old/answer/{id_}", do="decline")
    assert "rejected the sampling request" in half.ended(half.last("old"))


def test_three_rounds_are_one_conversation_and_the_state_goes_back_as_it_was_spelled(half: Half) -> None:
    first = half.start("new", "rounds")
    half.post(f"/call/new/answer/{first}", do="accept", **{"a:/name": "A"})
    second = half.asked("new")
    half.post(f"/call/new/answer/{second}", do="accept", text="B")
    third = half.asked("new")
    half.post(f"/call/new/answer/{third}", do="accept", **{"a:/name": "C"})
    call = half.last("new")
    shown = half.ended(call)
    assert re.findall(r"round (\d)", shown) == ["1", "2", "3"]
    assert call.outcome is not None and call.outcome.what == "ok"
    assert half.console.recorder.flush(WAIT_S)
    with half.console.store() as store:
        sent = [store.raw(half.console.recorder.session, one.request_seq) or b"" for one in call.rounds[1:]]
    assert b'"requestState":"st\\u00e9 \\/ 1.\\u0031"' in sent[0]
    assert b'"inputResponses":{"q0":{"action":"accept","content":{"name":"A"}}}' in sent[0]
    assert b"q0" not in sent[1]


def test_declining_a_round_ends_the_call_with_what_was_asked(half: Half) -> None:
    first = half.start("new", "rounds")
    half.post(f"/call/new/answer/{first}", do="accept", **{"a:/name": "A"})
    half.post(f"/call/new/answer/{half.asked('new')}", do="decline")
    assert "input required" in half.ended(half.last("new"))


def test_a_saved_answer_and_the_switch_need_nobody(half: Half) -> None:
    id_ = half.start("old", "ask")
    half.post(f"/call/old/answer/{id_}", do="accept", keep="1", **{"a:/name": "Kept"})
    half.ended(half.last("old"))
    shown = half.run("old", "tools", "ask")
    assert '"name": "Kept"' in shown and "a saved answer" in shown
    (kept,) = half.console.asking.answers.all("old")
    half.console.asking.answers.forget("old", kept.digest)
    half.console.asking.answers.set_declines("old", True)
    try:
        assert '{"action": "decline"}' in half.run("old", "tools", "ask")
    finally:
        half.console.asking.answers.set_declines("old", False)
    assert '{"roots": []}' in half.run("old", "tools", "ask_roots")


def test_what_was_not_declared_is_not_asked_of_anybody(half: Half) -> None:
    assert "does not offer elicitation/create" in half.run("old", "tools", "ask_url")
    shown = half.run("new", "tools", "ask_url")
    assert "asks for what Loupe did not declare" in shown


def test_progress_starts_the_time_out_again_unless_told_not_to(half: Half) -> None:
    assert "dripped" in half.run("old", "tools", "drip", timeout="0.8")
    assert "No answer to tools/call within 0.8 s" in half.run(
        "old", "tools", "drip", timeout="0.8", impatient="1"
    )


def test_a_question_that_the_call_took_with_it_is_gone(half: Half) -> None:
    id_ = half.start("new", "ask")
    half.post(f"/call/new/cancel/{half.last('new').id}")
    gone = half.post(f"/call/new/answer/{id_}", do="decline")
    assert gone.status_code == 422 and "waits for no answer any more" in words(gone.text)


def test_an_address_is_shown_whole_with_what_is_odd_about_it(half: Half) -> None:
    assert (
        odd_about("http://example.com/")
        == "It is not encrypted (http): anybody on the way can read and change it."
    )
    assert "punycode" in odd_about("https://xn--pple-43d.com/") and "punycode" in odd_about(
        "https://аpple.com/"
    )
    assert "Do not open it" in odd_about("javascript:alert(1)")
    assert odd_about("https://login.example/a") == odd_about("http://localhost:1/") == ""
    assert host_of("https://evil.example\\@bank.example:8/x") == "evil.example"  # as every browser has it
    assert host_of("https://bank.example@evil.example:8/x") == "evil.example:8"
    assert host_of("https://[x") == host_of("mailto:a@b.example") == ""


@pytest.mark.parametrize("key", ["old", "new"])
def test_a_subscription_shows_what_fires_and_ends_in_its_eras_way(half: Half, key: str) -> None:
    asked = half.post(
        f"/call/{key}/client/listen", part=False, uris="note://text\n", lists=["toolsListChanged"]
    )
    assert asked.headers["Location"] == f"/call/{key}/client"
    (stream,) = half.console.subscriptions.of(key)
    until(lambda: stream.state == "open")
    half.run(key, "tools", "touch")
    until(lambda: stream.count == (2 if key == "new" else 1))
    shown = half.get(f"/call/{key}/client/streams").text
    assert "note://text" in shown and ("tools/list_changed" in shown) is (key == "new")
    seen = re.search(r"seen=([^\"]+)", shown)
    assert seen and half.get(f"/call/{key}/client/streams?seen={seen[1]}").status_code == 204
    half.post(f"/call/{key}/client/end/{stream.id}", part=False)
    until(lambda: stream.state == "ended")
    half.run(key, "tools", "touch")
    assert stream.count == (2 if key == "new" else 1)
    with half.console.store() as store:
        assert half.console.recorder.flush(WAIT_S)
        wanted = Filter(c=(half.last(key).c,), dir="c2s", t=frozenset({"rpc"}))
        methods = [row.method for row in store.page(half.console.recorder.session, wanted, limit=500)]
    assert ("notifications/cancelled" if key == "new" else "resources/unsubscribe") in methods


def test_nothing_chosen_is_nothing_listened_for(half: Half) -> None:
    answer = half.post("/call/new/client/listen", part=False, uris=" ")
    assert answer.status_code == 422 and "Nothing was chosen" in words(answer.text)


def test_log_level_and_trace_context_ride_in_meta(half: Half) -> None:
    half.post("/call/new/client/extras", part=False, level="warning", trace="1")
    sent = half.meta()
    half.post("/call/new/client/extras", part=False)
    assert sent["io.modelcontextprotocol/logLevel"] == "warning"
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", sent["traceparent"])
    assert not {"traceparent", "io.modelcontextprotocol/logLevel"} & half.meta().keys()


def test_other_methods_have_forms_and_a_refusal_is_shown(half: Half) -> None:
    assert "The server answered with a result." in half.run("old", "method", "ping", mode="json", json="{}")
    assert "has no content" not in half.ended(half.last("old"))
    form = half.get("/call/old?what=method&tool=logging/setLevel").text
    assert "emergency" in form
    assert "Method not found: ping" in half.run("new", "method", "ping", mode="json", json="{}")


def test_the_late_answer_to_a_cancelled_call_is_shown(half: Half) -> None:
    half.post("/call/old", what="tools", tool="late")
    call = half.last("old")
    link = half.console.connection("old").link
    before = link.stats.late
    half.post(f"/call/old/cancel/{call.id}")
    until(lambda: link.stats.late == before + 1)
    assert "The answer came late, after Loupe had stopped waiting" in words(
        half.get(f"/call/old/result/{call.id}", part=True).text
    )


def test_folders_are_named_on_the_client_tab(half: Half) -> None:
    half.post("/call/old/client/extras", part=False, roots="file:///a\n\nfile:///b\n")
    assert "file:///a\nfile:///b</textarea>" in half.get("/call/old/client").text
    asked = half.run("old", "tools", "ask_roots")
    half.post("/call/old/client/extras", part=False, roots="file:///a\n\nfile:///b\n", trace="1")  # no change
    half.post("/call/old/client/extras", part=False, roots="")
    assert half.console.recorder.flush(WAIT_S)
    with half.console.store() as store:
        rows = store.page(half.console.recorder.session, Filter(dir="c2s", t=frozenset({"rpc"})), limit=2000)
    told = [(row.c, row.method) for row in rows if row.method == "notifications/roots/list_changed"]
    assert told == [(half.last("old").c, "notifications/roots/list_changed")] * 2
    assert '{"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}' in asked
    assert half.console.asking.answers.all("old") == []


def sent_by(half: Half, call: Call) -> list[tuple[str | None, str]]:
    """(method, params as JSON) of the requests of a call, in order."""
    assert half.console.recorder.flush(WAIT_S)
    session = half.console.recorder.session
    with half.console.store() as store:
        rows = store.page(session, Filter(c=(call.c,), dir="c2s", t=frozenset({"rpc"})), limit=1000)
        mine = [row for row in rows if row.op == call.id]
        return [(row.method, (store.raw(session, row.seq) or b"").decode()) for row in mine]


def test_what_a_task_brought_is_shown_by_kind_and_judged(half: Half) -> None:
    shown = half.run("new", "tools", "work")
    assert (
        "The tool answered." in shown and "fits outputSchema" in shown and "text · 6 B 1 worked" in shown
    ), shown
    assert "working task work working poll 1 working poll 2 completed poll 3 The tool answered." in shown
    assert "ms from the call to the end of its task" in shown
    assert "taskId of the task" in shown and "has no content" not in shown
    outcome = half.last("new").outcome
    assert outcome is not None and outcome.result is not None
    assert outcome.result["structuredContent"] == {"n": 1}


def test_a_task_that_asks_is_answered_by_an_update_and_its_end_is_judged(half: Half) -> None:
    id_ = half.start("new", "work_ask")
    answered = half.post(f"/call/new/answer/{id_}", do="accept", **{"a:/name": "Ada"})
    assert answered.status_code == 200, words(answered.text)
    call = half.last("new")
    shown = half.ended(call)
    assert "input_required" in shown and "breaks outputSchema" in shown
    assert 'worked {"who":{"action":"accept","content":{"name":"Ada"}}}' in shown
    updates = [raw for method, raw in sent_by(half, call) if method == "tasks/update"]
    assert len(updates) == 1
    assert (
        '"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}' in updates[0]
        and '"taskId":"work_ask"' in updates[0]
    )


def test_cancelling_the_call_cancels_its_task(half: Half) -> None:
    half.post("/call/new", what="tools", tool="work_long")
    call = half.last("new")
    until(lambda: len(call.states) > 1)
    half.post(f"/call/new/cancel/{call.id}")
    until(lambda: any(method == "tasks/cancel" for method, _ in sent_by(half, call)))
    (cancel,) = [raw for method, raw in sent_by(half, call) if method == "tasks/cancel"]
    assert '"taskId":"work_long"' in cancel
    assert "You stopped waiting" in half.ended_or_cancelled(call)
