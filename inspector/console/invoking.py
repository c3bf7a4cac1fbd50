"""What a person invokes from each list: which request it makes, and the schema its form is made of. Pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from inspector.errors import UsageError
from inspector.protocol import uri_templates
from inspector.wire.link import RawJson

TOOLS: Final = "tools"
PROMPTS: Final = "prompts"
RESOURCES: Final = "resources"
TEMPLATES: Final = "templates"
METHOD: Final = "method"
"""Any method by name; its arguments are the params."""

METHODS: Final = {
    TOOLS: "tools/call",
    PROMPTS: "prompts/get",
    RESOURCES: "resources/read",
    TEMPLATES: "resources/read",
}
MOST_PARAMETERS: Final = 1_000
"""Arguments of one prompt that become inputs."""


def request_of(what: str, name: str, arguments: str) -> tuple[str, dict[str, Any]]:
    """(method, params) that invoke `name` of the list `what`; arguments: JSON text of an object, sent as spelled.

    Raises UsageError when a template cannot be expanded with these values.
    """
    if what == TOOLS:
        return METHODS[what], {"name": name, "arguments": RawJson(arguments)}
    if what == METHOD:
        return name, _members(arguments)
    if what == PROMPTS:
        bare = arguments == "{}"
        return METHODS[what], {"name": name} if bare else {"name": name, "arguments": RawJson(arguments)}
    if what == RESOURCES:
        return METHODS[what], {"uri": name}
    return METHODS[what], {"uri": uri_templates.parse(name).expand(template_values(arguments))}


def _members(arguments: str) -> dict[str, Any]:
    from inspector.catalog import jsontext

    return {key: RawJson(text) for key, text in jsontext.members_of(arguments)}


def template_values(arguments: str) -> dict[str, uri_templates.Value]:
    """The values of a template's variables out of a JSON object: texts, lists of texts, pairs; numbers as spelled."""
    found: dict[str, uri_templates.Value] = {}
    for name, value in json.loads(arguments, parse_int=str, parse_float=str).items():
        if value is None:
            continue
        if isinstance(value, list):
            found[name] = [_text(name, each) for each in value]
        elif isinstance(value, dict):
            found[name] = {key: _text(name, each) for key, each in value.items()}
        else:
            found[name] = _text(name, value)
    return found


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        raise UsageError(f"“{name}” holds a nested value, which no URI template takes", "Give texts")
    return value


def input_schema(what: str, name: str, definition: Mapping[str, Any]) -> Any:
    """The schema a form is made of: the tool's own, or what a prompt's arguments and a template's variables come to.

    None when nothing is known. Raises UsageError for a malformed template.
    """
    if what == TOOLS:
        return definition.get("inputSchema")
    if what == PROMPTS:
        return _of_prompt(definition) if definition else None
    if what == RESOURCES:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    variables = uri_templates.parse(name).variables
    return {
        "type": "object",
        "properties": {one.name: _of_variable(one) for one in variables},
        "required": [one.name for one in variables if one.required],
    }


def _of_prompt(definition: Mapping[str, Any]) -> dict[str, Any]:
    listed = definition.get("arguments")
    given = [
        one
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ][:MOST_PARAMETERS]
    return {
        "type": "object",
        "properties": {one["name"]: _of_argument(one) for one in given},
        "required": [one["name"] for one in given if one.get("required") is True],
    }


def _of_argument(argument: Mapping[str, Any]) -> dict[str, Any]:
    texts = {key: argument[key] for key in ("title", "description") if isinstance(argument.get(key), str)}
    return {"type": "string", **texts}


def _of_variable(variable: uri_templates.Variable) -> dict[str, Any]:
    if variable.many:
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "string", **({"maxLength": variable.prefix} if variable.prefix else {})}
