"""A catalog pinned, and checked against its lock: hashes, drift, budgets, JUnit and SARIF."""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from inspector.catalog.budgets import RULES, Checked, Limits, check
from inspector.catalog.difference.comparing import difference
from inspector.catalog.difference.side import LINES, Side, side_of
from inspector.catalog.junit import junit
from inspector.catalog.lock import lock_bytes, lock_of, parse_lock, same_but_created, side_of_lock
from inspector.catalog.sarif import sarif
from inspector.catalog.snapshot import Page, Snapshot, read_pages
from inspector.errors import FileError

NOON = "2026-11-30T12:00:00.000000Z"


def raw(*tools: Any, **result: Any) -> bytes:
    answer = {"jsonrpc": "2.0", "id": 10, "result": {"tools": list(tools), **result}}
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "backslashreplace")


def side(*tools: Any, **result: Any) -> Side:
    return side_of(Snapshot("tools", (Page(None, raw(*tools, **result), 0),)), "now", LINES)


def tool(name: str, description: str = "Does it", *names: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in names}}
    return {"name": name, "description": description, "inputSchema": schema}


def locked(found: Side) -> Side:
    return side_of_lock(json.loads(lock_bytes(lock_of(found, NOON))), "the lock")


TWO = (tool("b", "Bee", "x"), tool("a", "Ä"))


def test_a_tool_that_cannot_be_used_holds_against_its_own_lock_whatever_the_order_of_its_keys() -> None:
    odd = ({"name": 7, "description": "d"}, {"name": None, "a": 1}, {"b": 1, "a": {"d": 1, "c": 2}})
    found = side(*odd, tool("ok"))
    assert [each.broken != "" for each in found.tools] == [True, True, True, False]
    pinned = locked(found)
    assert check(pinned, found, Limits()).violations == ()
    changed = side({"name": 7, "description": "e"}, *odd[1:], tool("ok"))
    assert [each.rule for each in check(pinned, changed, Limits()).violations] == ["broken-changed"]


def test_a_lock_holds_canonical_definitions_by_name_and_their_hashes() -> None:
    document = lock_of(side(*TWO, ttlMs=5), NOON)
    assert document["schema"] == "mcp-loupe/lock/1"
    assert [each["name"] for each in document["tools"]] == ["a", "b"]
    first = document["tools"][0]
    assert (
        first["definition"]
        == '{"description":"Ä","inputSchema":{"properties":{},"type":"object"},"name":"a"}'
    )
    assert first["sha256"] == hashlib.sha256(first["definition"].encode()).hexdigest()
    listing = read_pages("tools", [raw(*TWO, ttlMs=5)])
    assert document["sha256"] == listing.sha256
    assert document["order_sha256"] == listing.order_sha256
    assert document["hints"] == [{"ttl_ms": 5}]
    assert document["totals"]["wire_bytes"] == len(raw(*TWO, ttlMs=5))
    assert "instructions" not in document and document["declared"] is None


def test_the_file_is_the_same_for_the_same_catalog_but_for_when_it_was_made() -> None:
    one = lock_bytes(lock_of(side(*TWO), NOON))
    later = lock_bytes(lock_of(side(*TWO), "2027-01-01T00:00:00.000000Z"))
    assert one != later and same_but_created(one, later)
    assert one == lock_bytes(lock_of(side(*TWO), NOON))
    assert not same_but_created(one, lock_bytes(lock_of(side(TWO[0]), NOON)))


def test_a_lock_reads_back_as_the_catalog_it_was_made_of() -> None:
    original = side(
        *TWO, 7, {"name": None}, tool("\ud800 lone"), tool("a", "again"), ttlMs=1, cacheScope="public"
    )
    back = locked(original)
    assert (
        difference(original, back).summary["breaking"] == difference(original, back).summary["caution"] == 0
    )
    assert {row.status for row in difference(original, back).rows} == {"same"}
    assert back.totals == original.totals
    assert back.hints == original.hints and back.order_sha256 == original.order_sha256
    assert lock_bytes(lock_of(back, NOON)) == lock_bytes(lock_of(original, NOON))


def edited(change: Callable[[dict[str, Any]], None]) -> bytes:
    document = lock_of(side(*TWO), NOON)
    change(document)
    return json.dumps(document).encode()


def put(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.__setitem__(key, value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "no lock of a catalog"),
        (b'{"schema":"mcp-loupe/list/1"}', "no lock of a catalog"),
        (b'{"schema":"mcp-loupe/lock/2"}', "another version"),
        (edited(put("tools", None)), "no tools or no totals"),
        (edited(put("totals", {"wire_bytes": "many"})), "totals are no numbers"),
        (edited(put("tools", [7])), "tool 1 has no definition"),
        (edited(lambda d: d["tools"][0].update(definition="{}")), "does not fit its sha256"),
        (edited(lambda d: d["tools"].pop()), "tools do not fit its sha256"),
        (edited(put("hints", 7)), "no hints"),
        (edited(lambda d: d["totals"].update(tokens={"o200k_base": {"wire": "9"}})), "totals are no numbers"),
        (edited(lambda d: d["tools"][0].update(tokens="9")), "the tokens of 'a' are no number"),
        (edited(put("era", 7)), "is no text"),
    ],
)
def test_a_lock_that_cannot_be_trusted_is_refused_in_one_sentence(content: bytes, says: str) -> None:
    with pytest.raises(FileError) as refused:
        parse_lock(content, "x.lock")
    assert says in refused.value.message and refused.value.exit_code == 7 and refused.value.remedy


def checked(now: Side, *fail_on: str, **budgets: Any) -> Checked:
    limits = Limits(**budgets, fail_on=fail_on) if fail_on else Limits(**budgets)
    return check(locked(side(*TWO)), now, limits)


