"""A document opened bit by bit is the text it was made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.catalog.jsontree import Document, Path

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def whole(document: Document, path: Path) -> Any:
    """The value put together again from the children of every container."""
    start, end = document.find(path)
    text = document.text[start:end]
    if text[0] not in "[{":
        return json.loads(text)
    children = document.children((start, end))
    found = [whole(document, (*path, number)) for number in range(len(children))]
    return found if children.keys is None else dict(zip(children.keys, found, strict=True))


@settings(max_examples=30, deadline=None)
@given(VALUES, st.sampled_from([None, 1]))
def test_the_children_of_all_nodes_make_up_the_value(value: Any, indent: int | None) -> None:
    document = Document(json.dumps(value, indent=indent))
    assert whole(document, ()) == value


def test_of_a_name_that_stands_twice_the_last_is_found_and_both_by_number() -> None:
    document = Document('{"a": 1, "a": [1.0, 1e999]}')
    texts = [document.text[slice(*document.find(path))] for path in (("a",), (0,), (1,), ("a", 1))]
    assert texts == ["[1.0, 1e999]", "1", "[1.0, 1e999]", "1e999"]


def test_integers_past_pythons_limit_are_stepped_over() -> None:
    assert Document("[" + "9" * 5000 + ", 2]").find((1,)) == (5003, 5004)


@pytest.mark.parametrize(
    "text", ["", "[1", "[1 2]", "{1: 2}", '{"a" 1}', "[1,]", '{"a":1,}', "[,1]", "7", '{"a":']
)
def test_what_is_no_container_or_no_json_has_no_children(text: str) -> None:
    document = Document(text)
    with pytest.raises(ValueError, match=r"expect|Expect|no container"):
        document.children(document.root())


@pytest.mark.parametrize("path", [(2,), ("b",), (-1,), ("a", 1), ("a", "x"), ("a", 0, 0)])
def test_a_path_that_leads_nowhere_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no|no container"):
        Document('{"a": [1]}').find(path)
