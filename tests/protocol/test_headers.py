"""The headers of either era, the encoding of values, and `x-mcp-header` annotations."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol import headers
from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.protocol.numbers import LongInteger

BOTH_TYPES = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]


@pytest.mark.parametrize(
    ("era", "version", "session", "method", "params", "rest"),
    [
        (HANDSHAKE, None, None, "initialize", {}, []),
        (HANDSHAKE, "2024-11-05", None, "tools/list", {}, []),
        (HANDSHAKE, "2025-03-26", "s", "tools/list", {}, [("Mcp-Session-Id", "s")]),
        (HANDSHAKE, "2025-06-18", None, "tools/list", {}, [("MCP-Protocol-Version", "2025-06-18")]),
        (
            HANDSHAKE,
            "2025-11-25",
            "s1",
            "tools/call",
            {"name": "x"},
            [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "s1")],
        ),
        (HANDSHAKE, "2025-11-25", None, None, None, [("MCP-Protocol-Version", "2025-11-25")]),
    ],
)
def test_the_handshake_era_sends_version_and_session_once_they_exist(
    era: Era, version: str | None, session: str | None, method: str | None, params: Any, rest: Any
) -> None:
    assert headers.http_headers(era, version, session, method, params) == BOTH_TYPES + rest


def test_the_optional_stream_has_the_same_version_and_session_as_the_posts() -> None:
    both = [("Mcp-Session-Id", "s"), ("Last-Event-ID", "7")]
    accept = ("Accept", "text/event-stream")
    assert headers.stream_headers("2025-03-26", "s", "7") == [accept, *both]
    assert headers.stream_headers("2025-11-25", "s", "7") == [
        accept,
        ("MCP-Protocol-Version", "2025-11-25"),
        *both,
    ]
    assert headers.stream_headers(None, None, None) == [accept]


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/list", {}, None),
        ("server/discover", None, None),
        ("tools/call", {"name": "get_weather", "uri": "no"}, "get_weather"),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "file:///a b", "name": "no"}, "file:///a b"),
        ("tasks/get", {"taskId": "t1"}, "t1"),
        ("tasks/cancel", {"taskId": "t1"}, "t1"),
        ("tools/call", {"name": "天気"}, "=?base64?5aSp5rCX?="),
        ("tools/call", {"name": 7}, None),
        ("tools/call", {}, None),
    ],
)
def test_the_modern_era_mirrors_method_and_name(method: str, params: Any, name: str | None) -> None:
    rest = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]
    if name is not None:
        rest.append(("Mcp-Name", name))
    assert headers.http_headers(MODERN, "2026-07-28", "ignored", method, params) == BOTH_TYPES + rest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("plain", "plain"),
        ("two words", "two words"),
        (" lead", "=?base64?IGxlYWQ=?="),
        ("trail ", "=?base64?dHJhaWwg?="),
        ("é", "=?base64?w6k=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("a\tb", "=?base64?YQli?="),
        ("a\n", "=?base64?YQo=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
    ],
)
def test_a_value_is_sent_as_it_is_or_in_the_base64_form(text: str, value: str) -> None:
    assert headers.encode_value(text) == value
    assert headers.decode_value(value) == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])) | st.from_regex(r"=\?base64\?.*\?="))
def test_every_text_survives_the_way_through_a_header(text: str) -> None:
    value = headers.encode_value(text)
    assert re.fullmatch(r"[\x20-\x7e]*", value)
    assert value == value.strip()
    assert headers.decode_value(value) == text


@pytest.mark.parametrize("value", ["=?base64?!?=", "=?base64?YQ?=", "=?base64?YR==?=", "=?base64?/w==?="])
def test_a_broken_base64_value_stands_for_no_text(value: str) -> None:
    assert headers.decode_value(value) is None


def test_a_lone_surrogate_is_encoded_without_an_exception() -> None:
    assert headers.decode_value(headers.encode_value("\ud800")) is None


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def param(name: Any, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name, **more}


INVALID = [
    ("empty name", tool(a=param("")), "a", "empty"),
    ("name is no string", tool(a=param(7)), "a", "not a string"),
    ("space in the name", tool(a=param("A B")), "a", "no HTTP token"),
    ("colon in the name", tool(a=param("A:B")), "a", "no HTTP token"),
    ("control character", tool(a=param("A\r\n")), "a", "no HTTP token"),
    ("not ASCII", tool(a=param("É")), "a", "no HTTP token"),
    ("same name in another case", tool(a=param("Owner"), b=param("OWNER")), "b", "already taken by a"),
    ("number", tool(a=param("A", "number")), "a", "'number'"),
    ("object", tool(a=param("A", "object")), "a", "'object'"),
    ("array", tool(a=param("A", "array")), "a", "'array'"),
    ("union", tool(a=param("A", ["string", "null"])), "a", "only string"),
    ("no type", tool(a={"x-mcp-header": "A"}), "a", "None"),
    ("root", {"type": "object", "x-mcp-header": "A"}, "(root)", "whole schema"),
    ("items", tool(a={"type": "array", "items": param("A")}), "a", "under items"),
    ("prefixItems", tool(a={"type": "array", "prefixItems": [param("A")]}), "a", "under prefixItems"),
    ("anyOf", tool(a={"anyOf": [param("A")]}), "a", "under anyOf"),
    ("allOf at the root", {"allOf": [tool(a=param("A"))]}, "a", "under allOf"),
    ("if", {"if": tool(a=param("A"))}, "a", "under if"),
    ("then", {"then": tool(a=param("A"))}, "a", "under then"),
    ("not", tool(a={"not": param("A")}), "a", "under not"),
    ("$defs", {"$defs": {"X": param("A")}}, "X", "under $defs"),
    ("patternProperties", {"patternProperties": {"^a": param("A")}}, "^a", "under patternProperties"),
    ("additionalProperties", {"additionalProperties": param("A")}, "(root)", "under additionalProperties"),
]


@pytest.mark.parametrize(
    ("schema", "where", "why"), [row[1:] for row in INVALID], ids=[row[0] for row in INVALID]
)
def test_an_invalid_annotation_is_named_with_its_reason(schema: Any, where: str, why: str) -> None:
    (fault,) = headers.header_faults(schema)
    assert fault.where == where
    assert why in fault.why
    assert headers.param_headers(schema, {"a": "x", "b": "y"}) == ([], [fault])


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        tool(a=param("A-b_1")),
        tool(a={"type": "object", "properties": {"b": param("A", "integer")}}),
        tool(**{"x-mcp-header": {"type": "string"}}),
        tool(a={"type": "object", "default": param("A", "number"), "enum": [param("A")]}),
        tool(a={"$ref": "https://example.com/with-header.json"}),
    ],
)
def test_what_only_looks_like_an_annotation_is_no_fault(schema: Any) -> None:
    assert headers.header_faults(schema) == []


def test_a_path_with_a_dot_does_not_hide_a_name_given_twice() -> None:
    schema = tool(**{"a.b": param("A")}, a={"type": "object", "properties": {"b": param("a")}})
    assert [fault.where for fault in headers.header_faults(schema)] == ["a.b"]


SCHEMA = tool(
    owner=param("Owner"),
    count=param("Count", "integer"),
    dry=param("Dry", "boolean"),
    where={"type": "object", "properties": {"region": param("Region")}},
    plain={"type": "string"},
)


@pytest.mark.parametrize(
    ("arguments", "pairs"),
    [
        ({}, []),
        ({"owner": None, "where": None}, []),
        ({"owner": "me", "plain": "x"}, [("Mcp-Param-Owner", "me")]),
        ({"owner": "ß"}, [("Mcp-Param-Owner", "=?base64?w58=?=")]),
        ({"owner": ""}, [("Mcp-Param-Owner", "")]),
        ({"count": 42}, [("Mcp-Param-Count", "42")]),
        ({"count": -7.0}, [("Mcp-Param-Count", "-7")]),
        ({"count": 2**53 - 1}, [("Mcp-Param-Count", "9007199254740991")]),
        ({"dry": True}, [("Mcp-Param-Dry", "true")]),
        ({"dry": False}, [("Mcp-Param-Dry", "false")]),
        ({"where": {"region": "eu"}}, [("Mcp-Param-Region", "eu")]),
        ({"where": "not an object"}, []),
    ],
)
def test_annotated_arguments_are_mirrored(arguments: dict[str, Any], pairs: Any) -> None:
    assert headers.param_headers(SCHEMA, arguments) == (pairs, [])


@pytest.mark.parametrize(
    "value", [2**53, -(2**53), 1.5, float("nan"), 1e400, LongInteger("9" * 5000), [1], {}]
)
def test_an_argument_that_cannot_be_mirrored_is_reported(value: Any) -> None:
    pairs, faults = headers.param_headers(SCHEMA, {"count": value, "owner": "me"})
    assert pairs == [("Mcp-Param-Owner", "me")]
    assert [fault.where for fault in faults] == ["count"]


def test_a_schema_nested_deeper_than_the_stack_is_read() -> None:
    schema: dict[str, Any] = param("A")
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert headers.header_faults(schema) == []
