"""A JSON Schema (2020-12 and the older words servers send) as types. Pure; linear in the schema, any thread.

What a type cannot say (a range, a pattern) is noted as lost; where the schema says nothing the type is `any`, noted
too. Only references within the schema are followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from inspector.catalog.schema import escape, referred
from inspector.discovery.code.names import class_name
from inspector.discovery.code.shapes import ANY, NEVER, Field, Read, Shape, Type, literal, union

INEXPRESSIBLE: Final = frozenset(
    {
        "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "minProperties",
        "maxProperties", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies",
        "if", "then", "else", "not", "unevaluatedProperties", "unevaluatedItems", "prefixItems",
    }
)  # fmt: skip
"""Keywords that a type system has no word for; what they refuse, only the broker refuses."""
DEEPEST: Final = 60
MOST_SHAPES: Final = 2_000
MOST_MEMBERS: Final = 50
SIMPLE: Final = {
    "string": Type("str"), "integer": Type("int"), "number": Type("float"), "boolean": Type("bool"),
    "null": Type("null"),
}  # fmt: skip
_CHOICES: Final = ("anyOf", "oneOf")
_NOT_OF_OPTIONS: Final = frozenset({*_CHOICES, "description", "title"})
_TYPE_WORDS: Final = frozenset(
    {"type", "$ref", "enum", "const", "properties", "items", "anyOf", "oneOf", "allOf"}
)
_OF_OBJECTS: Final = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
_OF_ARRAYS: Final = frozenset({"items", "prefixItems"})


def read_schema(schema: Any, name: str) -> Read:
    """The type of `schema`; its objects are named after `name` (`GithubCreateIssue`)."""
    reader = _Reader(schema, name)
    reader.found.type = reader.type_of(schema, (), "", 0)
    return reader.found


class _Reader:
    def __init__(self, root: Any, name: str) -> None:
        self.root, self.name = root, name
        self.found = Read()
        self._of_reference: dict[str, Type] = {}
        self._open: dict[str, str] = {}

    # --- the way through

    def type_of(self, schema: Any, trail: tuple[str, ...], path: str, depth: int) -> Type:
        """trail: names on the way, for naming objects. path: JSON pointer from the root."""
        if schema is False:
            return NEVER
        if schema is True or not isinstance(schema, dict) or depth > DEEPEST:
            return self._unknown(path)
        if not INEXPRESSIBLE.isdisjoint(schema):
            self.found.lost += [(path, key) for key in schema if key in INEXPRESSIBLE]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._referenced(reference, path, depth)
        if "const" in schema:
            return self._values([schema["const"]], path, "const")
        if isinstance(schema.get("enum"), list):
            return self._values(_of_types(schema["enum"], _types(schema)), path, "enum")
        if isinstance(schema.get("allOf"), list):
            return self.type_of(self._merged(schema, path, depth), trail, path, depth + 1)
        for key in _CHOICES:
            if isinstance(schema.get(key), list) and schema[key]:
                return self._choice(schema, key, trail, path, depth)
        kinds = _types(schema) or _implied(schema)
        if not kinds:
            return self._unknown(path)
        if len(kinds) == 1:
            return self._plain(kinds[0], schema, trail, path, depth)
        return union([self._plain(kind, schema, trail, path, depth) for kind in kinds])

    def _plain(
        self, kind: str, schema: Mapping[str, Any], trail: tuple[str, ...], path: str, depth: int
    ) -> Type:
        if kind == "array":
            return self._array(schema, trail, path, depth)
        if kind == "object":
            return self._object(schema, trail, path, depth)
        return SIMPLE.get(kind) or self._unknown(path)

    def _unknown(self, path: str) -> Type:
        self.found.any_at.append(path)
        return ANY

    # --- values, choices

    def _values(self, values: Sequence[Any], path: str, key: str) -> Type:
        """Of an enum or const; a value no literal type can say gives its JSON type, and is noted."""
        found: list[Type] = []
        for value in values:
            if value is None:
                found.append(Type("null"))
            elif isinstance(value, str | bool | int):
                found.append(literal([value]))
            else:
                self.found.lost.append((path, key))
                found.append(Type("float") if isinstance(value, float) else self._unknown(path))
        return union(found)

    def _choice(
        self, schema: Mapping[str, Any], key: str, trail: tuple[str, ...], path: str, depth: int
    ) -> Type:
        options = schema[key]
        if key == "oneOf" and len(options) > 1:
            self.found.lost.append((path, "oneOf"))
        own = {name: value for name, value in schema.items() if name not in _NOT_OF_OPTIONS}
        only_rules = all(isinstance(o, dict) and not _says_type(o) for o in options)
        if only_rules and (_types(own) or _implied(own)):
            self.found.lost.append((path, key))  # "one of these must be given" and the like
            return self.type_of({**own, "description": schema.get("description")}, trail, path, depth + 1)
        found = []
        for at, option in enumerate(options):
            whole = _narrowed(own, option)
            label = option.get("title") if isinstance(option, dict) else None
            more = (*trail, label if isinstance(label, str) and label else f"Option{at + 1}")
            here = more if len(options) > 1 else trail
            found.append(self.type_of(whole, here, f"{path}/{key}/{at}", depth + 1))
        return union(found)

    def _merged(self, schema: Mapping[str, Any], path: str, depth: int) -> Mapping[str, Any]:
        """`allOf` as one schema: what its members say together, as far as they do not contradict each other."""
        whole: Mapping[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for member in schema["allOf"]:
            seen = 0
            while isinstance(member, dict) and isinstance(member.get("$ref"), str) and seen < 20:
                target = referred(member["$ref"], self.root)
                member = _both({k: v for k, v in member.items() if k != "$ref"}, target) if target else {}
                seen += 1
            if isinstance(member, dict):
                if _types(whole) and _types(member) and not set(_types(whole)) & set(_types(member)):
                    self.found.lost.append((path, "allOf"))
                whole = _both(whole, member)
        return whole if depth < DEEPEST else {}

    # --- references

    def _referenced(self, reference: str, path: str, depth: int) -> Type:
        if reference in self._of_reference:
            return self._of_reference[reference]
        target = referred(reference, self.root)
        if target is None:
            self.found.lost.append((path, "$ref"))
            return self._unknown(path)
        label = reference.rsplit("/", 1)[-1].strip("#") or "Self"
        if reference in self._open:
            name = self._open[reference] = self._open[reference] or self._free(class_name(self.name, label))
            return Type("named", name=name)
        self._open[reference] = ""
        found = self.type_of(target, (label,), reference.removeprefix("#"), depth + 1)
        name = self._open.pop(reference)
        if name and (found.kind != "named" or found.name != name):
            self.found.aliases[name] = found
            found = Type("named", name=name)
        self._of_reference[reference] = found
        return found

    # --- arrays, objects

    def _array(self, schema: Mapping[str, Any], trail: tuple[str, ...], path: str, depth: int) -> Type:
        items, first = schema.get("items"), schema.get("prefixItems")
        places = [each for each in (first, items) if isinstance(each, list)]
        options = [each for place in places for each in place]
        if items is not None and not isinstance(items, list):
            options.append(items)
        if isinstance(items, list):
            self.found.lost.append((path, "prefixItems"))
        if not options or (places and items is None):
            return Type("array", (self._unknown(f"{path}/items"),))
        several = len(options) > 1
        kinds = [
            self.type_of(each, (*trail, f"Item{at + 1}" if several else "Item"), f"{path}/items", depth + 1)
            for at, each in enumerate(options)
        ]
        return Type("array", (union(kinds),))

    def _object(self, schema: Mapping[str, Any], trail: tuple[str, ...], path: str, depth: int) -> Type:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if "patternProperties" in schema and others is not None:
            others = True
        if not isinstance(properties, dict) or not properties:
            if others is False:
                return Type("map", (NEVER,))
            inner = (*trail, "Value")
            value = self.type_of(
                True if others is None else others, inner, f"{path}/additionalProperties", depth + 1
            )
            return Type("map", (value,))
        if len(self.found.shapes) >= MOST_SHAPES:
            return self._unknown(path)
        shape = Shape(self._free(class_name(self.name, *trail)))
        self.found.shapes[shape.name] = shape
        shape.description = _text(schema.get("description"))
        if others is not None and others is not False:
            shape.extra = self.type_of(others, (*trail, "Value"), f"{path}/additionalProperties", depth + 1)
        required = schema.get("required")
        needed = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
        if needed - properties.keys():
            self.found.lost.append((path, "required"))
        shape.fields = tuple(
            [
                Field(
                    str(key), self.type_of(value, (*trail, str(key)), f"{path}/properties/{escape(str(key))}", depth + 1),
                    key in needed, _text(value.get("description")) if isinstance(value, dict) else "",
                )
                for key, value in properties.items()
            ]
        )  # fmt: skip
        return Type("named", name=shape.name)

    def _free(self, name: str) -> str:
        found, number, open_names = name, 2, self._open.values()
        while found in self.found.shapes or found in self.found.aliases or found in open_names:
            found, number = f"{name}{number}", number + 1
        return found


def _types(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return [kinds]
    return [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []


def _implied(schema: Mapping[str, Any]) -> list[str]:
    """The type that a schema without `type` is plainly about."""
    if not _OF_OBJECTS.isdisjoint(schema):
        return ["object"]
    return [] if _OF_ARRAYS.isdisjoint(schema) else ["array"]


def _says_type(schema: Mapping[str, Any]) -> bool:
    return not _TYPE_WORDS.isdisjoint(schema)


def _of_types(values: Sequence[Any], kinds: Sequence[str]) -> list[Any]:
    """Those values that are of one of these JSON types; all when none is named."""
    if not kinds:
        return list(values)
    names = {bool: {"boolean"}, str: {"string"}, float: {"number"}, int: {"integer", "number"},
             type(None): {"null"}, dict: {"object"}, list: {"array"}}  # fmt: skip
    return [value for value in values if names.get(type(value), set()) & set(kinds)]


def _both(one: Mapping[str, Any], other: Any) -> dict[str, Any]:
    """Two schemas that hold together: properties and required added up, the second's words before the first's."""
    if not isinstance(other, dict):
        return dict(one)
    whole = {**one, **other}
    mine, theirs = one.get("properties"), other.get("properties")
    if isinstance(mine, dict) and isinstance(theirs, dict):
        whole["properties"] = {**mine, **theirs}
    needs = [
        each
        for source in (one, other)
        if isinstance(source.get("required"), list)
        for each in source["required"]
    ]
    if needs:
        whole["required"] = needs
    if isinstance(one.get("allOf"), list) and isinstance(other.get("allOf"), list):
        whole["allOf"] = [*one["allOf"], *other["allOf"]][:MOST_MEMBERS]
    return whole


def _narrowed(own: Mapping[str, Any], option: Any) -> Any:
    """An option of an anyOf with what stands beside the anyOf: both hold. False when nothing can satisfy both."""
    if not isinstance(option, dict) or "$ref" in option or not (_types(own) or "properties" in own):
        return option
    whole = _both(own, option)
    if option.get("items") in ({}, True) and "items" in own:
        whole["items"] = own["items"]
    mine, theirs = _types(own), _types(option)
    if mine and theirs:
        both = [kind for kind in theirs if kind in mine or (kind == "integer" and "number" in mine)]
        both += ["integer"] if "integer" in mine and "number" in theirs and "integer" not in both else []
        if not both:
            return False
        whole["type"] = both
    return whole


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
