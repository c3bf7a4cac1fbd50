"""Verdicts on arguments and results."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.catalog.forms import FieldError, check_output, validate
from inspector.catalog.snapshot import ABSENT
from inspector.catalog.validation import judge


def test_an_error_points_at_its_field() -> None:
    schema = {
        "type": "object",
        "properties": {"a/b": {"type": "integer"}, "list": {"items": {"type": "string"}}, "c": {}},
        "required": ["c", "d~e"],
    }
    found = validate(schema, {"a/b": "x", "list": ["y", 2]})
    assert sorted(error.path for error in found) == ["/a~1b", "/c", "/d~0e", "/list/1"]


def test_valid_arguments_have_no_errors_however_big_their_integers() -> None:
    assert validate({"properties": {"id": {"type": "integer"}}}, {"id": 10**400}) == []


@pytest.mark.parametrize(
    ("schema", "verdict"),
    [
        ({"items": [{"type": "integer"}], "$schema": "http://json-schema.org/draft-07/schema#"}, "invalid"),
        (
            {"prefixItems": [{"type": "integer"}], "$schema": "http://json-schema.org/draft-07/schema#"},
            "valid",
        ),
        ({"prefixItems": [{"type": "integer"}]}, "invalid"),
        (
            {"prefixItems": [{"type": "integer"}], "$schema": "https://json-schema.org/draft/2020-12/schema"},
            "invalid",
        ),
        ({"prefixItems": [{"type": "integer"}], "$schema": "urn:unknown"}, "invalid"),
    ],
)
def test_the_declared_dialect_decides(schema: Any, verdict: str) -> None:
    assert judge(schema, ["text"]).verdict == verdict


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.invalid/schema.json"},
        {"$ref": "#/$defs/gone"},
        {"$ref": "#"},
        {"pattern": "("},
        {"type": "words"},
        {"type": 7},
        {"required": "a"},
        {"properties": []},
        {"$schema": []},
        {"multipleOf": 0},
        7,
        None,
        "text",
        [],
    ],
)
def test_a_hostile_schema_is_unusable_and_says_why(schema: Any) -> None:
    found = judge(schema, "a")
    assert found.verdict == "schema unusable"
    assert found.why
    assert [error.path for error in validate(schema, "a")] == [""]


def test_a_schema_nested_without_measure_is_contained() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        schema = {"not": schema}
    assert judge(schema, "a").verdict == "schema unusable"


def test_output_verdicts() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert check_output(ABSENT, {"n": 1}).verdict == "no schema"
    assert check_output(schema, {"n": 1}).verdict == "valid"
    assert check_output(schema, {"n": "1"}).errors == (FieldError("/n", "'1' is not of type 'integer'"),)
    missing = check_output(schema, ABSENT)
    assert missing.verdict == "invalid"
    assert missing.errors[0].path == ""


def test_errors_are_bounded_in_number_and_length() -> None:
    found = validate({"items": {"type": "string"}}, [10**3000] * 500)
    assert len(found) == 100
    assert max(len(error.message) for error in found) <= 300
