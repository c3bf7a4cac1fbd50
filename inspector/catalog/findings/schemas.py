"""Rules about schemas as schemas: dialect, validity, references, roots. Pure; run them in the worker process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, Tool
from inspector.catalog.findings.walk import Node
from inspector.catalog.jsontext import quick_text
from inspector.catalog.schema import referred
from inspector.catalog.validation import UNUSABLE, judge
from inspector.protocol.eras import MODERN

_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Final = {
    _DEFAULT: "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "http://json-schema.org/draft-07/schema": "draft-07",
    "http://json-schema.org/draft-06/schema": "draft-06",
    "http://json-schema.org/draft-04/schema": "draft-04",
}
_DEEPEST = 16
_USAGE: Final = "MCP 2026-07-28 basic/index#json-schema-usage"
_TOOL: Final = "MCP 2026-07-28 server/tools#tool"


def schemas(tool: Tool) -> Iterator[tuple[str, Any, list[Node]]]:
    """(pointer, value, its subschemas) of the schemas a tool has."""
    if "inputSchema" in tool.value:
        yield "/inputSchema", tool.value["inputSchema"], tool.inputs
    if "outputSchema" in tool.value:
        yield "/outputSchema", tool.value["outputSchema"], tool.outputs


def dialect(schema: Any) -> str | None:
    """`2020-12`, `draft-07`…, 2020-12 when none is declared; None for one we do not know."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return _DIALECTS[_DEFAULT]
    declared = schema["$schema"]
    return _DIALECTS.get(declared.removesuffix("#")) if isinstance(declared, str) else None


