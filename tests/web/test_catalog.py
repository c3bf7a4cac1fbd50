"""The Catalog screen over a real console and real servers, through the real guard."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import (
    ORIGIN,
    PARTIAL,
    WAIT_S,
    Screen,
    console_of,
    counted,
    replayed,
    rows_of,
    well_formed,
)
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import demo_spec
from inspector.wire.events import Event

ODD: list[Any] = [
    {"name": "same", "description": "first", "inputSchema": {"type": "object"}},
    {"name": "same", "description": "second <b>one</b>", "inputSchema": {"type": "object"}},
    {"description": "nameless"},
    {"name": "hid\u202eden", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Console, FlaskClient]]:
    """demo:flat, cache-hints in three pages, and a list with everything wrong; connected."""
    folder = tmp_path_factory.mktemp("catalog")
    hints = demo_spec("cache-hints")
    paged = ServerSpec(
        "hints",
        argv=(*hints.argv, "--ttl", "tools/list=300000,60000", "--scope", "tools/list=public", "--page-size", "20"),
        env=hints.env,
    )  # fmt: skip
    specs = {
        "flat": demo_spec("flat"),
        "hints": paged,
        "odd": replayed(folder, "odd", ODD, ttlMs="60", cacheScope=None),
        "gone": ServerSpec("gone", argv=("/no/such/program",)),
    }
    with console_of(folder / "data", specs) as (console, client):
        for key in ("demo-flat", "hints", "odd"):
            console.connect(key)
        yield console, client


@pytest.fixture
def open_(running: tuple[Console, FlaskClient]) -> Screen:
    """GET a path; `part=True` as htmx asks for a part."""

    def get(path: str, *, part: bool = False, **headers: str) -> TestResponse:
        sent = {**(PARTIAL if part else {}), **headers}
        return running[1].get(path, base_url=ORIGIN, headers=sent)

    return get


@pytest.fixture
def post(running: tuple[Console, FlaskClient]) -> Screen:
    def send(path: str, *, part: bool = False, **form: str) -> TestResponse:
        headers = {"Origin": ORIGIN, **(PARTIAL if part else {})}
        return running[1].post(path, base_url=ORIGIN, headers=headers, data=form)

    return send


@pytest.fixture
def console(running: tuple[Console, FlaskClient]) -> Console:
    return running[0]


# --- the page


NAMES: list[Any] = [
    {"name": "", "inputSchema": {"type": "object"}},
    {"name": " ", "inputSchema": {"type": "object"}},
    {"name": "two\nlines", "inputSchema": {"type": "object"}},
    {"inputSchema": {"type": "object"}},
]


def test_names_of_nothing_are_seen_and_none_is_chosen_and_screens_open_with_a_connected_server(
    tmp_path: Path,
) -> None:
    specs = {
        "gone": ServerSpec("gone", argv=("/no/such/program",)),
        "names": replayed(tmp_path, "names", NAMES),
    }
    with console_of(tmp_path / "data", specs) as (console, client):
        assert client.get("/catalog", base_url=ORIGIN).headers["Location"] == "/catalog/gone/tools"
        console.connect("names")
        assert client.get("/catalog", base_url=ORIGIN).headers["Location"] == "/catalog/names/tools"
        assert client.get("/call", base_url=ORIGIN).headers["Location"] == "/call/names"
        text = well_formed(client.get("/catalog/names/tools?sort=order", base_url=ORIGIN))
        shown = re.findall(r'<td class="mono" title="[^"]*"><a href="[^"]*">(.*?)</a>', text, re.DOTALL)
        assert [re.sub(r"<[^>]+>", "", one) for one in shown] == [
            "(empty name)",
            "“ ”",
            "two↵lines",
            "(no name)",
        ]
        assert 'aria-selected="true"' not in text.split("<tbody")[1].split("</tbody>")[0]
        assert "same name" not in text
        chosen = well_formed(client.get("/catalog/names/tools?tool=0", base_url=ORIGIN))
        assert '<tr id="i0"' in chosen and "(empty name)</h2>" in chosen
        listed = client.get("/call/names", base_url=ORIGIN).text
        assert "<span>(empty name)</span>" in listed and "<span>“ ”</span>" in listed


def test_the_catalog_without_a_server_named_leads_to_the_first(open_: Screen) -> None:
    assert open_("/catalog").headers["Location"] == "/catalog/demo-flat/tools"


def test_the_page_shows_totals_rows_and_the_list_as_received(open_: Screen, console: Console) -> None:
    counted(console, "demo-flat")
    text = well_formed(open_("/catalog/demo-flat/tools"))
    catalog = console.catalogs.known("demo-flat", "tools")
    assert catalog is not None
    assert f"{catalog.measured.wire_bytes:,}<small>B</small>" in text
    assert f"{catalog.measured.definition_bytes:,}<small>B</small>" in text
    assert len(rows_of(text)) == 50
    assert "1 page · 50 tools" in text
    assert "never fresh<p>" in text and "ttlMs 0 · cacheScope" in text
    assert "download the exact bytes" in text


def test_a_part_of_the_page_has_no_frame(open_: Screen) -> None:
    text = well_formed(open_("/catalog/demo-flat/tools", part=True))
    assert "<html" not in text
    assert text.lstrip().startswith('<div class="catalog" id="catalog">')


def test_the_order_and_the_filter_are_in_the_address(open_: Screen) -> None:
    text = open_("/catalog/demo-flat/tools?sort=name&q=invoice").text
    names = rows_of(text)
    assert names == sorted(names)
    assert "create_invoice" in names and "refund_payment" not in names
    assert 'aria-sort="ascending"' in text
    assert 'value="invoice"' in text


def test_enter_in_the_filter_shows_and_does_not_refresh(open_: Screen) -> None:
    text = open_("/catalog/demo-flat/tools").text
    buttons = re.findall(
        r'<button[^>]*form="filter"[^>]*id="(\w+)"|<button[^>]*id="(\w+)"[^>]*form="filter"', text
    )
    assert ["".join(each) for each in buttons] == ["show", "refresh"]


def test_a_filter_that_finds_nothing_says_how_to_clear_it(open_: Screen) -> None:
    text = well_formed(open_("/catalog/demo-flat/tools?q=zebra"))
    assert "No tool has every word of the filter." in text
    assert '<a href="?">Clear the filter</a>' in text


def test_the_list_alone_comes_with_the_address_of_the_page(open_: Screen) -> None:
    answer = open_("/catalog/demo-flat/tools/list?sort=-name&q=list", part=True)
    assert answer.headers["HX-Push-Url"] == "/catalog/demo-flat/tools?sort=-name&q=list"
    names = rows_of(well_formed(answer))
    assert names == sorted(names, reverse=True)


@pytest.mark.parametrize("place", ["detail", "list"])
def test_a_part_opened_as_a_page_leads_to_the_page(open_: Screen, place: str) -> None:
    answer = open_(f"/catalog/demo-flat/tools/{place}?tool=list_invoices")
    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        "/catalog/demo-flat/tools?tool=list_invoices",
    )


def test_an_unknown_list_and_an_unknown_server_are_told(open_: Screen) -> None:
    assert open_("/catalog/demo-flat/colours").status_code == 404
    assert open_("/catalog/nobody/tools").status_code == 422
    assert open_("/catalog/demo-flat/prompts/rows").status_code == 404


# --- one tool


def test_a_tool_in_the_address_is_marked_and_shown(open_: Screen) -> None:
    text = well_formed(open_("/catalog/demo-flat/tools?tool=list_invoices"))
    assert re.search(
        r'<tr id="i\d+" data-href="\?tool=list_invoices" [^>]*class="on" aria-selected="true"', text
    )
    assert 'class="tm__c tm__c--on" data-to="?tool=list_invoices"' in text
    assert 'href="/call/demo-flat?tool=list_invoices#call-form"' in text
    assert "codebox--cost" in text


@pytest.mark.parametrize("view", ["pretty", "raw", "anthropic", "openai", "gemini", "parts"])
def test_every_view_of_a_tool_comes_as_a_part(open_: Screen, console: Console, view: str) -> None:
    counted(console, "demo-flat")
    answer = open_(f"/catalog/demo-flat/tools/detail?tool=list_invoices&view={view}", part=True)
    text = well_formed(answer)
    assert f'id="tab-{view}"' in text
    wanted = (
        "parametersJsonSchema"
        if view == "gemini"
        else "tokens sent"
        if view in ("anthropic", "openai")
        else ""
    )
    assert wanted in text


def test_the_raw_view_is_exactly_what_the_server_sent(open_: Screen, console: Console) -> None:
    catalog = console.catalogs.known("demo-flat", "tools")
    assert catalog is not None
    text = open_("/catalog/demo-flat/tools/detail?tool=list_invoices&view=raw", part=True).text
    item = next(each for each in catalog.snapshot.listing().items if each.name == "list_invoices")
    shown = re.search(r'id="raw" tabindex="0">(.*?)</pre>', text, re.DOTALL)
    assert shown is not None
    assert (
        shown[1].replace("&#34;", '"').replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
        == item.raw
    )


def test_choosing_a_tool_moves_the_mark_of_the_treemap_but_another_view_does_not(open_: Screen) -> None:
    path = "/catalog/demo-flat/tools/detail?tool=list_invoices"
    assert 'hx-target="#tm"' in open_(path, part=True, **{"HX-Source": "tr#i2"}).text
    assert 'hx-target="#tm"' not in open_(path, part=True, **{"HX-Source": "a#tab-raw"}).text


def test_items_of_one_name_are_told_apart(open_: Screen) -> None:
    text = well_formed(open_("/catalog/odd/tools?tool=1"))
    assert 'data-href="?tool=0"' in text and 'data-href="?tool=1"' in text
    assert "2 items have this name" in text
    assert "second &lt;b&gt;one&lt;/b&gt;" in text


def test_a_broken_item_is_listed_with_its_raw_json_and_the_reason(open_: Screen) -> None:
    text = well_formed(open_("/catalog/odd/tools?tool=2&view=gemini"))
    assert "Cannot be used as sent: name is missing." in text
    assert "{&#34;description&#34;:&#34;nameless&#34;}" in text
    assert "/call/odd?tool" not in text


def test_hidden_characters_of_a_name_are_shown(open_: Screen) -> None:
    text = open_("/catalog/odd/tools?tool=3").text
    assert "\u202e" not in text
    assert '<span class="mk" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in text
    assert "destructiveHint true" in text


# --- tokens


def test_another_provider_and_model_are_in_the_address(open_: Screen, console: Console) -> None:
    counted(console, "demo-flat")
    text = open_("/catalog/demo-flat/tools?provider=openai&model=gemini-2.5-pro").text
    assert '<option value="openai" selected>' in text
    assert '<option value="gemini-2.5-pro" selected>' in text
    assert "% of 1,048,576" in text
    assert "o200k · " in text


def test_nothing_new_is_answered_with_nothing(open_: Screen, console: Console) -> None:
    counted(console, "demo-flat")
    text = open_("/catalog/demo-flat/tools").text
    watch = re.search(r'id="watch" hx-get="(tools/tokens[^"]*)"', text)
    assert watch is not None
    assert open_(f"/catalog/demo-flat/{watch[1]}", part=True).status_code == 204


def test_tokens_that_have_come_replace_their_places(open_: Screen, console: Console) -> None:
    counted(console, "demo-flat")
    catalog = console.catalogs.known("demo-flat", "tools")
    assert catalog is not None
    before = f"connected.{catalog.listed_at_us}.00.0"
    answer = open_(f"/catalog/demo-flat/tools/tokens?seen={before}", part=True)
    assert answer.headers["HX-Trigger"] == "tokens-ready"
    assert 'id="m-tokens"' in well_formed(answer)


def test_another_listing_replaces_the_screen(open_: Screen) -> None:
    answer = open_("/catalog/demo-flat/tools/tokens?seen=connecting.0.00.0", part=True)
    assert (answer.headers["HX-Retarget"], answer.headers["HX-Reswap"]) == ("#catalog", "outerHTML")
    assert len(rows_of(well_formed(answer))) == 50


SLOW = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "cursor" in asked.get("params", {}):
        open(sys.argv[1]).read()
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    one = {"tools": [{"name": "one", "inputSchema": {"type": "object"}}], "nextCursor": "2"}
    results = {"initialize": hello, "tools/list": {"tools": []} if "cursor" in asked.get("params", {}) else one}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": results.get(asked["method"], {})}), flush=True)
"""


