"""A finished run in a file, with the results that a resumed run uses again. Pure but for the file, any thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from inspector.catalog.jsontext import compact_value
from inspector.discovery.code.calls import Call
from inspector.errors import FileError

SCHEMA: Final = "mcp-loupe/code-run/1"
_FIELDS: Final = (
    "n", "function", "tool", "server", "arguments", "line", "category", "read_only", "repeatable", "risk", "status",
    "outcome", "why", "raised", "value", "text", "reply_bytes",
)  # fmt: skip


def kept(code: str, calls: list[Call]) -> str:
    """The file's text. It holds what the servers answered, as the script got it."""
    rows = [{name: getattr(call, name) for name in _FIELDS} for call in calls]
    return compact_value({"schema": SCHEMA, "code": code, "calls": rows}) + "\n"


def read_kept(path: Path) -> tuple[str, list[Call]]:
    """(script, calls) of the file. Raises FileError."""
    try:
        found: Any = json.loads(path.read_text("utf-8"))
        if found["schema"] != SCHEMA:
            raise ValueError("it is of another kind")
        calls = [Call(**{name: row[name] for name in _FIELDS}) for row in found["calls"]]
        return str(found["code"]), calls
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise FileError(f"{path} holds no run: {problem}", "Give a file that --keep wrote") from None
