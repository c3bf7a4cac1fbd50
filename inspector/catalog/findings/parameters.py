"""Rules about the parameters a model has to fill in. Pure; run them in the worker process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, Tool, list_of, object_of, some, text_of
from inspector.catalog.findings.walk import Node
from inspector.catalog.jsontext import compact_value
from inspector.catalog.schema import referred
from inspector.catalog.snapshot import ABSENT

_SAYS_TYPE: Final = frozenset(
    (
        "type",
        "enum",
        "const",
        "$ref",
        "$dynamicRef",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "properties",
        "items",
    )
)
_COMBINED: Final = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas")
_SHARED: Final = ("$schema", "$defs", "definitions")
_DEFINED: Final = ("/inputSchema/$defs/", "/inputSchema/definitions/")
_PLAIN: Final = frozenset(("type", "title", "description", "default", "examples"))
_NATIVE: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_OURS: Final = "JSON Schema 2020-12; ours"

# A closed list in prose: words that announce it, then two or more values, each quoted or one bare word.
_VALUE: Final = r"""(?:'[^'\n]{1,40}'|"[^"\n]{1,40}"|`[^`\n]{1,40}`|[A-Za-z][\w-]{0,30})"""
_CHOICE: Final = re.compile(
    r"(?:(?<!other )(?<!common )(?<!not )\b(?:one of|options?(?: are)?|choices?(?: are)?|must be"
    r"|(?:allowed|valid|possible|accepted|supported)(?: values?)?(?: are)?)\b(?: the following)?"
    r"(?P<colon>\s*[:=(]\s*\(?|\s+))"
    rf"(?P<values>{_VALUE}(?:\s*(?:,\s*or|,\s*and|,|\||\bor\b)\s*{_VALUE})+)(?P<rest>[^.;)\n]*)",
    re.IGNORECASE,
)
_SEVERAL: Final = re.compile(
    r"\b(?:comma|pipe|space|semicolon)[- ]?(?:separated|delimited)|\bmultiple\b", re.IGNORECASE
)
_EACH_VALUE: Final = re.compile(_VALUE)
_OPEN_ENDED: Final = re.compile(
    r"\betc\b|\.\.\.|…|\be\.g\b|\bother|\bany\b|\bsuch as\b|\bfor example\b", re.IGNORECASE
)


