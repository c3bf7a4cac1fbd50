"""The host's cache: public names and back, collisions, freshness by the decision table, contexts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lab_parts import BILLING, NOW_US, answer, server, shop, tool

from inspector.catalog.snapshot import Page, Snapshot
from inspector.discovery.access import EVERYONE, Access, parse_contexts
from inspector.discovery.registry import Refusal, Registry, Tool, read_server, registry_of
from inspector.errors import UsageError


def names(registry: Registry, access: Access = EVERYONE) -> list[str]:
    return [each.public for each in registry.visible(access)]


def test_public_names_map_back_exactly() -> None:
    found = shop().resolve("billing__refund_payment")
    assert isinstance(found, Tool)
    assert (found.server, found.name) == ("billing", "refund_payment")
    assert found.text.startswith('{"name":"billing__refund_payment","description":"Pay money back')


def test_a_name_that_splits_two_ways_is_reported_and_never_guessed() -> None:
    registry = registry_of([server("a", tool("b__c")), server("a__b", tool("c"))])
    assert registry.collisions == {}  # runs of underscores in a server's name are closed up
    twin = replace(server("x", tool("c")), tools=(Tool("a__b__c", "x", "c", "{}", {}),), key="x")
    clash = registry_of([server("a", tool("b__c")), twin])
    assert clash.collisions == {"a__b__c": ["b__c of a", "c of x"]}
    refusal = clash.resolve("a__b__c")
    assert isinstance(refusal, Refusal)
    assert refusal.why == "ambiguous"
    assert names(clash) == []


def test_two_servers_of_one_name_get_two_keys() -> None:
    first = server("demo:flat", tool("x"))
    second = read_server(
        Snapshot("tools", (Page(None, answer(tool("x")), 0),)), "demo:flat", taken=[first.key]
    )
    assert (first.key, second.key) == ("demo_flat", "demo_flat_2")


def test_a_tool_listed_twice_and_one_without_a_name_are_told() -> None:
    found = server("s", tool("x"), tool("x"), {"description": "nameless"})
    assert [each.name for each in found.tools] == ["x"]
    assert found.problems == (
        "x is listed twice; the first is kept",
        'tool 3 of 3 cannot be used: name is missing: {"description":"nameless"}',
    )


def test_the_definition_changes_in_its_name_only() -> None:
    odd = '{"description":"é","name":"x","inputSchema":{"type":"object","n":1.0}}'
    raw = f'{{"jsonrpc":"2.0","id":10,"result":{{"tools":[{odd}]}}}}'.encode()
    found = read_server(Snapshot("tools", (Page(None, raw, 0),)), "s")
    assert found.tools[0].text == odd.replace('"x"', '"s__x"')


@pytest.mark.parametrize(
    ("hints", "after_ms", "usable"),
    [
        ({}, 10_000_000, True),  # handshake era: until a list_changed, never by time
        ({"ttlMs": 0, "cacheScope": "public"}, 0, True),  # good for the moment it arrived
        ({"ttlMs": 0, "cacheScope": "public"}, 1, False),
        ({"ttlMs": 5000, "cacheScope": "public"}, 4999, True),
        ({"ttlMs": 5000, "cacheScope": "public"}, 5000, False),
        ({"cacheScope": "public"}, 1, False),  # no ttlMs counts as 0
        ({"ttlMs": -1, "cacheScope": "public"}, 1, False),
    ],
)
def test_time_ends_what_the_hints_say(hints: dict[str, object], after_ms: int, usable: bool) -> None:
    registry = registry_of([server("s", *BILLING, **hints)]).advanced(after_ms * 1000)
    assert bool(names(registry)) is usable


def test_a_list_changed_beats_any_ttl_and_a_new_list_makes_fresh() -> None:
    registry = registry_of([server("s", *BILLING, ttlMs=3_600_000, cacheScope="public")])
    changed = registry.list_changed("s")
    assert names(changed) == []
    refusal = changed.resolve("s__void_invoice")
    assert isinstance(refusal, Refusal)
    assert refusal.why == "stale"
    again = changed.with_server(server("s", BILLING[0]))
    assert names(again) == ["s__list_invoices"]
    gone = again.resolve("s__void_invoice")
    assert isinstance(gone, Refusal)
    assert gone.why == "unknown"


def test_a_server_that_went_is_unavailable_and_its_list_stale_should_it_come_back() -> None:
    gone = shop().disconnected("billing")
    refusal = gone.resolve("billing__void_invoice")
    assert isinstance(refusal, Refusal) and refusal.why == "unavailable"
    back = gone.with_server(replace(gone.servers[0], connected=True))
    refusal = back.resolve("billing__void_invoice")
    assert isinstance(refusal, Refusal) and refusal.why == "stale"
    assert len(names(back)) == 2


def test_one_page_expires_alone() -> None:
    pages = (Page(None, answer(BILLING[0]), NOW_US), Page("2", answer(BILLING[1]), NOW_US))
    registry = registry_of([read_server(Snapshot("tools", pages, era="handshake"), "s")])
    assert names(registry.page_expired("s", 0)) == ["s__refund_payment"]


def test_private_entries_never_cross_contexts_and_public_ones_may() -> None:
    private = server("p", tool("x"), kept_for="ann", ttlMs=60000, cacheScope="private")
    public = server("q", tool("y"), kept_for="ann", ttlMs=60000, cacheScope="public")
    silent = server("r", tool("z"), kept_for="ann")
    registry = registry_of([private, public, silent])
    assert names(registry, Access("ann")) == ["p__x", "q__y", "r__z"]
    assert names(registry, Access("bob")) == ["q__y"]


def test_pages_that_disagree_make_the_whole_list_private() -> None:
    first = answer(tool("x"), resultType="complete", ttlMs=60000, cacheScope="public")
    second = answer(tool("y"), resultType="complete", ttlMs=60000, cacheScope="private")
    snapshot = Snapshot("tools", (Page(None, first, NOW_US), Page("2", second, NOW_US)), era="modern")
    registry = registry_of([read_server(snapshot, "s", kept_for="ann")])
    assert names(registry, Access("bob")) == []
    assert names(registry, Access("ann")) == ["s__x", "s__y"]


def test_deny_wins_and_no_list_allows_everything() -> None:
    assert Access().permits("a__b")
    assert not Access(deny=("a__*",)).permits("a__b")
    assert not Access(allow=("a__*",), deny=("*__b",)).permits("a__b")
    assert not Access(allow=()).permits("a__b")


def test_contexts_with_unknown_keys_are_refused() -> None:
    assert parse_contexts({"x": {"allow": ["a*"]}})["x"].allow == ("a*",)
    with pytest.raises(UsageError, match="keys it cannot have"):
        parse_contexts({"x": {"allows": ["a*"]}})
    with pytest.raises(UsageError, match="lists of globs"):
        parse_contexts({"x": {"allow": "a*"}})
