"""The decision table for cache hints, row by row (rows 1-37), and what lies between the rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.protocol.freshness import MAX_TTL_MS, Entry, Hints, assess

LIST = "tools/list"
NO_KIND = object()


def hints(
    ttl: Any = ...,
    scope: Any = ...,
    kind: Any = "complete",
    method: str = LIST,
    era: Era = MODERN,
    **more: Any,
) -> Hints:
    result: dict[str, Any] = {"tools": []}
    if ttl is not ...:
        result["ttlMs"] = ttl
    if scope is not ...:
        result["cacheScope"] = scope
    if kind is not NO_KIND:
        result["resultType"] = kind
    return assess(result, method=method, era=era, **more)


def kept(
    ttl: int = 60_000, scope: str = "public", at_us: int = 0, stale_since_us: int | None = None
) -> Entry:
    return Entry(hints(ttl, scope), at_us, stale_since_us)


# row, hints, effective ms, shareable (None: moot), cacheable, number of violations
ONE_REPLY = [
    (1, hints(60000, "public"), 60000, True, True, 0),
    (2, hints(60000, "private"), 60000, False, True, 0),
    (4, hints(0, "public"), 0, None, True, 0),
    (5, hints(-5, "public"), 0, None, True, 1),
    (6, hints(scope="public"), 0, None, True, 1),
    (7, hints(), 0, False, True, 2),
    (8, hints(kind=NO_KIND, era=HANDSHAKE), 0, False, True, 0),
    (9, hints(60000), 60000, False, True, 1),
    (10, hints(60000, "shared"), 60000, False, True, 1),
    (10, hints(60000, "PUBLIC"), 60000, False, True, 1),
    (10, hints(60000, None), 60000, False, True, 1),
    (11, hints("60000", "public"), 0, False, True, 1),
    (12, hints(1500.5, "public"), 0, False, True, 1),
    (12, hints(None, "public"), 0, False, True, 1),
    (12, hints(True, "public"), 0, False, True, 1),
    (13, hints(60000.0, "public"), 60000, True, True, 0),
    (13, hints(60000.0, "private"), 60000, False, True, 0),
    (14, hints(10**15, "public"), MAX_TTL_MS, True, True, 0),
    (14, hints(1e15, "public"), MAX_TTL_MS, True, True, 0),
    (15, hints(60000, "public", NO_KIND), 60000, True, True, 1),
    (15, hints(60000, "private", NO_KIND), 60000, False, True, 1),
    (15, hints(60000, "public", NO_KIND, era=HANDSHAKE), 0, None, True, 0),
    (16, hints(60000, "public", "input_required"), 0, False, False, 0),
    (17, hints(60000, "public", "bogus"), 0, False, False, 1),
    (17, hints(60000, "public", None), 0, False, False, 1),
    (18, hints(60000, "public", method="resources/read", retry=True), 0, False, False, 0),
    (18, hints(60000, "public", method="resources/read", retry="inputResponses"), 0, False, False, 0),
    (19, hints(60000, "public", method="resources/read", retry="requestState"), 0, False, False, 0),
    (35, assess(None, method=LIST, era=MODERN, error=True), 0, False, False, 0),
    (35, assess([], method=LIST, era=MODERN), 0, False, False, 0),
    (36, hints(60000, "public", method="tools/call"), 0, False, False, 0),
    (37, hints(3_600_000, "public", method="server/discover"), 3_600_000, True, True, 0),
]


@pytest.mark.parametrize(
    ("row", "found", "ttl_ms", "shareable", "cacheable", "violations"),
    ONE_REPLY,
    ids=[f"row {row[0]}" for row in ONE_REPLY],
)
def test_one_reply_is_judged_by_its_row(
    row: int, found: Hints, ttl_ms: int, shareable: bool | None, cacheable: bool, violations: int
) -> None:
    assert (found.row, found.ttl_ms, found.shareable, found.cacheable) == (row, ttl_ms, shareable, cacheable)
    assert len(found.violations) == violations
    assert found.why
    assert freshness.fresh_until(found, 7) == (7 + ttl_ms * 1000 if ttl_ms else None)


@pytest.mark.parametrize(
    "method", ["prompts/list", "resources/list", "resources/templates/list", "resources/read"]
)
def test_each_cacheable_method_is_judged_like_tools_list(method: str) -> None:
    assert hints(60000, "public", method=method).row == 1


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "completion/complete", "tasks/get", "ping"])
def test_row_36_no_other_method_is_kept(method: str) -> None:
    assert (hints(60000, "public", method=method).row, hints(60000, method=method).cacheable) == (36, False)


@pytest.mark.parametrize("ttl", [float("inf"), float("-inf"), float("nan"), [], {}, [60000]])
def test_row_12_nothing_but_an_integer_counts(ttl: Any) -> None:
    assert (hints(ttl, "public").row, hints(ttl, "public").ttl_ms) == (12, 0)


def test_the_raw_hints_tell_null_from_absent() -> None:
    null, absent = hints(None, None), hints()
    assert (null.ttl_raw, null.ttl_present, null.scope_raw, null.scope_present) == (None, True, None, True)
    assert (absent.ttl_raw, absent.ttl_present, absent.scope_raw, absent.scope_present) == (
        None,
        False,
        None,
        False,
    )


def test_several_violations_are_all_named() -> None:
    assert hints(-5, "shared", NO_KIND).violations == (
        "ttlMs is negative (-5)",
        'cacheScope is "shared", neither public nor private; treated as private',
        "resultType is missing; it counts as complete",
    )


def test_retried_with_tells_which_answers_a_request_carries() -> None:
    assert freshness.retried_with({"inputResponses": {}, "requestState": "s"}) == "inputResponses"
    assert freshness.retried_with({"requestState": "s"}) == "requestState"
    assert freshness.retried_with({"name": "x"}) == ""
    assert freshness.retried_with(None) == ""


def test_row_3_at_the_very_end_it_is_stale() -> None:
    entry = kept(60_000)
    assert freshness.state(entry, 59_999_999) == "fresh"
    assert freshness.state(entry, 60_000_000) == "stale"


def test_what_never_was_fresh_is_never() -> None:
    assert freshness.state(kept(0), 0) == "never"
    assert freshness.state(Entry(hints(60000, "public", "bogus"), 0), 0) == "never"


def test_row_20_another_uri_is_another_key() -> None:
    a = freshness.key("resources/read", {"uri": "A", "_meta": {"progressToken": 1}})
    assert a == freshness.key("resources/read", {"_meta": {}, "uri": "A"})
    assert a != freshness.key("resources/read", {"uri": "B"})
    assert a != freshness.key("resources/list", {"uri": "A"})
    assert freshness.key(LIST, None) == freshness.key(LIST, {}) == freshness.key(LIST, {"_meta": {}})
    assert freshness.key(LIST, {"cursor": ""}) != freshness.key(LIST, {})


def test_rows_21_and_23_each_page_has_its_own_clock_and_only_the_expired_one_is_fetched_again() -> None:
    first, second = kept(60_000, at_us=0), kept(5_000, at_us=2_000_000)
    assert freshness.fresh_until(first.hints, first.received_at_us) == 60_000_000
    assert freshness.fresh_until(second.hints, second.received_at_us) == 7_000_000
    assert [freshness.state(page, 7_000_000) for page in (first, second)] == ["fresh", "stale"]
    verdict = freshness.list_scope([first.hints, second.hints])
    assert (verdict.what, verdict.row) == ("public", 21)


def test_row_22_pages_with_different_scopes_make_the_whole_list_private() -> None:
    verdict = freshness.list_scope([hints(60000, "private"), hints(60000, "public")])
    assert (verdict.what, verdict.row) == ("private", 22)


def test_a_list_without_pages_is_private() -> None:
    assert freshness.list_scope([]).what == "private"


@pytest.mark.parametrize(
    ("code", "cursor", "what", "row"),
    [
        (-32602, "c1", "drop-all", 24),
        (-32602, "", "drop-all", 24),
        (-32602, None, "serve-stale", 31),
        (-32603, "c1", "serve-stale", 31),
        (None, None, "serve-stale", 31),
    ],
)
def test_rows_24_and_31_a_failed_refetch(code: int | None, cursor: str | None, what: str, row: int) -> None:
    verdict = freshness.after_failed_refetch(code, cursor)
    assert (verdict.what, verdict.row) == (what, row)


@pytest.mark.parametrize(
    ("result", "cursor"),
    [
        ({"nextCursor": ""}, ""),
        ({"nextCursor": "c1"}, "c1"),
        ({}, None),
        ({"nextCursor": None}, None),
        (None, None),
    ],
)
def test_row_25_an_empty_cursor_is_a_cursor(result: Any, cursor: str | None) -> None:
    assert freshness.next_cursor(result) == cursor


def test_row_26_a_change_ends_it_at_once() -> None:
    verdict = freshness.invalidates("notifications/tools/list_changed", {}, LIST)
    assert (verdict.what, verdict.row) == ("stale", 26)
    entry = kept(300_000, stale_since_us=1_000_000)
    assert freshness.state(entry, 999_999) == "fresh"
    assert freshness.state(entry, 1_000_000) == "stale"


CHANGES = [
    (27, "notifications/prompts/list_changed", {}, LIST, None, "keep"),
    (26, "notifications/prompts/list_changed", {}, "prompts/list", None, "stale"),
    (26, "notifications/resources/list_changed", {}, "resources/list", None, "stale"),
    (26, "notifications/resources/list_changed", {}, "resources/templates/list", None, "stale"),
    (27, "notifications/resources/list_changed", {}, "resources/read", "A", "keep"),
    (28, "notifications/resources/updated", {"uri": "A"}, "resources/read", "A", "stale"),
    (28, "notifications/resources/updated", {"uri": "A"}, "resources/read", "B", "keep"),
    (27, "notifications/resources/updated", {"uri": "A"}, "resources/list", None, "keep"),
    (28, "notifications/resources/updated", None, "resources/read", "A", "keep"),
    (27, "notifications/message", {}, LIST, None, "keep"),
]


@pytest.mark.parametrize(("row", "notification", "params", "method", "uri", "what"), CHANGES)
def test_rows_26_to_28_only_the_notification_that_concerns_it_ends_it(
    row: int, notification: str, params: Any, method: str, uri: str | None, what: str
) -> None:
    verdict = freshness.invalidates(notification, params, method, uri)
    assert (verdict.what, verdict.row) == (what, row)


@pytest.mark.parametrize(
    "notification",
    ["message", "progress", "cancelled", "tools/list_changed", "prompts/list_changed", "resources/list_changed",
     "resources/updated"],
)  # fmt: skip
def test_only_a_notification_that_can_end_something_is_held_against_what_is_kept(notification: str) -> None:
    name = f"notifications/{notification}"
    ends = {
        method: freshness.invalidates(name, {"uri": "a:b"}, method, "a:b").what
        for method in freshness.CACHEABLE
    }
    assert freshness.tells_of_change(name) == ("stale" in ends.values())


@pytest.mark.parametrize(
    ("announced", "listening", "what", "row"),
    [(True, True, "notified", 26), (True, False, "ttl-only", 29), (False, True, "ttl-only", 29)],
)
def test_row_29_without_a_listen_only_time_counts(
    announced: bool, listening: bool, what: str, row: int
) -> None:
    verdict = freshness.delivery(announced=announced, listening=listening)
    assert (verdict.what, verdict.row) == (what, row)


@pytest.mark.parametrize(
    ("changed_at", "what"), [(None, "keep"), (99, "keep"), (100, "stale"), (150, "stale")]
)
def test_row_30_a_reply_that_may_predate_a_change_is_stale(changed_at: int | None, what: str) -> None:
    verdict = freshness.raced(100, changed_at)
    assert (verdict.what, verdict.row) == (what, 30)


@pytest.mark.parametrize(
    ("code", "what"), [(-32602, "refetch"), (-32601, "refetch"), (-32603, "keep"), (None, "keep")]
)
def test_row_32_an_unknown_tool_allows_an_early_refetch(code: int | None, what: str) -> None:
    verdict = freshness.after_call_error(code)
    assert (verdict.what, verdict.row) == (what, 32)


@pytest.mark.parametrize(
    ("found", "asked_by", "what", "row"),
    [
        (hints(60000, "public"), "me", "hit", 1),
        (hints(60000, "private"), "me", "hit", 2),
        (hints(60000, "private"), "my new token", "miss", 33),
        (hints(60000), "somebody", "miss", 33),
        (hints("60000", "public"), "somebody", "miss", 33),
        (hints(60000, "public"), "somebody", "hit", 34),
    ],
)
def test_rows_33_and_34_who_may_be_served(found: Hints, asked_by: str, what: str, row: int) -> None:
    verdict = freshness.may_serve(found, "me", asked_by)
    assert (verdict.what, verdict.row) == (what, row)


def test_each_row_of_the_table_has_a_case() -> None:
    told = {row[0] for row in ONE_REPLY} | {row[0] for row in CHANGES}
    told |= {3, 20, 21, 22, 23, 24, 25, 29, 30, 31, 32, 33, 34}
    assert told == set(range(1, 38))


json_values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)
)


@given(
    st.dictionaries(st.sampled_from(["ttlMs", "cacheScope", "resultType"]), json_values),
    st.sampled_from([*freshness.CACHEABLE, "tools/call"]),
    st.sampled_from([HANDSHAKE, MODERN]),
)
def test_no_hint_makes_us_fail_or_keep_too_long(result: dict[str, Any], method: str, era: Era) -> None:
    found = assess(result, method=method, era=era)
    assert 0 <= found.ttl_ms <= MAX_TTL_MS
    assert 1 <= found.row <= 37
    assert not (found.ttl_ms and era == HANDSHAKE)
    assert not (found.shareable and found.scope != "public")
    assert found.cacheable or not found.ttl_ms
