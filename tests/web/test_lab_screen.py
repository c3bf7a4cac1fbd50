"""The Lab over a real console and the real demo servers, through the real guard: steps, events, live calls, files."""

from __future__ import annotations

import html
import io
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of, well_formed
from flask.testing import FlaskClient
from werkzeug.datastructures import MultiDict
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.spec import Timeouts
from inspector.settings.targets import demo_spec
from inspector.web.lab_query import Query, query_of

FLAT, PROGRESSIVE = "demo-flat", "demo-progressive"
TASK = "give the customer their money back"
POSTED = {"Origin": ORIGIN}
PATIENT = Timeouts(probe=60.0, connect=60.0, call=60.0)
"""The demos start slowly on a busy machine; what is tested here is not how long they take."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, FlaskClient]]:
    specs = {name: replace(demo_spec(name), timeouts=PATIENT) for name in ("flat", "progressive")}
    with console_of(tmp_path_factory.mktemp("lab"), specs) as (console, client):
        for key in (FLAT, PROGRESSIVE):
            console.connect(key)
        yield console, client


class Browser:
    """GET and POST of the signed-in client, with the status that is expected."""

    def __init__(self, client: FlaskClient) -> None:
        self.client = client

    def get(self, path: str, *, status: int = 200, part: bool = False) -> str:
        answer = self.client.get(path, base_url=ORIGIN, headers=PARTIAL if part else {})
        assert answer.status_code == status, answer.text[:2000]
        return well_formed(answer) if answer.mimetype == "text/html" and status == 200 else answer.text

    def post(self, path: str, *, status: int = 303, **form: Any) -> TestResponse:
        answer = self.client.post(path, base_url=ORIGIN, headers=POSTED, data=form)
        assert answer.status_code == status, answer.text[:2000]
        return answer

    def settled(self, path: str, sign: str = 'id="side-table"') -> str:
        """The page once what it waits for is there."""
        until = time.monotonic() + WAIT_S
        while sign not in (text := self.get(path)):
            assert time.monotonic() < until, text[-3000:]
        return text


@pytest.fixture(scope="module")
def browser(running: tuple[Console, FlaskClient]) -> Browser:
    return Browser(running[1])


def lab(*catalogs: str, **more: str) -> str:
    return "/lab?" + urlencode(
        [*[("catalog", name) for name in catalogs or (FLAT,)], *{"task": TASK, **more}.items()]
    )


def ledger(text: str) -> list[list[str]]:
    """The cells of the ledger, as they read."""
    table = re.search(r'<table class="tbl tbl--tight lab__led".*?</table>', text, re.DOTALL)
    assert table is not None
    rows = re.findall(r'<tr id="l\d+".*?</tr>', table[0], re.DOTALL)
    return [[plain(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def figure(text: str, id_: str) -> int:
    found = re.search(rf'<b id="{id_}">([\d,]+)</b>', text)
    assert found is not None, id_
    return int(found[1].replace(",", ""))


def first_offer(text: str) -> str:
    found = re.search(r'<a class="btn btn--p" id="o1" href="([^"]+)"', text)
    assert found is not None
    return html.unescape(found[1])


def reached(answer: TestResponse) -> str:
    return answer.headers["Location"].removeprefix(ORIGIN)


# --- the address


def test_the_address_holds_the_whole_state_and_survives_reading() -> None:
    query = Query(
        catalog=("a", "b@1"), task="x & y", strategy="full", window=1000, do=('{"tool":"t"}', '{"event":"reorder"}'),
        at=1, contexts='{"c":{}}', pane="what", edit=True,
    )  # fmt: skip
    assert Query.read(MultiDict(parse_qsl(query.href().removeprefix("?")))) == query


@pytest.mark.parametrize(
    "said", ["strategy=nothing&provider=x&window=0&at=99&pane=no&view=no", "window=-5&live=zz&at=x", ""]
)
def test_what_an_address_cannot_mean_is_left_at_its_default(said: str) -> None:
    assert Query.read(MultiDict(parse_qsl(said))) == Query()


def test_a_choice_from_the_past_is_another_branch() -> None:
    query = Query(do=('{"tool":"one"}', '{"tool":"two"}'), at=1)
    choice = Query(do=('{"tool":"three"}',)).choices()[0]
    found = parse_qs(query.chosen(choice).removeprefix("?"))
    assert found["do"] == ['{"tool":"one"}', '{"tool":"three"}']
    assert "at" not in found


def test_a_scenario_and_its_address_are_the_same_run() -> None:
    query = Query(
        catalog=("a",), task="t", strategy="categories", contexts='{"c":{"deny":["x"]}}', context="c",
        do=('{"tool":"list_categories","arguments":{}}',),
    )  # fmt: skip
    assert query_of(query.saved(), query.catalog, "") == query


# --- the screen


def test_nothing_chosen_shows_the_form_with_what_there_is(browser: Browser) -> None:
    text = browser.get("/lab")
    assert "demo:flat: newest list, 50 tools" in text
    assert re.search(r'data-key="7"[^>]*aria-current="page"[^>]*>.*?<span>Lab</span>', text)


def test_the_empty_form_can_be_simulated_as_it_stands_and_offers_examples(browser: Browser) -> None:
    text = browser.get("/lab")
    assert '<option value="demo-flat" selected>' in text and 'value="a billing question"' in text
    chips = re.findall(r'<a class="chip" href="([^"]+)">([^<]+)', text[text.index('id="examples"') :])
    assert len(chips) == 5
    run = browser.settled(html.unescape(chips[1][0]))
    assert 'value="give the customer' not in run and "give the customer their money back" in run
    own = browser.get("/lab?catalog=gone")
    assert 'id="examples"' not in own and 'value="a billing question"' not in own


def test_a_demo_asked_for_in_the_lab_leads_back_to_it(browser: Browser) -> None:
    answer = browser.post("/servers/demo", name="flat", to="lab")
    assert parse_qs(urlsplit(answer.headers["Location"]).query) == {"catalog": [FLAT], "edit": ["1"]}


def test_the_lab_and_code_mode_lead_to_each_other(browser: Browser) -> None:
    assert 'href="/code"' in browser.get("/lab").split('id="to-code"')[0].rsplit("<a", 1)[1]
    assert 'href="/lab"' in browser.get("/code").split('id="to-lab"')[0].rsplit("<a", 1)[1]


def test_all_strategies_stand_side_by_side_with_the_net_figure(browser: Browser) -> None:
    text = browser.settled(lab())
    document = json.loads(browser.get(lab().replace("/lab?", "/lab/report.json?")))
    assert document["schema"] == "mcp-loupe/simulate/1"
    for row in document["table"]["rows"]:
        name, net, total = row[0], row[1], row[4]
        shown = re.search(rf'<tr data-href="[^"]*" id="s-{name}".*?</tr>', text, re.DOTALL)
        assert shown is not None, name
        assert f"{total:,}" in plain(shown[0])
        if name != "full":
            assert f"{net * 100:,.1f} %".replace("-", "−") in plain(shown[0]).replace("\u00a0", " ")
    assert 'role="img" aria-label="Context tokens at each request: full ' in text


def test_stepping_gives_the_ledger_of_the_command(browser: Browser) -> None:
    document = json.loads(browser.get(lab().replace("/lab?", "/lab/report.json?")))
    run = next(each for each in document["runs"] if each["strategy"] == "search_stable")
    text = browser.settled(lab())
    while 'id="o1"' in text:
        text = browser.get(first_offer(text))
    rows = ledger(text)
    assert len(rows) == len(run["steps"]) == 4
    for shown, step in zip(rows, run["steps"], strict=True):
        assert shown[5] == f"{step['running']['context_tokens']:,}"
        assert shown[3] == (f"{step['reply_bytes']:,} {step['provenance'][0]}" if step["reply_bytes"] else "")
        if step["action"] == "tools/call":
            assert shown[6:9] == [f"{step['prefix'][key]:,}" for key in ("read", "write", "fresh")]
    totals = run["totals"]
    for id_, key in (
        ("total-bytes", "total_bytes"), ("entry-bytes", "entry_bytes"), ("discovery-bytes", "discovery_bytes"),
        ("request-bytes", "request_bytes"), ("context-tokens", "context_tokens"), ("turns", "model_turns"),
    ):  # fmt: skip
        assert figure(text, id_) == totals[key], id_
    assert figure(text, "billed") == round(totals["billed"])
    assert f"{run['called']} was called" in text


def test_back_and_forward_keep_what_was_chosen_later(browser: Browser) -> None:
    once = first_offer(browser.settled(lab()))
    twice = first_offer(browser.get(once))
    back = browser.get(f"{twice}&at=1")
    assert "step 1 of 2" in back
    assert "lab__later" in back and len(ledger(back)) == 3
    assert len(re.findall("<tr id=.l", browser.get(once))) == 2
    forward = re.search(r'id="next" data-step="next" href="([^"]+)"', back)
    assert forward is not None and html.unescape(forward[1]) == twice


def test_a_piece_of_the_context_is_shown_as_the_model_is_sent_it(browser: Browser) -> None:
    browser.settled(lab())
    text = browser.get(lab() + "&piece=1")
    assert "as the model is sent it, laid out" in text
    assert "input_schema" in plain(text) and "search_tools" in plain(text)


def test_every_what_if_is_priced_and_happens(browser: Browser) -> None:
    begun = first_offer(browser.settled(lab(strategy="full")))
    text = browser.get(begun + "&pane=what")
    events = re.findall(r'name="event" value="(\w+)"', text)
    assert events == [
        "advance", "list_changed", "revoke", "remove", "drop_server", "reorder", "boundary", "cache_expired",
    ]  # fmt: skip
    moved = reached(browser.post(begun.replace("/lab?", "/lab/step?"), event="reorder"))
    after = browser.get(moved)
    assert "array sorted by name" in ledger(after)[-1][2]
    price = re.search(r"next request \+([\d,]+) billed", ledger(after)[-1][2])
    assert price is not None and int(price[1].replace(",", "")) > 1000
    assert "first changed byte" in after and "tokens that were there before" in after
    gone = reached(
        browser.post(begun.replace("/lab?", "/lab/step?"), event="remove", tool="demo_flat__refund_payment")
    )
    array = browser.get(gone).partition("lab__pieces")[2].partition(">messages<")[0]
    assert 'title="demo_flat__list_invoices"' in array and 'title="demo_flat__refund_payment"' not in array


def test_the_clock_and_list_changed_make_the_list_stale(browser: Browser) -> None:
    browser.settled(lab())
    later = reached(browser.post(lab().replace("/lab?", "/lab/step?"), event="advance", seconds="3,600"))
    text = browser.get(later)
    assert "<dt>Clock</dt>" in text and "+1:00:00" in text and "stale" in text
    refused = browser.post(lab().replace("/lab?", "/lab/step?"), status=422, event="advance", seconds="soon")
    assert "The event advance needs seconds" in refused.text


def test_a_wrong_name_costs_a_turn_and_says_what_to_do(browser: Browser) -> None:
    browser.settled(lab())
    answer = browser.post(
        lab().replace("/lab?", "/lab/step?"),
        tool="call_tool",
        arguments='{"name":"demo_flat__refund_paymnt"}',
    )
    row = ledger(browser.get(reached(answer)))[-1]
    assert "Did you mean demo_flat__refund_payment" in row[2]
    assert int(row[8].replace(",", "")) > 0


def test_a_context_hides_a_tool_from_everything_the_model_sees(browser: Browser) -> None:
    contexts = json.dumps({"clerk": {"deny": ["*refund*"]}})
    path = lab(contexts=contexts, context="clerk")
    text = browser.settled(path)
    found = browser.get(first_offer(text))
    assert "refund_payment" not in found
    assert "1 out of sight" in plain(found)
    answer = browser.post(
        path.replace("/lab?", "/lab/step?"),
        tool="call_tool",
        arguments='{"name":"demo_flat__refund_payment"}',
    )
    row = ledger(browser.get(reached(answer)))[-1]
    assert "There is no tool named" in row[2]
    assert "Did you mean demo_flat__refund" not in row[2]


def test_the_policy_plays_to_the_end(browser: Browser) -> None:
    browser.settled(lab())
    text = browser.get(reached(browser.post(lab().replace("/lab?", "/lab/auto?"), to="end")))
    assert "step 3 of 3" in text and "was called: the task is done" in text


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"tool": ""}, "Which tool is called?"),
        ({"tool": "x", "arguments": "{"}, "The arguments are not JSON"),
        ({"tool": "x", "arguments": "[1]"}, "The arguments are an array"),
        ({"event": "explode"}, "There is no event"),
        ({"event": "drop_server", "server": "<b>"}, "There is no server"),
    ],
)
def test_a_bad_step_is_refused_in_one_sentence_and_the_run_stays(
    browser: Browser, form: dict[str, str], says: str
) -> None:
    browser.settled(lab())
    answer = browser.post(lab().replace("/lab?", "/lab/step?"), status=422, **form)
    text = well_formed(answer)
    assert says in text and "server <b>" not in text
    assert len(ledger(text)) == 1


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("catalog=nowhere&task=x", "There is no such server or list any more."),
        (f"catalog={FLAT}&task=x&contexts=%7B", "The authorization contexts are not JSON"),
        (f"catalog={FLAT}&task=x&context=ghost", "There is no authorization context ghost"),
        (f"catalog={FLAT}&task=x&do=%7B", "A choice of this run is no JSON"),
        (f"catalog={FLAT}&task=x&options=%7B%22preset%22:3%7D", "This is no preset"),
        (
            f"catalog={FLAT}&task=x&do=%7B%22event%22:%22drop_server%22,%22server%22:%22q%22%7D",
            "There is no server q",
        ),
    ],
)
def test_a_bad_address_says_why_in_the_place_of_the_run(browser: Browser, query: str, says: str) -> None:
    text = browser.settled(f"/lab?{query}", 'class="exp__n"')
    assert says in plain(text)
    assert "Change the scenario" in text


# --- live


def live(browser: Browser) -> str:
    path = lab(PROGRESSIVE, task="a billing question", baseline=FLAT, strategy="server_driven")
    browser.settled(path)
    return reached(browser.post(path.replace("/lab?", "/lab/live?")))


def choose(browser: Browser, path: str, number: int = 1, **more: str) -> TestResponse:
    found = re.search(
        rf'name="choice" value="([^"]+)"><button type="submit" [^>]*id="o{number}"', browser.get(path)
    )
    assert found is not None
    return browser.post(path.replace("/lab?", "/lab/step?"), choice=html.unescape(found[1]), **more)


def test_a_live_run_asks_the_server_and_each_step_leads_to_its_frames(
    browser: Browser, running: tuple[Console, FlaskClient]
) -> None:
    began = running[0].journal.last_seq
    path = live(browser)
    assert running[0].journal.last_seq == began, "opening a live run sends nothing"
    path = reached(choose(browser, path))
    path = reached(choose(browser, path))
    text = browser.get(path)
    rows = ledger(text)
    assert rows[1][3].endswith(" m") and rows[2][3].endswith(" m")
    assert "10 named, 10 in full" in rows[2][2]
    links = [html.unescape(each) for each in re.findall(r'class="lnk" href="([^"]+)"', text)]
    assert len(links) == 4
    event = browser.get(links[1].partition("#")[0])
    reply = next(row for row in rows if row[2].startswith("list_categories"))[3].removesuffix(" m")
    assert "tools/call" in event and reply in event
    sent = running[0].journal.last_seq
    browser.get(path)
    browser.get(f"{path}&at=1")
    assert running[0].journal.last_seq == sent, "looking sends nothing"


def test_the_same_live_choice_twice_is_sent_once(
    browser: Browser, running: tuple[Console, FlaskClient]
) -> None:
    path = live(browser)
    choose(browser, path)
    sent = running[0].journal.last_seq
    choose(browser, path)
    assert running[0].journal.last_seq <= sent + 1, "no frames, but for the note of the step"


def test_a_call_that_may_change_something_is_confirmed_first(
    browser: Browser, running: tuple[Console, FlaskClient]
) -> None:
    path = live(browser)
    arguments = '{"name":"list_invoices","arguments":{"customerId":"C-1"}}'
    form = {"tool": "demo_progressive__call_tool", "arguments": arguments}
    sent = running[0].journal.last_seq
    asked = browser.post(path.replace("/lab?", "/lab/step?"), status=200, **form)
    assert "This calls call_tool of demo_progressive" in plain(well_formed(asked))
    assert running[0].journal.last_seq == sent
    done = browser.get(reached(browser.post(path.replace("/lab?", "/lab/step?"), confirmed="1", **form)))
    assert "list_invoices through" in ledger(done)[-1][2]
    assert running[0].journal.last_seq > sent


def test_the_policy_stops_a_live_run_before_what_is_to_be_confirmed(browser: Browser) -> None:
    path = live(browser)
    text = browser.get(reached(browser.post(path.replace("/lab?", "/lab/auto?"), to="end")))
    assert [row[2].split(" ")[0] for row in ledger(text)] == [
        "Entry",
        "list_categories",
        "expand_category",
        "call_tool",
    ]
    assert "not sent" in ledger(text)[-1][2]


def test_a_live_run_that_is_gone_is_not_asked_again_by_looking(
    browser: Browser, running: tuple[Console, FlaskClient]
) -> None:
    path = reached(choose(browser, live(browser)))
    gone = re.sub("live=[0-9a-f]{8}", "live=00000000", path)
    sent = running[0].journal.last_seq
    text = browser.get(gone)
    assert "1 of its answers are no longer kept" in plain(text)
    assert running[0].journal.last_seq == sent
    browser.post(gone.replace("/lab?", "/lab/step?"), status=422, tool="x")


# --- files


def test_a_saved_scenario_is_loaded_to_the_same_address(browser: Browser) -> None:
    path = first_offer(browser.settled(lab()))
    content = browser.get(path.replace("/lab?", "/lab/scenario.json?"))
    saved = json.loads(content)
    assert saved["catalogs"] == ["demo:flat"], "as the command line calls it"
    assert saved["script"] == [{"tool": "search_tools", "arguments": {"query": TASK}}]
    there = browser.post("/lab/scenario", file=(io.BytesIO(content.encode()), "s.json"))
    assert Query.read(MultiDict(parse_qsl(urlsplit(reached(there)).query))) == Query.read(
        MultiDict(parse_qsl(urlsplit(path).query))
    )


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"schema": "mcp-loupe/scenario/1", "task": 3}']
)
def test_a_file_that_is_no_scenario_is_refused_in_one_sentence(browser: Browser, content: bytes) -> None:
    answer = browser.post("/lab/scenario", status=422, file=(io.BytesIO(content), "notes.txt"))
    assert 'id="refused"' in well_formed(answer)


def test_a_run_in_the_recording_is_found_again_from_its_event(
    browser: Browser, running: tuple[Console, FlaskClient]
) -> None:
    console = running[0]
    path = first_offer(browser.settled(lab()))
    first = console.journal.last_seq + 1
    browser.post(path.replace("/lab?", "/lab/record?"))
    last = console.journal.last_seq
    assert last - first + 1 == 3, "the scenario and two steps"
    until = time.monotonic() + WAIT_S
    with console.store() as store:
        session = console.recorder.session
        while (row := store.row(session, last)) is None:
            assert time.monotonic() < until
        assert (row.t, row.body["n"], row.body["strategy"]) == ("lab", 2, "search_stable")
    event = browser.get(f"/timeline?e={first}")
    assert "Open in the lab" in event
    there = browser.client.get(f"/lab/recorded/{session}/{first}", base_url=ORIGIN)
    assert parse_qs(urlsplit(reached(there)).query) == parse_qs(urlsplit(path).query)
    browser.get(f"/lab/recorded/{session}/{last}", status=422)


def test_an_uploaded_catalog_joins_the_registry(browser: Browser) -> None:
    tools = [{"name": "tell_time", "description": "\u202eThe <b>time</b>", "inputSchema": {"type": "object"}}]
    line = json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}).encode()
    answer = browser.post(lab().replace("/lab?", "/lab/files?"), file=(io.BytesIO(line), "clock.jsonl"))
    path = reached(answer).replace("&edit=1", "").replace("edit=1&", "")
    text = browser.settled(path)
    assert "51 tools" in text and "clock.jsonl" in text
    query = reached(
        browser.post(path.replace("/lab?", "/lab/step?"), tool="search_tools", arguments='{"query":"time"}')
    )
    found = browser.get(query)
    assert "clock__tell_time" in found
    assert "<b>time" not in found


# --- evaluation and report


def test_the_demo_set_is_evaluated_against_a_threshold(browser: Browser) -> None:
    path = f"/lab/evaluate?catalog={FLAT}&tasks=demo&half=development&bar=60"
    text = browser.settled(path, 'id="quality"')
    document = json.loads(browser.get(path.replace("evaluate?", "evaluate.json?")))
    keyword = next(each for each in document["methods"] if each["search"] == "keyword")
    assert f"{keyword['recall@5'] * 100:.1f}" in plain(text)
    assert f"keyword: {len(keyword['missed'])} missed" in plain(text)
    assert "reached" in plain(text) and "below" in plain(text)


def test_a_set_that_does_not_fit_says_which_tool_is_missing(browser: Browser) -> None:
    text = browser.settled(f"/lab/evaluate?catalog={FLAT}&tasks=github", 'class="exp__n"')
    assert "which the catalog does not list" in plain(text)
    assert "(does not fit)" in browser.get(f"/lab/evaluate?catalog={FLAT}")


def test_a_task_set_of_ones_own_is_taken(browser: Browser) -> None:
    rows = b'{"task": "pay \xe2\x80\xa8 back", "expect": ["refund_payment"]}\n'
    answer = browser.post(f"/lab/tasks?catalog={FLAT}", file=(io.BytesIO(rows), "own.jsonl"))
    assert "own.jsonl: 1 tasks" in browser.settled(reached(answer), 'id="quality"')
    bad = browser.post(
        f"/lab/tasks?catalog={FLAT}", status=422, file=(io.BytesIO(b'{"task": 3}'), "bad.jsonl")
    )
    assert "bad.jsonl cannot be read as tasks: line 1 has no task" in plain(bad.text)


def test_the_report_is_one_page_and_markdown(browser: Browser) -> None:
    text = browser.settled(lab().replace("/lab?", "/lab/report?"), 'id="report-md"')
    for title in ("What the flat list costs", "What each strategy costs and saves", "The recommendation"):
        assert f">{title}</h2>" in text
    found = browser.get(lab().replace("/lab?", "/lab/report.md?"))
    assert found.startswith("# Disclosing demo:flat\n")
    assert [line for line in found.split("\n") if line.startswith(("| anthropic", "| openai", "| gemini"))]
    assert "64 tasks." in found and "keyword missed: " in found


def test_when_it_pays_shows_break_even_and_growth_is_made_when_asked_for_and_can_be_ended(
    browser: Browser,
) -> None:
    browser.settled(lab())
    text = browser.get(lab(view="cost"))
    assert "Break-even against full disclosure" in text and "<b>Assumed:</b>" in text
    assert "Draw the growth curve" in text
    path = lab(view="cost", grow="1")
    assert 'id="lab-progress"' in browser.get(path)
    ended = browser.get(reached(browser.post(path.replace("/lab?", "/lab/cancel?"))))
    assert "Draw the growth curve" in ended and 'id="lab-progress"' not in ended


def test_cancelled_work_is_not_started_by_looking(browser: Browser) -> None:
    path = lab(task="never seen before")
    answer = browser.post(path.replace("/lab?", "/lab/cancel?"))
    assert "hold=1" in reached(answer)
    assert "Compare all strategies" in browser.get(reached(answer)) or "It was cancelled" in browser.get(
        reached(answer)
    )


def test_parts_are_for_htmx_and_pages_for_everybody(browser: Browser) -> None:
    browser.settled(lab())
    part = browser.get(lab(), part=True)
    assert "<html" not in part and 'id="lab"' in part
    assert browser.client.get(lab().replace("/lab?", "/lab/wait?"), base_url=ORIGIN).status_code == 302


# --- docs/what-people-get-wrong.md, line by line

DOCS = Path(__file__).resolve().parents[2] / "docs"


def scenario(browser: Browser, name: str) -> str:
    """The address that a scenario of the docs loads to, its catalogs read."""
    content = (DOCS / "scenarios" / f"{name}.json").read_bytes()
    path = reached(browser.post("/lab/scenario", file=(io.BytesIO(content), f"{name}.json")))
    browser.settled(path)
    return path


def test_what_people_get_wrong_names_a_run_and_a_test_for_every_line() -> None:
    page = (DOCS / "what-people-get-wrong.md").read_text("utf-8")
    sections = page.split("\n## ")[1:]
    assert len(sections) == 7
    own = Path(__file__).read_text("utf-8")
    for section in sections:
        assert "$ mcp-loupe " in section, section[:60]
        named = re.findall(r"`(test_what_people_get_wrong_\w+)`", section)
        assert len(named) == 1 and f"def {named[0]}(" in own, section[:60]
    files = set(re.findall(r"docs/scenarios/([\w-]+)\.json", page))
    assert files - {"NAME"} == {path.stem for path in (DOCS / "scenarios").glob("*.json")}


def test_what_people_get_wrong_it_still_lists(browser: Browser) -> None:
    rows = ledger(browser.get(scenario(browser, "progressive-still-lists")))
    assert rows[0][2] == "Entry list → 3 tools"
    assert rows[0][3].endswith(" m"), "measured: the server's own answer to tools/list"


def test_what_people_get_wrong_words_alone_find_most(browser: Browser) -> None:
    path = f"/lab/evaluate.json?catalog={FLAT}&tasks=demo&method=keyword"
    found = json.loads(browser.get(path))["methods"]
    assert [each["search"] for each in found] == ["keyword"]
    assert 0.55 < found[0]["recall@5"] < 0.7, "and what it misses is in docs/retrieval.md, by name"


def test_what_people_get_wrong_call_tool_does_not_search(browser: Browser) -> None:
    text = browser.get(scenario(browser, "call-tool-does-not-search"))
    rows = ledger(text)[1:]
    assert len(rows) == 3 and all("refused:" in row[2] for row in rows)
    assert "There is no tool named 'give the customer their money back'" in rows[0][2]
    assert "Did you mean demo_flat__refund_payment" in rows[1][2]
    assert "It takes (" in rows[2][2]
    assert "was called" not in text
    assert figure(text, "turns") == 3


def test_what_people_get_wrong_capabilities_are_not_data(browser: Browser) -> None:
    rows = ledger(browser.get(scenario(browser, "capability-is-not-data")))
    assert "candidates" in rows[1][2] and "search_knowledge_base" in rows[2][2]
    assert "get_tool_details" in rows[3][2]
    assert rows[4][2].startswith("call_tool") and "nothing is sent in a dry run" in rows[4][2]


def test_what_people_get_wrong_a_stale_tool_is_refused(browser: Browser) -> None:
    text = browser.get(scenario(browser, "stale-is-refused"))
    rows = ledger(text)
    assert "list_changed from demo_flat" in rows[3][2]
    assert "stale: demo_flat__refund_payment cannot be called now" in rows[4][2]
    assert "1 definitions left" in rows[5][2] and "next request" in rows[5][2]


def test_what_people_get_wrong_code_mode_calls_no_server(browser: Browser) -> None:
    text = browser.settled(lab(strategy="gateway_code"))
    assert [row[2] for row in ledger(text)] == ["Entry list → 1 tools"]
    array = text.partition("lab__pieces")[2].partition(">messages<")[0]
    assert 'title="run_code"' in array and "demo_flat__" not in array


def test_what_people_get_wrong_a_failure_undoes_nothing(browser: Browser) -> None:
    path = scenario(browser, "failed-is-not-undone")
    query = Query.read(MultiDict(parse_qsl(urlsplit(path).query)))
    started = reached(browser.post(path.replace("/lab?", "/lab/live?")))
    for choice in query.do:
        started = reached(browser.post(started.replace("/lab?", "/lab/step?"), choice=choice))
    text = browser.get(started)
    rows = ledger(text)
    assert "a result" in rows[1][2] and rows[1][10] != "", "answered, with its frames"
    assert "refused:" in rows[2][2]
    assert "search_knowledge_base" in rows[1][2]
