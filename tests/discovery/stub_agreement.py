"""Arguments made from a schema, good and bad, and what the schema and the stubs say of each."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry as References

from inspector.discovery.code.schema_types import INEXPRESSIBLE
from inspector.discovery.code.stubs import Stub

WRONG = ({"zz": 1}, 12.5, "zz", [{"zz": 1}], None, True, ["zz"], 7)
"""One of each kind; which of them is wrong, the schema says."""


class Maker:
    """Makes values by a schema; not always valid ones, the schema decides afterwards."""

    def __init__(self, root: Mapping[str, Any], chance: random.Random) -> None:
        self.root, self.chance = root, chance

    def value(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, Mapping) or depth > 8:
            return "zz"
        if isinstance(schema.get("$ref"), str):
            here: Any = self.root
            for step in schema["$ref"].lstrip("#").split("/")[1:]:
                here = here[step.replace("~1", "/").replace("~0", "~")]
            return self.value(here, depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.chance.choice(schema["enum"])
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                return self.value({**schema, key: None, **self.chance.choice(schema[key])}, depth + 1)
        if schema.get("allOf"):
            return self.value({**schema, "allOf": None, **schema["allOf"][0]}, depth + 1)
        kinds = schema.get("type")
        kind = self.chance.choice(kinds) if isinstance(kinds, list) else kinds
        return self._plain(kind or ("object" if "properties" in schema else "string"), schema, depth)

    def _plain(self, kind: str, schema: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self.object(schema, depth)
            case "array":
                many = max(schema.get("minItems", 0), self.chance.choice((0, 1, 2)))
                return [self.value(schema.get("items", {}), depth + 1) for _ in range(min(many, 3))]
            case "integer":
                return int(schema.get("minimum", schema.get("exclusiveMinimum", 0))) + 1
            case "number":
                return schema.get("minimum", 0) + 0.5
            case "boolean":
                return False
            case "null":
                return None
        return "z" * max(1, schema.get("minLength", 1))

    def object(self, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        required = schema.get("required") or []
        picked = {
            key: self.value(value, depth + 1)
            for key, value in (schema.get("properties") or {}).items()
            if key in required or self.chance.random() < (0.5 if depth < 2 else 0.2)
        }
        if not schema.get("properties") and schema.get("additionalProperties") not in (False, None):
            picked["zz"] = self.value(schema["additionalProperties"], depth + 1)
        return picked


def spoilt(given: dict[str, Any], schema: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    """The same arguments with one thing changed."""
    known = list((schema.get("properties") or {}).keys())
    pick = chance.random()
    if known and pick < 0.6:
        return {**given, chance.choice(known): chance.choice(WRONG)}
    if given and pick < 0.8:
        gone = chance.choice(list(given))
        return {key: value for key, value in given.items() if key != gone}
    return {**given, "zz_unknown": 1}


def call_text(stub: Stub, given: Mapping[str, Any]) -> str:
    """The call as a script writes it."""
    by_key = {key: name for name, key in stub.parameters.items()}
    return f"{stub.name}({', '.join([f'{by_key.get(key, key)}={value!a}' for key, value in given.items()])})"


def refusals(schema: Mapping[str, Any], given: Mapping[str, Any]) -> set[str]:
    """The keywords by which the schema refuses, innermost; a boolean given for a number is `bool`."""
    found: set[str] = set()
    waiting: list[ValidationError] = list(
        Draft202012Validator(schema, registry=References()).iter_errors(given)
    )
    while waiting:
        error = waiting.pop()
        if error.context:
            waiting += error.context
            if error.validator == "oneOf":
                found.add("oneOf")
        elif error.validator == "oneOf":
            found.add("oneOf")
        elif error.validator == "type" and isinstance(error.instance, bool):
            found.add("bool")
        else:
            found.add(str(error.validator))
    return found


def excused(stub: Stub, schema: Mapping[str, Any], given: Mapping[str, Any], accepted: bool) -> str:
    """Why stub and schema may differ on these arguments, by the list of what a type cannot say; empty when they may not.
    accepted: by the schema."""
    if accepted:
        extras = _extras(schema, schema, given)
        return "a key the schema does not name, which it lets through without a word" if extras else ""
    lost = {each.message.split(" can say ")[1].split(";")[0] for each in stub.findings if each.what == "lost"}
    reasons = refusals(schema, given)
    if reasons & lost & (INEXPRESSIBLE | {"oneOf", "anyOf", "enum", "const", "required", "allOf"}):
        return "a keyword that is listed as lost"
    return "a boolean is an integer in Python" if "bool" in reasons else ""


def _extras(root: Any, schema: Any, value: Any, depth: int = 0) -> bool:
    """Whether the value holds, anywhere, a key that no properties name."""
    if depth > 10 or not isinstance(schema, Mapping):
        return False
    if isinstance(schema.get("$ref"), str):
        return _extras(root, _target(root, schema["$ref"]), value, depth + 1)
    inner = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key) or []]
    if isinstance(value, dict):
        names = schema.get("properties") or {}
        if "properties" in schema and set(value) - set(names):
            return True
        if any(_extras(root, names.get(key), each, depth + 1) for key, each in value.items()):
            return True
    if isinstance(value, list) and any(_extras(root, schema.get("items"), each, depth + 1) for each in value):
        return True
    return any(_extras(root, each, value, depth + 1) for each in inner)


def _target(root: Any, reference: str) -> Any:
    here = root
    for step in reference.lstrip("#").split("/")[1:]:
        here = here.get(step.replace("~1", "/").replace("~0", "~"), {})
    return here