def test_while_a_list_is_coming_the_screen_says_how_far_it_is(tmp_path: Path) -> None:
    more, script = tmp_path / "more", tmp_path / "slow.py"
    os.mkfifo(more)
    script.write_text(SLOW)
    spec = ServerSpec("slow", argv=(sys.executable, str(script), str(more)), era="handshake")
    with console_of(tmp_path / "data", {"slow": spec}) as (console, client):
        asked = threading.Event()

        def note(event: Event) -> None:
            if event.kind == "request" and b'"cursor"' in (event.raw or b""):
                asked.set()

        console.journal.sinks.append(note)
        connecting = threading.Thread(target=console.connect, args=("slow",))
        connecting.start()
        try:
            assert asked.wait(WAIT_S)
            page = well_formed(client.get("/catalog/slow/tools", base_url=ORIGIN))
            news = client.get(
                "/catalog/slow/tools/tokens?seen=connected.0.00.0", base_url=ORIGIN, headers=PARTIAL
            )
        finally:
            more.write_text("go on")
            connecting.join(WAIT_S)
        assert re.search(r"Listing the tools of slow… 1 page, 1\d\d\sB so far <b data-since=", page)
        assert "not listed yet" not in page and "List now" not in page
        assert "1 page, 1" in news.text  # a page that has come is news
        assert rows_of(client.get("/catalog/slow/tools", base_url=ORIGIN).text) == ["one"]
        assert console.catalogs.underway("slow", "tools") is None


