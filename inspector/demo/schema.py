"""Short ways to write the JSON Schemas of the demo tools; pure values, any thread."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def params(*required: str, **properties: Schema) -> Schema:
    """An `inputSchema`: the named properties, of which `required` must be given."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def record(**properties: Schema) -> Schema:
    """An object that always has all of these properties."""
    return params(*properties, **properties)


def text(description: str = "", **more: Any) -> Schema:
    return _typed("string", description, more)


def integer(description: str = "", **more: Any) -> Schema:
    return _typed("integer", description, more)


def number(description: str = "", **more: Any) -> Schema:
    return _typed("number", description, more)


def flag(description: str = "", **more: Any) -> Schema:
    return _typed("boolean", description, more)


def choice(description: str, *values: str, **more: Any) -> Schema:
    return _typed("string", description, {"enum": list(values), **more})


def array(items: Schema, description: str = "", **more: Any) -> Schema:
    return {**_typed("array", description, more), "items": items}


def nullable(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


def _typed(kind: str, description: str, more: dict[str, Any]) -> Schema:
    return {"type": kind, **({"description": description} if description else {}), **more}
