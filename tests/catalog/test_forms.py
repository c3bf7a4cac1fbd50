"""Schema to form to exact arguments and back (field reports F1 to F5, G2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.catalog.forms import arguments_from_form, fields_of, form_from_arguments, initial_form

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Full name", "minLength": 1},
        "count": {"type": "integer", "minimum": 0},
        "ratio": {"type": "number"},
        "on": {"type": "boolean", "default": True},
        "mode": {"enum": ["fast", 1, "1"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/$defs/Place"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "a/b~c": {"type": ["integer", "null"]},
        "shape": {"oneOf": [{"type": "string"}, {"type": "object"}]},
    },
    "required": ["name", "on"],
    "$defs": {
        "Place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}
    },
}


def kinds(schema: Any) -> dict[str, str]:
    return {field.path: field.kind for field in fields_of(schema)}


def one(node: Any, **rest: Any) -> Any:
    (field,) = fields_of({"type": "object", "properties": {"x": node}, **rest})
    return field


def given_form(form: dict[str, list[str]], schema: Any = SCHEMA) -> str:
    text, errors = arguments_from_form(schema, form)
    assert errors == []
    return text


def test_plain_nodes_become_inputs_and_only_the_unplain_one_a_json_box() -> None:
    assert kinds(SCHEMA) == {
        "/name": "string",
        "/count": "integer",
        "/ratio": "number",
        "/on": "boolean",
        "/mode": "enum",
        "/tags": "array",
        "/place": "object",
        "/note": "string",
        "/a~1b~0c": "integer",
        "/shape": "json",
    }
    by_path = {field.path: field for field in fields_of(SCHEMA)}
    assert by_path["/name"].label == "Full name"
    assert (by_path["/name"].required, by_path["/name"].min_length) == (True, 1)
    assert (by_path["/note"].nullable, by_path["/note"].default) == (True, "null")
    assert by_path["/a~1b~0c"].nullable
    assert [field.path for field in by_path["/place"].fields] == ["/place/city", "/place/zip"]


def test_an_untouched_form_sends_nothing_at_all() -> None:
    untouched = {field.path: [""] for field in fields_of(SCHEMA) if field.path}
    assert given_form(untouched) == "{}"
    assert given_form({}) == "{}"


def test_a_cleared_field_is_left_out_unless_the_person_keeps_it_empty() -> None:
    assert given_form({"/name": [""], "/place/city": [""]}) == "{}"
    assert given_form({"/name": [""], "state:/name": ["value"]}) == '{"name":""}'
    assert given_form({"/tags": [""], "state:/tags": ["value"]}) == '{"tags":[""]}'
    assert given_form({"state:/tags": ["value"]}) == '{"tags":[]}'


def test_null_is_sent_only_when_asked_for() -> None:
    assert given_form({"state:/note": ["null"], "/note": ["typed before"]}) == '{"note":null}'
    assert given_form({"state:/note": ["omit"], "/note": ["typed before"]}) == "{}"


def test_integers_of_any_size_and_number_spellings_reach_the_wire_as_typed() -> None:
    big = "725653563933458432" + "0" * 5_000
    assert given_form({"/count": [big], "/ratio": ["1.50e3"]}) == '{"count":' + big + ',"ratio":1.50e3}'
    assert given_form({"/shape": ['{"id": 725653563933458432, "x": 1.0}']}) == (
        '{"shape":{"id":725653563933458432,"x":1.0}}'
    )


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/ratio", "1e999"),
        ("/ratio", "NaN"),
        ("/ratio", "-Infinity"),
        ("/ratio", "0x10"),
        ("/count", "1.5"),
        ("/count", "٣"),
        ("/on", "maybe"),
        ("/mode", "fast"),
        ("/shape", "{"),
        ("/shape", "[1e999]"),
        ("/shape", "[NaN]"),
        ("/shape", "[" * 100_000),
        ("", "[]"),
    ],
)
def test_what_is_no_value_is_refused_at_its_field(path: str, typed: str) -> None:
    _, errors = arguments_from_form(SCHEMA, {path: [typed], "/name": ["n"]})
    assert [error.path for error in errors] == [path]


def test_a_choice_is_its_json_text_so_numbers_and_strings_differ() -> None:
    assert [option.value for option in one({"enum": ["a", 1, "1"]}).options] == ['"a"', "1", '"1"']
    assert given_form({"/mode": ["1"]}) == '{"mode":1}'
    assert given_form({"/mode": ['"1"']}) == '{"mode":"1"}'


def test_titled_choices_show_their_titles() -> None:
    titled = one({"oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]})
    assert [(option.value, option.label) for option in titled.options] == [('"r"', "Red"), ('"g"', "g")]
    named = one({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]})
    assert [option.label for option in named.options] == ["A", "B"]
    nullable = one({"enum": ["a", None]})
    assert (nullable.nullable, [option.value for option in nullable.options]) == (True, ['"a"'])


def test_many_of_several_choices_is_an_array_of_choices() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": {"enum": ["a", "b"]}}}}
    assert given_form({"/x": ['"b"', '"a"']}, schema) == '{"x":["b","a"]}'


@pytest.mark.parametrize(
    ("node", "rest", "kind"),
    [
        (
            {"$ref": "#/properties/y"},
            {"properties": {"x": {"$ref": "#/properties/y"}, "y": {"type": "integer"}}},
            "integer",
        ),
        ({"$ref": "#/$defs/a%20b"}, {"$defs": {"a b": {"type": "boolean"}}}, "boolean"),
        ({"allOf": [{"$ref": "#/$defs/s"}]}, {"$defs": {"s": {"enum": [1]}}}, "enum"),
        (
            {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}]},
            {"$defs": {"s": {"type": "number"}}},
            "number",
        ),
        ({"$ref": "#/$defs/loop"}, {"$defs": {"loop": {"$ref": "#/$defs/loop"}}}, "json"),
        ({"$ref": "#/$defs/gone"}, {}, "json"),
        ({"$ref": "https://example.com/s.json"}, {}, "json"),
        ({"$ref": 7}, {}, "json"),
        (True, {}, "json"),
        ({}, {}, "json"),
        ({"type": "array", "items": {"type": "array"}}, {}, "json"),
        ({"type": "array"}, {}, "json"),
        ({"type": "object"}, {}, "json"),
        ({"type": ["string", "integer"]}, {}, "json"),
        ({"type": "string", "not": {"const": "a"}}, {}, "json"),
    ],
)
def test_references_stay_inside_the_document_and_never_go_in_circles(node: Any, rest: Any, kind: str) -> None:
    schema = {"type": "object", "properties": {"x": node}, **rest}
    assert fields_of(schema)[0].kind == kind


def test_an_object_inside_an_object_inside_an_object_is_a_json_box() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/properties/x"}}}
    field = one(node)
    assert (field.kind, field.fields[0].kind) == ("object", "json")


@pytest.mark.parametrize(
    "root", [True, {"oneOf": [{"type": "object"}]}, {"type": "array"}, {"$ref": "#"}, None, 7]
)
def test_a_root_that_is_no_plain_object_is_one_json_box(root: Any) -> None:
    assert kinds(root) == {"": "json"}
    assert given_form({"": ['{"a": 1.0}']}, root) == '{"a":1.0}'


def test_a_tool_without_arguments_has_no_inputs() -> None:
    assert fields_of({"type": "object", "properties": {}}) == ()
    assert fields_of({"type": "object"}) == ()


def test_a_required_default_is_filled_in_and_an_optional_one_is_not() -> None:
    schema = {
        "type": "object",
        "properties": {"on": {"type": "boolean", "default": True}, "n": {"type": "integer", "default": 5}},
        "required": ["on"],
    }
    assert initial_form(schema) == {"/on": ["true"]}
    assert given_form(initial_form(schema), schema) == '{"on":true}'


def test_members_no_field_can_show_are_kept() -> None:
    text = '{"name":7,"unknown":[1.0],"place":{"city":"a","else":1},"count":3,"count":4}'
    form = form_from_arguments(SCHEMA, text)
    assert form[""] == ['{"name":7,"unknown":[1.0],"count":3,"count":4}']
    assert form["/place"] == ['{"else":1}']
    assert given_form(form) == '{"place":{"city":"a","else":1},"name":7,"unknown":[1.0],"count":3,"count":4}'


def test_arguments_that_are_no_object_make_no_form() -> None:
    with pytest.raises(ValueError):
        form_from_arguments(SCHEMA, "[1]")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["city", "zip", "q"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "unknown", ""]), VALUES, max_size=6))
def test_any_arguments_survive_the_way_through_the_form(arguments: dict[str, Any]) -> None:
    text = json.dumps(arguments)
    form = form_from_arguments(SCHEMA, text)
    assert json.loads(given_form(form)) == arguments
    assert not any("\r" in value for values in form.values() for value in values)


JSON_TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 3)
    | st.sampled_from(["#", "#/properties/a", "null", "object", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "$ref",
                    "allOf",
                    "anyOf",
                    "oneOf",
                    "enum",
                    "const",
                    "items",
                    "properties",
                    "required",
                    "a",
                    "default",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(JSON_TREES)
def test_no_schema_however_odd_breaks_the_form(schema: Any) -> None:
    for field in fields_of(schema):
        assert field.kind in ("string", "integer", "number", "boolean", "enum", "array", "object", "json")
    text, _ = arguments_from_form(schema, initial_form(schema))
    assert isinstance(json.loads(text), dict)
