"""A definition with an integer longer than Python converts: exact as text everywhere, and it hides no other tool."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from inspector.catalog import jsontext, providers
from inspector.catalog.difference.comparing import compare
from inspector.catalog.difference.side import side_of
from inspector.catalog.findings.rule import find
from inspector.catalog.findings.subject import Subject
from inspector.catalog.lock import lock_bytes, lock_of, parse_lock, side_of_lock
from inspector.catalog.report import measure_listing
from inspector.catalog.snapshot import Page, Snapshot
from inspector.cli.terminal import document_text
from inspector.protocol import freshness
from inspector.protocol.numbers import LongInteger

LONG = "9" * 5000


def listed(maximum: str, ttl: str = "1000") -> bytes:
    schema = '{"type":"object","properties":{"n":{"type":"integer","maximum":%s}}}'
    tool = f'{{"name":"long","description":"a","inputSchema":{schema}}}'
    plain = '{"name":"%s","description":"b","inputSchema":{"type":"object"}}'
    tools = ",".join([plain % "before", tool % maximum, plain % "after"])
    head = f'{{"jsonrpc":"2.0","id":10,"result":{{"resultType":"complete","ttlMs":{ttl},"cacheScope":"public"'
    return f'{head},"tools":[{tools}]}}}}'.encode()


def snapshot(maximum: str, ttl: str = "1000") -> Snapshot:
    return Snapshot("tools", (Page(None, listed(maximum, ttl), 1),), era="modern")


def test_one_long_integer_hides_no_tool_and_is_weighed_digit_for_digit() -> None:
    raw = listed(LONG)
    measured = measure_listing("tools", [raw], tokens=True, rendered=True)
    assert [each.name for each in measured.measures] == ["before", "long", "after"]
    assert not any(each.broken for each in measured.measures) and not measured.pages[0].fault
    assert measured.measures[1].text.encode() in raw
    sent = providers.render_all(measured.measures[1].text)
    assert all(f'"maximum":{LONG}' in each.text for each in sent.values())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (LONG, LONG),
        (f"-{LONG}", f"-{LONG}"),
        (f'{{"a":[1,{LONG},true],"b":1.5}}', f'{{"a":[1,{LONG},true],"b":1.5}}'),
        ('{"a":1e400}', '{"a":1e999}'),
        ('{"a":-1e400,"b":null}', '{"a":-1e999,"b":null}'),
    ],
)
def test_what_no_float_holds_is_written_as_json_again(text: str, written: str) -> None:
    value = jsontext.loads(text)
    assert jsontext.compact_value(value) == written
    assert jsontext.compact_value(pickle.loads(pickle.dumps(value))) == written


def test_two_long_integers_are_told_apart_and_no_rule_calls_them_wrong() -> None:
    sides = [side_of(snapshot(maximum), "x", "test", tokens=False) for maximum in (LONG, LONG[:-1] + "8")]
    (changes,) = [row.changes for row in compare(sides)[0].rows if row.status == "changed"]
    assert [change.path for change in changes] == ["/inputSchema/properties/n/maximum"]
    assert "schema-invalid" not in {hit.rule for hit in find(Subject.of(snapshot(LONG)))}
    assert LongInteger(LONG) == LongInteger(LONG) != LongInteger(LONG + "0")


def test_a_lock_of_it_reads_back_the_same() -> None:
    side = side_of(snapshot(LONG), "x", "test", tokens=False)
    again = side_of_lock(parse_lock(lock_bytes(lock_of(side, "2026-11-30T00:00:00Z")), "lock"), "x")
    assert [row.status for row in compare([side, again])[0].rows] == ["same"] * 3


@pytest.mark.parametrize(
    ("ttl", "row", "ttl_ms"),
    [(LONG, 14, freshness.MAX_TTL_MS), (f"-{LONG}", 5, 0), ("1e999", 12, 0)],
)
def test_a_ttl_of_too_many_digits_is_an_integer_and_cut_to_the_cap(ttl: str, row: int, ttl_ms: int) -> None:
    result: Any = jsontext.loads(listed("1", ttl))["result"]
    found = freshness.assess(result, method="tools/list", era="modern")
    assert (found.row, found.ttl_ms) == (row, ttl_ms)


def test_the_command_line_prints_json_that_strict_readers_take(tmp_path: Path) -> None:
    text = document_text({"ttl_ms": jsontext.loads(LONG), "other": 1e400})
    assert json.loads(text, parse_int=str, parse_constant=pytest.fail) == {"ttl_ms": LONG, "other": 1e999}
