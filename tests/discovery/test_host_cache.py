"""The host cache, row by row of the decision table, with a clock that is passed in."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.discovery.host_cache import HostCache, Key, Look
from inspector.protocol import freshness
from inspector.protocol.eras import Era

PAGE = Key("s", "cmd", "modern", "{}", "tools/list", {})
MS = 1000


def keep(
    cache: HostCache[str], key: Key = PAGE, result: dict[str, Any] | None = None, context: str = "a",
    *, at_ms: int = 0, took_ms: int = 0, retry: str = "", reply: str = "reply",
) -> None:  # fmt: skip
    era: Era = "modern" if key.era == "modern" else "handshake"
    found = {"ttlMs": 60_000, "cacheScope": "public", "resultType": "complete"} if result is None else result
    hints = freshness.assess(found, method=key.method, era=era, retry=retry)
    cache.keep(
        key, context, reply, hints, asked_at_us=(at_ms - took_ms) * MS, received_at_us=at_ms * MS, size=1
    )


def said(
    cache: HostCache[str], key: Key = PAGE, context: str = "a", at_ms: int = 0, *, told: bool = False
) -> tuple[str, int]:
    look: Look[str] = cache.look(key, context, at_ms * MS, told=told)
    return look.what, look.row


def hints(ttl: Any, scope: Any) -> dict[str, Any]:
    return {"ttlMs": ttl, "cacheScope": scope, "resultType": "complete"}


@pytest.mark.parametrize(
    ("result", "after_ms", "context", "expected"),
    [
        (hints(60_000, "public"), 59_999, "a", ("hit", 1)),
        (hints(60_000, "private"), 59_999, "a", ("hit", 2)),
        (hints(60_000, "public"), 60_000, "a", ("stale", 3)),
        (hints(0, "public"), 0, "a", ("stale", 4)),
        (hints(-5, "public"), 0, "a", ("stale", 5)),
        ({"cacheScope": "public"}, 0, "a", ("stale", 6)),
        ({}, 0, "a", ("stale", 7)),
        ({"ttlMs": 60_000}, 1, "a", ("hit", 9)),
        ({"ttlMs": 60_000}, 1, "b", ("miss", 33)),
        (hints(60_000, "PUBLIC"), 1, "b", ("miss", 33)),
        (hints("60000", "public"), 0, "a", ("stale", 11)),
        (hints(1500.5, "public"), 0, "a", ("stale", 12)),
        (hints(60_000.0, "public"), 59_999, "a", ("hit", 13)),
        (hints(10**15, "public"), freshness.MAX_TTL_MS - 1, "a", ("hit", 14)),
        (hints(10**15, "public"), freshness.MAX_TTL_MS, "a", ("stale", 3)),
        ({"ttlMs": 60_000, "cacheScope": "public"}, 1, "a", ("hit", 15)),
        ({"resultType": "input_required", "ttlMs": 60_000}, 1, "a", ("miss", 16)),
        ({"resultType": "bogus", "ttlMs": 60_000}, 1, "a", ("miss", 17)),
        (hints(60_000, "private"), 1, "b", ("miss", 33)),
        (hints(60_000, "public"), 1, "b", ("hit", 34)),
    ],
)  # fmt: skip
def test_one_kept_answer_is_judged_by_its_row(
    result: dict[str, Any], after_ms: int, context: str, expected: tuple[str, int]
) -> None:
    cache: HostCache[str] = HostCache()
    keep(cache, result=result)
    assert said(cache, context=context, at_ms=after_ms) == expected


def test_row_8_a_handshake_list_lives_until_told_and_only_while_somebody_tells() -> None:
    cache: HostCache[str] = HostCache()
    key = Key("s", "cmd", "handshake", "{}", "tools/list", {})
    keep(cache, key, {})
    assert said(cache, key, at_ms=10**9, told=True) == ("hit", 8)
    assert said(cache, key, at_ms=1, told=False) == ("stale", 8)
    cache.disconnected("s", 5 * MS)
    assert said(cache, key, at_ms=6, told=True) == ("invalidated", 8)


@pytest.mark.parametrize(("retry", "row"), [("inputResponses", 18), ("requestState", 19)])
def test_rows_18_and_19_a_retry_is_never_kept(retry: str, row: int) -> None:
    cache: HostCache[str] = HostCache()
    key = Key("s", "cmd", "modern", "{}", "resources/read", {"uri": "A", retry: {}})
    keep(cache, key, retry=retry)
    assert said(cache, key) == ("miss", row)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"params": {"cursor": "x"}}, "other parameters"),
        ({"era": "handshake"}, "another era"),
        ({"declared": '{"roots": {}}'}, "another set of declared capabilities"),
        ({"target": "cmd2"}, "another command or URL"),
    ],
)
def test_row_20_whatever_is_asked_otherwise_is_another_answer(other: dict[str, Any], words: str) -> None:
    cache: HostCache[str] = HostCache()
    keep(cache)
    fields = {
        name: getattr(PAGE, name) for name in ("server", "target", "era", "declared", "method", "params")
    }
    look = cache.look(Key(**(fields | other)), "a", 0)
    assert (look.what, look.row) == ("miss", 20)
    assert words in look.why
    assert said(cache, Key(**(fields | {"server": "s2"}))) == ("miss", 0)
    assert said(cache, Key(**(fields | {"params": {"_meta": {"progressToken": 1}}}))) == ("hit", 1)


def test_rows_21_and_23_each_page_has_its_own_clock() -> None:
    cache: HostCache[str] = HostCache()
    second = Key("s", "cmd", "modern", "{}", "tools/list", {"cursor": "c1"})
    keep(cache)
    keep(cache, second, hints(5_000, "public"), at_ms=10)
    assert (said(cache, at_ms=5_010), said(cache, second, at_ms=5_010)) == (("hit", 1), ("stale", 3))
    keep(cache, second, hints(5_000, "public"), at_ms=5_011)
    assert said(cache, second, at_ms=5_012) == ("hit", 1)


def test_row_22_pages_that_differ_in_scope_are_shared_with_nobody() -> None:
    cache: HostCache[str] = HostCache()
    second = Key("s", "cmd", "modern", "{}", "tools/list", {"cursor": "c1"})
    keep(cache)
    assert said(cache, context="b") == ("hit", 34)
    keep(cache, second, hints(60_000, "private"))
    assert said(cache, context="b") == ("miss", 22)
    assert said(cache) == ("hit", 1)


def test_row_24_an_unknown_cursor_drops_every_page() -> None:
    cache: HostCache[str] = HostCache()
    second = Key("s", "cmd", "modern", "{}", "tools/list", {"cursor": "c1"})
    keep(cache)
    keep(cache, second)
    assert cache.failed(second, "a", -32602).row == 24
    assert said(cache) == ("miss", 0)


def test_rows_26_and_27_only_the_change_of_that_list_ends_all_its_pages() -> None:
    cache: HostCache[str] = HostCache()
    second = Key("s", "cmd", "modern", "{}", "tools/list", {"cursor": "c1"})
    keep(cache)
    keep(cache, second)
    assert cache.notified("s", "notifications/prompts/list_changed", {}, 1000 * MS) == []
    assert cache.notified("other", "notifications/tools/list_changed", {}, 1000 * MS) == []
    assert said(cache, at_ms=1000) == ("hit", 1)
    assert len(cache.notified("s", "notifications/tools/list_changed", {}, 1000 * MS)) == 2
    assert (said(cache, at_ms=1000), said(cache, second, at_ms=1000)) == (("invalidated", 26),) * 2


def test_row_28_an_update_ends_the_resource_it_names() -> None:
    cache: HostCache[str] = HostCache()
    one, two = (Key("s", "cmd", "modern", "{}", "resources/read", {"uri": uri}) for uri in "AB")
    keep(cache, one)
    keep(cache, two)
    cache.notified("s", "notifications/resources/updated", {"uri": "A"}, 5 * MS)
    assert (said(cache, one, at_ms=6), said(cache, two, at_ms=6)) == (("invalidated", 28), ("hit", 1))


@pytest.mark.parametrize(
    ("changed_ms", "expected"),
    [(99, ("hit", 1)), (100, ("invalidated", 30)), (150, ("invalidated", 30)), (201, ("invalidated", 26))],
)
def test_row_30_an_answer_that_may_predate_a_change_is_not_fresh(
    changed_ms: int, expected: tuple[str, int]
) -> None:
    """Asked at 100 ms, answered at 200, kept after whatever came in between."""
    cache: HostCache[str] = HostCache()
    cache.notified("s", "notifications/tools/list_changed", {}, changed_ms * MS)
    keep(cache, at_ms=200, took_ms=100)
    assert said(cache, at_ms=300) == expected


def test_rows_31_and_35_an_error_takes_nothing_away_and_is_not_kept() -> None:
    cache: HostCache[str] = HostCache()
    cache.failed(PAGE, "a", -32603)
    assert said(cache) == ("miss", 35)
    keep(cache, result=hints(1, "public"))
    assert cache.failed(PAGE, "a", None).what == "serve-stale"
    look = cache.look(PAGE, "a", 10 * MS)
    assert look.what == "stale" and look.kept is not None and look.kept.reply == "reply"


def test_row_32_an_unknown_tool_puts_a_fresh_list_in_doubt_until_it_is_listed_again() -> None:
    cache: HostCache[str] = HostCache()
    keep(cache)
    cache.call_failed("s", -32000)
    assert said(cache) == ("hit", 1)
    cache.call_failed("s", -32602)
    assert said(cache) == ("hit", 32)
    keep(cache)
    assert said(cache) == ("hit", 1)


def test_row_37_discovery_is_kept_like_a_list_and_row_36_a_call_never() -> None:
    cache: HostCache[str] = HostCache()
    discover, call = (
        Key("s", "cmd", "modern", "{}", method, {}) for method in ("server/discover", "tools/call")
    )
    keep(cache, discover)
    keep(cache, call)
    assert (said(cache, discover), said(cache, call)) == (("hit", 37), ("miss", 36))


def test_what_is_longest_unused_goes_first() -> None:
    cache: HostCache[str] = HostCache(most=2)
    keys = [Key("s", "cmd", "modern", "{}", "resources/read", {"uri": uri}) for uri in "ABC"]
    keep(cache, keys[0])
    keep(cache, keys[1])
    assert said(cache, keys[0]) == ("hit", 1)
    keep(cache, keys[2])
    assert [said(cache, key)[0] for key in keys] == ["hit", "miss", "hit"]


def test_changes_of_resources_are_remembered_for_as_many_as_answers_are() -> None:
    """A server may name any number of resources, and may name them by anything."""
    cache: HostCache[str] = HostCache(most=2)
    one, other = (Key("s", "cmd", "modern", "{}", "resources/read", {"uri": uri}) for uri in ("A", "3"))
    for uri in ("A", "1", "2", "3"):
        cache.notified("s", "notifications/resources/updated", {"uri": uri}, 150 * MS)
    for odd in (["A"], {"A": 1}, None, 7):
        assert cache.notified("s", "notifications/resources/updated", {"uri": odd}, 150 * MS) == []
    keep(cache, other, at_ms=200, took_ms=100)
    assert said(cache, other, at_ms=300) == ("invalidated", 30)
    keep(cache, one, at_ms=200, took_ms=100)
    assert said(cache, one, at_ms=300) == ("hit", 1)


def test_a_server_that_is_forgotten_takes_its_answers_along_and_no_others() -> None:
    cache: HostCache[str] = HostCache()
    other = Key("s2", "cmd", "modern", "{}", "tools/list", {})
    keep(cache)
    keep(cache, other)
    cache.forget("s")
    assert (said(cache), said(cache, other)) == (("miss", 0), ("hit", 1))
