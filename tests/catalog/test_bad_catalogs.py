"""Catalogs nobody should send: one malformed tool never hides the others, wherever catalogs are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.catalog.difference.comparing import CHANGED, SAME, compare
from inspector.catalog.difference.markdown import markdown
from inspector.catalog.difference.side import LINES, side_of
from inspector.catalog.findings.rule import Finding, find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.report import list_document, measure_listing
from inspector.catalog.snapshot import Page, Snapshot
from inspector.discovery.registry import read_server

GOOD = '{"name":"good","description":"Does good things well","inputSchema":{"type":"object"}}'
LAST = '{"name":"last","description":"Comes after all of it","inputSchema":{"type":"object"}}'


def tool(name: str, schema: str, description: str = "What it does") -> str:
    return f'{{"name":"{name}","description":"{description}","inputSchema":{schema}}}'


def nested(depth: int) -> str:
    return '{"type":"object","properties":{"a":' * depth + '{"type":"string"}' + "}}" * depth


CYCLIC = (
    '{"type":"object","properties":{"next":{"$ref":"#"},"two":{"$ref":"#/$defs/a"}},'
    '"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}'
)

BROKEN = {
    "null": "null",
    "a list": '[{"name":"inside"}]',
    "a string": '"good"',
    "a number": "7",
    "a boolean": "true",
    "nothing in it": "{}",
    "no name": '{"description":"nameless","inputSchema":{"type":"object"}}',
    "a name that is null": '{"name":null}',
    "a name that is an object": '{"name":{"a":[1]},"inputSchema":{}}',
    "5,000 levels deep": tool("deep", nested(2_500)),
}
"""Tools that cannot be used as sent, by what is wrong."""

ODD = {
    "64 levels deep": tool("deep", nested(32)),
    "references in a circle": tool("cyclic", CYCLIC),
    "a description of 200 kB": tool("long", '{"type":"object"}', "word " * 40_000),
    "a name that is taken": tool("good", '{"type":"object"}', "another one"),
    "an inputSchema that is null": tool("odd", "null"),
    "an inputSchema that is a list": tool("odd", "[1]"),
    "an inputSchema that is a string": tool("odd", '"object"'),
    "properties that are a list": tool("odd", '{"type":"object","properties":[1],"required":{"a":1}}'),
    "a description that is an object": '{"name":"odd","description":{"a":1},"annotations":[],"icons":5,"_meta":null}',
    "an integer of 5,000 digits": tool("odd", f'{{"type":"object","maximum":{"9" * 5_000}}}'),
}
"""Tools that are odd, and still tools."""

PAGES = {
    "tools is null": '{"tools":null}',
    "tools is an object": '{"tools":{"0":{"name":"a"}}}',
    "tools is a string": '{"tools":"good"}',
    "the result is a list": '[{"tools":[]}]',
    "the result is null": "null",
    "no tools at all": "{}",
}
"""Results that hold no list."""


def snapshot(*results: str) -> Snapshot:
    pages = [f'{{"jsonrpc":"2.0","id":10,"result":{result}}}'.encode() for result in results]
    return Snapshot("tools", tuple([Page(None, raw, 1) for raw in pages]), era="modern")


def between(odd: str) -> Snapshot:
    return snapshot(f'{{"tools":[{GOOD},{odd},{LAST}]}}')


def listed(taken: Snapshot) -> dict[str, Any]:
    """`list --json` of it, through JSON."""
    measured = measure_listing("tools", taken.raws, tokens=True, rendered=True)
    document: dict[str, Any] = json.loads(json.dumps(list_document(taken, measured)))
    return document


def places(found: list[Finding], rule: str) -> set[int | None]:
    return {place.index for finding in found if finding.rule == rule for place in finding.places}


@pytest.mark.parametrize("what", BROKEN)
def test_a_tool_that_cannot_be_used_is_listed_as_broken_with_its_json(what: str) -> None:
    good, broken, last = listed(between(BROKEN[what]))["tools"]
    assert (good["name"], last["name"]) == ("good", "last")
    assert good["tokens"]["o200k_base"]["definition"] == 19 and "rendered" in last["tokens"]["o200k_base"]
    assert broken["broken"] and broken["raw"] == BROKEN[what]
    assert broken["definition_bytes"] == len(BROKEN[what])
    assert "raw" not in good and "broken" not in last


@pytest.mark.parametrize("what", ODD)
def test_an_odd_tool_is_weighed_to_the_byte_like_any_other(what: str) -> None:
    good, odd, last = listed(between(ODD[what]))["tools"]
    assert (good["name"], last["name"]) == ("good", "last")
    assert "broken" not in odd and odd["definition_bytes"] == len(ODD[what]) == sum(odd["parts"].values())


@pytest.mark.parametrize("what", [*BROKEN, *ODD])
def test_the_rules_see_the_others_all_the_same(what: str) -> None:
    found = find(Subject.of(between((BROKEN | ODD)[what])))
    assert {0, 2} <= places(found, "output-schema-missing")
    assert places(found, "item-broken") == ({1} if what in BROKEN else set())
    assert places(found, "name-duplicate") == ({1} if what == "a name that is taken" else set())


@pytest.mark.parametrize("what", [*BROKEN, *ODD])
def test_a_comparison_aligns_the_others_and_says_what_became_of_it(what: str) -> None:
    plain, odd = snapshot(f'{{"tools":[{GOOD},{LAST}]}}'), between((BROKEN | ODD)[what])
    sides = [
        side_of(each, name, LINES, tokens=False) for each, name in ((plain, "a"), (odd, "b"), (odd, "c"))
    ]
    [there] = compare(sides[:2])
    status = {row.name: row.status for row in there.rows if row.copy == 1}
    assert status["good"] == status["last"] == SAME
    assert len(there.rows) == 3 and markdown([there])
    [same] = compare(sides[1:])
    assert {row.status for row in same.rows} == {SAME}


def test_a_tool_that_breaks_is_a_breaking_change() -> None:
    before, after = between(tool("odd", '{"type":"object"}')), between('{"name":"odd","name":5}')
    [found] = compare([side_of(each, "x", LINES, tokens=False) for each in (before, after)])
    assert found.summary["breaking"] == 1 and CHANGED not in {row.status for row in found.rows}


@pytest.mark.parametrize("what", [*BROKEN, *ODD])
def test_the_lab_keeps_the_others_and_is_told_of_it(what: str) -> None:
    server = read_server(between((BROKEN | ODD)[what]), "x")
    names = [each.name for each in server.tools]
    assert names[0] == "good" and names[-1] == "last"
    if what in BROKEN:
        [problem] = server.problems
        assert problem.startswith("tool 2 of 3 cannot be used: ") and BROKEN[what][:60] in problem
        assert len(problem) < 300
    elif what == "a name that is taken":
        assert names == ["good", "last"] and server.problems == ("good is listed twice; the first is kept",)
    else:
        assert len(names) == 3 and not server.problems


@pytest.mark.parametrize("what", PAGES)
def test_a_page_without_a_list_is_a_fault_and_the_next_page_is_read(what: str) -> None:
    taken = snapshot(PAGES[what], f'{{"tools":[{GOOD}]}}')
    document = listed(taken)
    assert [each["name"] for each in document["tools"]] == ["good"]
    assert document["pages"][0]["fault"] and "fault" not in document["pages"][1]
    assert places(find(Subject.of(taken)), "page-unreadable") == {None}
    assert [each.name for each in read_server(taken, "x").tools] == ["good"]
    side = side_of(taken, "x", LINES, tokens=False)
    assert side.notes and [each.name for each in side.tools] == ["good"]


def test_a_description_of_10_mb_hides_nothing_either() -> None:
    long = tool("long", '{"type":"object"}', "word " * 2_000_000)
    taken = between(long)
    measured = measure_listing("tools", taken.raws, tokens=False, rendered=False)
    assert [each.name for each in measured.measures] == ["good", "long", "last"]
    assert measured.measures[1].parts["description"] == 10_000_000 + len('"description":""')
    assert [each.name for each in read_server(taken, "x").tools] == ["good", "long", "last"]
    [same] = compare([side_of(taken, "x", LINES, tokens=False)] * 2)
    assert {row.status for row in same.rows} == {SAME}
    found = find(Subject.of(taken), off=frozenset(rules()) - {"description-long", "output-schema-missing"})
    assert places(found, "description-long") == {1} and places(found, "output-schema-missing") == {0, 1, 2}


def test_names_that_collide_at_a_provider_are_told_and_both_are_kept() -> None:
    taken = snapshot(f'{{"tools":[{tool("a.b", "{}")},{tool("a/b", "{}")}]}}')
    assert places(find(Subject.of(taken)), "provider-collision") == {None}
    assert [each["name"] for each in listed(taken)["tools"]] == ["a.b", "a/b"]
    assert len(read_server(taken, "x").tools) == 2
