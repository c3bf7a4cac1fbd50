"""A form stays small whatever the schema: many properties, long choices, long words; nothing becomes unsayable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.catalog.fields import KEY_CHARS, MOST_FIELDS, MOST_OPTIONS, flat
from inspector.catalog.forms import arguments_from_form, fields_of, form_from_arguments
from inspector.catalog.schema import at_pointer


def form_of(properties: dict[str, Any]) -> list[Any]:
    return list(fields_of({"type": "object", "properties": properties}))


def test_properties_beyond_the_first_two_hundred_go_through_the_json_box() -> None:
    properties = {f"p{n}": {"type": "integer"} for n in range(300)}
    fields = form_of(properties)
    assert [field.path for field in fields[:-1]] == [f"/p{n}" for n in range(200)]
    assert (fields[-1].path, fields[-1].kind) == ("", "json")
    assert fields[-1].description.startswith("Loupe: the schema has 100 more properties than this form")
    form = {"/p7": ["1"], "": ['{"p250":2}']}
    schema = {"type": "object", "properties": properties}
    assert arguments_from_form(schema, form) == ('{"p7":1,"p250":2}', [])
    assert form_from_arguments(schema, '{"p7":1,"p250":2}') == form


def test_groups_count_too_and_one_without_room_is_a_json_box() -> None:
    group = {"type": "object", "properties": {f"q{n}": {} for n in range(90)}}
    fields = form_of({f"g{n}": group for n in range(4)})
    assert [field.kind for field in fields] == ["object", "object", "json", "json"]
    assert fields[2].description == "Loupe: too many inputs for this form; type it as JSON."
    assert len(flat(form_of({f"g{n}": group for n in range(900)}))) <= MOST_FIELDS + 1


def test_a_property_with_a_name_too_long_for_an_input_goes_through_the_json_box() -> None:
    first, rest = form_of({"a": {"type": "string"}, "k" * (KEY_CHARS + 1): {"type": "string"}})
    assert (first.path, rest.path) == ("/a", "")
    assert rest.description.startswith("Loupe: the schema has 1 more property than")
    (group,) = form_of({"a": {"type": "object", "properties": {"k" * (KEY_CHARS + 1): {"type": "string"}}}})
    assert (group.path, group.kind, group.fields) == ("/a", "json", ())


@pytest.mark.parametrize(
    ("node", "kind", "item", "said", "posted", "sent"),
    [
        ({"enum": [f"v{n}" for n in range(50_000)]}, "string", "", "type it.", "v7", '"v7"'),
        ({"enum": list(range(50_000))}, "json", "", "type it as JSON.", "7", "7"),
        (
            {"type": "array", "items": {"enum": [f"v{n}" for n in range(50_000)]}},
            *("array", "string", "type it, one a line.", "v7", '["v7"]'),
        ),
    ],
)
def test_a_choice_of_too_many_values_is_typed(
    node: Any, kind: str, item: str, said: str, posted: str, sent: str
) -> None:
    (field,) = form_of({"x": node | {"description": "Which?"}})
    assert (field.kind, field.item, field.options) == (kind, item, ())
    assert field.description == f"Which? Loupe: 50,000 values to choose from, too many to list; {said}"
    text, errors = arguments_from_form({"type": "object", "properties": {"x": node}}, {"/x": [posted]})
    assert (text, errors) == (f'{{"x":{sent}}}', [])


def test_a_choice_that_fits_keeps_its_options() -> None:
    (field,) = form_of({"x": {"enum": [f"v{n}" for n in range(MOST_OPTIONS)]}})
    assert (field.kind, len(field.options), field.description) == ("enum", 500, "")


def test_a_few_choices_of_enormous_length_are_typed_as_well() -> None:
    (field,) = form_of({"x": {"enum": ["a" * 50_000, "b" * 50_000]}})
    assert (field.kind, field.options) == ("string", ())


def test_long_words_are_cut_and_say_by_how_much() -> None:
    (field,) = form_of({"x": {"type": "string", "title": "t" * 300, "description": "d" * 5000}})
    assert field.label == "t" * 200 + " … cut, 100 more characters."
    assert field.description == "d" * 1000 + " … cut, 4,000 more characters."


def test_all_descriptions_of_a_form_have_a_common_limit() -> None:
    fields = form_of({f"p{n}": {"type": "string", "description": "d" * 900} for n in range(150)})
    assert sum(field.description.count("d") for field in fields) == 50_000
    assert fields[-1].description == "… cut, 900 more characters."


@pytest.mark.parametrize("index", ["9" * 5000, "١", "-1", "01", "1e0", "²", "3"])
def test_a_reference_to_no_position_of_an_array_leads_nowhere(index: str) -> None:
    assert at_pointer({"x": [7, 8, 9]}, f"/x/{index}") is None
    (field,) = fields_of(
        {"type": "object", "properties": {"a": {"$ref": f"#/x/{index}"}}, "x": [{"type": "string"}]}
    )
    assert (field.path, field.kind) == ("/a", "json")


def test_a_reference_to_a_position_of_an_array_is_followed() -> None:
    assert at_pointer(json.loads('{"x":[7,8,9]}'), "/x/2") == 9
