"""One schema against another: each rule, with the right severity on each side of a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.catalog.difference.change import KINDS
from inspector.catalog.difference.side import Tool
from inspector.catalog.difference.tool_changes import tool_changes

S = {"type": "string"}
I = {"type": "integer"}  # noqa: E741 - as S
NULL = {"type": "null"}


def tool(value: dict[str, Any]) -> Tool:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Tool("t", text, json.loads(text), len(text.encode()))


def changes(before: Any, after: Any, key: str = "inputSchema") -> list[tuple[str, str, str]]:
    found = tool_changes(tool({"name": "t", key: before}), tool({"name": "t", key: after}))
    return [(each.kind, each.severity, each.path.removeprefix(f"/{key}")) for each in found]


def of(node: Any, **more: Any) -> dict[str, Any]:
    """An object schema whose property `p` is the node."""
    return {"type": "object", "properties": {"p": node}, **more}


def bare(*names: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, S), **more}


ARRAY = {"type": "array"}
P = "/properties/p"
NAMES = {"B": "breaking", "C": "caution", "F": "fine"}
# before, after, kind, path, severities in an input and in an output schema
ROWS = [
    (bare("p", "q"), bare("q"), "property-removed", P, "BB"),
    (bare("q"), bare("q", "p"), "property-added", P, "FF"),
    (bare("q"), bare("q", "p", required=["p"]), "required-added", P, "BF"),
    (bare("p"), bare("p", required=["p"]), "required-added", P, "BF"),
    (bare("p", required=["p"]), bare("p"), "required-dropped", P, "FB"),
    (of({"type": "number"}), of(I), "type-narrowed", P + "/type", "BF"),
    (of(I), of({"type": "number"}), "type-widened", P + "/type", "FB"),
    (of({"type": ["string", "null"]}), of(S), "type-narrowed", P + "/type", "BF"),
    (of({}), of(S), "type-narrowed", P + "/type", "BF"),
    (of(S), of({}), "type-widened", P + "/type", "FB"),
    (of(S), of(I), "type-changed", P + "/type", "BB"),
    (of({"enum": ["a", "b"]}), of({"enum": ["a"]}), "enum-narrowed", P + "/enum", "BF"),
    (of({"enum": ["a"]}), of({"enum": ["a", "b"]}), "enum-widened", P + "/enum", "FC"),
    (of({"enum": ["a"]}), of({"enum": ["b"]}), "enum-changed", P + "/enum", "BC"),
    (of(S), of({**S, "enum": ["a"]}), "enum-narrowed", P + "/enum", "BF"),
    (of({**S, "const": "a"}), of({**S, "enum": ["a", "b"]}), "enum-widened", P + "/const", "FC"),
    (of({"enum": [1]}), of({"enum": [1, True]}), "enum-widened", P + "/enum", "FC"),
    (of({**I, "minimum": 1}), of({**I, "minimum": 2}), "bound-narrowed", P + "/minimum", "BF"),
    (of({**I, "maximum": 9}), of({**I, "maximum": 10}), "bound-widened", P + "/maximum", "FC"),
    (of(S), of({**S, "maxLength": 5}), "bound-narrowed", P + "/maxLength", "BF"),
    (of({**S, "minLength": 1}), of(S), "bound-widened", P + "/minLength", "FC"),
    (of({**I, "multipleOf": 2}), of({**I, "multipleOf": 4}), "bound-narrowed", P + "/multipleOf", "BF"),
    (of({**I, "multipleOf": 2}), of({**I, "multipleOf": 3}), "constraint-changed", P + "/multipleOf", "CC"),
    (of(ARRAY), of({**ARRAY, "uniqueItems": True}), "bound-narrowed", P + "/uniqueItems", "BF"),
    (bare("p"), bare("p", additionalProperties=False), "properties-closed", "/additionalProperties", "BF"),
    (bare("p", additionalProperties=False), bare("p"), "properties-opened", "/additionalProperties", "FF"),
    (bare(additionalProperties=S), bare(additionalProperties=I), "type-changed", "/additionalProperties/type", "BB"),
    (of({**ARRAY, "items": S}), of({**ARRAY, "items": I}), "type-changed", P + "/items/type", "BB"),
    (of(ARRAY), of({**ARRAY, "items": S}), "constraint-added", P + "/items", "BF"),
    (of({**S, "pattern": "a"}), of(S), "constraint-removed", P + "/pattern", "FC"),
    (of({**S, "pattern": "a"}), of({**S, "pattern": "b"}), "constraint-changed", P + "/pattern", "CC"),
    (of({"anyOf": [S, NULL]}), of(S), "union-narrowed", P + "/anyOf", "BF"),
    (of(S), of({"anyOf": [S, NULL]}), "union-widened", P + "/anyOf", "FB"),
    (of({"anyOf": [S, I]}), of({"anyOf": [I, S, NULL]}), "union-widened", P + "/anyOf", "FB"),
    (of({"anyOf": [I, NULL]}), of({"anyOf": [{"type": "number"}, NULL]}), "type-widened", P + "/anyOf/0/type", "FB"),
    (of({"oneOf": [{"const": "a"}]}),
     of({"oneOf": [{"const": "a"}, {"const": "b"}]}), "enum-widened", P + "/oneOf", "FC"),
    (of({"allOf": [S, {"minLength": 1}]}),
     of({"allOf": [S, {"minLength": 2}]}), "bound-narrowed", P + "/allOf/1/minLength", "BF"),
    (of({**S, "format": "date"}), of({**S, "format": "time"}), "format-changed", P + "/format", "CC"),
    (of({**S, "default": "a"}), of({**S, "default": "b"}), "default-changed", P + "/default", "CF"),
    (of({**S, "description": "a"}), of({**S, "description": "b"}), "description-changed", P + "/description", "CC"),
    (of({**S, "title": "a"}), of({**S, "title": "b"}), "keyword-changed", P + "/title", "FF"),
    (of({**S, "x-mcp-header": "A"}), of({**S, "x-mcp-header": "B"}), "header-changed", P + "/x-mcp-header", "CC"),
    (bare("p"), bare("p", **{"$schema": "http://json-schema.org/draft-07/schema#"}),
     "dialect-changed", "/$schema", "CC"),
    (of(True), of(False), "constraint-added", P + "/not", "BF"),
    (of({"$ref": "https://x.example/a"}), of({"$ref": "https://x.example/b"}), "reference-changed", P, "CC"),
    (of(S), of(7), "schema-unreadable", P, "BB"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "kind", "path", "severities"), ROWS)
def test_each_rule_says_what_changed_where_and_how_much_it_matters(
    before: Any, after: Any, kind: str, path: str, severities: str
) -> None:
    assert changes(before, after) == [(kind, NAMES[severities[0]], path)]
    assert changes(before, after, "outputSchema") == [(kind, NAMES[severities[1]], path)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_a_schema_has_not_changed_against_itself(row: Any) -> None:
    assert changes(row[0], row[0]) == []
    assert changes(row[1], row[1]) == []


@pytest.mark.parametrize("key", ["minLength", "minItems", "minProperties"])
def test_a_least_of_nothing_is_no_limit(key: str) -> None:
    assert changes(of({}), of({key: 0})) == changes(of({key: 0}), of({})) == [("equivalent", "caution", "")]
    assert changes(of({key: 0}), of({key: 1})) == [("bound-narrowed", "breaking", f"{P}/{key}")]
    assert changes(of({}), of({"minimum": 0})) == [("bound-narrowed", "breaking", P + "/minimum")]


def test_a_missing_output_schema_is_an_addition_when_it_comes_and_breaks_when_it_goes() -> None:
    plain, promising = tool({"name": "t"}), tool({"name": "t", "outputSchema": bare("p")})
    assert [(each.kind, each.severity) for each in tool_changes(plain, promising)] == [
        ("schema-added", "fine")
    ]
    assert [(each.kind, each.severity) for each in tool_changes(promising, plain)] == [
        ("schema-removed", "breaking")
    ]


def test_order_of_keys_and_of_required_names_is_no_change_of_what_is_valid() -> None:
    one = {"type": "object", "properties": {"a": S, "b": S}, "required": ["a", "b"]}
    assert changes(one, {"required": ["a", "b"], "properties": {"b": S, "a": S}, "type": "object"}) == []
    assert changes(one, {**one, "required": ["b", "a"]}) == [("equivalent", "caution", "")]


def test_a_type_the_enum_implies_may_be_left_out() -> None:
    found = changes(of({"type": "string", "enum": ["a", "b"]}), of({"enum": ["a"]}))
    assert found == [("enum-narrowed", "breaking", P + "/enum")]


def test_a_change_behind_an_equal_reference_is_found_at_the_place_that_refers() -> None:
    def schema(limit: int) -> dict[str, Any]:
        return {**of({"$ref": "#/$defs/n"}), "$defs": {"n": {**I, "maximum": limit}}}

    assert changes(schema(10), schema(5)) == [("bound-narrowed", "breaking", P + "/maximum")]


def test_writing_a_reference_out_is_no_change_of_what_is_valid() -> None:
    before = {**of({"$ref": "#/$defs/n"}), "$defs": {"n": {**I, "maximum": 5}}}
    assert changes(before, of({**I, "maximum": 5})) == [("equivalent", "caution", "")]


def test_circles_of_references_end() -> None:
    def tree(kind: str, via: str) -> dict[str, Any]:
        node = {"type": "object", "properties": {"value": {"type": kind}, "next": {"$ref": via}}}
        return {**node, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}, "n": node}}

    assert changes(tree("string", "#"), tree("integer", "#")) == [
        ("type-changed", "breaking", "/properties/value/type"),
    ]
    assert changes(tree("string", "#"), tree("integer", "#/$defs/n"))[0][0] == "type-changed"
    assert changes(tree("string", "#/$defs/a"), tree("string", "#/$defs/b")) == [
        ("reference-changed", "caution", "/properties/next")
    ]


def nested(depth: int, inner: Any) -> Any:
    return inner if depth == 0 else of(nested(depth - 1, inner))


def test_a_change_64_deep_is_found_and_one_too_deep_is_said_not_to_be_compared() -> None:
    assert changes(nested(64, S), nested(64, I)) == [("type-changed", "breaking", P * 64 + "/type")]
    assert changes(nested(400, S), nested(400, I))[-1][:2] == ("not-compared", "caution")


def test_a_schema_with_more_differences_than_are_walked_says_so() -> None:
    wide = {"type": "object", "properties": {f"p{n}": S for n in range(6_000)}}
    other = {"type": "object", "properties": {f"p{n}": I for n in range(6_000)}}
    found = changes(wide, other)
    assert found.count(("not-compared", "caution", found[-1][2])) == 1
    assert found[0] == ("type-changed", "breaking", "/properties/p0/type")


@pytest.mark.parametrize(
    "odd", [None, 7, "x", [], {"properties": 7}, {"required": "a"}, {"type": {}}, {"enum": 7}, {"anyOf": {}},
            {"anyOf": [7, None]}, {"minimum": "low"}, {"$ref": 7}, {"allOf": [7]}],
)  # fmt: skip
def test_malformed_schemas_are_compared_without_a_fault(odd: Any) -> None:
    assert changes(bare("p"), odd) != []
    assert changes(odd, bare("p")) != []
    assert changes(odd, odd) == []
    assert changes(of(odd), of(S))


def test_every_kind_has_a_meaning_and_known_severities() -> None:
    for name, kind in KINDS.items():
        assert name == kind.name and kind.means
        assert {kind.input, kind.output} <= {"breaking", "caution", "fine"}
