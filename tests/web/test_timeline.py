"""The timeline over a real recording: pages, filters, one event, earlier recordings, what a socket missed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import well_formed
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.settings.targets import demo_spec
from inspector.trace.recorder import Recorder
from inspector.web import follow
from inspector.web.app import create_app
from inspector.web.follow import Owners
from inspector.web.guard import Guard
from inspector.web.palette import Option, rank_of
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

PORT = 6280


class Page:
    """The console in a browser that is signed in."""

    def __init__(self, console: Console) -> None:
        guard = Guard(PORT)
        self.console = console
        self.app = create_app(console, guard)
        self.client: FlaskClient = self.app.test_client()
        self.ask(f"/login?token={guard.mint()}")

    def ask(self, path: str, *, part: bool = False) -> TestResponse:
        headers = {"HX-Request-Type": "partial"} if part else {}
        return self.client.get(path, base_url=f"http://127.0.0.1:{PORT}", headers=headers)

    def get(self, path: str, *, part: bool = False) -> str:
        """The HTML at `path`, which must nest."""
        answer = self.ask(path, part=part)
        assert answer.status_code == 200, answer.text
        return well_formed(answer)

    def emit(self, *events: Event) -> int:
        """Record events; the seq of the last."""
        seqs = [self.console.journal.emit(event) for event in events]
        assert self.console.recorder.flush(20)
        return seqs[-1]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with Console(Paths.locate(tmp_path)) as console:
        yield Page(console)


def seqs(html: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<tr class="frame [^>]* id="e(\d+)"', html)]


def connected(c: int, key: str = "billing") -> Event:
    return Event(
        "connection", c, LOCAL, {"label": key, "server_key": key, "transport": "stdio", "era": "modern"}
    )


def line(text: str, c: int = 1) -> Event:
    return Event("stderr", c, S2C, raw=text.encode())


def asked(id: str, c: int = 1, name: str = "get") -> Event:
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": int(id), "method": "tools/call", "params": {"name": name}}
    ).encode()
    return Event("rpc", c, C2S, {}, raw, "request", "tools/call", id, cause="user")


def refused(id: str, c: int = 1) -> Event:
    error = {"code": -32602, "message": "Unknown tool: <b>x</b>"}
    raw = json.dumps({"jsonrpc": "2.0", "id": int(id), "error": error}).encode()
    return Event("rpc", c, S2C, {}, raw, "error", id=id)


def test_an_empty_recording_says_what_to_do_next(page: Page) -> None:
    assert "Nothing here yet" in page.get("/timeline")


def test_the_newest_rows_come_oldest_first_and_are_followed(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}") for n in range(249)])
    html = page.get("/timeline")
    assert seqs(html) == list(range(51, 251))
    assert "/live?view=full" in html
    assert "after=250" in html
    assert "before=51" in html


def test_a_page_shows_what_happened_before_it_was_asked_for(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link to a frame is there before the frame is committed."""
    recorder = page.console.recorder
    flush, held, go_on = recorder.flush, threading.Event(), threading.Event()

    def work(_db: object) -> None:
        held.set()
        assert go_on.wait(20)

    def flushed(timeout: float) -> bool:
        go_on.set()
        return flush(20)

    monkeypatch.setattr(recorder, "flush", flushed)
    writer = threading.Thread(target=recorder.write, args=(work, 20))
    writer.start()
    try:
        assert held.wait(20)
        seqs_of = [page.console.journal.emit(event) for event in (connected(1), line("a"))]
        assert "#2" in page.get("/timeline/event/2", part=True)
        assert seqs(page.get("/timeline")) == seqs_of == [1, 2]
    finally:
        go_on.set()
        writer.join(20)


def test_a_page_further_back_is_not_followed_and_leads_both_ways(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}") for n in range(449)])
    html = page.get("/timeline?before=251")
    assert seqs(html) == list(range(51, 251))
    assert "hx-ws:connect" not in html
    assert "before=51" in html
    assert "after=250" in html


