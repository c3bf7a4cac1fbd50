"""The Replay screen over a real console, a recorded session and live servers, through the real guard."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, PARTIAL, console_of, replayed, well_formed
from flask.testing import FlaskClient
from markupsafe import escape
from werkzeug.datastructures import MultiDict
from werkzeug.test import TestResponse

from inspector.catalog import jsontext
from inspector.console.calls import read_arguments
from inspector.console.console import Console
from inspector.console.replays import Replay
from inspector.replay.aligned import Aligned, ChangeText, Ref
from inspector.replay.compare import Ignore, question
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.web.replay_pairs import beside, laid, marked, report_markdown, window
from inspector.web.replay_query import Asked, Query, Rules

VERSIONED = Path(__file__).resolve().parents[1] / "servers" / "versioned.py"
POSTED = {"Origin": ORIGIN}
BIG = "12345678901234567890123"
WAIT_S = 30.0
PLAIN = Ignore(())
HOSTILE = '<img src=x onerror="alert(1)">\u202e'


class Site:
    """A console whose session 1 holds what version 1 answered, with `one` and `two` (version 2) connected now."""

    def __init__(self, console: Console, client: FlaskClient, keys: dict[str, str]) -> None:
        self.console, self.client, self.keys = console, client, keys

    def get(self, path: str, **query: Any) -> TestResponse:
        return self.client.get(path, query_string=query, base_url=ORIGIN)

    def part(self, path: str, **query: Any) -> TestResponse:
        return self.client.get(path, query_string=query, base_url=ORIGIN, headers=PARTIAL)

    def post(self, path: str, _part: bool = False, **form: Any) -> TestResponse:
        headers = POSTED | (PARTIAL if _part else {})
        return self.client.post(path, data=MultiDict(form), base_url=ORIGIN, headers=headers)

    def seqs(self, session: int = 1) -> dict[str, int]:
        """By method or tool: the seq of its last request."""
        with self.console.store() as store:
            rows = store.page(session, Filter(t=frozenset({"rpc"}), kind=frozenset({"request"})), after=0)
        named = [(json.loads(row.raw_head or b"").get("params", {}), row) for row in rows if row.method]
        return {str(params.get("name", row.method)): row.seq for params, row in named}

    def rows(self, **wanted: Any) -> list[Row]:
        """Of the present session, what is committed."""
        assert self.console.recorder.flush(WAIT_S)
        with self.console.store() as store:
            return list(store.page(self.console.recorder.session, Filter(**wanted), after=0, limit=2000))

    def judged(self, path: str, **query: Any) -> str:
        """A page whose pairs are judged by the rules in its address; each try waits for the worker a while."""
        for _ in range(50):
            text = self.get(path, **query).text
            if "Comparing by the new rules" not in text:
                return text
        raise AssertionError("never judged")

    def compared(self, **query: Any) -> str:
        """The page of two recordings once they are read; each look waits for the worker a while."""
        until = time.monotonic() + WAIT_S
        while 'id="wait"' in (text := well_formed(self.get("/replay/diff", **query))):
            assert time.monotonic() < until, text[-3000:]
        return text

    def run(self, *picks: int, to: str = "two", **form: Any) -> Replay:
        """Send these of session 1, and wait until it has ended."""
        chosen = {"session": "1", "pick": ",".join(map(str, picks)), "to": self.keys[to], **form}
        answer = self.post("/replay/run", **chosen)
        assert answer.status_code == 303, answer.text
        replay = self.console.replays.get(answer.headers["Location"].rsplit("/", 1)[1])
        assert replay.ended.wait(WAIT_S)
        return replay


def asked(console: Console, text: bytes) -> bool:
    """Whether a request with these bytes is recorded; each look waits for what was emitted."""
    assert console.recorder.flush(WAIT_S)
    with console.store() as store:
        rows = store.page(console.recorder.session, Filter(dir="c2s", kind=frozenset({"request"})))
    return any(text in (row.raw_head or b"") for row in rows)


def versioned(version: int) -> ServerSpec:
    argv = (sys.executable, str(VERSIONED), str(version))
    return ServerSpec(["", "one", "two"][version], argv=argv, era="handshake", timeouts=Timeouts(call=20.0))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("replay")
    specs = {"one": versioned(1), "two": versioned(2), "both": replayed(folder, "both", [])}
    with console_of(folder / "loupe", specs) as (console, _):
        keys = {server.spec.name: server.key for server in console.servers()}
        console.connect(keys["one"])
        for tool, arguments in (
            ("look", '{"n":1,"x":1.0}'), ("write", "{}"), ("slow", '{"s":"never answered"}'),
            ("look", json.dumps({"t": HOSTILE})),
        ):  # fmt: skip
            call = console.call(keys["one"], tool, arguments)
            if tool == "slow":
                assert any(asked(console, b'"slow"') for _ in range(500))
                call.future.cancel()
            else:
                call.future.result(WAIT_S)
        with pytest.raises(Exception, match="no 1"):
            console.connection(keys["one"]).ask("tools/list", {"cursor": "<none>"})
    with console_of(folder / "loupe", specs) as (console, client):
        for name in ("one", "two"):
            console.connect(keys[name])
        yield Site(console, client, keys)


# --- choosing


def test_each_recorded_request_says_how_it_ended_and_whether_it_can_be_sent(site: Site) -> None:
    text = well_formed(site.get("/replay", session=1, to=site.keys["two"]))
    found = dict(re.findall(r'<tr id="x(\d+)".*?<td class="rp__c"[^>]*>(.*?)</td></tr>', text))
    seqs = site.seqs()
    said = {name: re.sub(r"<.*?>", "", found[str(seq)]).strip() for name, seq in seqs.items()}
    assert said == {
        "initialize": "initialize opens or keeps a connection; a replay goes over one that is open",
        "tools/list": "yes", "look": "yes", "write": "when confirmed", "slow": "yes",
    }  # fmt: skip
    assert "error −32602" in text
    assert HOSTILE not in text
    assert "&lt;img src=x" in text


def test_the_list_is_filtered_by_method_by_text_and_by_how_it_ended(site: Site) -> None:
    def left(**query: Any) -> list[int]:
        return [
            int(seq) for seq in re.findall(r'<tr id="x(\d+)"', site.part("/replay", session=1, **query).text)
        ]

    seqs = site.seqs()
    assert left(method="initialize") == [seqs["initialize"]]
    assert left(q="never answered") == [seqs["slow"]]
    assert left(errors=1) == [seqs["slow"], seqs["tools/list"]]
    assert left(q="nothing like it") == []
    assert "Show every request" in site.part("/replay", session=1, q="nothing like it").text


def test_ticking_all_keeps_the_filter_and_the_address_has_the_choice(site: Site) -> None:
    answer = site.get("/replay", session=1, method="tools/call", all=1)
    seqs = site.seqs()
    picks = Query.read(
        MultiDict([("pick", re.search(r"pick=([\d,]+)", answer.headers["Location"])[1])]), 1
    ).picks  # type: ignore[index]
    assert set(picks) >= {seqs["look"], seqs["write"], seqs["slow"]}
    pushed = site.part("/replay", session=1, pick=[seqs["look"], f"{seqs['write']}"])
    assert f"pick={seqs['look']},{seqs['write']}" in pushed.headers["HX-Push-Url"] or (
        f"pick={seqs['write']},{seqs['look']}" in pushed.headers["HX-Push-Url"]
    )


def test_another_recording_takes_no_numbers_of_this_one_along(site: Site) -> None:
    asked = Query.read(
        MultiDict({"session": "2", "was": "1", "pick": "3,4", "e": "3", "edit": "3.0123456789ab"}), 2
    )
    assert (asked.picks, asked.edits, asked.e) == ((), (), None)


# --- editing


def test_params_that_are_no_json_are_said_with_what_was_typed(site: Site) -> None:
    seq = site.seqs()["look"]
    answer = site.post("/replay/params", True, session=1, e=seq, params='{"name": ')
    assert answer.status_code == 422
    assert "The params are not JSON" in answer.text
    assert str(escape('{"name": ')) in answer.text
    edit = re.search(r"edit=(\d+\.[0-9a-f]{12})", answer.headers["HX-Push-Url"])
    assert edit is not None
    again = site.part("/replay", session=1, e=seq, pick=seq, to=site.keys["two"], edit=edit[1])
    assert str(escape('{"name": ')) in again.text  # what was typed outlives a reload
    sent = site.post("/replay/run", session=1, pick=seq, to=site.keys["two"], edit=edit[1])
    assert (sent.status_code, f"The params of #{seq} are no JSON object." in sent.text) == (422, True)
    ran = site.post("/replay/run", session=1, e=seq, pick=seq, to=site.keys["two"], typed="[1")
    assert ran.status_code == 422
    assert "The params are not JSON" in ran.text


def test_edited_params_are_sent_digit_for_digit(site: Site) -> None:
    seq = site.seqs()["look"]
    typed = f'{{ "name": "look", "arguments": {{"n": {BIG}, "x": 1.50, "e": 1E+2}} }}'
    kept = site.post("/replay/params", True, session=1, e=seq, params=typed)
    edit = re.search(r"edit=(\d+\.[0-9a-f]{12})", kept.headers["HX-Push-Url"])
    assert edit is not None
    assert f"&#34;n&#34;: {BIG}" in kept.text
    replay = site.run(seq, edit=edit[1])
    (item,) = replay.items
    assert item.pair.b is not None
    with site.console.store() as store:
        raw = store.raw(site.console.recorder.session, item.pair.b.seq) or b""
    assert raw.endswith(b'"params":{"name":"look","arguments":{"n":%s,"x":1.50,"e":1E+2}}}' % BIG.encode())
    notes = [row.body["text"] for row in site.rows(t=frozenset({"note"})) if row.pair == item.pair.b.seq]
    assert len(notes) == 1
    assert re.fullmatch(rf"Replay of event {seq} of session 1 \(.*\), with other params", notes[0])
    again = site.post("/replay/params", True, session=1, e=seq, edit=edit[1], reset=1)
    assert "edit=" not in again.headers["HX-Push-Url"]


def test_an_edit_that_is_no_longer_known_is_said_and_nothing_is_sent(site: Site) -> None:
    seq, before = site.seqs()["look"], len(site.console.replays.recent())
    answer = site.post("/replay/run", session=1, pick=seq, to=site.keys["two"], edit=f"{seq}.0123456789ab")
    assert answer.status_code == 422
    assert f"The edited params of #{seq} are gone" in answer.text
    assert len(site.console.replays.recent()) == before


def test_params_that_break_the_targets_schema_are_said_and_redacted_ones_refused(site: Site) -> None:
    seq = site.seqs()["look"]
    kept = site.post(
        "/replay/params", True, session=1, e=seq, to=site.keys["two"],
        params='{"name":"look","arguments":{"key":"[redacted:R2:1]"}}',
    )  # fmt: skip
    assert "Its params hold redacted values, which no server knows." in kept.text
    assert "Put the values back" in kept.text
    broken = site.post(
        "/replay/params", True, session=1, e=seq, to=site.keys["two"], params='{"name":"look","arguments":[]}'
    )
    assert (
        "breaks the target&#39;s inputSchema" in broken.text
        or "breaks the target's inputSchema" in broken.text
    )


# --- sending


def test_a_run_gives_each_exchange_its_verdict_and_links_both_ways(site: Site) -> None:
    seqs = site.seqs()
    picks = (seqs["initialize"], seqs["write"], seqs["look"])
    replay = site.run(*picks)
    assert [item.pair.verdict for item in replay.items] == ["refused", "refused", "same"]
    assert "confirm to run it again" in replay.items[1].why
    page = well_formed(site.get(f"/replay/runs/{replay.id}", e=2))
    assert "refused 2" in re.sub(r"<.*?>", "", page)
    assert f"session=1&amp;e={seqs['look']}" in page
    sent = replay.items[2].pair.b
    assert sent is not None and sent.answer is not None and sent.size is not None
    event = well_formed(site.part(f"/timeline/event/{sent.seq}"))
    assert f"/timeline?session=1&amp;e={seqs['look']}" in event
    frames = site.rows(cause="replay", t=frozenset({"rpc"}))
    assert {row.op for row in frames if row.seq in (sent.seq, sent.answer)} == {f"replay-1-{seqs['look']}"}


def test_what_is_not_read_only_runs_when_confirmed(site: Site) -> None:
    write = site.seqs()["write"]
    chosen = {"session": 1, "pick": write, "to": site.keys["two"]}
    refused = site.post("/replay/run", **chosen)
    assert refused.status_code == 422
    assert "All that is chosen may change something" in refused.text
    (item,) = site.run(write, confirmed=1).items
    assert (item.pair.verdict, item.pair.changes) == ("changed", 1)


def test_ids_and_times_count_only_when_asked_and_the_verdict_follows_the_rules(site: Site) -> None:
    replay = site.run(site.seqs()["write"], confirmed=1)
    here = f"/replay/runs/{replay.id}"
    other = site.judged(here, ignore="/result/version")
    assert "same 1" in re.sub(r"<.*?>", "", other)
    strict = site.judged(here, ignore="/result/_meta", count=1, e=0)
    assert "changed 1" in re.sub(r"<.*?>", "", strict)
    assert "2 places" in strict
    wrong = well_formed(site.get(here, ignore="result/x"))
    assert "result/x is no JSON pointer" in wrong


def test_a_form_sent_twice_runs_once_and_run_again_runs_again(site: Site) -> None:
    seq = site.seqs()["look"]
    first, second = (site.run(seq, token="0123") for _ in range(2))
    assert first is second
    answer = site.post(f"/replay/runs/{first.id}/again", token="x")
    again = site.console.replays.get(answer.headers["Location"].rsplit("/", 1)[1])
    assert again.ended.wait(WAIT_S)
    assert again is not first
    assert [item.planned for item in again.items] == [item.planned for item in first.items]


def test_a_run_can_be_cancelled_and_the_server_is_told(site: Site) -> None:
    seqs = site.seqs()
    chosen = {"session": 1, "pick": f"{seqs['slow']},{seqs['look']}", "to": site.keys["two"]}
    begun = site.post("/replay/run", **chosen)
    here = begun.headers["Location"]
    replay = site.console.replays.get(here.rsplit("/", 1)[1])
    op = f"replay-1-{seqs['slow']}"
    assert any(op in [row.op for row in site.rows(cause="replay")] for _ in range(500))
    shown = well_formed(site.get(here))
    assert "of 2" in shown and "/cancel" in shown
    site.post(f"{here}/cancel")
    assert replay.ended.wait(WAIT_S)
    verdicts = {item.planned.seq: item.pair.verdict for item in replay.items}
    assert verdicts[seqs["slow"]] == "cancelled"
    for _ in range(500):  # it is sent after the waiting is over
        told = [row for row in site.rows(method="notifications/cancelled") if row.cause == "replay"]
        if told:
            break
    assert len(told) == 1
    assert "Cancelled after" in site.get(here).text
    poll = site.part(here, poll=1).text
    assert poll.count("<hx-partial") == 3


def test_another_era_gets_a_connection_of_its_own_which_is_closed_again(site: Site) -> None:
    site.console.connect(site.keys["both"])
    connection = site.console.connection(site.keys["both"])
    assert connection.peer is not None and connection.peer.era == "modern"
    replay = site.run(site.seqs()["tools/list"], to="both", era="handshake")
    assert (replay.era, replay.problem) == ("handshake", None)
    sent = [
        row for row in site.rows(cause="replay", t=frozenset({"rpc"})) if row.op and row.c != connection.c
    ][-1]
    ended = [row for row in site.rows(c=(sent.c,), t=frozenset({"proc"})) if row.body.get("what") == "exited"]
    assert len(ended) == 1
    assert site.console.connection(site.keys["both"]) is connection


def test_a_server_that_is_not_connected_is_said_with_the_way_out(site: Site) -> None:
    site.console.disconnect(site.keys["both"])
    text = site.get("/replay", session=1, to=site.keys["both"], pick=site.seqs()["look"]).text
    assert "both is not connected." in text
    answer = site.post("/replay/run", session=1, pick=site.seqs()["look"], to=site.keys["both"])
    assert (answer.status_code, "Connect it on the Servers screen" in answer.text) == (422, True)


def test_a_run_is_exported_as_json_and_markdown(site: Site) -> None:
    replay = site.run(site.seqs()["initialize"], site.seqs()["write"], confirmed=1)
    document = site.get(f"/replay/runs/{replay.id}/report.json").json
    assert document is not None
    assert document["summary"] == {"changed": 1, "refused": 1}
    assert [one["verdict"] for one in document["exchanges"]] == ["refused", "changed"]
    assert document["exchanges"][0]["why"].startswith("initialize opens")
    assert document["exchanges"][1]["a"]["session"] == 1
    text = site.get(f"/replay/runs/{replay.id}/report.md")
    assert text.content_type == "text/markdown; charset=utf-8"
    assert "- **changed** `tools/call` `write`" in text.text


def test_an_unknown_run_and_an_unknown_recording_are_one_sentence(site: Site) -> None:
    assert "There is no replay replay-999 any more." in site.get("/replay/runs/replay-999").text
    assert "There is no recorded session 99." in site.get("/replay", session=99).text


# --- two recordings


def test_two_recordings_are_aligned_filtered_and_exported(site: Site) -> None:
    site.run(site.seqs()["write"], confirmed=1)
    session = site.console.recorder.session
    text = site.compared(a=1, b=session)
    assert re.search(r"same \d+", re.sub(r"<.*?>", "", text))
    only = site.part("/replay/diff", a=1, b=session, verdict="same").text
    assert set(re.findall(r'title="nothing that counts differs">.*?<span>(\w+)', only)) == {"same"}
    document = site.get("/replay/diff/report.json", a=1, b=session).json
    assert document is not None
    assert sum(document["summary"].values()) == len(document["exchanges"])
    write = next(one for one in document["exchanges"] if one["name"] == "write")
    assert write["changes"] == [{"path": "/result/version", "kind": "changed", "before": 1, "after": 2}]
    pane = site.compared(a=1, b=session, q="write", e=document["exchanges"].index(write))
    assert "/result/version" in pane


def test_a_recording_against_itself_is_the_same_but_for_what_was_never_answered(site: Site) -> None:
    document = site.get("/replay/diff/report.json", a=1, b=1).json
    assert document is not None
    assert document["summary"].keys() == {"same", "unanswered"}
    assert [one["name"] for one in document["exchanges"] if one["verdict"] == "unanswered"] == ["slow"]


@pytest.mark.parametrize(
    ("query", "said"),
    [({"a": "77"}, "There is no such recording."), ({"a": "1.9"}, "Session 1 has no connection 9."),
     ({}, "Choose two recordings")],
)  # fmt: skip
def test_a_side_that_is_none_is_said(site: Site, query: dict[str, str], said: str) -> None:
    assert said in well_formed(site.get("/replay/diff", **query))


# --- in its server's place


def test_the_command_of_the_stand_in_page_serves_the_recording(site: Site) -> None:
    page = well_formed(site.get("/replay/stand-in", session=1))
    command = html.unescape(re.search(r'id="command"[^>]*>(.*?)</pre>', page, re.S)[1])  # type: ignore[index]
    config = json.loads(html.unescape(re.search(r'id="config"[^>]*>(.*?)</pre>', page, re.S)[1]))  # type: ignore[index]
    (entry,) = config["mcpServers"].values()
    assert [entry["command"], *entry["args"]] == shlex.split(command)
    asked = b'{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"look","arguments":{"x":1,"n":1}}}\n'
    done = subprocess.run(shlex.split(command), input=asked, capture_output=True, timeout=60, check=True)
    answer = json.loads(done.stdout)
    assert answer["id"] == "mine"
    assert answer["result"]["content"][0]["text"].startswith("run 00000001-1111-2222-3333-444455556666")
    http = site.get(
        "/replay/stand-in", session=1, transport="http", port="8123", ignore="/params/arguments/n"
    ).text
    assert "--http 8123 --ignore /params/arguments/n" in http
    assert "http://127.0.0.1:8123/mcp" in http
    assert "99999 is no port" in site.get("/replay/stand-in", session=1, transport="http", port="99999").text


# --- the views, without a browser


def test_the_rules_of_an_address_are_the_defaults_what_is_written_or_nothing() -> None:
    assert Rules.read(MultiDict()).pairs() == []
    assert Rules.read(MultiDict({"ignore": "", "count": "1"})).pairs() == [("ignore", ""), ("count", "1")]
    assert Rules.read(MultiDict({"ignore": "/result/a\r\n\n /error "})).lines == ("/result/a", "/error")


def test_rows_are_a_window_of_a_hundred_and_an_odd_address_begins_at_the_beginning() -> None:
    ref = Ref(1, 1, 2, 10, 1.0, "ok")
    pairs = [Aligned("tools/call", f"t{n}", "same", ref, ref) for n in range(250)]
    seen = window(pairs, Asked(at=100))
    assert (seen.lines[0].index, len(seen.lines), seen.before, seen.after) == (100, 100, 0, 200)
    assert window(pairs, Asked(at=9999)).lines[0].index == 0
    assert [line.index for line in window(pairs, Asked(q="T24 call")).lines] == [24, *range(240, 250)]


def test_a_text_of_several_lines_inside_a_string_is_compared_line_by_line() -> None:
    long = "x" * 80
    assert laid(f'{{"t":"{long}\\nb\\\\n"}}') == ["{", f'  "t": "{long}\\n', 'b\\\\n"', "}"]
    found = beside(f'{{"t":"{long}\\nold\\nend"}}', f'{{"t":"{long}\\nnew\\nend"}}')
    assert [line.sign for line in found.lines] == [" ", " ", "~", " ", " "]
    assert str(found.lines[2].left) == "<del>old</del>\\n"


def test_values_of_a_change_are_safe_and_marked() -> None:
    old, new = marked(ChangeText("/result", "changed", "<b> same", "<i> same"))
    assert "<b>" not in f"{old}{new}"
    assert "<del>b</del>" in str(old)


def test_a_markdown_report_escapes_what_servers_say() -> None:
    text = report_markdown({
        "title": "<script>", "about": {"a": "[x](http://h)"}, "summary": {},
        "exchanges": [{"verdict": "same", "method": "m`", "name": "n\n# no", "changes": []}],
    })  # fmt: skip
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "\n# no" not in text
    assert "](" not in text.replace("\\](", "")


def test_deep_wide_and_hidden_characters_make_no_endless_page() -> None:
    deep = "[" * 900 + "]" * 900
    hidden = json.dumps(["a\u202e" * 700] * 200, ensure_ascii=False)
    for text in (deep, hidden):
        found = beside(text, text.replace("]", ",1]", 1) if text is deep else None)
        assert sum(len(line.left or "") + len(line.right or "") for line in found.lines) <= 120_000
    assert found.problem.startswith("Only the first")


def test_integers_past_pythons_limit_are_told_apart() -> None:
    one, two = (jsontext.loads('{"n":%s}' % (digit * 5000)) for digit in "78")
    assert question("tools/call", one, PLAIN) != question("tools/call", two, PLAIN)
    assert question("tools/call", one, PLAIN) == question("tools/call", dict(one), PLAIN)
    assert str(read_arguments('{"n":%s}' % ("9" * 5000))).count("9") == 5000
