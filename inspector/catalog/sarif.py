"""A check as SARIF 2.1.0, which code hosts show beside the lock file's lines. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from inspector import __version__
from inspector.catalog.budgets import RULES, Checked, Violation
from inspector.catalog.difference.change import BREAKING, CAUTION
from inspector.catalog.difference.prose import visible
from inspector.catalog.jsontext import utf8

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {BREAKING: "error", CAUTION: "warning"}


def sarif(checked: Checked, lock_uri: str, lock: bytes) -> dict[str, Any]:
    """One run with one result a violation. lock_uri: where the lock file is, relative to the repository, with
    forward slashes; lock: its bytes, to find the line of a tool."""
    used = sorted({each.rule for each in checked.violations})
    lines = _lines_of_tools(lock)
    driver = {
        "name": "mcp-loupe",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": RULES[rule]}} for rule in used],
    }
    results = [_result(each, used.index(each.rule), lock_uri, lines) for each in checked.violations]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(violation: Violation, rule_index: int, uri: str, lines: dict[bytes, int]) -> dict[str, Any]:
    line = lines.get(_name_line(violation.tool), 1)
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}
    }
    if violation.tool is not None:
        name = visible(violation.tool) + visible(violation.path)
        place["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "member"}]
    return {
        "ruleId": violation.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS.get(violation.severity, "note"),
        "message": {"text": _unlinked(violation.message)},
        "locations": [place],
    }


def _unlinked(text: str) -> str:
    """Brackets would be read as links (SARIF 2.1.0, 3.11.6)."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _lines_of_tools(lock: bytes) -> dict[bytes, int]:
    """The line on which the lock names each tool, from 1."""
    found: dict[bytes, int] = {}
    for number, line in enumerate(lock.split(b"\n"), 1):
        if line.startswith(b'   "name": '):
            found.setdefault(line, number)
    return found


def _name_line(name: str | None) -> bytes:
    return b'   "name": ' + utf8(json.dumps(name, ensure_ascii=False)) + b","