def test_an_event_far_back_opens_in_the_middle_of_its_rows(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}") for n in range(599)])
    html = page.get("/timeline?e=300")
    assert seqs(html) == list(range(201, 401))
    assert 'frame--on" id="e300"' in html
    assert "#300" in html


def test_more_rows_come_as_a_part_with_the_next_step_above(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}") for n in range(499)])
    html = page.get("/rows?view=full&before=301&t0=1&span=1000", part=True)
    assert seqs(html) == list(range(101, 301))
    assert html.index("before=101") < html.index('id="e101"')


def test_more_rows_without_script_are_a_whole_page(page: Page) -> None:
    answer = page.ask("/rows?view=full&before=301&server=a")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/timeline?server=a&before=301")


def test_one_server_shows_only_what_is_its_own(page: Page) -> None:
    page.emit(connected(1), connected(2, "other"), line("a", 1), line("b", 2))
    assert seqs(page.get("/timeline?server=billing")) == [1, 3]
    assert seqs(page.get("/timeline?server=nobody")) == []
    everything = page.get("/timeline")
    assert seqs(everything) == [1, 2, 3, 4]
    assert '<span class="sq">B</span>' in everything
    assert '<span class="sq sq--t">O</span>' in everything


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=stderr", [4]),
        ("kind=frames&kind=process", [1, 2, 3, 5]),
        ("dir=c2s", [2, 5]),
        ("method=CALL", [2, 3, 5]),
        ("q=unknown+tool", [3]),
        ("errors=1", [3]),
        ("cause=user", [2, 3, 5]),
        ("errors=1&kind=stderr", []),
    ],
)
def test_filters_narrow_the_list(page: Page, query: str, expected: list[int]) -> None:
    page.emit(connected(1), asked("1"), refused("1"), line("note"), asked("2"))
    html = page.get(f"/timeline?{query}")
    assert seqs(html) == expected
    assert ("No event passes this filter" in html) is (not expected)


def test_an_error_is_explained_in_place_with_the_servers_text_escaped(page: Page) -> None:
    page.emit(connected(1), asked("1"), refused("1"))
    html = page.get("/timeline?e=3", part=True)
    assert html.lstrip().startswith("<section")
    assert '<span class="code">−32602</span> Invalid params' in html
    assert "Unknown tool: &lt;b&gt;x&lt;/b&gt;" in html
    assert "/codes#invalid-params" in html
    assert "answer to #2" in html


@pytest.mark.parametrize("tab", ["explain", "raw", "pretty", "pair"])
def test_every_tab_of_a_frame_is_a_page_and_a_part(page: Page, tab: str) -> None:
    page.emit(connected(1), asked("1"), refused("1"))
    assert f'id="tab-{tab}"' in page.get(f"/timeline?e=2&tab={tab}", part=True)
    whole = page.get(f"/timeline?e=2&tab={tab}")
    assert (f'tab--on" id="tab-{tab}"' in whole, seqs(whole)) == (True, [1, 2, 3])


def test_the_download_is_the_exact_bytes(page: Page) -> None:
    raw = b'\xef\xbb\xbf{"a":\xff}\r'
    seq = page.emit(connected(1), Event("noise", 1, S2C, {"why": "invalid UTF-8 at byte 8"}, raw))
    answer = page.ask(f"/timeline/event/{seq}/raw")
    assert answer.data == raw
    assert answer.headers["Content-Disposition"] == f'attachment; filename="event-1-{seq}.bin"'
    shown = page.get(f"/timeline?e={seq}&tab=raw", part=True)
    assert "00000000  ef bb bf 7b 22 61 22 3a ff 7d 0d" in shown
    assert page.ask("/timeline/event/1/raw").status_code == 422


def test_a_large_frame_is_folded_and_links_to_all_of_it(page: Page) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"y" * 700_000 + b'"}}'
    seq = page.emit(connected(1), Event("rpc", 1, S2C, {}, raw, "result", id="1"))
    shown = page.get(f"/timeline?e={seq}&tab=raw", part=True)
    assert len(shown) < 100_000
    assert f"/timeline/event/{seq}/raw" in shown
    assert "Too large to lay out here" in page.get(f"/timeline?e={seq}&tab=pretty", part=True)


