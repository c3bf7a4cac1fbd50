"""Definition bytes and parts, to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.catalog import jsontext
from inspector.catalog.measure import PARTS, Measure, measure_item, measure_items, weigh
from inspector.catalog.snapshot import read_pages


def measure(*tools: str) -> list[Measure]:
    raw = '{"jsonrpc":"2.0","id":10,"result":{"tools":[' + " , ".join(tools) + "]}}"
    return measure_items(read_pages("tools", [raw.encode("utf-8")]))


SCALARS = st.one_of(
    st.text(max_size=8).map(json.dumps),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False).replace("/", "\\/")),
    st.sampled_from(
        ["1.0", "1e5", "-0", "0.10", "1E+2", "true", "null", "7" * 400, '"\\ud83d"', '"\\u00e9"']
    ),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
KEYS = st.one_of(st.sampled_from([*PARTS, "type", "\\u0061"]), st.just("é")).map(lambda key: f'"{key}"')
SPACE = st.sampled_from(["", " ", "\n  ", "\t"])


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> tuple[str, str]:
    """(JSON text with odd spacing, the same without spaces); keys may repeat."""
    members = draw(st.lists(st.tuples(KEYS, values, SPACE), max_size=5))
    spaced = ",".join(f"{space}{key}{space}:{space}{value}{space}" for key, value, space in members)
    return "{" + spaced + "}", "{" + ",".join(f"{key}:{value}" for key, value, _ in members) + "}"


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: "[ " + " ,".join(each) + "]"),
        objects(inner).map(lambda pair: pair[0]),
    ),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(objects(VALUES))
def test_parts_sum_to_the_definition_and_the_text_reads_back_equal(pair: tuple[str, str]) -> None:
    (weighed,) = measure(pair[0])
    assert sum(weighed.parts.values()) == weighed.definition_bytes == len(jsontext.utf8(weighed.text))
    assert set(weighed.parts) <= set(PARTS)
    assert json.loads(weighed.text, object_pairs_hook=list) == json.loads(pair[0], object_pairs_hook=list)


@settings(max_examples=100, deadline=None)
@given(objects(VALUES), st.booleans())
def test_the_canonical_form_made_on_the_way_is_the_one_made_apart(pair: tuple[str, str], plain: bool) -> None:
    tool = json.dumps(json.loads(pair[0]), ensure_ascii=False, separators=(",", ":")) if plain else pair[0]
    raw = '{"jsonrpc":"2.0","id":10,"result":{"tools":[' + tool + "]}}"
    (item,) = read_pages("tools", [raw.encode("utf-8", "backslashreplace")]).items
    assert weigh(item) == (measure_item(item), jsontext.canonical(item.raw, item.value))


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1e5}',  # as the encoder writes it, it is longer: 100000.0
        '{"a":1.0,"b":[1]}',
        '{"a": 1e5}',
        '{"a":1e1   }',  # 10.0: the same size with the spaces
        '{"a":"\\u001F"}',  # the encoder writes a small letter
        '{"a":-0}',
        '{"a":1,"a":2}',
        '{"b":1,"a":[{"d":1,"c":2}]}',
    ],
)
def test_what_is_as_the_encoder_writes_it_is_told_by_its_size_only_where_that_is_proof(raw: str) -> None:
    (item,) = read_pages("tools", [f'{{"result":{{"tools":[{raw}]}}}}'.encode()]).items
    canonical = jsontext.quick_sorted(item.value)
    same = jsontext.quick_text(item.value) == raw
    assert jsontext.is_as_written(item.raw, item.value, canonical, item.floats) == same
    assert weigh(item)[0].text == jsontext.compact(raw)


@settings(max_examples=100, deadline=None)
@given(st.lists(SCALARS, max_size=6))
def test_number_spellings_survive_and_nothing_else_is_left(values: list[str]) -> None:
    numbers = [value for value in values if not value.startswith('"')]
    (weighed,) = measure('{ "name": "n" , "x" : [' + " , ".join(numbers) + "]}")
    assert weighed.text == '{"name":"n","x":[' + ",".join(numbers) + "]}"


@pytest.mark.parametrize(
    ("sent", "text", "size"),
    [
        ('{"name":"\\u00e9"}', '{"name":"é"}', 13),
        ('{"name":"a\\/b"}', '{"name":"a/b"}', 14),
        ('{"name":"\\ud83d\\ude00"}', '{"name":"😀"}', 15),
        ('{"name":"a","x":1.0,"y":-0,"z":1e5}', '{"name":"a","x":1.0,"y":-0,"z":1e5}', 35),
        ('{"name":"a", "name":"b"}', '{"name":"a","name":"b"}', 23),
        ('{"name":"\\u0007\\u000a"}', '{"name":"\\u0007\\n"}', 19),
        ('{"name":"😀"}', '{"name":"😀"}', 15),
    ],
)
def test_the_definition_form_keeps_spelling_and_drops_only_spaces_and_needless_escapes(
    sent: str, text: str, size: int
) -> None:
    (weighed,) = measure(sent)
    assert (weighed.text, weighed.definition_bytes) == (text, size)


def test_a_lone_surrogate_keeps_its_escape_in_bytes() -> None:
    (weighed,) = measure('{"name":"\\uD800!"}')
    assert jsontext.utf8(weighed.text) == b'{"name":"\\ud800!"}'
    assert weighed.definition_bytes == 18


def test_each_part_is_the_bytes_of_its_member_and_other_takes_the_rest() -> None:
    (weighed,) = measure('{"name":"a","inputSchema":{"type":"object"},"other":1,"vendor":2}')
    assert weighed.parts == {"name": 10, "inputSchema": 31, "other": 2 + 3 + 9 + 10}


def test_broken_items_are_weighed_too() -> None:
    number, nameless, whole = measure(" 7.0 ", '{"title":"t"}', '{"name":"a"}')
    assert (number.text, number.definition_bytes, number.parts) == ("7.0", 3, {"other": 3})
    assert (nameless.broken, nameless.parts) == ("name is missing", {"title": 11, "other": 2})
    assert whole.name == "a"


def test_a_catalog_sent_with_spaces_weighs_as_much_as_one_sent_without() -> None:
    tools: list[Any] = [
        {"name": f"t{n}", "description": "ü" * n, "inputSchema": {"type": "object"}} for n in range(20)
    ]
    tight = measure(*[json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools])
    loose = measure(*[json.dumps(tool, indent=2) for tool in tools])
    assert tight == loose