@rule(
    "schema-invalid",
    "error",
    "A schema is not valid in its own dialect",
    why="Validators refuse the whole schema, so arguments go unchecked or the tool is dropped by the client.",
    remedy="Correct the keyword named; validate schemas against the meta-schema in the server's tests.",
    spec=f"{_USAGE}; JSON Schema 2020-12 or the dialect `$schema` names",
)
def schema_invalid(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for path, schema, _ in schemas(tool):
            if isinstance(schema, dict) and not _is_valid(schema):
                verdict = judge(schema, {})
                why = verdict.why if verdict.verdict == UNUSABLE else "its meta-schema refuses it"
                yield Hit(
                    tool.index, path, f"{path[1:]} is no valid {dialect(schema) or '2020-12'} schema: {why}"
                )


def _is_valid(schema: dict[str, Any]) -> bool:
    """Whether the meta-schema accepts it. An unknown `$schema` is left out: it would be fetched."""
    known = schema if dialect(schema) and "$schema" in schema else {**schema, "$schema": _DEFAULT}
    try:
        # Its integers end at 4,300 digits; what holds a longer one is left to the slower validator.
        return bool(jsonschema_rs.meta.is_valid(known)) or (
            "Infinity" in quick_text(known) and judge(known, {}).verdict != UNUSABLE
        )
    except ValueError:
        return judge(known, {}).verdict != UNUSABLE


@rule(
    "schema-dialect-older",
    "note",
    "A schema declares an older dialect than 2020-12",
    why="Only 2020-12 must be supported; strict clients refuse draft-07, mostly in outputSchema.",
    remedy="Generate 2020-12 schemas, or leave `$schema` out when nothing in them needs the older draft.",
    spec=_USAGE,
)
def schema_dialect_older(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for path, schema, _ in schemas(tool):
            declared = dialect(schema)
            if declared not in (None, "2020-12"):
                yield Hit(tool.index, f"{path}/$schema", f"{path[1:]} is declared as {declared}")


@rule(
    "schema-dialect-unknown",
    "caution",
    "A schema declares a dialect nobody knows",
    why="A client must handle the dialect or report it as unsupported; many then drop the tool.",
    remedy=f"Use `{_DEFAULT}`, or leave `$schema` out.",
    spec=_USAGE,
)
def schema_dialect_unknown(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for path, schema, _ in schemas(tool):
            if dialect(schema) is None:
                shown = str(schema["$schema"])[:80]
                yield Hit(tool.index, f"{path}/$schema", f"{path[1:]} names {shown!r} as its dialect")


@rule(
    "schema-root-not-object",
    "error",
    'inputSchema is not an object schema with `"type": "object"`',
    why="Arguments are always an object; the root type is required, and clients drop tools or whole servers.",
    remedy='Give inputSchema `"type": "object"` at its root; a tool without parameters needs no more than that.',
    spec=f"{_TOOL}; field reports E7",
)
def schema_root_not_object(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if "inputSchema" not in tool.value:
            yield Hit(tool.index, "", "inputSchema is missing")
            continue
        schema = tool.value["inputSchema"]
        if not isinstance(schema, dict):
            yield Hit(tool.index, "/inputSchema", "inputSchema is not a JSON object")
        elif schema.get("type") != "object":
            declared = repr(schema["type"])[:40] if "type" in schema else "missing"
            yield Hit(tool.index, "/inputSchema", f"the root type of inputSchema is {declared}")


@rule(
    "output-root-not-object",
    "caution",
    "outputSchema has no object at its root",
    why="Handshake revisions allow only objects, and clients of either era were seen to drop such a tool.",
    remedy='Give outputSchema `"type": "object"` at its root and put other values under one property.',
    spec="MCP 2025-11-25 server/tools#output-schema; field reports E7",
)
def output_root_not_object(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        schema = tool.value.get("outputSchema", {"type": "object"})
        if not isinstance(schema, dict):
            yield Hit(tool.index, "/outputSchema", "outputSchema is not a JSON object")
        elif "type" not in schema:
            yield Hit(tool.index, "/outputSchema", "outputSchema has no type at its root")
        elif schema["type"] != "object" and subject.era != MODERN:
            yield Hit(
                tool.index, "/outputSchema", f"the root type of outputSchema is {str(schema['type'])[:40]}"
            )


@rule(
    "ref-dangling",
    "error",
    "A `$ref` points at nothing",
    why="The schema cannot be used: validators raise, forms cannot be drawn, providers refuse it.",
    remedy="Carry the `$defs` along when a schema is cut out of a larger document, or inline the definition.",
    spec=f"{_USAGE}; RFC 6901",
)
def ref_dangling(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for _, schema, found in schemas(tool):
            for node, ref in _refs(found):
                if ref.startswith("#") and not _resolves(ref, schema, found):
                    yield Hit(tool.index, f"{node.path}/$ref", f"`{ref}` is not in the schema")


@rule(
    "ref-remote",
    "caution",
    "A `$ref` leaves the document",
    why="Nobody may fetch a reference by itself (it would let a server steer requests); it stays unresolved.",
    remedy="Bundle the referenced schema under `$defs` and refer to it with `#/$defs/…`.",
    spec=_USAGE,
)
def ref_remote(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for _, _, found in schemas(tool):
            own = {node.schema["$id"] for node in found if isinstance(node.schema.get("$id"), str)}
            for node, ref in _refs(found):
                if not ref.startswith("#") and ref.partition("#")[0] not in own:
                    yield Hit(tool.index, f"{node.path}/$ref", f"`{ref[:80]}` is outside the schema")


def _refs(found: list[Node]) -> Iterator[tuple[Node, str]]:
    return ((node, node.schema["$ref"]) for node in found if isinstance(node.schema.get("$ref"), str))


def _resolves(ref: str, root: Any, found: list[Node]) -> bool:
    """Whether a local reference leads anywhere; where an inner `$id` moves the root, it is taken to."""
    if referred(ref, root) is not None:
        return True
    anchors = [node.schema.get(key) for node in found for key in ("$anchor", "$dynamicAnchor")]
    return ref[1:] in anchors or any("$id" in node.schema for node in found[1:])


@rule(
    "schema-deep",
    "note",
    f"A schema nests more than {_DEEPEST} levels deep",
    why="Models fill deep objects badly, and clients bound depth; some providers refuse such schemas.",
    remedy="Flatten the parameters, or take the deep part as one documented JSON string or a file.",
    spec=f"{_USAGE} (bound depth); ours: more than {_DEEPEST} levels of subschemas",
)
def schema_deep(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for path, _, found in schemas(tool):
            deepest = max(found, key=lambda node: node.depth, default=None)
            if deepest and deepest.depth > _DEEPEST:
                yield Hit(tool.index, deepest.path, f"{path[1:]} is {deepest.depth} levels deep")