def test_secrets_of_http_are_on_no_tab(page: Page) -> None:
    headers = [["Authorization", "Bearer hunter2"], ["Mcp-Session-Id", "s" * 40]]
    body = {
        "phase": "request",
        "method": "POST",
        "url": "http://u:hunter2@h/mcp?key=hunter2",
        "headers": headers,
    }
    seq = page.emit(connected(1), Event("http", 1, C2S, body))
    answer = {"phase": "response", "status": 200, "reason": "OK", "headers": [["Set-Cookie", "hunter2"]]}
    page.emit(Event("http", 1, S2C, answer, pair=seq), Event("rpc", 1, C2S, {"http": seq}, b"{}", "request"))
    for number in (seq, seq + 1, seq + 2):
        for tab in ("explain", "raw", "pretty", "pair", "headers"):
            assert "hunter2" not in page.get(f"/timeline?e={number}&tab={tab}", part=True)
    shown = page.get(f"/timeline?e={seq}&tab=headers", part=True)
    assert "•••• (14 characters)" in shown
    assert "ssssssss… (40 characters)" in shown


def test_a_dead_process_shows_the_last_stderr_lines_before_it(page: Page) -> None:
    ended = Event("proc", 1, LOCAL, {"what": "exited", "pid": 9, "signal": "SIGSEGV"})
    seq = page.emit(
        connected(1), line("loading"), line("other server", 2), line("\x1b[31mboom\x1b[0m"), ended
    )
    html = page.get(f"/timeline?e={seq}", part=True)
    assert "SIGSEGV" in html
    assert "loading" in html
    assert '<span class="an-1">boom</span>' in html
    assert "other server" not in html


def test_an_event_that_is_not_there_is_a_sentence(page: Page) -> None:
    answer = page.ask("/timeline?e=99", part=True)
    assert (answer.status_code, "There is no event #99" in answer.text) == (422, True)


def test_the_next_error_is_found_and_the_search_begins_again(page: Page) -> None:
    page.emit(connected(1), asked("1"), refused("1"), line("x"))
    assert page.ask("/timeline/error?after=1").headers["Location"] == "/timeline?e=3"
    assert page.ask("/timeline/error?after=4").headers["Location"] == "/timeline?e=3"
    assert page.ask("/timeline/error?after=4&kind=stderr").headers["Location"] == "/timeline?kind=stderr"


def test_a_list_answer_shows_its_count_however_long_it_is(page: Page) -> None:
    tools = [{"name": f"t{n}", "description": "d" * 100} for n in range(100)]
    ask = Event(
        "rpc", 1, C2S, {}, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "request", "tools/list", "1"
    )
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "ttlMs": 5}}).encode()
    page.emit(connected(1), ask, Event("rpc", 1, S2C, {}, raw, "result", id="1"))
    assert "100 tools · ttlMs 5 · no cacheScope" in page.get("/timeline")


def test_a_recording_that_was_killed_says_how_far_it_goes(tmp_path: Path) -> None:
    paths = Paths.locate(tmp_path).ensure()
    journal = Journal()
    recorder = Recorder(paths.database, journal, title="crash", tool_version="0")
    journal.emit(connected(1))
    journal.emit(line("last words"))
    assert recorder.flush(20)
    try:
        with Console(paths) as console:
            page = Page(console)
            html = page.get("/timeline?session=1")
            assert "Recording 1 was not closed cleanly (killed): complete up to #2." in html
            assert (seqs(html), "hx-ws:connect" in html) == ([1, 2], False)
            assert "last words" in html
            assert seqs(page.get("/timeline")) == []
            assert page.ask("/timeline?session=9").status_code == 422
    finally:
        recorder.close()


def test_what_a_socket_was_not_told_comes_from_the_store_as_the_page_filters_it(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}", 1 + n % 2) for n in range(300)])
    with page.app.test_request_context("/live?view=full&kind=stderr&q=n29"):
        from flask import request

        shown = follow.newest(request.args, 100)
        html = follow.render_rows(shown, request.args)
    assert [row.seq for row in shown] == [31, *range(292, 302)]
    assert seqs(html) == [31, *range(292, 302)]


