"""What makes the search for secrets fast changes nothing of what it finds."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import plant

from inspector.trace.redact import Rules
from inspector.trace.redact.hits import Hit
from inspector.trace.redact.needles import Needles
from inspector.trace.redact.searcher import Searcher
from inspector.trace.redact.tokens import Walk

KNOWN = ["correct-horse-battery", "swörd-fish-123456"]
PIECES = [
    "password", "token", "api_key", "Authorization", "cookie", "set-cookie", "nextCursor", "properties", "type", "name",
    "hunter2-is-it", "Bearer abcdef123456789", "sk-abcdefghij0123456789", "/home/annabel/x", "C:\\Users\\annabel\\y",
    "https://ann:geheim99@h.example/?q=abc123&token=xyz12345", "password=abc12345", "token: 'abc12345xyz'",
    "cGFzc3dvcmQ9YWJjMTIzNDV4eXo=", "%70assword%3Dabc12345", "correct-horse-battery", "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl", "a\nb", 'say "token": "abc12345"', "{\"secret\":\"abc12345\"}",
    "swörd-fish-123456", "–" * 3, "AKIAIOSFODNN7EXAMPLE", "--token abc12345", "x" * 30, "1", "", "cookie: a=b; token=c",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(PIECES),
    st.lists(st.sampled_from(PIECES), max_size=3).map(" ".join),
    st.sampled_from(PIECES).map(lambda piece: json.dumps({"x": piece})),
    st.text(max_size=8),
)
values = st.recursive(
    st.one_of(texts, st.integers(0, 99_999), st.floats(0, 9), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(PIECES) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip


def spelt(value: object, seed: int) -> str:
    """JSON with whitespace and escapes as somebody may send them, or nearly JSON."""
    dice = random.Random(seed)
    if dice.random() < 0.2:
        return repr(value)  # as a Python program prints it: it only looks like JSON
    text = json.dumps(
        value, ensure_ascii=dice.random() < 0.5, separators=dice.choice([(",", ":"), (", ", ": ")])
    )
    if dice.random() < 0.3:
        text = json.dumps(value, ensure_ascii=False, indent=dice.choice([1, "\t"]), separators=(",", " : "))
    if dice.random() < 0.2:
        text = text.replace("/", "\\/").replace("&", "\\u0026").replace("o", "\\u006f")
    return text


def found(text: str, *, screened: bool) -> tuple[list[Hit], list[tuple[str, ...]]]:
    rules = Rules.default(KNOWN, user="annabel", home="/home/annabel", keys=["colour"])
    paths: list[tuple[str, ...]] = []
    searcher = Searcher(rules, optional=False, skipped=lambda why: None, screened=screened)
    return searcher.search(text, lambda steps, hit: paths.append(tuple(steps))), paths


@settings(max_examples=100, deadline=None)
@given(values, st.integers(0, 1 << 20), st.sampled_from([False] * 9 + [True]))
def test_a_screened_search_finds_what_a_look_at_every_string_finds(
    value: object, seed: int, long: bool
) -> None:
    if long:  # past what is stepped over at once
        value = [["a b"] * 9000, value, {"n": [1.5] * 3000}, value]
    text = spelt(value, seed)
    assert found(text, screened=True) == found(text, screened=False)


def test_the_planted_secrets_are_found_the_same_way_with_and_without_screens() -> None:
    raws = [event.raw.decode("utf-8", "replace") for event in plant().events if event.raw]
    assert len(raws) > 20
    for raw in raws:
        assert found(raw, screened=True) == found(raw, screened=False)


@settings(max_examples=50)
@given(st.text(alphabet="abAB:-", max_size=80), st.integers(1, 1000))
def test_one_pass_finds_each_needle_where_a_search_for_it_alone_does(text: str, times: int) -> None:
    content = text.encode() * times
    needles = [b"ab", b"abab", b"--", b"://", b"b", b"a:b"]
    alone, passed = (list(Needles(needles, one_pass=way).find(content)) for way in (False, True))
    assert passed == alone == sorted(alone)


def test_a_needle_over_the_edge_of_a_window_is_found_once() -> None:
    needles = [b"password", b"word", b"ss"]
    for at in range((1 << 16) - 12, (1 << 16) + 2):
        content = b" " * at + b"password" + b" " * 100
        assert list(Needles(needles, one_pass=True).find(content)) == [(at, 0), (at + 2, 2), (at + 4, 1)]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=60)
@given(json_values, st.lists(st.integers(0, 200), max_size=4), st.sampled_from(["", "]", ",", "x", "1", '"', "\x01"]),
       st.integers(0, 200))  # fmt: skip
def test_a_walk_ends_well_on_json_and_on_nothing_else(
    value: object, places: list[int], odd: str, at: int
) -> None:
    text = json.dumps(value)
    text = text[:at] + odd + text[at:]
    try:
        json.loads(text)
    except ValueError:
        for looked in (None, sorted(places)):
            with pytest.raises(ValueError, match="no JSON"):
                list(Walk(text, looked))
    else:
        whole = list(Walk(text))
        wanted = [leaf for leaf in whole if any(leaf[1] <= place < leaf[2] for place in places)]
        assert [leaf for leaf in Walk(text, sorted(places)) if leaf in wanted] == wanted


ODD = ['{"cookie": 301}', '{"cookie":\n 301}', '[{"set-cookie": 301}]', '{"token":\n "abc12345"}']


@pytest.mark.parametrize("text", ODD)
def test_a_value_that_is_no_cookie_is_hidden_under_that_key_too(text: str) -> None:
    hits, _ = found(text, screened=True)
    assert [hit.secret for hit in hits] == ["abc12345" if "abc" in text else "301"]
    assert found(text, screened=True) == found(text, screened=False)
