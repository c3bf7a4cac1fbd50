"""Generated schemas: what a form makes of arguments, and arguments of a form, loses nothing and validates."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from inspector.catalog import forms
from inspector.catalog.fields import Field

EXAMPLES = int(os.environ.get("LOUPE_FUZZ", "60"))
"""`make fuzz` takes 500, and seeds that differ."""
KEYS = st.text(st.sampled_from("ab/~é _."), min_size=1, max_size=4)
WORDS = st.text(st.sampled_from('ab "\\é€\n1'), max_size=6)
BIG = st.integers(-(10**25), 10**25)
NODES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.sampled_from(
        [
            {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
            {"type": ["string", "null"]}, {"type": ["integer", "null"]}, {"enum": ["a", 1, None, True]},
            {"enum": ["1", 1]}, {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"type": "integer"}},
            {"type": "array", "items": {"enum": ["x", "y"]}, "uniqueItems": True}, {}, {"type": "object"},
            {"oneOf": [{"const": "a", "title": "A"}, {"const": 2}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ]
    ),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3).map(lambda found: {"type": "object", "properties": found}),
    max_leaves=6,
)  # fmt: skip
SCHEMAS = st.dictionaries(KEYS, NODES, max_size=4).flatmap(
    lambda found: (
        st.lists(st.sampled_from(sorted(found)), unique=True, max_size=2).map(
            lambda required: {"type": "object", "properties": found, "required": required}
        )
        if found
        else st.just({"type": "object", "properties": {}})
    )
)


def value_of(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A value that fits a node."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if "oneOf" in node:
        return st.sampled_from(["a", 2])
    if "anyOf" in node:
        return WORDS | BIG
    kind = node.get("type")
    if isinstance(kind, list):
        return st.none() | value_of({"type": kind[0]})
    if kind == "array":
        items = node["items"]
        return st.lists(
            value_of(items), max_size=3, unique_by=json.dumps if node.get("uniqueItems") else None
        )
    if kind == "object":
        found = node.get("properties", {})
        return st.fixed_dictionaries({}, optional={key: value_of(each) for key, each in found.items()})
    simple = {"string": WORDS, "integer": BIG, "number": BIG | st.floats(-1e9, 1e9), "boolean": st.booleans()}
    return simple.get(kind or "", WORDS | BIG | st.none() | st.lists(BIG, max_size=2))


def members_of(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    found = {key: value_of(node) for key, node in schema["properties"].items()}
    required = {key: found.pop(key) for key in schema.get("required", [])}
    return st.fixed_dictionaries(required, optional=found)


@given(SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), members_of(schema))))
@settings(max_examples=EXAMPLES, deadline=None)
def test_arguments_through_a_form_are_the_same_and_validate(
    made: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    schema, arguments = made
    text = json.dumps(arguments, ensure_ascii=False)
    back, errors = forms.arguments_from_form(schema, forms.form_from_arguments(schema, text))
    assert errors == []
    assert json.loads(back) == arguments
    assert list(Draft202012Validator(schema).iter_errors(json.loads(back))) == []


def typed(field: Field) -> st.SearchStrategy[dict[str, list[str]]]:
    """What a person may put into one input, and leave empty where the schema lets them; by name of the input."""
    if field.kind == "object":
        inner = st.tuples(*[typed(each) for each in field.fields]) if field.fields else st.just(())
        whole = {f"{forms.STATE}{field.path}": ["value"]} if field.required else {}
        return inner.map(
            lambda parts: {name: texts for part in parts for name, texts in part.items()} | whole
        )
    if field.kind == "array":
        item = (
            st.sampled_from([option.value for option in field.options])
            if field.options
            else TYPED[field.item]
        )
        lists = st.lists(item, max_size=3, unique=bool(field.options))
        return lists.map(lambda texts: {field.path: texts, f"{forms.STATE}{field.path}": ["value"]})
    if field.kind == "enum":
        texts = st.sampled_from([option.value for option in field.options])
    elif field.kind == "json":
        texts = value_of(json.loads(field.schema or "{}")).map(json.dumps)
    else:
        texts = TYPED[field.kind]
    given_ = texts.map(lambda text: {field.path: [text], f"{forms.STATE}{field.path}": ["value"]})
    return given_ if field.required else given_ | st.just({})


TYPED = {
    "string": WORDS,
    "integer": BIG.map(str),
    "number": st.sampled_from(["0.50", "1e3", "-2", " 7 ", "123456789012345678901234567890"]),
    "boolean": st.sampled_from(["true", "false"]),
}


@given(
    SCHEMAS.flatmap(
        lambda schema: st.tuples(
            st.just(schema), st.tuples(*[typed(each) for each in forms.fields_of(schema) if each.path])
        )
    )
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_typed_into_a_form_makes_arguments_that_validate(
    made: tuple[dict[str, Any], tuple[dict[str, list[str]], ...]],
) -> None:
    schema, parts = made
    form = {name: texts for part in parts for name, texts in part.items()}
    text, errors = forms.arguments_from_form(schema, form)
    assert errors == []
    assert list(Draft202012Validator(schema).iter_errors(json.loads(text))) == []