def rules(found: Checked) -> list[str]:
    return [each.rule for each in found.violations]


def test_an_unchanged_catalog_holds_and_an_addition_does_not_matter_by_default() -> None:
    assert checked(side(*TWO)).ok
    assert checked(side(*TWO, tool("c"))).ok
    assert checked(side(*TWO)).as_json()["violations"] == []


def test_drift_fails_from_the_chosen_severity_on_or_by_rule() -> None:
    now = side(tool("b", "Bee!", "x"), tool("c"))
    assert rules(checked(now)) == ["tool-removed", "description-only"]
    assert rules(checked(now, "breaking")) == ["tool-removed"]
    assert rules(checked(now, "fine")) == ["tool-removed", "description-only", "tool-added"]
    assert rules(checked(now, "tool-added")) == ["tool-added"]
    assert rules(checked(now, "none")) == []


def test_budgets_hold_up_to_the_limit_itself() -> None:
    now = side(*TWO)
    tokens, wire = now.totals.definition_tokens, now.totals.wire_bytes
    assert tokens and wire
    assert checked(now, tokens=tokens, wire_bytes=wire, increase=0.0).ok
    assert rules(checked(now, tokens=tokens - 1, wire_bytes=wire - 1)) == [
        "budget-tokens",
        "budget-wire-bytes",
    ]


def test_growth_is_measured_against_the_lock() -> None:
    grown = side(*TWO, tool("c"))
    assert rules(checked(grown, increase=0.05)) == ["budget-increase"] * 3
    assert checked(grown, increase=5.0).ok
    assert "%" in checked(grown, increase=0.05).violations[0].message


@pytest.mark.parametrize(
    ("before", "most", "share"), [(100, 115, 0.15), (1000, 1007, 0.007), (100, 129, 0.29)]
)
def test_growth_by_just_what_is_allowed_holds(before: int, most: int, share: float) -> None:
    """All of them are a little more than allowed when they are reckoned in floats."""
    one = side(*TWO)

    def of(size: int) -> Side:
        totals = replace(one.totals, definition_tokens=size, wire_bytes=size, definition_bytes=size)
        return replace(one, totals=totals)

    assert check(of(before), of(most), Limits(increase=share)).ok
    assert rules(check(of(before), of(most + 1), Limits(increase=share))) == ["budget-increase"] * 3


def test_a_budget_on_an_unknown_number_does_not_pass_silently() -> None:
    untold = side_of(Snapshot("tools", (Page(None, raw(*TWO), 0),)), "now", LINES, tokens=False)
    assert rules(checked(untold, tokens=10**9)) == ["budget-tokens"]


EVIL = 'a"<&>\x00\x1b\ud800 ]]> [x](y)'


def test_junit_counts_every_tool_and_budget_and_escapes_what_servers_sent() -> None:
    now = side(tool("b", "Bee", "x"), tool("a", "Ä", "z"), tool(EVIL))
    found = checked(now, "fine", tokens=1, increase=0.0)
    root = ET.fromstring(junit(found).encode())
    (suite,) = root
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert suite.get("tests") == root.get("tests") == str(len(cases)) == "6"
    assert suite.get("failures") == "4"
    assert cases["b"] is None and cases["the list"] is None
    failure = cases["a"]
    assert failure is not None and failure.get("type") == "property-added"
    budget = cases["budget-increase"]
    assert budget is not None and budget.text is not None and budget.text.count("[breaking]") == 3
    assert 'a"<&>\\x00\\x1b\\ud800 ]]> [x](y)' in cases


def test_sarif_is_a_2_1_0_log_whose_results_point_into_the_lock() -> None:
    content = lock_bytes(lock_of(side(*TWO), NOON))
    found = checked(side(tool("b", "[Bee](http://x)", "x")), "fine", tokens=1)
    log = json.loads(json.dumps(sarif(found, "locks/s.json", content)))
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    ids = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert set(ids) <= set(RULES)
    lines = content.decode().splitlines()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "locks/s.json"
    by_rule = {each["ruleId"]: each for each in run["results"]}
    words = by_rule["description-only"]
    assert '"name": "b"' in lines[words["locations"][0]["physicalLocation"]["region"]["startLine"] - 1]
    assert words["level"] == "warning" and "\\[Bee\\]" in words["message"]["text"]
    assert by_rule["tool-removed"]["level"] == "error"
    assert by_rule["budget-tokens"]["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


def test_a_check_that_holds_is_an_empty_sarif_run_and_a_junit_without_failures() -> None:
    found = checked(side(*TWO))
    assert sarif(found, "x", b"")["runs"][0]["results"] == []
    assert ET.fromstring(junit(found).encode()).get("failures") == "0"


@pytest.mark.parametrize("tokens", [None, [1], {"o200k_base": [1]}])
def test_token_totals_that_are_none_count_as_unknown(tokens: Any) -> None:
    odd = side_of_lock(parse_lock(edited(lambda d: d["totals"].update(tokens=tokens)), "x"), "x")
    assert (odd.totals.definition_tokens, odd.totals.wire_tokens) == (None, None)


def test_a_hint_of_five_thousand_digits_is_written_digit_for_digit_and_read_again() -> None:
    digits = "9" * 5_000
    page = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"ttlMs":' + digits.encode() + b"}}"
    long = side_of(Snapshot("tools", (Page(None, page, 0),)), "s", LINES)
    content = lock_bytes(lock_of(long, NOON))
    assert f'"ttl_ms": {digits}'.encode() in content and b"Infinity" not in content
    assert lock_bytes(parse_lock(content, "s.lock")) == content
