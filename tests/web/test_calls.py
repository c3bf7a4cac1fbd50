"""The Call screen over real demo servers: forms, runs, faults, history; and its pure view logic."""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest
from catalog_screen import words
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.catalog.forms import FieldError
from inspector.catalog.measure import Measure
from inspector.console.console import Console
from inspector.console.outcome import OK, TIMEOUT, Outcome
from inspector.settings.paths import Paths
from inspector.settings.targets import demo_spec
from inspector.web.app import create_app
from inspector.web.calls_address import secret
from inspector.web.calls_post import ANY_OBJECT, schema_of
from inspector.web.calls_series import plot_of
from inspector.web.calls_view import (
    confirmation,
    form_pane,
    hints_of,
    indented,
    posted_form,
    progress_of,
    tools_of,
)
from inspector.web.guard import Guard

WAIT_S = 20.0
VOID = {"meta", "link", "input", "img", "br", "hr", "rect", "path", "circle", "use", "col", "line"}


class Balanced(HTMLParser):
    """Fails on a tag that closes what is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.open and self.open[-1] in ("option", "li", "p") and tag != self.open[-1]:
            self.open.pop()
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


@dataclass
class Bench:
    """A console with demo:flat and demo:chaos connected, and a signed-in browser."""

    console: Console
    client: FlaskClient
    origin: str

    def get(self, path: str, *, htmx: bool = False) -> TestResponse:
        return self._checked(self.client.get(path, base_url=self.origin, headers=self._headers(htmx)))

    def post(self, path: str, *, htmx: bool = True, **fields: object) -> TestResponse:
        return self._checked(
            self.client.post(path, base_url=self.origin, data=fields, headers=self._headers(htmx))
        )

    def run(self, tool: str, *, key: str = "demo-chaos", **fields: object) -> str:
        """Run to the end; what the result pane then says."""
        answer = self.post(f"/call/{key}", tool=tool, **fields)
        assert answer.status_code == 200, answer.text
        call = self.console.calls.recent(key)[0]
        ended = threading.Event()
        call.future.add_done_callback(lambda _: ended.set())
        assert ended.wait(WAIT_S)
        return words(self.get(f"/call/{key}/result/{call.id}", htmx=True).text)

    def _headers(self, htmx: bool) -> dict[str, str]:
        return {"Origin": self.origin} | ({"HX-Request-Type": "partial"} if htmx else {})

    def _checked(self, answer: TestResponse) -> TestResponse:
        if answer.mimetype == "text/html" and answer.status_code not in (302, 303):
            parser = Balanced()
            parser.feed(answer.text)
            parser.close()
            assert parser.open == [], parser.open
        return answer


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("calls")
    folder.chmod(0o700)
    with Console(Paths.locate(folder)) as console:
        for name in ("flat", "chaos"):
            console.connect(console.servers_file.add(demo_spec(name)))
        guard = Guard(8001)
        app = create_app(console, guard)
        client = app.test_client()
        origin = "http://127.0.0.1:8001"
        assert client.get(f"/login?token={guard.mint()}", base_url=origin).status_code == 303
        yield Bench(console, client, origin)


# --- the screen


def test_the_screen_lists_the_tools_and_shows_the_first(bench: Bench) -> None:
    page = bench.get("/call/demo-flat")
    assert page.status_code == 200
    assert "get_ledger_entry" in page.text
    assert "List invoices, oldest first" in words(page.text)


def test_call_leads_to_the_first_server(bench: Bench) -> None:
    assert bench.get("/call").headers["Location"] == "/call/demo-flat"


def test_the_filter_finds_tools_and_offers_any_other_name(bench: Bench) -> None:
    found = bench.get("/call/demo-flat/tools?q=refund", htmx=True).text
    assert "refund_payment" in found and "list_invoices" not in found
    assert "Call refund as typed" in words(found)


def test_a_destructive_tool_asks_first_and_names_the_hint(bench: Bench) -> None:
    page = bench.get("/call/demo-flat?tool=refund_payment").text
    assert 'hx-confirm="refund_payment may destroy something: the server says destructiveHint: true.' in page
    assert "hx-confirm" not in bench.get("/call/demo-flat?tool=list_invoices").text


def test_a_call_goes_out_by_post_only(bench: Bench) -> None:
    assert bench.get("/call/demo-flat/again/call-1").status_code == 405


# --- running


def test_every_digit_of_a_big_integer_survives_form_wire_and_page(bench: Bench) -> None:
    said = bench.run("get_ledger_entry", key="demo-flat", mode="form", **{"a:/entryId": "9007199254740993"})
    assert "fits outputSchema" in said and "9007199254740993" in said
    call = bench.console.calls.recent("demo-flat")[0]
    assert call.arguments == '{"entryId":9007199254740993}'
    raw = bench.get(f"/call/demo-flat/result/{call.id}/raw")
    assert b'"entryId":9007199254740993' in raw.data
    assert raw.headers["Content-Disposition"] == f'attachment; filename="{call.id}.json"'
    again = bench.get(f"/call/demo-flat?call={call.id}").text
    assert 'value="9007199254740993"' in again


def test_the_answer_puts_the_call_into_the_address(bench: Bench) -> None:
    answer = bench.post("/call/demo-flat", tool="list_invoices", mode="form")
    call = bench.console.calls.recent("demo-flat")[0]
    assert answer.headers["HX-Push-Url"] == f"/call/demo-flat?tool=list_invoices&mode=form&call={call.id}"
    assert f"past-{call.id}" in answer.text


def test_a_plain_form_is_redirected_to_the_page_with_the_result(bench: Bench) -> None:
    answer = bench.post("/call/demo-flat", htmx=False, tool="list_invoices", mode="form")
    assert answer.status_code == 303
    bench.console.calls.recent("demo-flat")[0].future.result(WAIT_S)
    assert "The tool answered." in words(bench.get(answer.headers["Location"]).text)


def test_an_untouched_optional_field_is_left_out_and_null_is_sent_when_chosen(bench: Bench) -> None:
    fields = {"a:/paymentId": "PAY-302", "a:/amountCents": "", "state:/amountCents": "null"}
    bench.run("refund_payment", key="demo-flat", mode="form", **fields)
    assert (
        bench.console.calls.recent("demo-flat")[0].arguments == '{"paymentId":"PAY-302","amountCents":null}'
    )
    bench.run("list_invoices", key="demo-flat", mode="form", **{"a:/customerId": "", "a:/status": ""})
    assert bench.console.calls.recent("demo-flat")[0].arguments == "{}"


def test_wrong_arguments_come_back_as_typed_with_the_error_beside(bench: Bench) -> None:
    before = len(bench.console.calls.recent("demo-flat"))
    answer = bench.post("/call/demo-flat", tool="get_ledger_entry", mode="form", **{"a:/entryId": "12x"})
    assert answer.status_code == 422
    assert 'value="12x"' in answer.text and "This must be a whole number." in answer.text
    typed = '{"entryId": "x",  "more": 1.0}'
    answer = bench.post("/call/demo-flat", tool="get_ledger_entry", mode="json", json=typed)
    assert answer.status_code == 422
    assert typed in html.unescape(answer.text)
    assert "/entryId: 'x' is not of type 'integer'" in words(answer.text)
    assert len(bench.console.calls.recent("demo-flat")) == before


def test_unchecked_arguments_are_sent_as_they_are(bench: Bench) -> None:
    said = bench.run("get_ledger_entry", key="demo-flat", mode="json", json='{"entryId": "x"}', unchecked="1")
    assert "tool error" in said and "No protocol fault" in said


@pytest.mark.parametrize(
    ("name", "value"), [("runs", "0"), ("runs", "1001"), ("timeout", "soon"), ("timeout", "-1")]
)
def test_a_number_out_of_range_is_refused_with_the_form_kept(bench: Bench, name: str, value: str) -> None:
    answer = bench.post("/call/demo-flat", tool="list_invoices", mode="json", json="{}", **{name: value})
    assert answer.status_code == 422 and 'id="json"' in answer.text


def test_switching_to_json_and_back_keeps_what_was_typed(bench: Bench) -> None:
    fields = {
        "tool": "get_ledger_entry",
        "mode": "form",
        "to": "json",
        "a:/entryId": "1",
        "a:": '{"x":[1.0]}',
    }
    switched = bench.post("/call/demo-flat/switch", **fields)
    text = '{\n  "entryId": 1,\n  "x": [\n    1.0\n  ]\n}'
    assert text in html.unescape(switched.text)
    back = bench.post("/call/demo-flat/switch", tool="get_ledger_entry", mode="json", to="form", json=text)
    assert 'value="1"' in back.text and '{"x":[1.0]}' in html.unescape(back.text)


def test_json_that_is_none_stays_json_when_switched(bench: Bench) -> None:
    answer = bench.post("/call/demo-flat/switch", tool="list_invoices", mode="json", to="form", json="[1")
    assert answer.status_code == 422
    assert 'id="json"' in answer.text and "[1" in answer.text


def test_a_series_has_percentiles_and_a_plot(bench: Bench) -> None:
    said = bench.run("list_invoices", key="demo-flat", mode="form", runs="12")
    assert "Ended 12 of 12" in said and "p95" in said and "12 ok." in said


def test_a_series_none_of_which_has_ended_is_shown_and_can_be_cancelled(bench: Bench) -> None:
    answer = bench.post("/call/demo-chaos", tool="never_answer", mode="form", runs="3")
    assert answer.status_code == 200
    assert "Ended 0 of 3" in words(answer.text) and 'aria-label="No call has ended yet."' in answer.text
    call = bench.console.calls.recent("demo-chaos")[0]
    assert "every 400ms" not in bench.post(f"/call/demo-chaos/cancel/{call.id}").text


def test_running_again_sends_the_same_arguments(bench: Bench) -> None:
    bench.run("echo", mode="json", json='{"text":"1.0"}', unchecked="1")
    first = bench.console.calls.recent("demo-chaos")[0]
    assert bench.post(f"/call/demo-chaos/again/{first.id}").status_code == 200
    assert bench.console.calls.recent("demo-chaos")[0].arguments == first.arguments


# --- faults


def test_a_call_that_is_not_answered_runs_until_it_is_cancelled(bench: Bench) -> None:
    answer = bench.post("/call/demo-chaos", tool="never_answer", mode="form")
    call = bench.console.calls.recent("demo-chaos")[0]
    assert f'hx-get="/call/demo-chaos/result/{call.id}" hx-trigger="every 400ms"' in answer.text
    assert "Waiting for" in words(bench.get(f"/call/demo-chaos?call={call.id}").text)
    cancelled = bench.post(f"/call/demo-chaos/cancel/{call.id}")
    assert "You stopped waiting" in words(cancelled.text)
    assert "every 400ms" not in cancelled.text


def test_a_time_out_is_ours(bench: Bench) -> None:
    said = bench.run("never_answer", mode="form", timeout="0.2")
    assert "No answer to tools/call within 0.2 s" in said
    assert "the server sent no such thing" in said and "no answer" in said


def test_an_error_of_the_server_is_explained_and_shown_as_received(bench: Bench) -> None:
    said = bench.run("custom_error_code", mode="form")
    assert "4242" in said and "Said by the server" in said
    call = bench.console.calls.recent("demo-chaos")[0]
    assert b'"code":4242' in bench.get(f"/call/demo-chaos/result/{call.id}/raw").data


def test_a_tool_the_server_does_not_know_can_be_called(bench: Bench) -> None:
    assert "not listed" in words(bench.get("/call/demo-chaos?tool=nope").text)
    assert "Unknown tool: nope" in bench.run("nope", mode="form")


def test_a_broken_output_is_shown_with_its_verdict(bench: Bench) -> None:
    said = bench.run("wrong_structured_content", mode="form")
    assert "breaks outputSchema" in said and "'three' is not of type 'integer'" in said


def test_malformed_content_is_shown_piece_by_piece(bench: Bench) -> None:
    said = bench.run("odd_content", mode="form")
    assert "unknown 1" in said and "unknown 2" in said and "unknown 3" in said


def test_markup_in_an_answer_stays_text(bench: Bench) -> None:
    bench.run("markup", mode="form")
    call = bench.console.calls.recent("demo-chaos")[0]
    assert "<script>document" not in bench.get(f"/call/demo-chaos?call={call.id}").text


def test_a_megabyte_on_one_line_makes_a_small_page_and_an_exact_download(bench: Bench) -> None:
    bench.run("long_line", mode="form", **{"a:/bytes": "1048576"})
    call = bench.console.calls.recent("demo-chaos")[0]
    assert len(bench.get(f"/call/demo-chaos?call={call.id}").data) < 400_000
    assert len(bench.get(f"/call/demo-chaos/result/{call.id}/raw").data) == 1_048_576


def test_a_download_of_nothing_is_refused_with_a_sentence(bench: Bench) -> None:
    bench.run("is_error", mode="form")
    call = bench.console.calls.recent("demo-chaos")[0]
    assert bench.get(f"/call/demo-chaos/result/{call.id}/item/7").status_code == 422
    assert bench.get(f"/call/demo-flat/result/{call.id}").status_code == 422


def test_a_call_no_longer_kept_says_so_and_the_screen_stays(bench: Bench) -> None:
    page = bench.get("/call/demo-flat?call=call-999999")
    assert page.status_code == 200
    assert "There is no call call-999999 any more" in words(page.text)


def test_a_server_that_dies_leaves_its_exit_code_and_a_way_on(bench: Bench, tmp_path: Path) -> None:
    key = bench.console.servers_file.add(demo_spec("chaos"))
    bench.console.connect(key)
    said = bench.run("crash_mid_frame", key=key, mode="form")
    assert "transport failure" in said and "Exit code 1" in said and "Reconnect" in said
    page = words(bench.get(f"/call/{key}").text)
    assert "Reconnect it on Servers" in page
    refused = bench.post(f"/call/{key}", tool="echo", mode="json", json="{}", unchecked="1")
    assert refused.status_code == 502


@pytest.mark.parametrize(
    "tool",
    [
        "lone_surrogate",
        "control_characters",
        "odd_numbers",
        "nan_number",
        "no_content",
        "unknown_result_type",
        "endless_input_required",
        "error_code_string",
        "error_is_string",
        "result_is_list",
        "null_id_error",
        "duplicate_keys",
        "invalid_utf8",
        "log_prefix",
    ],
)
def test_no_odd_answer_breaks_the_page(bench: Bench, tool: str) -> None:
    bench.run(tool, mode="form", timeout="0.3")
    call = bench.console.calls.recent("demo-chaos")[0]
    page = bench.get(f"/call/demo-chaos?call={call.id}")
    assert page.status_code == 200
    assert "Arguments as sent" in page.text


def test_progress_is_shown_while_a_call_runs(bench: Bench) -> None:
    bench.post("/call/demo-chaos", tool="never_answer", mode="form")
    call = bench.console.calls.recent("demo-chaos")[0]
    call.progress = {"progress": 3, "total": 4, "message": "three <b>of</b> four"}
    shown = bench.get(f"/call/demo-chaos/result/{call.id}", htmx=True).text
    assert 'width="75.0%"' in shown and "three &lt;b&gt;of&lt;/b&gt; four" in shown
    bench.post(f"/call/demo-chaos/cancel/{call.id}")


# --- pure view logic


def measure(name: str | None, text: str = "{}") -> Measure:
    return Measure(name, len(text), {}, text)


def test_a_listed_name_is_no_free_name() -> None:
    assert tools_of([measure("a"), measure("ab"), measure(None)], "a").free == ""
    assert tools_of([measure("ab")], "a").free == "a"


def test_a_name_or_schema_that_has_no_utf8_does_not_break_the_page() -> None:
    half = json.loads(r'"half \ud83c"')
    (line,) = tools_of([measure(half)], "").lines
    assert (line.link, line.broken) == (False, "its name holds half of a surrogate pair")
    assert schema_of({"inputSchema": {"properties": {half: {"type": "string"}}}}) == ANY_OBJECT


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        (None, "no hints"),
        ({}, "no hints"),
        ({"readOnlyHint": True, "destructiveHint": True}, "reads only"),
        ({"destructiveHint": True}, "destructive"),
        ({"readOnlyHint": False}, "destructive"),
        ({"readOnlyHint": False, "destructiveHint": False}, "writes"),
        ({"readOnlyHint": "yes"}, "no hints"),
    ],
)
def test_hints_say_what_the_server_says(annotations: object, word: str) -> None:
    assert hints_of(annotations)[0].word == word
    assert bool(confirmation("t", annotations)) == (word == "destructive")


def test_lines_of_a_text_area_are_items() -> None:
    posted = [("a:/tags", ["one\r\ntwo\r\n"]), ("lines:/tags", ["1"]), ("state:/tags", [""]), ("tool", ["t"])]
    assert posted_form(posted) == {"/tags": ["one", "two"], "state:/tags": [""]}


def test_an_item_with_a_line_break_gets_an_input_of_its_own() -> None:
    schema = {"properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    assert form_pane(schema, {"/tags": ["a", "b"]}).fields[0].as_rows is False
    assert form_pane(schema, {"/tags": ["a\nb"]}).fields[0].as_rows is True
    assert form_pane(schema, {"/tags": [""]}).fields[0].as_rows is True


def test_an_error_inside_a_field_stands_at_the_field_and_others_at_the_top() -> None:
    schema = {"properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    pane = form_pane(schema, {}, [FieldError("/tags/0", "bad item"), FieldError("/other", "not wanted")])
    assert pane.fields[0].errors == ("bad item",)
    assert pane.general == ("/other: not wanted",)
    assert pane.wrong


def test_a_default_that_is_filled_in_is_said_to_be_one() -> None:
    schema = {"properties": {"n": {"type": "integer", "default": 5}}, "required": ["n"]}
    assert form_pane(schema, {"/n": ["5"]}, fresh=True).fields[0].prefilled
    assert not form_pane(schema, {"/n": ["5"]}).fields[0].prefilled


def test_indenting_changes_no_lexeme() -> None:
    assert indented('{"a":[1.0,"x,{}"],"b":{},"c":1e999}') == (
        '{\n  "a": [\n    1.0,\n    "x,{}"\n  ],\n  "b": {},\n  "c": 1e999\n}'
    )


def test_progress_has_a_share_only_when_its_total_is_known() -> None:
    shown = progress_of({"progress": 1, "total": 4, "message": "m"})
    assert shown is not None and (shown.words, shown.message, shown.share) == ("1 of 4", "m", 25.0)
    odd = progress_of({"progress": "x", "total": 0})
    assert odd is not None and odd.share is None
    long = progress_of({"progress": "x" * 1_000_000, "total": "y" * 1_000_000})
    assert long is not None and len(long.words) == 2 * 60 + len(" of ")
    assert progress_of(None) is None


def test_the_plot_gathers_many_calls_and_marks_the_bad_ones() -> None:
    ended = [Outcome(OK, "peer", ms=float(n)) for n in range(249)] + [Outcome(TIMEOUT, "console")]
    drawn = plot_of(ended)
    assert drawn.count("<rect") == 84
    assert drawn.count("f-err") == 1
    assert "250 calls" in drawn


# --- the address of what is filled in


def test_the_address_of_a_form_shows_it_as_it_was_filled_in(bench: Bench) -> None:
    form = {
        "what": "tools",
        "tool": "search_knowledge_base",
        "mode": "form",
        "a:/query": "a & b",
        "runs": "3",
    }
    answer = bench.post("/call/demo-flat/address", **form)
    assert answer.status_code == 200 and answer.mimetype == "text/plain"
    page = bench.get(answer.text).text
    assert 'value="a &amp; b"' in page and 'id="runs" name="runs" value="3"' in page
    broken = {"what": "tools", "tool": "echo", "mode": "json", "json": '{"a": '}
    assert "&#34;a&#34;:" in bench.get(bench.post("/call/demo-chaos/address", **broken).text).text


def test_there_is_no_address_of_a_form_that_cannot_be_read_is_too_long_or_holds_a_password(
    bench: Bench,
) -> None:
    tool = {"what": "tools", "tool": "list_invoices", "mode": "form"}
    assert bench.post("/call/demo-flat/address", **tool, **{"a:/customerId": "no number"}).status_code == 204
    long = {"what": "tools", "tool": "echo", "mode": "json", "json": "x" * 4_001}
    assert bench.post("/call/demo-chaos/address", **long).status_code == 204
    assert secret({"properties": {"pin": {"type": "string", "format": "password"}}})
    assert secret({"properties": {"pin": {"writeOnly": True}}})
    assert not secret({"properties": {"pin": {"type": "string"}}}) and not secret({})
