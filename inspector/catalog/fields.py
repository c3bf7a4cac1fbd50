"""JSON Schema as form fields; unplain nodes become a JSON box for that node alone. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog import schema as schemas
from inspector.catalog.jsontext import compact_value

STRING: Final = "string"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
ENUM: Final = "enum"
ARRAY: Final = "array"
OBJECT: Final = "object"
JSON: Final = "json"


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. value: its JSON text, so that `1` and `"1"` differ."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """One input of a form.

    path: JSON pointer into the arguments, also the input's name; the root is the empty string. key: the member.
    kind: `string`, `integer`, `number`, `boolean`, `enum`, `array` (of `item` scalars or `options`), `object`
    (its inputs are `fields`) or `json` (anything else, typed as JSON text). default, minimum, maximum: JSON text,
    None when the schema has none. schema: the node as JSON text.
    """

    path: str
    key: str
    label: str
    kind: str
    required: bool = False
    nullable: bool = False
    default: str | None = None
    description: str = ""
    options: tuple[Option, ...] = ()
    item: str = ""
    minimum: str | None = None
    maximum: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    fields: tuple[Field, ...] = ()
    schema: str = field(default="", repr=False)


def fields_of(schema: Any) -> tuple[Field, ...]:
    """The inputs for an object schema, in its order; one JSON box at the root when it has no plain properties."""
    try:
        return _fields_of(schema)
    except RecursionError:
        return (_root_box({}),)


def _fields_of(schema: Any) -> tuple[Field, ...]:
    root = schemas.resolved(schema, schema)
    if root is None or root.get("type", OBJECT) != OBJECT:
        return (_root_box(schema),)
    properties = root.get("properties")
    if isinstance(properties, dict) and properties:
        return _properties(root, schema, "", nested=False)
    free = root.get("additionalProperties") not in (None, False)
    return (_root_box(schema),) if free or schemas.is_combined(root) else ()


def _root_box(schema: Any) -> Field:
    return Field("", "", "arguments", JSON, schema=compact_value(schema))


def _properties(node: dict[str, Any], root: Any, path: str, *, nested: bool) -> tuple[Field, ...]:
    required = node.get("required")
    names = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
    return tuple(
        [
            _field(key, child, root, f"{path}/{schemas.escape(key)}", key in names, nested)
            for key, child in node["properties"].items()
        ]
    )


def _field(key: str, node: Any, root: Any, path: str, required: bool, nested: bool) -> Field:
    found = schemas.plain(node, root)
    shown = found[0] if found else (schemas.resolved(node, root) or (node if isinstance(node, dict) else {}))
    nullable = found[1] if found else False
    kind, options, item = _kind(shown, root, nested) if found else (JSON, [], "")
    if any(value is None for value, _ in options):
        options = [(value, title) for value, title in options if value is not None]
        nullable = True
    return Field(
        path,
        key,
        _text(shown, "title") or key,
        kind,
        required,
        nullable,
        _default(shown),
        _text(shown, "description") or "",
        tuple([Option(compact_value(value), _label(value, title)) for value, title in options]),
        item,
        _bound(shown, "minimum"),
        _bound(shown, "maximum"),
        _length(shown, "minLength"),
        _length(shown, "maxLength"),
        _text(shown, "pattern"),
        _text(shown, "format"),
        _properties(shown, root, path, nested=True) if kind == OBJECT else (),
        compact_value(node),
    )


def _kind(node: dict[str, Any], root: Any, nested: bool) -> tuple[str, list[tuple[Any, str | None]], str]:
    """(kind, choices, item kind) of a node already without references and null."""
    options = schemas.choices(node)
    if options:
        scalar = all(not isinstance(value, dict | list) for value, _ in options)
        return (ENUM, options, "") if scalar else (JSON, [], "")
    if schemas.is_combined(node):
        return JSON, [], ""
    kind = node.get("type")
    if kind in schemas.SCALARS:
        return str(kind), [], ""
    if kind == ARRAY:
        return _array_kind(node, root)
    has_properties = isinstance(node.get("properties"), dict) and node["properties"]
    if not nested and has_properties and kind in (OBJECT, None):
        return OBJECT, [], ""
    return JSON, [], ""


def _array_kind(node: dict[str, Any], root: Any) -> tuple[str, list[tuple[Any, str | None]], str]:
    found = schemas.plain(node.get("items"), root)
    if found is None or found[1]:
        return JSON, [], ""
    item = found[0]
    options = schemas.choices(item)
    if options:
        scalar = all(isinstance(value, str | int | float) for value, _ in options)
        return (ARRAY, options, ENUM) if scalar else (JSON, [], "")
    if item.get("type") in schemas.SCALARS and not schemas.is_combined(item):
        return ARRAY, [], str(item["type"])
    return JSON, [], ""


def _label(value: Any, title: Any) -> str:
    if isinstance(title, str) and title:
        return title
    return value if isinstance(value, str) else compact_value(value)


def _text(node: dict[str, Any], key: str) -> str | None:
    value = node.get(key)
    return value if isinstance(value, str) else None


def _default(node: dict[str, Any]) -> str | None:
    return compact_value(node["default"]) if "default" in node else None


def _bound(node: dict[str, Any], key: str) -> str | None:
    value = node.get(key)
    return compact_value(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _length(node: dict[str, Any], key: str) -> int | None:
    value = node.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def flat(fields: Iterable[Field]) -> list[Field]:
    """The fields with those inside groups, each group before its own."""
    found = []
    for each in fields:
        found += [each, *each.fields]
    return found