# --- pages and hints


def test_hints_are_shown_exactly_as_sent_for_each_page(open_: Screen) -> None:
    text = well_formed(open_("/catalog/hints/tools"))
    table = text[text.index("catalog__p") :]
    assert re.findall(r'<td class="mono">(300000|60000|&#34;public&#34;)</td>', table) == [
        "300000", "&#34;public&#34;", "60000", "&#34;public&#34;", "60000", "&#34;public&#34;"
    ]  # fmt: skip
    assert 'data-total="60000"' in text
    assert "3 pages · 52 tools" in text


def test_hints_of_the_wrong_type_carry_a_mark(open_: Screen) -> None:
    text = open_("/catalog/odd/tools").text
    assert "ttlMs is the string &#34;60&#34;, not an integer" in text
    assert "ttlMs &#34;60&#34; · cacheScope null" in text


def test_a_page_is_viewed_and_downloaded_as_received(open_: Screen, console: Console) -> None:
    catalog = console.catalogs.known("hints", "tools")
    assert catalog is not None
    file = open_("/catalog/hints/tools/page/2.json")
    assert file.data == catalog.snapshot.pages[1].raw
    assert file.headers["Content-Disposition"] == 'attachment; filename="tools-page-2.json"'
    assert "Page 2 as received" in well_formed(open_("/catalog/hints/tools/page/2"))
    assert "<html" not in well_formed(open_("/catalog/hints/tools/page/2", part=True))
    assert "The list has 3 pages; there is no page 4." in open_("/catalog/hints/tools/page/4").text


