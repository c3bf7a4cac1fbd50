"""What a progressive server's reply tells of tools and groups, whatever its shape: JSON or a list in text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.discovery.registry import Tool

_NAMES = ("name", "tool_name", "toolName", "command")
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "schema", "parameter")
_LINE = re.compile(
    r"^[^\S\n]*(?:[-*•]|\d+[.)]|#{1,6})\s*[`*]*([A-Za-z_][\w./-]*)[`*]*\s*[:(–—-]?\s*(.*)$", re.MULTILINE
)
_IN_DESCRIPTION = re.compile(r"<tool>\s*([\w.-]+)")
_CAP = 5000


@dataclass(frozen=True, slots=True)
class Told:
    """One thing a reply names. whole: with its schema."""

    name: str
    description: str = ""
    whole: bool = False


def told(result: Mapping[str, Any]) -> list[Told]:
    """Everything named in a tools/call result, each name once, in order; a schema anywhere makes it whole."""
    found: dict[str, Told] = {}
    for each in _all_named(result):
        known = found.get(each.name)
        if known is None:
            found[each.name] = each
        elif each.whole and not known.whole:
            found[each.name] = Told(each.name, known.description or each.description, True)
        if len(found) >= _CAP:
            break
    return list(found.values())


def named_in(tool: Tool, parameter: str) -> list[str]:
    """Names an entry tool's own definition gives for a parameter: its enum, else `<tool>NAME` in its description."""
    schema = tool.value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    node = properties.get(parameter) if isinstance(properties, dict) else None
    choices = node.get("enum") if isinstance(node, dict) else None
    if isinstance(choices, list):
        return [each for each in choices if isinstance(each, str)]
    listed = _IN_DESCRIPTION.findall(tool.description)
    return listed or [found[0] for found in _LINE.findall(tool.description)]


def _all_named(result: Mapping[str, Any]) -> Iterator[Told]:
    if "structuredContent" in result:
        yield from _in_json(result["structuredContent"], 0)
    content = result.get("content")
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield from _in_text(text)


def _in_text(text: str) -> Iterator[Told]:
    for start in [0, *sorted([at for at in (text.find("{"), text.find("[")) if at > 0])]:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:].lstrip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            yield from _in_json(value, 0)
            return
    for name, rest in _LINE.findall(text):
        yield Told(name, rest.strip("*` "))


def _in_json(value: Any, depth: int) -> Iterator[Told]:
    """Objects with a name, and keys whose value is an object with a schema; not what is inside a schema."""
    if depth > 6:
        return
    if isinstance(value, list):
        for each in value:
            if isinstance(each, str) and re.fullmatch(r"[A-Za-z_][\w./-]*", each):
                yield Told(each)
            else:
                yield from _in_json(each, depth + 1)
        return
    if not isinstance(value, dict):
        return
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is not None:
        said = value.get("description")
        whole = any(isinstance(value.get(key), dict | list) for key in _SCHEMAS)
        yield Told(name, said if isinstance(said, str) else "", whole)
        return
    for key, each in value.items():
        if isinstance(each, dict) and any(schema in each for schema in _SCHEMAS):
            yield Told(key, str(each.get("description", "")), True)
        else:
            yield from _in_json(each, depth + 1)