@rule(
    "parameter-description-missing",
    "note",
    "Parameters have no description",
    why="The model guesses from the name what to put there.",
    remedy="Say in a few words what the value is, with its unit or format when it has one.",
    spec="MCP 2026-07-28 server/tools#tool (inputSchema); ours",
)
def parameter_description_missing(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        all_of_them = [node for node in tool.parameters if not node.path.startswith(_DEFINED)]
        bare = [node for node in all_of_them if not _described(node, tool)]
        if bare:
            names = some([node.name or "" for node in bare])
            message = f"{len(bare)} of {len(all_of_them)} parameters have no description: {names}"
            yield Hit(tool.index, bare[0].path, message)


def _described(node: Node, tool: Tool) -> bool:
    if text_of(node.schema.get("description")).strip():
        return True
    target = referred(text_of(node.schema.get("$ref")), tool.value.get("inputSchema"))
    return bool(text_of(object_of(target).get("description")).strip())


@rule(
    "parameter-untyped",
    "note",
    "Parameters have no type",
    why="Anything validates, so a wrong argument is only noticed by the server; some providers want a type.",
    remedy="Give the parameter a type, or a union of types when it really takes several.",
    spec=_OURS,
)
def parameter_untyped(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for node in tool.parameters:
            if _SAYS_TYPE.isdisjoint(node.schema):
                yield Hit(tool.index, node.path, f"`{node.name}` has no type")


@rule(
    "array-without-items",
    "note",
    "An array parameter does not say what it holds",
    why="The model guesses the elements, and OpenAI and Gemini were seen to refuse arrays without items.",
    remedy='Add `items`, at least `{"type": "string"}` or whatever the elements are.',
    spec="JSON Schema 2020-12 items; public issue threads",
)
def array_without_items(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for node in tool.inputs:
            if (
                node.schema.get("type") == "array"
                and "items" not in node.schema
                and "prefixItems" not in node.schema
            ):
                yield Hit(tool.index, node.path, f"`{node.name or node.path}` is an array without items")


@rule(
    "required-unknown",
    "caution",
    "`required` names a property that is not described",
    why="The model must send something nobody told it about; with additionalProperties false nothing can be valid.",
    remedy="Describe the property, or take its name out of `required`; look for a spelling that differs.",
    spec=_OURS,
)
def required_unknown(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for node in tool.inputs:
            if node.alternative or any(key in node.schema for key in _COMBINED):
                continue
            known = object_of(node.schema.get("properties"))
            lost = [name for name in list_of(node.schema.get("required")) if isinstance(name, str)]
            lost = [name for name in lost if name not in known]
            if lost:
                yield Hit(tool.index, f"{node.path}/required", f"required but not described: {some(lost)}")


@rule(
    "default-invalid",
    "caution",
    "A default breaks its own schema",
    why="Clients and models that send the default get a validation error, forms start out invalid.",
    remedy="Correct the default, or widen the schema to what is really accepted.",
    spec=f"{_OURS} (default is only an annotation)",
)
def default_invalid(subject: Subject) -> Iterator[Hit]:
    return _wrong_defaults(subject, null=False)


@rule(
    "default-null",
    "note",
    "A default is null, which the type does not allow",
    why="A client that sends the default gets a validation error; null and left out are not the same.",
    remedy="Leave the default out, or allow null in the type.",
    spec=f"{_OURS}; field reports F3",
)
def default_null(subject: Subject) -> Iterator[Hit]:
    return _wrong_defaults(subject, null=True)


def _wrong_defaults(subject: Subject, *, null: bool) -> Iterator[Hit]:
    for tool in subject.tools:
        root = object_of(tool.value.get("inputSchema"))
        for node in tool.inputs:
            default = node.schema.get("default", ABSENT)
            if default is ABSENT or (default is None) != null or accepts(node.schema, root, default):
                continue
            shown = compact_value(default)[:60]
            yield Hit(
                tool.index, f"{node.path}/default", f"`{node.name or node.path}` has the default {shown}"
            )


def accepts(schema: dict[str, Any], root: dict[str, Any], value: Any) -> bool:
    """Whether `value` is valid; True when the schema itself cannot be used. Nothing is fetched."""
    if _PLAIN.issuperset(schema) and type(value) in _NATIVE.get(str(schema.get("type")), ()):
        return True
    whole = schema | {key: root[key] for key in _SHARED if key in root}
    if "json-schema.org" not in str(whole.get("$schema")):
        whole.pop("$schema", None)
    try:
        return bool(jsonschema_rs.is_valid(whole, value, offline=True))
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return True


@rule(
    "enum-broken",
    "caution",
    "An enum is empty, or holds values its own type refuses",
    why="No argument, or not that one, can be valid; providers refuse an empty enum.",
    remedy="List the values in the declared type, or drop the enum.",
    spec="JSON Schema 2020-12 enum (SHOULD have an element)",
)
def enum_broken(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for node in tool.inputs:
            values = node.schema.get("enum")
            if not isinstance(values, list):
                continue
            name = node.name or node.path
            wrong = [repr(value)[:40] for value in values if not accepts(_type_alone(node.schema), {}, value)]
            if not values:
                yield Hit(tool.index, f"{node.path}/enum", f"`{name}` has an empty enum")
            elif wrong:
                message = f"`{name}` is {node.schema['type']}, which {some(wrong)} is not"
                yield Hit(tool.index, f"{node.path}/enum", message)


def _type_alone(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": schema["type"]} if "type" in schema else {}


@rule(
    "pattern-invalid",
    "caution",
    "A pattern is no regular expression",
    why="Validators raise on it, so the tool's arguments cannot be checked.",
    remedy="Write the pattern in the ECMA-262 dialect, without look-behind or inline flags.",
    spec="JSON Schema 2020-12 pattern (ECMA-262)",
)
def pattern_invalid(subject: Subject) -> Iterator[Hit]:
    known: dict[str, bool] = {}
    for tool in subject.tools:
        for node in tool.inputs:
            pattern = node.schema.get("pattern")
            if not isinstance(pattern, str):
                continue
            if pattern not in known:
                known[pattern] = _compiles(pattern)
            if not known[pattern]:
                yield Hit(tool.index, f"{node.path}/pattern", f"`{pattern[:80]}` is no regular expression")


def _compiles(pattern: str) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True)
    except (ValueError, jsonschema_rs.ValidationError):
        return False
    return True


@rule(
    "enum-in-prose",
    "note",
    "A closed list of values stands in the description instead of an enum",
    why="The model may still invent a value; an enum is enforced, drawn as a choice, and often shorter.",
    remedy="Move the values into `enum`, and keep in the description only what the values mean.",
    spec="JSON Schema 2020-12 enum; ours",
)
def enum_in_prose(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for node in tool.parameters:
            values = prose_values(node.schema)
            if values:
                message = f"the description of `{node.name}` lists {some(values, 6)}"
                yield Hit(tool.index, f"{node.path}/description", message)


def prose_values(schema: dict[str, Any]) -> list[str]:
    """The values a string parameter's description says it must be one of; [] when it says no such thing."""
    if not _is_text(schema) or not {"enum", "const", "pattern"}.isdisjoint(schema):
        return []
    description = text_of(schema.get("description"))
    found = _CHOICE.search(description)
    if (
        not found
        or _SEVERAL.search(description)
        or _OPEN_ENDED.search(found["rest"])
        or _OPEN_ENDED.search(found["values"])
    ):
        return []
    values = [value for value in _EACH_VALUE.findall(found["values"]) if value.lower() not in ("and", "or")]
    quoted = all(value[0] in "'\"`" for value in values)
    if not quoted and not (":" in found["colon"] or "(" in found["colon"]):
        return []
    return [value.strip("'\"`") for value in values]


def _is_text(schema: dict[str, Any]) -> bool:
    """A string, or a string that may be null."""
    if schema.get("type") in ("string", ["string", "null"], ["null", "string"]):
        return True
    branches = list_of(schema.get("anyOf"))
    return len(branches) == 2 and {"type": "string"} in branches and {"type": "null"} in branches