def test_the_row_above_leads_to_what_was_not_drawn(page: Page) -> None:
    page.emit(connected(1), *[line(f"n{n}") for n in range(1199)])
    with page.app.test_request_context("/live?view=full&t0=1&span=1000&kind=stderr"):
        from flask import request

        html = follow.render_older(request.args, 1101, 1040)
        nothing = follow.render_older(request.args, 1, 0)
    assert "older events · 1,040 came too fast to draw, all are recorded" in html
    assert nothing == ""
    found = re.search(r'hx-get="(/rows\?[^"]*before=1101[^"]*)"', html)
    assert found is not None
    assert seqs(page.get(found[1].replace("&amp;", "&"), part=True)) == list(range(901, 1101))
    whole = re.search(r'href="(/timeline\?[^"]*before=1101[^"]*)"', html)
    assert whole is not None
    assert seqs(page.get(whole[1].replace("&amp;", "&"))) == list(range(901, 1101))


def test_the_pinned_column_leads_to_the_timeline_when_it_could_not_keep_up(page: Page) -> None:
    with page.app.test_request_context("/live?view=mini"):
        from flask import request

        html = follow.render_older(request.args, 500, 40)
        assert follow.render_older(request.args, 500, 0) == ""
    assert 'href="/timeline?before=500"' in html
    assert "40 came too fast" in html


def test_a_pushed_row_is_the_row_of_the_page(page: Page) -> None:
    events = [connected(1), asked("1"), refused("1"), line("x")]
    page.emit(*events)
    html = page.get("/timeline?server=billing")
    match = re.search(r'hx-ws:connect="/live\?([^"]*)"', html)
    assert match is not None
    query = match[1].replace("&amp;", "&")
    with page.app.test_request_context(f"/live?{query}"):
        from flask import request

        session = page.console.recorder.session
        pushed = follow.render_rows([follow.stored_of(event, session) for event in events], request.args)
    shown = re.findall(r"<tr class=\"frame .*?</tr>", html, re.DOTALL)
    assert re.findall(r"<tr class=\"frame .*?</tr>", pushed, re.DOTALL) == shown


def test_a_new_connection_of_a_server_is_known_as_its_own(page: Page) -> None:
    page.emit(connected(1))
    owners = Owners(page.console.store, page.console.recorder.session)
    assert owners.of(1) == "billing"
    page.emit(connected(2), connected(3, "other"))
    assert [owners.of(c) for c in (0, 2, 3, 9)] == [None, "billing", "other", None]


def test_every_error_has_a_section_with_an_anchor(page: Page) -> None:
    html = page.get("/codes")
    assert 'id="invalid-params"' in html
    assert html.count('<section class="exp" id=') == 42


def test_the_palette_finds_tools_and_commands_by_their_words(page: Page) -> None:
    key = page.console.servers_file.add(demo_spec("flat"))
    page.console.connect(key)
    first = page.console.catalogs.known(key, "tools")
    assert first is not None
    name = first.measured.measures[0].name or ""
    html = page.get(f"/palette?q={name}", part=True)
    assert f"/call/{key}?tool={name}" in html
    commands = page.get("/palette?q=flat", part=True)
    assert re.findall(r"<button[^>]*>.*?<span>(\w+) demo:flat</span>", commands) == [
        "Reconnect",
        "Refresh",
        "Disconnect",
    ]
    assert f'action="/catalog/{key}/tools/refresh"' in commands
    assert page.get("/palette?q=", part=True).strip() == ""
    assert "Timeline" in page.get("/palette?q=timeline")


