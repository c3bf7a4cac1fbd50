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

MOST_FIELDS: Final = 200
"""Inputs of one form, those inside groups included; what is beyond is typed as JSON."""
MOST_OPTIONS: Final = 500
OPTIONS_CHARS: Final = 64_000
"""A choice of more values, or of longer ones, is typed."""
DESCRIPTION_CHARS: Final = 1_000
FORM_CHARS: Final = 50_000
"""Characters of one description, and of all descriptions of a form."""
LABEL_CHARS: Final = 200
KEY_CHARS: Final = 500
"""A property with a longer name is typed as JSON: the name stands in every input several times."""


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
    None when the schema has none. schema: the node as JSON text. label, description: the schema's own, cut when
    long; what begins with `Loupe:` in a description is ours.
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
    """The inputs for an object schema, in its order; one JSON box at the root when it has no plain properties.

    Of more than MOST_FIELDS inputs the first are made, and the last is a JSON box at the root for the other members.
    """
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
        return _Form(schema).whole(root)
    free = root.get("additionalProperties") not in (None, False)
    return (_root_box(schema),) if free or schemas.is_combined(root) else ()


def _root_box(schema: Any) -> Field:
    return Field("", "", "arguments", JSON, schema=compact_value(schema))


class _Form:
    """Makes the inputs of one schema, at most MOST_FIELDS of them. root: the whole schema, for its references."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST_FIELDS
        self._chars = FORM_CHARS

    def whole(self, node: dict[str, Any]) -> tuple[Field, ...]:
        """The inputs of the schema's own properties, and a JSON box for those that found no room."""
        found = self._members(node, "")
        more = len(node["properties"]) - len(found)
        if not more:
            return found
        many = "1 more property" if more == 1 else f"{more:,} more properties"
        said = f"Loupe: the schema has {many} than this form has inputs for; type what is missing as JSON."
        return (*found, Field("", "", "other members", JSON, description=said))

    def _members(self, node: dict[str, Any], path: str) -> tuple[Field, ...]:
        required = node.get("required")
        names = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
        found = []
        for key, child in node["properties"].items():
            if self._left > 0 and len(key) <= KEY_CHARS:
                self._left -= 1
                found.append(self._field(key, child, f"{path}/{schemas.escape(key)}", key in names))
        return tuple(found)

    def _field(self, key: str, node: Any, path: str, required: bool) -> Field:
        root = self._root
        found = schemas.plain(node, root)
        shown = (
            found[0] if found else (schemas.resolved(node, root) or (node if isinstance(node, dict) else {}))
        )
        nullable = found[1] if found else False
        kind, choices, item = _kind(shown, root, path.count("/") > 1) if found else (JSON, [], "")
        if any(value is None for value, _ in choices):
            choices = [(value, title) for value, title in choices if value is not None]
            nullable = True
        options, said = _options(choices), self._description(shown)
        if options is None:
            options, kind, item = (), *_typed(kind, choices)
            many = f"{len(choices):,} values to choose from, too many to list"
            said = f"{said} Loupe: {many}; type it{_as(kind, item)}."
        elif kind == OBJECT and not self._has_room_for(shown["properties"]):
            kind, said = JSON, f"{said} Loupe: too many inputs for this form; type it as JSON."
        return Field(
            path,
            key,
            _cut(_text(shown, "title") or key, LABEL_CHARS),
            kind,
            required,
            nullable,
            _default(shown),
            said.lstrip(),
            options,
            item,
            _bound(shown, "minimum"),
            _bound(shown, "maximum"),
            _length(shown, "minLength"),
            _length(shown, "maxLength"),
            _text(shown, "pattern"),
            _text(shown, "format"),
            self._members(shown, path) if kind == OBJECT else (),
            compact_value(node),
        )

    def _description(self, node: dict[str, Any]) -> str:
        text = _text(node, "description") or ""
        most = min(DESCRIPTION_CHARS, self._chars)
        self._chars -= min(len(text), most)
        return _cut(text, most)

    def _has_room_for(self, properties: dict[str, Any]) -> bool:
        return len(properties) <= self._left and all(len(key) <= KEY_CHARS for key in properties)


def _options(choices: list[tuple[Any, str | None]]) -> tuple[Option, ...] | None:
    """The choices as options; None when they are too many or too long for a page."""
    if len(choices) > MOST_OPTIONS:
        return None
    options = [
        Option(compact_value(value), _cut(_label(value, title), LABEL_CHARS)) for value, title in choices
    ]
    return tuple(options) if sum(len(each.value) for each in options) <= OPTIONS_CHARS else None


def _typed(kind: str, choices: list[tuple[Any, str | None]]) -> tuple[str, str]:
    """(kind, item kind) of an input that takes one or several of `choices` as typed text."""
    if not all(isinstance(value, str) for value, _ in choices):
        return JSON, ""
    return (ARRAY, STRING) if kind == ARRAY else (STRING, "")


def _as(kind: str, item: str) -> str:
    return " as JSON" if kind == JSON else ", one a line" if item else ""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … cut, {len(text) - most:,} more characters."


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
