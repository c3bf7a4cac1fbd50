"""What changed in one tool: its words, its claims about itself, its schemas. Pure; run it in the worker."""

from __future__ import annotations

import operator
import re
from typing import Any, Final

from inspector.catalog.difference.change import INPUT, OUTPUT, Change, change
from inspector.catalog.difference.schema_changes import Equal, schema_changes
from inspector.catalog.difference.side import Tool
from inspector.catalog.schema import escape
from inspector.catalog.snapshot import ABSENT

_DEFAULTS: Final = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
_SAFE: Final = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
"""What a missing hint means (MCP schema, ToolAnnotations), and which value claims the less dangerous tool."""
_NUMBER: Final = re.compile(r"[\[:,]-?[0-9]")
"""In compact JSON; within strings too, which costs no more than the slower comparison."""


def tool_changes(before: Tool, after: Tool) -> list[Change]:
    """All differences between two tools; none when their canonical forms are the same."""
    if before.text == after.text:
        return []
    if before.broken or after.broken:
        return _broken(before, after)
    equal = _equality(before, after)
    try:
        if equal(before.value, after.value):
            same = before.canonical == after.canonical
            return [] if same else [change("equivalent", "", before.text, after.text)]
        found = _members(before, after, equal)
    except RecursionError:
        return [change("not-compared", "")]
    if not found:
        found = [change("equivalent", "")]
    elif [each.kind for each in found] == ["description-changed"] and found[0].path == "/description":
        found = [change("description-only", "/description", found[0].before, found[0].after)]
    return found


def _broken(before: Tool, after: Tool) -> list[Change]:
    if not before.broken:
        return [change("tool-broken", "", ABSENT, after.broken)]
    if not after.broken:
        return [change("tool-mended", "", before.broken)]
    if before.canonical == after.canonical:  # a lock keeps the canonical form, whose keys are sorted
        return []
    return [change("broken-changed", "", before.text, after.text)]


def _equality(before: Tool, after: Tool) -> Equal:
    """Python takes 1 for true and 0 for false: only where both a boolean and a number stand can that matter."""
    texts = before.text, after.text
    mixed = any("true" in text or "false" in text for text in texts) and any(map(_NUMBER.search, texts))
    return _equal if mixed else operator.eq


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other) and not _confused(one, other)


def _confused(one: Any, other: Any) -> bool:
    """Whether a boolean stands for a number somewhere in two values that Python calls equal."""
    if isinstance(one, bool) or isinstance(other, bool):
        return type(one) is not type(other)
    if isinstance(one, dict):
        return any(_confused(each, other[key]) for key, each in one.items())
    return isinstance(one, list) and any(map(_confused, one, other))


def _members(before: Tool, after: Tool, equal: Equal) -> list[Change]:
    referring = '"$ref"' in before.text or '"$ref"' in after.text
    changes: list[Change] = []
    was, is_ = before.value, after.value
    for key in [*was, *[key for key in is_ if key not in was]]:
        old, new = was.get(key, ABSENT), is_.get(key, ABSENT)
        if not equal(old, new):
            changes += _member(key, old, new, equal, referring=referring)
    return changes


def _member(key: str, old: Any, new: Any, equal: Equal, *, referring: bool) -> list[Change]:
    path = f"/{escape(key)}"
    if key in ("inputSchema", "outputSchema"):
        return _schema(path, old, new, INPUT if key == "inputSchema" else OUTPUT, equal, referring=referring)
    if key == "annotations":
        return _annotations(old, new)
    kinds = {"description": "description-changed", "execution": "execution-changed"}
    return [change(kinds.get(key, "member-changed"), path, old, new)]


def _schema(path: str, old: Any, new: Any, side: str, equal: Equal, *, referring: bool) -> list[Change]:
    if old is ABSENT:
        return [change("schema-added", path, old, new, side)]
    if new is ABSENT:
        return [change("schema-removed", path, old, new, side)]
    return schema_changes(old, new, side, path, equal, referring=referring)


def _annotations(old: Any, new: Any) -> list[Change]:
    """Each hint by what it means, absent or not; other annotations by what stands there."""
    before, after = (each if isinstance(each, dict) else {} for each in (old, new))
    changes = []
    for key in dict.fromkeys([*before, *after]):
        one, other = before.get(key, ABSENT), after.get(key, ABSENT)
        if one is other or (one == other and type(one) is type(other)):
            continue
        changes.append(change(_claim(key, one, other), f"/annotations/{escape(key)}", one, other))
    return changes


def _claim(key: str, old: Any, new: Any) -> str:
    if key not in _DEFAULTS:
        return "annotation-changed"
    was, is_ = (_DEFAULTS[key] if each is ABSENT else each for each in (old, new))
    if was is is_:
        return "annotation-changed"
    return "annotation-tightened" if is_ is _SAFE[key] else "annotation-loosened"
