"""The demo's 50 tools in five categories, checked and called here, without MCP; the server's event loop."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from inspector.demo import billing, infrastructure, knowledge, orders, people
from inspector.demo.company import Company, ToolFailed
from inspector.demo.tool import Category, Step, Tool

Called = Generator[Step, None, dict[str, Any]]
"""A running call: yields progress, returns the `tools/call` result."""


def categories() -> tuple[Category, ...]:
    """The five categories in listing order, ten tools each."""
    return (
        billing.CATEGORY,
        orders.CATEGORY,
        knowledge.CATEGORY,
        people.CATEGORY,
        infrastructure.CATEGORY,
    )


def examples() -> dict[str, Mapping[str, Any]]:
    """Arguments that work on the built-in data set, by tool name, in listing order."""
    return {tool.name: tool.example for category in categories() for tool in category.tools}


class Catalog:
    """The tools of one server process, and the company they work on."""

    def __init__(self, owners: Sequence[Category] | None = None) -> None:
        self.company = Company()
        owners = categories() if owners is None else owners
        self._tools = {tool.name: (category, tool) for category in owners for tool in category.tools}

    def definitions(self, category: str | None = None) -> list[dict[str, Any]]:
        """Tool objects as sent, of one category or of all, always in the same order."""
        return [
            tool.definition()
            for owner, tool in self._tools.values()
            if category is None or owner.name == category
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> Called:
        """Checks the arguments against the tool's schema, runs it, logs one line, returns the result.

        Wrong arguments and failures come back as a tool error (`isError`) that says what would be right.
        `name` must be one of ours.
        """
        category, tool = self._tools[name]
        log = logging.getLogger(f"{category.name}.{name}")
        given = " ".join(f"{key}={_short(value)}" for key, value in arguments.items())
        try:
            _check(tool, arguments)
            value = tool.run(self.company, {**_defaults(tool), **_whole(tool, arguments)})
            if isinstance(value, Generator):
                value = yield from value
        except ToolFailed as failure:
            log.warning("%s failed: %s", given, failure)
            return error(str(failure))
        log.info("%s %s", given, _outcome(value))
        return result(value, structured=tool.outputs is not None)


def result(value: Any, *, structured: bool = False) -> dict[str, Any]:
    """A `tools/call` result: the value as JSON text and, for a tool with an `outputSchema`, as it is."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    found: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": False}
    if structured:
        found["structuredContent"] = value
    return {**found, "resultType": "complete"}


def error(sentence: str) -> dict[str, Any]:
    """A tool error (`isError`) for the model to act on."""
    return {"content": [{"type": "text", "text": sentence}], "isError": True, "resultType": "complete"}


def _check(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raises `ToolFailed` with every complaint and the parameters there are."""
    import jsonschema_rs  # late: a server that only lists its tools starts without it

    checker = jsonschema_rs.validator_for(tool.inputs)
    complaints = [
        f"{'/'.join(str(part) for part in found.instance_path) or 'arguments'}: {found.message}"
        for found in checker.iter_errors(dict(arguments))
    ]
    known = tool.inputs.get("properties", {})
    complaints += [f"there is no parameter {name!r}" for name in arguments if name not in known]
    if complaints:
        required = tool.inputs.get("required", [])
        signature = ", ".join(name if name in required else f"{name}?" for name in known)
        raise ToolFailed(f"{tool.name}({signature}) was not called: {'; '.join(complaints)}.")


def _defaults(tool: Tool) -> dict[str, Any]:
    properties = tool.inputs.get("properties", {})
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _whole(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with 20 for 20.0 where the schema asks for an integer: to JSON Schema both are one."""
    integers = {
        name for name, schema in tool.inputs.get("properties", {}).items() if "integer" in schema["type"]
    }
    return {
        name: int(value) if name in integers and isinstance(value, float) else value
        for name, value in arguments.items()
    }


def _short(value: Any) -> str:
    written = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )
    return json.dumps(written, ensure_ascii=False) if " " in written else written


def _outcome(value: Mapping[str, Any]) -> str:
    lists = [part for part in value.values() if isinstance(part, list)]
    return f"{len(lists[0])} rows" if len(value) == 1 and lists else "ok"
