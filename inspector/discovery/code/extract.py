"""`extract(value, Type)`: parse, then validate; same input, same output. Pure but for a model, if one is set."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from inspector.discovery.code.shapes import Shape, Type
from inspector.discovery.code.values import NotJson, check, jsonable

Model = Callable[[Any, Mapping[str, Any]], Any]
"""(value, JSON Schema) to a value of that schema, by a model of the user's own; what it says is validated too."""

_CLASS = re.compile(r"<(?:class|type) '?(?:[\w.]*\.)?(\w+)'?>\Z")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_SIMPLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "int": {"type": "integer"}, "float": {"type": "number"}, "str": {"type": "string"}, "bool": {"type": "boolean"},
    "None": {"type": "null"}, "NoneType": {"type": "null"}, "Any": {},
    "dict": {"type": "object"}, "list": {"type": "array"},
}  # fmt: skip
_DEEPEST: Final = 30
_LONGEST: Final = 8_000_000


class NotExtracted(Exception):
    """A sentence for the script."""


class Extractor:
    """shapes: the TypedDicts of the stubs. code: the script, whose own classes may be asked for."""

    def __init__(self, shapes: Mapping[str, Shape], code: str, model: Model | None = None) -> None:
        self._shapes, self._model = shapes, model
        self._defs: dict[str, Mapping[str, Any]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def extract(self, value: Any, type_: Any) -> Any:
        """Raises NotExtracted."""
        try:
            schema = jsonable(self.schema(type_))
        except NotJson as fault:
            raise NotExtracted(f"extract: the type is no JSON Schema: {fault}") from None
        wrong = ""
        for candidate in _candidates(value):
            problem = check(schema, candidate)
            if not problem:
                return candidate
            wrong = wrong or problem
        if self._model is None:
            raise NotExtracted(f"extract: the value does not fit: {wrong}")
        said = self._model(value, schema)
        problem = check(schema, said)
        if problem:
            raise NotExtracted(f"extract: what the model made of the value does not fit: {problem}")
        return said

    def schema(self, type_: Any) -> Mapping[str, Any]:
        """The JSON Schema of what a script handed over as a type. Raises NotExtracted."""
        if isinstance(type_, Mapping):
            return type_
        word = type_.__name__ if isinstance(type_, type) else type_
        if not isinstance(word, str) or len(word) > 2000:
            raise NotExtracted(
                "extract: the second argument is a type, such as int, list[str] or a TypedDict"
            )
        found = _CLASS.match(word)
        found_schema = self._of(_parsed(found[1] if found else word), 0)
        return {**found_schema, "$defs": self._defs} if self._defs else found_schema

    def _of(self, node: ast.AST, depth: int) -> Mapping[str, Any]:
        if depth > _DEEPEST:
            raise NotExtracted("extract: the type is nested too deeply, or refers to itself")
        match node:
            case ast.Constant(value=None):
                return _SIMPLE["None"]
            case ast.Constant(value=str(text)):
                return self._of(_parsed(text), depth + 1)
            case ast.Attribute(attr=name):
                return self._named(name, depth)
            case ast.Name(id=name):
                return self._named(name, depth)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return {"anyOf": [self._of(left, depth + 1), self._of(right, depth + 1)]}
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
                return self._generic(name, inner, depth)
        raise NotExtracted(f"extract: {_written(node)} is no type it knows")

    def _generic(self, name: str, inner: ast.expr, depth: int) -> Mapping[str, Any]:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        match name.lower():
            case "list" | "sequence" | "set":
                return {"type": "array", "items": self._of(parts[0], depth + 1)}
            case "dict" | "mapping":
                return {"type": "object", "additionalProperties": self._of(parts[-1], depth + 1)}
            case "literal":
                return {"enum": [each.value for each in parts if isinstance(each, ast.Constant)]}
            case "optional":
                return {"anyOf": [self._of(parts[0], depth + 1), _SIMPLE["None"]]}
            case "union":
                return {"anyOf": [self._of(each, depth + 1) for each in parts]}
            case "notrequired" | "required":
                return self._of(parts[0], depth + 1)
        raise NotExtracted(f"extract: {name}[…] is no type it knows")

    def _named(self, name: str, depth: int) -> Mapping[str, Any]:
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in self._defs:
            return {"$ref": f"#/$defs/{name}"}
        if name not in self._shapes and name not in self._classes:
            raise NotExtracted(f"extract: there is no type {name[:100]}")
        self._defs[name] = {}  # known before its members are read: it may hold itself
        try:
            if name in self._classes:
                self._defs[name] = self._of_class(self._classes[name], depth + 1)
            else:
                self._defs[name] = self._of_shape(self._shapes[name])
        except NotExtracted:
            del self._defs[name]  # else it would fit anything the next time
            raise
        return {"$ref": f"#/$defs/{name}"}

    def _of_class(self, node: ast.ClassDef, depth: int) -> Mapping[str, Any]:
        fields = [
            each
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]
        optional = {
            each.target.id  # type: ignore[union-attr]
            for each in fields
            if each.value is not None
            or ast.unparse(each.annotation).startswith(("NotRequired", "typing.NotRequired"))
        }
        properties = {each.target.id: self._of(each.annotation, depth) for each in fields}  # type: ignore[union-attr]
        return {
            "type": "object",
            "properties": properties,
            "required": [key for key in properties if key not in optional],
        }

    def _of_shape(self, shape: Shape) -> Mapping[str, Any]:
        properties = {field.key: self._of_type(field.type) for field in shape.fields}
        return {
            "type": "object",
            "properties": properties,
            "required": [f.key for f in shape.fields if f.required],
        }

    def _of_type(self, type_: Type) -> Mapping[str, Any]:
        match type_.kind:
            case "literal":
                return {"enum": list(type_.values)}
            case "array":
                return {"type": "array", "items": self._of_type(type_.parts[0])}
            case "map":
                return {"type": "object", "additionalProperties": self._of_type(type_.parts[0])}
            case "union":
                return {"anyOf": [self._of_type(part) for part in type_.parts]}
            case "named":
                return self._named(type_.name, 0) if type_.name in self._shapes else {}
            case "never":
                return {"not": {}}
            case "any":
                return {}
        return _SIMPLE["None" if type_.kind == "null" else type_.kind]


def _parsed(text: str) -> ast.expr:
    """A type as it is written. Raises NotExtracted."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotExtracted(f"extract: {text[:100]!r} is no type") from None


def _written(node: ast.AST) -> str:
    try:
        return ast.unparse(node)[:100]
    except RecursionError:
        return f"this {type(node).__name__}"


def _candidates(value: Any) -> Iterator[Any]:
    """The value as it is; then, of a text, what it may mean as JSON: all of it, a fenced block, its outermost part."""
    yield value
    if not isinstance(value, str) or len(value) > _LONGEST:
        return
    text = value.strip()
    spans = [text, *[each.strip() for each in _FENCE.findall(text)]]
    for opening, closing in (("{", "}"), ("[", "]")):
        begin, end = text.find(opening), text.rfind(closing)
        if 0 <= begin < end:
            spans.append(text[begin : end + 1])
    for span in dict.fromkeys(spans):
        try:
            yield json.loads(span)
        except (ValueError, RecursionError):
            continue
    if text.lower() in ("true", "false"):
        yield text.lower() == "true"
    number = text.replace(",", "")
    if re.fullmatch(r"[+-]?\d{1,300}", number):
        yield int(number)
    elif re.fullmatch(r"[+-]?\d{1,300}\.\d{1,300}", number):
        yield float(number)
