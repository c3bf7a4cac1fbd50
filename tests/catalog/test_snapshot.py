"""Pages in, items and hints out."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import Any

import pytest

from inspector.catalog.snapshot import ABSENT, Page, Snapshot, read_pages


def page(result: str) -> bytes:
    return b'{"jsonrpc":"2.0","id":10,"result":' + result.encode() + b"}"


def test_a_malformed_tool_never_hides_the_others() -> None:
    listing = read_pages(
        "tools", [page('{"tools":[{"name":"a"},7,{"title":"t"},{"name":null},{"name":"b"}]}')]
    )
    assert listing.names == ["a", None, None, None, "b"]
    assert [item.broken for item in listing.items] == [
        "",
        "not a JSON object",
        "name is missing",
        "name is not a string",
        "",
    ]
    assert [item.raw for item in listing.items][1:3] == ["7", '{"title":"t"}']


def test_a_malformed_page_never_hides_the_others() -> None:
    good = page('{"tools":[{"name":"a"}]}')
    listing = read_pages(
        "tools", [good, b'{"result":{"tools":[{"name":"b"', page("[]"), b"\xff", good + b"x", good]
    )
    assert listing.names == ["a", "a"]
    assert [bool(each.fault) for each in listing.pages] == [False, True, True, True, True, False]
    assert [each.wire_bytes for each in listing.pages][3] == 1


@pytest.mark.parametrize("sent", [0, -5, "300000", 1e15, None, {"x": [1]}, True])
def test_cache_hints_are_kept_exactly_as_sent(sent: Any) -> None:
    raw = page(f'{{"ttlMs":{json.dumps(sent)},"tools":[],"cacheScope":{json.dumps(sent)}}}')
    (read,) = read_pages("tools", [raw]).pages
    assert read.ttl_ms == sent
    assert type(read.ttl_ms) is type(sent)
    assert read.cache_scope == sent


def test_hints_that_were_not_sent_are_absent_even_after_pickling() -> None:
    (read,) = pickle.loads(pickle.dumps(read_pages("tools", [page('{"tools":[]}')]))).pages
    assert read.ttl_ms is ABSENT
    assert read.cache_scope is ABSENT
    assert read.next_cursor is ABSENT


@pytest.mark.parametrize(
    ("what", "result", "name"),
    [
        ("prompts", '{"prompts":[{"name":"p"}]}', "p"),
        ("resources", '{"resources":[{"name":"r","uri":"file:///r"}]}', "file:///r"),
        ("templates", '{"resourceTemplates":[{"name":"t","uriTemplate":"file:///{t}"}]}', "file:///{t}"),
    ],
)
def test_each_kind_of_list_has_its_own_key_and_name(what: str, result: str, name: str) -> None:
    assert read_pages(what, [page(result)]).names == [name]


def test_pages_are_read_in_order_and_items_know_their_page() -> None:
    raws = [page('{"tools":[{"name":"b"}],"nextCursor":""}'), page('{"tools":[{"name":"a"}]}')]
    snapshot = Snapshot("tools", tuple(Page(None, raw, 0) for raw in raws))
    listing = snapshot.listing()
    assert [(item.page, item.name) for item in listing.items] == [(0, "b"), (1, "a")]
    assert listing.pages[0].next_cursor == ""
    assert listing.order_sha256 == hashlib.sha256(b"b\na\n").hexdigest()


def test_the_canonical_hash_ignores_order_of_tools_and_keys_but_not_spelling() -> None:
    one = read_pages("tools", [page('{"tools":[{"name":"b"},{"name":"a","x":{"q":1.0,"p":-0}}]}')])
    two = read_pages("tools", [page('{ "tools": [{"x":{"p":-0,"q":1.0},"name":"\\u0061"}, {"name":"b"}]}')])
    other = read_pages("tools", [page('{"tools":[{"name":"a","x":{"p":-0,"q":1}},{"name":"b"}]}')])
    canonical = b'[{"name":"a","x":{"p":-0,"q":1.0}},{"name":"b"}]'
    assert one.sha256 == two.sha256 == hashlib.sha256(canonical).hexdigest()
    assert one.sha256 != other.sha256
    assert one.order_sha256 != two.order_sha256


def test_duplicate_keys_survive_into_the_canonical_hash() -> None:
    listing = read_pages("tools", [page('{"tools":[{"name":"a","z":1,"b":{},"z":2}]}')])
    assert listing.sha256 == hashlib.sha256(b'[{"b":{},"name":"a","z":1,"z":2}]').hexdigest()


def test_json_nested_too_deeply_is_a_fault_of_its_page() -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    listing = read_pages("tools", [page(f'{{"tools":{deep}}}'), page('{"tools":[{"name":"a"}]}')])
    assert listing.pages[0].fault == "JSON nested too deeply to read"
    assert listing.names == ["a"]


def test_an_item_nested_too_deeply_is_a_broken_item_beside_the_others() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    listing = read_pages("tools", [page(f'{{"tools":[{{"name":"a"}},{deep},{{"name":"b"}}]}}')])
    assert listing.pages[0].fault == ""
    assert [(item.name, item.broken) for item in listing.items] == [
        ("a", ""), (None, "nested too deeply to read"), ("b", ""),
    ]  # fmt: skip
    assert listing.items[1].raw == deep