# --- refreshing


def test_a_refresh_without_changes_says_so_in_its_own_place(post: Screen, open_: Screen) -> None:
    text = well_formed(post("/catalog/hints/tools/refresh", part=True, sort="name", q="list"))
    assert re.search(r'<span id="outcome".*?wire, [\d.,]+ ms, no change', text, re.DOTALL)
    assert re.search(
        r'hx-target="#say" hx-swap="textContent">wire, [\d.,]+ ms, no change\. Went to the wire; ', text
    )
    assert rows_of(text) == sorted(rows_of(text))


def test_a_plain_form_is_sent_on_to_the_page(post: Screen) -> None:
    answer = post("/catalog/hints/tools/refresh", sort="name", tool="touch_catalog")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/catalog/hints/tools?sort=name&tool=touch_catalog",
    )


def test_a_refresh_needs_a_post(open_: Screen) -> None:
    assert open_("/catalog/hints/tools/refresh").status_code == 405


def test_an_unlisted_list_is_listed_on_demand(open_: Screen, post: Screen) -> None:
    before = well_formed(open_("/catalog/hints/prompts"))
    assert "The prompts of hints are not listed yet." in before
    assert "List now" in before
    after = well_formed(post("/catalog/hints/prompts/refresh", part=True))
    assert "answer_customer" in rows_of(after)
    assert "Share of" not in after


def test_a_list_the_server_does_not_declare_says_so(open_: Screen) -> None:
    text = well_formed(open_("/catalog/odd/prompts"))
    assert "No prompts listed. The server declares no prompts capability." in text
    assert "View server/discover" in text


def test_a_refresh_that_fails_keeps_the_catalog_and_says_why(
    open_: Screen, post: Screen, console: Console
) -> None:
    text = well_formed(post("/catalog/odd/prompts/refresh", part=True))
    assert "Method not found" in text
    console.disconnect("odd")
    failed = post("/catalog/odd/tools/refresh", part=True)
    assert failed.status_code == 200
    assert "Connect it on the Servers screen" in failed.text
    assert len(rows_of(well_formed(failed))) == 4
    assert "not connected any more" in failed.text
    assert post("/catalog/odd/tools/refresh").status_code == 502
    console.connect("odd")


def test_a_server_that_was_never_connected_says_what_to_do(open_: Screen) -> None:
    text = well_formed(open_("/catalog/gone/tools"))
    assert "gone is not connected, and no list of its tools was recorded." in text
    assert 'href="/servers/gone"' in text


