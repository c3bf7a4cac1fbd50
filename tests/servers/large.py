"""A stdio server of large results, made once: 20 MB of text, of nested JSON, and an array of 100,000 rows; no SDK."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from answers import answer, dumps

ROWS, NOTES, TEXT = 100_000, 40_000, 20_000_000


def rows() -> dict[str, Any]:
    """100,000 rows of three columns, twice as MCP asks for: as text and as structuredContent."""
    found = {"rows": [{"id": n, "name": f"row {n}", "share": n / 8} for n in range(ROWS)]}
    return {"content": [{"type": "text", "text": dumps(found).decode()}], "structuredContent": found}


def nested() -> dict[str, Any]:
    """About 20 MB: notes in notes."""
    note = {"title": "é" * 20, "tags": ["a", "b"], "body": {"text": "x" * 380, "n": 2**60}}
    return {"content": [], "structuredContent": {"notes": [{"id": n, **note} for n in range(NOTES)]}}


def text() -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "0123456789abcdef " * (TEXT // 17)}]}


def small() -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "one line"}]}


MADE = {"small": small, "rows": rows, "nested": nested, "text": text}
kept: dict[str, bytes] = {}


def result_of(name: str) -> bytes:
    """The JSON text of a tool's result, made when first asked for."""
    if name not in kept:
        kept[name] = dumps(MADE[name]())
    return kept[name]


def main() -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        method, id_ = frame.get("method"), dumps(frame.get("id"))
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in MADE]
            said = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (id_, dumps({"tools": tools}))
        elif method == "tools/call":
            said = b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (id_, result_of(frame["params"]["name"]))
        else:
            found = answer(frame, modern=False)
            if found is None:
                continue
            said = found
        out.write(said + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
