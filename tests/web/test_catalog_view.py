"""The catalog's view-model: addresses, order, windows, tokens, what changed, freshness in words. No console."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from inspector.catalog.report import MeasuredListing, measure_listing
from inspector.catalog.snapshot import Page, Snapshot
from inspector.protocol import freshness
from inspector.protocol.freshness import Hints
from inspector.web.catalog_change import compare
from inspector.web.catalog_detail import LAID_OUT, detail, wants_raw
from inspector.web.catalog_facts import Freshness, list_freshness, moment, outcome, page_facts
from inspector.web.catalog_view import WINDOW, Index, Query, advice, token_label
from inspector.web.catalog_weighed import description
from inspector.web.render import time_of_day

AT = 1_796_000_000_000_000


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def answer(*tools: Any, **hints: Any) -> bytes:
    result = {"tools": list(tools), "resultType": "complete", **hints}
    return json.dumps({"jsonrpc": "2.0", "id": 10, "result": result}, separators=(",", ":")).encode()


def measured(*tools: Any, tokens: bool = False) -> MeasuredListing:
    return measure_listing("tools", [answer(*tools)], tokens=tokens, rendered=tokens)


def index_of(*tools: Any, tokens: bool = False) -> Index:
    return Index(measured(*tools, tokens=tokens))


def shown(index: Index, **state: Any) -> list[str | None]:
    return [line.name for line in index.window(Query(**state))[0]]


# --- the address


def test_what_an_address_cannot_mean_is_left_at_its_default() -> None:
    args = {
        "sort": "colour",
        "view": "stub",
        "provider": "acme",
        "model": "x",
        "at": "-3",
        "pages_at": "9" * 40,
    }
    assert Query.read(args) == Query()


def test_an_address_says_only_what_differs_from_the_default() -> None:
    query = Query.read({"sort": "-bytes", "q": "a b", "tool": "x", "at": "200"})
    assert query.href() == "?q=a+b&tool=x&at=200"
    assert query.href(q="", tool="", at=0) == "?"
    assert Query.read({"q": "a b", "tool": "x", "at": "200"}) == query


def test_a_head_sorts_its_usual_way_first_and_then_the_other_way() -> None:
    assert Query().by("name") == "?sort=name"
    assert Query(sort="name", at=200).by("name") == "?sort=-name"
    assert Query(sort="-tokens").by("tokens") == "?sort=tokens"
    assert Query(sort="name").by("bytes") == "?"
    assert (Query(sort="-name").sorted("name"), Query().sorted("name")) == ("descending", "")


def test_the_provider_chooses_a_window_and_the_model_chooses_a_rendering() -> None:
    assert (Query().rendering, Query().window.id) == ("anthropic", "claude-sonnet-4-5")
    assert Query(provider="gemini").window.id == "gemini-2.5-pro"
    assert Query(model="gpt-5").rendering == "openai"
    assert (Query(model="gpt-5", provider="gemini").rendering, Query(model="gpt-5").window.id) == (
        "gemini",
        "gpt-5",
    )


# --- order and windows


def test_the_largest_tool_comes_first_and_ties_stay_as_received() -> None:
    index = index_of(tool("b"), tool("a"), tool("c", "longer"))
    assert shown(index) == ["c", "b", "a"]
    assert shown(index, sort="bytes") == ["b", "a", "c"]
    assert shown(index, sort="name") == ["a", "b", "c"]
    assert shown(index, sort="-order") == ["c", "a", "b"]


def test_tools_sort_by_their_share_of_prose() -> None:
    index = index_of(tool("short", "x", title="t" * 80), tool("wordy", "x" * 60))
    assert shown(index, sort="-prose") == ["wordy", "short"]


def test_a_filter_wants_every_word_in_name_or_description() -> None:
    index = index_of(tool("repo_list", "All of them"), tool("issue_list", "of a REPO"), tool("ping"))
    assert sorted(shown(index, q="repo list")) == ["issue_list", "repo_list"]  # type: ignore[type-var]
    assert shown(index, q="inputSchema") == []
    assert index.window(Query(q="repo all"))[1] == 1


def test_a_window_holds_200_rows_and_tells_the_whole_number() -> None:
    index = index_of(*[tool(f"t{n:03}") for n in range(450)])
    lines, total = index.window(Query(sort="order", at=WINDOW))
    assert (len(lines), lines[0].name, total) == (200, "t200", 450)
    assert len(index.window(Query(at=400))[0]) == 50


def test_tools_of_one_name_are_told_apart_by_their_position() -> None:
    index = index_of(tool("same", "first"), tool("same", "second"), tool("other"), tool("7"))
    assert [index.handle(n) for n in range(4)] == ["0", "1", "other", "3"]
    assert (index.find("1"), index.find("other"), index.find("7"), index.find("none")) == (1, 2, None, None)
    assert [line.twins for line in index.window(Query(sort="order"))[0]] == [2, 2, 1, 1]


def test_a_name_that_no_address_can_hold_is_called_by_its_position() -> None:
    raw = answer().replace(b'"tools":[]', rb'"tools":[{"name":"a\ud800b"}]')
    index = Index(measure_listing("tools", [raw], tokens=False, rendered=False))
    assert index.handle(0) == "0"
    assert "tool=0" in str(index.treemap(Query()))


def test_broken_items_stay_in_the_list_with_the_reason() -> None:
    index = index_of(5, {"title": "nameless"}, tool("fine"))
    broken = {line.index: line.broken for line in index.window(Query())[0]}
    assert broken == {0: "not a JSON object", 1: "name is missing", 2: ""}


def test_only_what_the_server_hinted_is_marked() -> None:
    index = index_of(
        tool("reads", annotations={"readOnlyHint": True, "destructiveHint": True}),
        tool("writes", annotations={"readOnlyHint": False}),
        tool("destroys", annotations={"destructiveHint": True}),
        tool("silent"),
        tool("odd", annotations="yes"),
    )
    found = {line.name: (line.writes, line.destroys) for line in index.window(Query())[0]}
    assert found == {
        "reads": (False, False), "writes": (True, False), "destroys": (False, True), "silent": (False, False),
        "odd": (False, False),
    }  # fmt: skip


# --- costs


def test_tokens_are_unknown_until_they_are_counted() -> None:
    index = index_of(tool("a"), tool("b", "longer text"))
    assert index.tokens("anthropic") is None
    assert [line.tokens for line in index.window(Query(sort="-tokens"))[0]] == [None, None]


def test_tokens_are_those_of_the_provider_and_a_broken_tool_is_not_sent() -> None:
    index = index_of(tool("a", "some words", annotations={"readOnlyHint": True}), 5, tokens=True)
    sent, openai = index.tokens("anthropic"), index.tokens("openai")
    assert sent is not None and openai is not None
    assert sent.each[1] is None
    assert sent.total.value == sent.each[0] < sent.raw.value
    assert (sent.label, openai.label) == ("o200k proxy", "o200k")


def test_a_count_says_what_it_is_worth() -> None:
    assert token_label("gemini", exact=False) == "o200k, partly estimated"


def test_lists_that_no_provider_is_sent_count_as_defined() -> None:
    raw = answer().replace(b'"tools":[]', b'"prompts":[{"name":"ask","description":"a question"}]')
    index = Index(measure_listing("prompts", [raw], tokens=True, rendered=True))
    counted = index.tokens("gemini")
    assert counted is not None
    assert (counted.total, counted.label) == (counted.raw, "o200k")


@pytest.mark.parametrize(("share", "sev"), [(0.0099, ""), (0.01, "note"), (0.0499, "note"), (0.05, "warn")])
def test_the_advice_changes_at_1_and_5_per_cent_of_the_window(share: float, sev: str) -> None:
    assert advice(share)[0] == sev


def test_the_legend_leaves_out_parts_that_round_to_nothing() -> None:
    index = index_of(tool("a", "x" * 100_000, outputSchema={}))
    assert [label for label, _, _ in index.shares()] == ["description"]


def test_the_treemap_marks_the_chosen_tool_and_its_cells_lead_to_the_rows() -> None:
    index = index_of(tool("git_add", "one"), tool("git_log", "two"), tool("ping"))
    drawn = str(index.treemap(Query(tool="git_log", provider="openai")))
    assert 'class="tm__c tm__c--on" data-to="?tool=git_log&amp;provider=openai"' in drawn
    assert drawn.count("tm__c--on") == 1
    assert index.window(Query(provider="openai"))[0][0].handle == "git_add"


def test_a_cell_leads_to_its_tool_whatever_is_searched_for() -> None:
    drawn = str(index_of(tool("TOOL_a", "x" * 99)).treemap(Query(q="TOOL")))
    assert "?q=TOOL&amp;tool=TOOL_a" in drawn


def test_a_name_of_megabytes_takes_one_line_of_a_row_and_of_a_cell() -> None:
    index = index_of(tool("x" * 1_000_000), tool("y" * 300))
    assert {len(name or "") for name in shown(index)} == {301, 300}
    assert len(str(index.treemap(Query()))) < 10_000


def test_hidden_characters_are_spelled_out_in_the_treemap_without_mark_up() -> None:
    drawn = str(index_of(tool("hid\u202eden_one", "x" * 99)).treemap(Query()))
    assert "hidU+202Eden" in drawn
    assert "<span" not in drawn  # a span would end the SVG


def test_families_beyond_the_limit_become_cells_that_filter() -> None:
    index = index_of(*[tool(f"f{chr(97 + n)}_{part}") for n in range(20) for part in ("one", "two")])
    drawn = str(index.treemap(Query()))
    assert "other families" in drawn
    assert 'data-to="?q=ft"' in drawn


# --- what changed


def test_an_unchanged_list_is_no_change() -> None:
    change = compare(measured(tool("a")), measured(tool("a")))
    assert change.nothing
    assert outcome(change, 71.2, "tools") == "wire, 71 ms, no change"


def test_a_first_listing_is_compared_with_nothing() -> None:
    assert outcome(None, 71.2, "tools") == "wire, 71 ms"


def test_added_removed_and_altered_tools_are_told_by_name() -> None:
    before = measured(tool("kept"), tool("gone"), tool("same", "old"))
    change = compare(before, measured(tool("kept"), tool("same", "other words"), tool("new"), tool("new")))
    assert (change.added, change.removed, change.altered) == (("new", "new"), ("gone",), ("same",))
    assert outcome(change, 5.2, "tools").startswith("wire, 5.2 ms, +2 tools, −1 tool, 1 altered, +")


def test_the_same_tools_in_another_order_are_said_to_be_so() -> None:
    change = compare(measured(tool("a"), tool("b")), measured(tool("b"), tool("a")))
    assert (change.reordered, change.bytes) == (True, 0)
    assert outcome(change, 12, "tools") == "wire, 12 ms, other order"


# --- freshness


def verdict(*pages: dict[str, Any], era: str = "modern", **facts: Any) -> Freshness:
    raws = [answer(**hints) for hints in pages]
    snapshot = Snapshot("tools", tuple(Page(None, raw, AT) for raw in raws), era=era)
    read = measure_listing("tools", raws, tokens=False, rendered=False)
    hints: list[Hints] = [
        freshness.assess(
            json.loads(raw)["result"], method="tools/list", era="modern" if era == "modern" else "handshake"
        )
        for raw in raws
    ]
    given = {"changed_at_us": None, "connected": True, "announced": True, "now_us": AT, "tz": UTC} | facts
    return list_freshness(snapshot, read.pages, hints, **given)


def test_a_fresh_list_counts_down_to_its_first_stale_page() -> None:
    found = verdict({"ttlMs": 300_000, "cacheScope": "public"}, {"ttlMs": 60_000, "cacheScope": "public"})
    assert (found.state, found.value, found.unit) == ("fresh", "1:00", "of 1:00 left")
    assert (found.until_ms, found.total_ms, found.left) == (AT // 1000 + 60_000, 60_000, 1.0)
    assert (found.sent, found.icon) == ('ttlMs 300000, 60000 · cacheScope "public"', "globe")
    assert found.share == "anyone"


def test_a_list_past_its_time_is_stale_since_then() -> None:
    found = verdict({"ttlMs": 1000, "cacheScope": "private"}, now_us=AT + 5_000_000)
    assert (found.state, found.unit, found.icon) == (
        "stale",
        f"since {time_of_day(AT + 1_000_000, UTC)}",
        "lock",
    )


def test_a_list_changed_ends_freshness_at_once() -> None:
    found = verdict(
        {"ttlMs": 300_000, "cacheScope": "public"}, changed_at_us=AT + 1_000_000, now_us=AT + 2_000_000
    )
    assert found.state == "stale"


def test_ttl_zero_is_never_fresh_and_no_ttl_is_said_differently() -> None:
    zero, absent = verdict({"ttlMs": 0, "cacheScope": "private"}), verdict({})
    assert (zero.value, zero.unit) == ("never fresh", "")
    assert (absent.value, absent.unit) == ("never fresh", "no ttlMs that counts")
    assert absent.sent == "ttlMs absent · cacheScope absent"


def test_the_handshake_era_keeps_a_list_until_told_which_needs_a_connection() -> None:
    assert verdict({}, era="handshake").value == "until told"
    assert verdict({}, era="handshake", connected=False).state == "unknown"


def test_a_server_that_announces_no_changes_leaves_unknown_how_long_its_list_holds() -> None:
    found = verdict({}, era="handshake", announced=False)
    assert (found.state, found.value, found.unit) == ("unknown", "unknown", "no list_changed either")
    assert verdict({"ttlMs": 300_000}, announced=False).state == "fresh"


def test_hints_of_a_wrong_type_are_shown_as_json_with_what_is_wrong() -> None:
    raw = answer(ttlMs="60", cacheScope=None)
    snapshot = Snapshot("tools", (Page(None, raw, AT),), era="modern")
    [page] = page_facts(snapshot, measure_listing("tools", [raw], tokens=False, rendered=False).pages, [])
    assert (page.ttl, page.scope) == ('"60"', "null")
    assert page.ttl_fault == 'ttlMs is the string "60", not an integer'
    assert page.scope_fault.startswith("cacheScope is null")


def test_pages_that_differ_in_scope_break_a_rule() -> None:
    found = verdict({"ttlMs": 5, "cacheScope": "public"}, {"ttlMs": 5, "cacheScope": "private"})
    assert "must share one cacheScope" in found.violations[0]


def test_a_day_is_named_unless_it_is_today() -> None:
    assert moment(AT, AT, UTC) == moment(AT, AT + 1, UTC)
    assert moment(AT, AT + 86_400_000_000, UTC).startswith("2026-11-")


# --- one item


def test_a_tool_is_shown_as_the_provider_would_be_sent_it() -> None:
    index = index_of(tool("a.b", "words", annotations={"x": 1}), tokens=True)
    found = detail(index, Query(tool="a.b", view="anthropic"), None)
    assert found is not None and found.sent is not None
    assert found.text == '{"name":"a_b","description":"words","input_schema":{"type":"object"}}'
    assert found.sent.kept_bytes == len('"annotations":{"x":1}')
    assert found.sent.notes == ("Sent as a_b: the API does not take this name as it is",)


def test_refusals_collisions_and_crowds_are_told() -> None:
    several = [tool(f"t{n}") for n in range(129)]
    index = index_of({"name": "a.b", "inputSchema": {"oneOf": []}}, tool("a_b"), *several)
    found = detail(index, Query(tool="a.b", view="openai"), None)
    assert found is not None and found.sent is not None
    assert "Refused: oneOf at the root of inputSchema is refused by the API" in found.sent.notes
    assert "2 tools would be sent under this name" in found.sent.notes
    crowd = detail(index, Query(tool="a_b", view="gemini"), None)
    assert crowd is not None and crowd.sent is not None
    assert crowd.sent.notes == ("Gemini takes at most 128 tools at once; this list has 131",)


def test_a_broken_item_is_shown_raw_whatever_view_is_asked_for() -> None:
    index = index_of(5)
    query = Query(tool="0", view="anthropic")
    assert wants_raw(index, query)
    found = detail(index, query, " 5 ")
    assert found is not None
    assert (found.view, found.text, found.broken, found.callable) == (
        "raw",
        " 5 ",
        "not a JSON object",
        False,
    )


def test_a_very_long_definition_is_not_laid_out() -> None:
    found = detail(index_of(tool("a", "x" * LAID_OUT)), Query(tool="a"), None)
    assert found is not None
    assert (found.plain, found.left_out) == (True, 0)


def test_the_parts_of_a_tool_add_up_to_it() -> None:
    found = detail(index_of(tool("a", "words", icons=[])), Query(tool="a", view="parts"), None)
    assert found is not None
    assert sum(part.bytes for part in found.parts) == found.bytes
    assert [part.key for part in found.parts] == ["name", "description", "inputSchema", "icons", "other"]


def test_hints_of_the_wrong_type_are_named() -> None:
    found = detail(index_of(tool("a", annotations={"readOnlyHint": "yes"})), Query(tool="a"), None)
    assert found is not None
    assert found.hints == (("readOnlyHint", '"yes"', "not a boolean"),)


def test_a_thousand_families_become_one_cell_behind_the_first_and_none_is_lost() -> None:
    index = index_of(*[tool(f"fam{n:04}_{m}", "x" * (n % 7)) for n in range(500) for m in range(2)])
    folds = index.weighed.folds
    drawn = sum(cell.bytes for cell in [folds.rest] if cell) + sum(
        index.measures[at].definition_bytes
        for of in [each.shown for each in folds.families] + [of for _, of in folds.others]
        for at in of
    )
    assert drawn == index.bytes
    assert len(folds.families) == 9 and folds.count == 491 and len(folds.others) == 15
    assert "476 more: " in str(index.treemap(Query()))


def test_a_family_folded_before_it_is_drawn_tells_how_many_it_has() -> None:
    index = index_of(*[tool(f"git_{n:03}", "x" * n) for n in range(500)])
    drawn = str(index.treemap(Query()))
    assert drawn.count("<title>") == 16 and "485 more: " in drawn and "git<tspan> 500" in drawn
    assert "the largest tool is git_499" in drawn


def test_what_was_indexed_before_the_tokens_came_is_not_indexed_again() -> None:
    first = index_of(tool("a", "x"), tool("b", "y"))
    again = Index(replace(first.measured, tokens=None), weighed=first.weighed)
    assert again.weighed is first.weighed
    assert index_of(tool("a", "x")).weighed is not first.weighed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name":"a","description":"one \\"two\\"","inputSchema":{}}', 'one "two"'),
        ('{"inputSchema":{"description":"no"},"description":"yes","name":"a"}', "yes"),
        ('{"name":"a","description":"no","x":1,"description":"last"}', "last"),
        ('{"name":"a","description":7}', ""),
    ],
)
def test_the_description_searched_is_the_one_that_counts(text: str, said: str) -> None:
    page = '{"jsonrpc":"2.0","id":1,"result":{"tools":[' + text + "]}}"
    measured = measure_listing("tools", [page.encode()], tokens=False, rendered=False)
    assert description(measured.measures[0]) == said
