"""The tools a host makes itself, exactly as a model is sent them, and their replies. Pure, any thread.

data/meta_tools.json is the one source; `simulate --show-meta-tools` prints it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspector.catalog.jsontext import compact_value
from inspector.discovery.access import Access
from inspector.discovery.registry import Registry, Server, Tool

ENTRY_ID = 10
"""Ids count from here after the handshake (docs/definitions.md, Ids); the entry list has the first."""


@functools.cache
def facts() -> dict[str, Any]:
    """The data file; read only."""
    found = json.loads(Path(__file__).with_name("data").joinpath("meta_tools.json").read_text("utf-8"))
    return dict(found)


def definition(name: str) -> str:
    """The compact definition of a host-made tool."""
    return compact_value(facts()["tools"][name])


def listed(definitions: Sequence[str]) -> str:
    """The list result a strategy starts with, synthesised: the whole JSON-RPC text."""
    return f'{{"jsonrpc":"2.0","id":{ENTRY_ID},"result":{{"tools":[{",".join(definitions)}]}}}}'


def called(number: int, tool: str, arguments: Mapping[str, Any]) -> str:
    """The tools/call request number `number` (0 the first after the entry), synthesised."""
    params = compact_value({"name": tool, "arguments": arguments})
    return f'{{"jsonrpc":"2.0","id":{ENTRY_ID + 1 + number},"method":"tools/call","params":{params}}}'


def replied(number: int, text: str, *, error: bool = False) -> str:
    """The tools/call result that carries `text`, synthesised."""
    result = compact_value({"content": [{"type": "text", "text": text}], "isError": error})
    return f'{{"jsonrpc":"2.0","id":{ENTRY_ID + 1 + number},"result":{result}}}'


def refusal(sentence: str) -> str:
    return compact_value({"error": sentence})


def categories(found: Mapping[str, tuple[str, Sequence[Tool]]]) -> str:
    """`list_categories`: (description, tools) by name."""
    rows = [
        {"name": name, "description": description, "count": len(tools)}
        for name, (description, tools) in found.items()
    ]
    return compact_value({"categories": rows})


def expanded(category: str, tools: Sequence[Tool]) -> str:
    """`expand_category`: the definitions, byte for byte but for the public name."""
    head = compact_value({"category": category})[:-1]
    return f'{head},"tools":[{",".join([tool.text for tool in tools])}]}}'


def candidates(tools: Sequence[Tool]) -> str:
    """`search_tools`: name and description level."""
    rows = [
        {
            "name": tool.public, "description": tool.description, "server": tool.server,
            "permission": "allowed",
        }
        for tool in tools
    ]  # fmt: skip
    return compact_value({"tools": rows})


def details(registry: Registry, tool: Tool) -> str:
    """`get_tool_details`: what the server said of it, in the order of the data file; keys it did not send are absent."""
    value = tool.value
    row: dict[str, Any] = {"name": tool.public}
    row |= {
        key: value[key] for key in ("title", "description", "inputSchema", "outputSchema") if key in value
    }
    row |= {
        "server": tool.server, "permission": "allowed", "risk": risk(value),
        "availability": registry.state(tool)[0],
    }  # fmt: skip
    return compact_value(row)


def risk(value: Mapping[str, Any]) -> str:
    """What the server's own annotations hint at; a hint, never a promise."""
    hints = value.get("annotations")
    if not isinstance(hints, dict):
        return "unknown: the server gives no hints"
    if hints.get("readOnlyHint") is True:
        return "read-only (the server's hint)"
    if hints.get("destructiveHint") is False:
        return "changes something, destroys nothing (the server's hint)"
    return (
        "may destroy something (the server's hint)" if "destructiveHint" in hints else "may change something"
    )


def read_only(value: Mapping[str, Any]) -> bool:
    """Whether the server hints that a call changes nothing."""
    hints = value.get("annotations")
    return isinstance(hints, dict) and hints.get("readOnlyHint") is True


def servers(registry: Registry, found: Sequence[Server], access: Access) -> str:
    """`search_available_servers`: what this context may know of each."""
    visible = registry.visible(access)
    rows = [
        {
            "name": each.key,
            "description": registry.description(each, access),
            "tools": len([tool for tool in visible if tool.server == each.key]),
        }
        for each in found
    ]
    return compact_value({"servers": rows})
