"""The history of listings: rows and chart, what changed since an earlier run, an old listing opened again."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import ORIGIN, WAIT_S, console_of, counted, replayed, rows_of, well_formed

from inspector.console.console import Console
from inspector.trace.store import Snapshot
from inspector.web.catalog_history import chart, listings, path


def kept(id: int, count: int, size: int, sha: str, order: str = "o", tokens: int | None = None) -> Snapshot:
    totals: dict[str, Any] = {"count": count, "wire_bytes": size + 99, "definition_bytes": size}
    if tokens is not None:
        totals["tokens"] = {"o200k_base": {"definitions": tokens}}
    return Snapshot(id, 1, id, "key", "tools", 1_796_000_000_000_000 + id, None, {}, [], totals, sha, order)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"Shows the {name}.", "inputSchema": {"type": "object"}}


# --- rows and chart


def test_each_row_says_whether_and_by_what_it_differs_from_the_one_before() -> None:
    rows = listings(
        [
            kept(5, 3, 400, "b", "p", 90),
            kept(4, 3, 400, "b", "o", 90),
            kept(3, 3, 400, "b", "o", 90),
            kept(2, 2, 300, "a", "o", 70),
            kept(1, 2, 300, "x", "o"),
        ],
        shown=3,
    )
    assert [(row.changed, row.deltas) for row in rows] == [
        (True, "other order"),
        (False, ""),
        (True, "+1 tool, +100 B, +20 tokens"),
        (True, "same size"),
        (None, ""),
    ]
    assert [row.id for row in rows if row.on] == [3]


def test_a_single_listing_needs_no_chart() -> None:
    assert chart(listings([kept(1, 2, 300, "a")], None), "tools") == []


def test_the_chart_says_in_words_what_it_draws() -> None:
    lines = chart(listings([kept(2, 5, 400, "b", tokens=90), kept(1, 2, 300, "a", tokens=70)], None), "tools")
    assert [(line.label, line.span, line.last) for line in lines] == [
        ("Tools", "2 to 5", 5), ("Definitions, B", "300 to 400", 400), ("Tokens, o200k", "70 to 90", 90)
    ]  # fmt: skip
    assert 'aria-label="Tools over 2 listings: 2 to 5, 5 in the last one counted."' in lines[0].drawing


def test_tokens_that_were_never_counted_are_a_gap_and_not_a_zero() -> None:
    assert path([1, None, 3, 2]) == "M4 32.0L4 32.0M665 4.0L996 18.0"
    lines = chart(listings([kept(2, 5, 400, "b"), kept(1, 2, 300, "a")], None), "tools")
    assert (lines[2].span, lines[2].drawing) == ("not counted", "")


# --- over runs of the console


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `kept` is the data of a console that listed two tools and, in a second run, three, reordered."""
    tmp_path = tmp_path_factory.mktemp("history")
    for names in (["invoice", "address"], ["tax", "invoice", "address"]):
        specs = {"books": replayed(tmp_path, "books", [tool(name) for name in names])}
        with console_of(tmp_path / "data", specs) as (console, _):
            console.connect("books")
            counted(console, "books")
            assert kept_totals(console)[0]["tokens"]["o200k_base"]["definitions"] > 0
    (tmp_path / "data").rename(tmp_path / "kept")
    (tmp_path / "books.jsonl").rename(tmp_path / "kept.jsonl")
    return tmp_path


@pytest.fixture
def seen_twice(two_runs: Path) -> Iterator[Path]:
    """The same folder for each test, as the two runs left it."""
    shutil.copytree(two_runs / "kept", two_runs / "data")
    shutil.copy(two_runs / "kept.jsonl", two_runs / "books.jsonl")
    yield two_runs
    shutil.rmtree(two_runs / "data")


def kept_totals(console: Console) -> list[dict[str, Any]]:
    """The recorded totals, newest first, once those who write them are done."""
    for thread in threading.enumerate():
        if thread.name == "totals":
            thread.join(WAIT_S)
    with console.store() as store:
        return [row.totals for row in store.snapshots("books", "tools")]


def test_a_listing_is_held_against_that_of_an_earlier_run(seen_twice: Path) -> None:
    specs = {"books": replayed(seen_twice, "books", [tool("tax"), tool("invoice")])}
    with console_of(seen_twice / "data", specs) as (console, client):
        console.connect("books")
        catalog = console.catalogs.known("books", "tools")
        assert catalog is not None and catalog.previous is not None
        catalog.previous.tokens.result(WAIT_S)
        counted(console, "books")
        text = well_formed(client.get("/catalog/books/tools", base_url=ORIGIN))
        assert re.search(
            r"Against the listing of [\d: -]+: −\d+ B on the wire, −\d+ B of definitions, −\d+ tokens", text
        )
        assert "Removed: <code>address</code>" in text
        assert "<dt>Order</dt><dd>changed" in text
        console.refresh("books", "tools")
        text = client.get("/catalog/books/tools", base_url=ORIGIN).text
        assert "<dt>Order</dt><dd>stable" in text
        assert "Against the listing" not in text


def test_the_same_list_in_another_run_is_stable_and_no_change(seen_twice: Path) -> None:
    with console_of(seen_twice / "data", {}) as (console, client):
        console.connect("books")
        text = well_formed(client.get("/catalog/books/tools?pane=history", base_url=ORIGIN))
        assert re.search(r"first list after the start, [\d.,]+ ms, no change", text)
        assert "<dt>Order</dt><dd>stable" in text
        assert len(re.findall(r"session \d · <code", text)) == 3
        assert re.search(r"<b>changed</b>, \+1 tool, \+\d+ B, \+\d+ tokens", text)
        assert text.count('class="hist__c"') == 3


def test_an_old_listing_opens_as_it_was_and_sends_nothing(seen_twice: Path) -> None:
    with console_of(seen_twice / "data", {}) as (console, client):
        console.connect("books")
        text = well_formed(client.get("/catalog/books/tools?snapshot=1&sort=order", base_url=ORIGIN))
        assert rows_of(text) == ["invoice", "address"]
        assert re.search(r"Listing of [\d: -]+, session 1, as it was then\.", text)
        assert 'id="refresh"' not in text
        assert "snapshot=1" in re.findall(r'<tr id="i0" data-href="([^"]*)"', text)[0]
        chosen = client.get("/catalog/books/tools?snapshot=1&tool=invoice", base_url=ORIGIN).text
        assert 'id="call"' not in chosen
        raw = client.get("/catalog/books/tools/page/1.json?snapshot=1", base_url=ORIGIN).data
        assert b"address" in raw and b"tax" not in raw


def test_an_old_listing_that_was_never_recorded_is_told(seen_twice: Path) -> None:
    with console_of(seen_twice / "data", {"other": replayed(seen_twice, "other", [tool("x")])}) as (
        _,
        client,
    ):
        assert "No listing number 77" in client.get("/catalog/books/tools?snapshot=77", base_url=ORIGIN).text
        assert client.get("/catalog/other/tools?snapshot=1", base_url=ORIGIN).status_code == 404


def test_a_definition_is_found_by_name_the_first_of_twins_and_no_broken_one(tmp_path: Path) -> None:
    first, second = tool("twin") | {"title": "first"}, tool("twin") | {"title": "second"}
    specs = {"books": replayed(tmp_path, "books", [{"title": "nameless"}, 7, first, second])}
    with console_of(tmp_path / "data", specs) as (console, _):
        console.connect("books")
        assert console.definition("books", "twin") == first
        assert console.definition("books", "other") is None
