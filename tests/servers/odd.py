"""A stdio server that prints "booting" on stdout, raises in one tool and breaks another's outputSchema; no SDK."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


from answers import answer, dumps

OUTPUT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count", "unit"]}
TOOLS = [
    {"name": "raises", "description": "Fails with a traceback on stderr.", "inputSchema": {"type": "object"}},
    {"name": "breaks", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT},
    {
        "name": "wants",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    },
]


def called(name: str) -> dict[str, Any]:
    if name == "raises":
        try:
            raise ValueError("no such row")
        except ValueError:
            traceback.print_exc()
            print("\n    ┌──── after the traceback ────┐", file=sys.stderr, flush=True)
        return {"content": [{"type": "text", "text": "no such row"}], "isError": True}
    if name == "breaks":
        return {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"count": "many"}}
    return {"content": [{"type": "text", "text": "ok"}]}


def main() -> None:
    print("booting", flush=True)
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if frame.get("method") == "tools/list":
            result: dict[str, Any] = {"tools": TOOLS}
        elif frame.get("method") == "tools/call":
            result = called(frame["params"]["name"])
        else:
            raw = answer(frame, modern=False)
            if raw is not None:
                sys.stdout.buffer.write(raw + b"\n")
                sys.stdout.buffer.flush()
            continue
        sys.stdout.buffer.write(dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
