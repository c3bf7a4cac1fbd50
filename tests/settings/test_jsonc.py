from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.errors import ConfigError
from inspector.settings.jsonc import loads, strip

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text('ab\\"/*,]}{[: \n\u2028é', max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('k"/*,}', max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
FILLING = st.sampled_from([" ", "\n", "/**/", '/* , ] } " */', '// it\'s "odd" ,]\n', "/*/ x */", "\t\r\n"])


@given(JSON)
def test_plain_json_is_not_changed_by_one_character(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert strip(text) == text


@given(JSON, st.data())
def test_comments_and_trailing_commas_do_not_change_the_value(value: object, data: st.DataObject) -> None:
    text = _decorated(value, lambda: data.draw(FILLING), lambda: data.draw(st.booleans()))
    assert loads(text, "x")[0] == value


def _decorated(value: object, fill, comma) -> str:  # type: ignore[no-untyped-def]
    if isinstance(value, list) and value:
        inner = ",".join(_decorated(one, fill, comma) for one in value)
        return fill() + "[" + inner + ("," if comma() else "") + fill() + "]" + fill()
    if isinstance(value, dict) and value:
        pairs = (fill() + json.dumps(k) + fill() + ":" + _decorated(v, fill, comma) for k, v in value.items())
        return "{" + ",".join(pairs) + ("," if comma() else "") + fill() + "}"
    return fill() + json.dumps(value) + fill()


@given(st.text('ab"\\/*,]}[{:1 \n', max_size=60))
def test_any_text_gives_a_value_or_our_error_and_keeps_its_lines(text: str) -> None:
    assert len(strip(text)) == len(text)
    assert strip(text).count("\n") == text.count("\n")
    with suppress(ConfigError):
        loads(text, "x")


@pytest.mark.parametrize(
    "text", ["[,]", "[1,,]", "{,}", '{"a":,}', "[1 /* never closed ]", "1/**/2", "/*/", '["a']
)
def test_what_is_wrong_stays_wrong(text: str) -> None:
    with pytest.raises(ConfigError):
        loads(text, "x")


def test_an_error_names_the_line_and_column_of_the_text_as_written() -> None:
    text = '{\n  // a comment, and /* another\n  "a": 1,\n  "secret": hunter2\n}'
    with pytest.raises(ConfigError) as caught:
        loads(text, "mcp.json")
    assert caught.value.facts == {"line": 4, "column": 13}
    assert caught.value.message.startswith("mcp.json is not valid JSON at line 4, column 13")
    assert "hunter2" not in caught.value.message + caught.value.remedy


def test_keys_written_twice_are_reported() -> None:
    assert loads('{"a": 1, "a": 2}', "x") == ({"a": 2}, ["a"])


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '"' + '\\"' * 200_000, "/*" * 200_000, ", " * 200_000, "9" * 10_000]
)
def test_hostile_text_ends_soon_in_our_error(text: str) -> None:
    with pytest.raises(ConfigError):
        loads(text, "x")