def test_the_palette_takes_letters_in_order_and_puts_the_better_match_first(page: Page) -> None:
    def rank(text: str, label: str, note: str = "") -> int | None:
        return rank_of(text, Option("Tools", label, "", "tool", note))

    assert rank("search", "search_knowledge_base") == 0
    assert rank("base", "search_knowledge_base") == 1
    assert rank("ase", "search_knowledge_base") == 2
    assert rank("demo", "search_knowledge_base", "demo:flat") == 4
    assert rank("skb", "search_knowledge_base") == 8
    assert rank("skb demo", "search_knowledge_base", "demo:flat") == 12
    assert rank("bks", "search_knowledge_base") is None
    assert rank("", "anything") == 0
    found = page.get("/palette?q=codes", part=True)
    assert re.findall(r"<span>([^<]*)</span>", found)[0] == "Error codes"
    everything = page.get("/palette")
    for name in (
        "Finding rules",
        "How long recordings are kept",
        "Diff of two recordings",
        "Stand-in",
        "Evaluate",
    ):
        assert f"<span>{name}</span>" in everything


def test_a_real_server_leaves_rows_of_every_step(page: Page) -> None:
    key = page.console.servers_file.add(demo_spec("flat"))
    page.console.connect(key)
    call: Any = page.console.call(key, "no_such_tool", "{}")
    call.future.result(20)
    assert page.console.recorder.flush(20)
    html = page.get(f"/timeline?server={key}")
    for words in (
        "spawned",
        "server/discover",
        "tools/list",
        "tools listed",
        "tools/call no_such_tool",
        "−32602",
    ):
        assert words in html, words


def test_a_server_that_did_nothing_in_this_run_leads_to_the_runs_in_which_it_did(tmp_path: Path) -> None:
    with Console(Paths.locate(tmp_path)) as console:
        console.servers_file.add(demo_spec("flat"))
        Page(console).emit(connected(1, "demo-flat"), line("then"))
        first = console.recorder.session
    with Console(Paths.locate(tmp_path)) as console:
        html = Page(console).get("/timeline?server=demo-flat")
        assert "Nothing recorded in this run yet" in html
        assert "No event passes this filter" not in html
        assert f'href="/timeline?server=demo-flat&amp;session={first}"' in html


def test_a_filter_that_hides_everything_says_so(page: Page) -> None:
    page.emit(connected(1), line("a"))
    html = page.get("/timeline?server=billing&q=nowhere")
    assert "No event passes this filter" in html and "Nothing recorded" not in html


def test_next_error_can_only_be_asked_for_when_there_is_one(page: Page) -> None:
    page.emit(connected(1), line("a"))
    html = page.get("/timeline")
    assert 'title="No errors recorded"' in html and "/timeline/error" not in html
    page.emit(asked("1"), refused("1"))
    html = page.get("/timeline")
    assert 'data-do="next-error"' in html and "/timeline/error?after=" in html


def test_a_live_list_is_told_the_counts_of_its_server_when_there_is_something_new(page: Page) -> None:
    page.emit(connected(1), connected(2, "other"), line("a"))
    (asks,) = re.findall(r'hx-get="(/timeline/counts[^"]+)"', page.get("/timeline?server=billing&kind=rpc"))
    asks = asks.replace("&amp;", "&")
    assert page.ask(asks, part=True).status_code == 204
    page.emit(line("b", 2), line("c"), refused("1"))
    told = page.get(asks, part=True)
    counts = dict(re.findall(r'hx-target="#n-([a-z-]+)" hx-swap="innerHTML">([\d,]+)<', told))
    assert counts == {
        "frames": "1", "stderr": "2", "noise": "0", "http": "0", "process": "1", "cache": "0", "errors": "0",
        "errors-only": "1", "mine": "4",
    }  # fmt: skip
    assert 'data-do="next-error"' in told and "disabled" not in told
    (asks,) = re.findall(r'hx-get="(/timeline/counts[^"]+)"', told)
    assert page.ask(asks.replace("&amp;", "&"), part=True).status_code == 204


def test_the_foot_counts_the_events_of_the_server_that_is_shown(page: Page) -> None:
    page.emit(connected(1), connected(2, "other"), line("a"), line("b", 2), line("c"))
    html = page.get("/timeline?server=billing")
    assert "<b data-range>#1–#5</b>" in html and ' id="n-mine">3</span> events of this server<' in html
    assert '<span id="list-total">5</span> events of this recording<' in page.get("/timeline")