# --- changes, recordings, many tools


def test_a_list_changed_marks_the_catalog_and_a_refresh_tells_the_difference(tmp_path: Path) -> None:
    hints = demo_spec("cache-hints")
    spec = ServerSpec("hints", argv=hints.argv, env=hints.env, era="handshake")
    with console_of(tmp_path, {"hints": spec}) as (console, client):
        console.connect("hints")
        told = threading.Event()
        marked = console.catalogs.changed

        def changed(key: str, method: str, at_us: int) -> list[str]:
            found = marked(key, method, at_us)
            told.set()
            return found

        console.catalogs.changed = changed  # type: ignore[method-assign, assignment]
        console.call("hints", "add_tool", "{}").future.result(WAIT_S)
        assert told.wait(WAIT_S)
        text = well_formed(client.get("/catalog/hints/tools", base_url=ORIGIN))
        assert "Changed since: the server sent list_changed at" in text
        answer = client.post(
            "/catalog/hints/tools/refresh", base_url=ORIGIN, headers={"Origin": ORIGIN, **PARTIAL}
        )
        text = well_formed(answer)
        assert re.search(r"wire, [\d.,]+ ms, \+1 tool, 1 altered, \+\d+ B", text)
        assert "Added: <code>extra_1</code>" in text
        assert "Changed since" not in text


def test_a_recorded_catalog_is_shown_when_nothing_is_connected(tmp_path: Path) -> None:
    specs = {"odd": replayed(tmp_path, "odd", ODD)}
    with console_of(tmp_path / "data", specs) as (console, _):
        console.connect("odd")
    with console_of(tmp_path / "data", specs) as (_, client):
        text = well_formed(client.get("/catalog/odd/tools", base_url=ORIGIN))
        assert re.search(r"Recorded \d\d:\d\d, session 1; not connected\.", text)
        assert len(rows_of(text)) == 4
        assert 'id="refresh"' not in text
        assert "Not kept with a recorded list." in text


def test_ten_thousand_tools_stay_small_pages(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "string", "description": "words"} for n in range(2)},
    }
    tools = [
        {
            "name": f"{'abcdefghij'[n % 10]}{n % 377}_tool_{n}",
            "description": "words " * 9,
            "inputSchema": schema,
        }
        for n in range(10_000)
    ]
    with console_of(tmp_path / "data", {"many": replayed(tmp_path, "many", tools)}) as (console, client):
        console.connect("many")
        page = client.get("/catalog/many/tools?tool=a0_tool_0", base_url=ORIGIN)
        assert len(page.data) < 400_000
        assert len(rows_of(well_formed(page))) == 200
        further = client.get("/catalog/many/tools/rows?at=9800", base_url=ORIGIN, headers=PARTIAL)
        assert len(rows_of(well_formed(further))) == 200
        assert "revealed" not in further.text


def test_a_filter_counts_in_the_foot_what_it_lets_through(open_: Screen) -> None:
    table, _, foot = well_formed(open_("/catalog/demo-flat/tools?q=invoice")).partition('id="foot">')
    shown = [int(each) for each in re.findall(r'<td class="n">(\d+)</td><td class="n">', table)]
    assert len(shown) == 5
    said = " ".join(re.sub(r"<[^>]+>", " ", foot).split())
    assert said.startswith(f"5 of 50 tools {sum(shown):,} B of 20,600 B")
    every = open_("/catalog/demo-flat/tools").text.partition('id="foot">')[2]
    assert " ".join(re.sub(r"<[^>]+>", " ", every).split()).startswith("50 tools 20,600 B")


def test_an_integer_too_long_for_python_hides_nothing_and_is_shown_digit_for_digit(tmp_path: Path) -> None:
    long = "9" * 5000
    tools = [{"name": "before"}, {"name": "long", "inputSchema": {"properties": {"n": {"maximum": "LONG"}}}}]
    spec = replayed(tmp_path, "long", [*tools, {"name": "after"}])
    file = Path(spec.argv[-1])
    file.write_text(file.read_text("utf-8").replace('"LONG"', long), "utf-8")
    with console_of(tmp_path / "data", {"long": spec}) as (console, client):
        console.connect("long")
        page = well_formed(client.get("/catalog/long/tools?tool=long&sort=order", base_url=ORIGIN))
        assert rows_of(page) == ["before", "long", "after"]
        assert long in page
        assert console.definition("long", "long") is not None
        assert client.get("/call/long?tool=long", base_url=ORIGIN).status_code == 200
