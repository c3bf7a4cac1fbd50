"""A server of `make scale`: waits for a file to appear, then sends notifications at a pace. Standard library only.

`scale_server.py NUMBER RATE SECONDS GO [TOOLS]`: each frame holds its number, so that a missing one is seen.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

SLICE_S = 0.02
PADDING = "x" * 180


def main() -> None:
    number, rate, seconds = (int(word) for word in sys.argv[1:4])
    go, tools = Path(sys.argv[4]), int((sys.argv[5:] or ["1"])[0])
    lock = threading.Lock()

    def send(*frames: dict[str, Any]) -> None:
        text = "".join(
            json.dumps({"jsonrpc": "2.0", **frame}, separators=(",", ":")) + "\n" for frame in frames
        )
        with lock:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()

    threading.Thread(target=flood, args=(send, number, rate, seconds, go), daemon=True).start()
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            send({"id": asked["id"], **answer(asked, tools)})


def answer(asked: dict[str, Any], tools: int) -> dict[str, Any]:
    if asked["method"] == "initialize":
        info = {"name": "scale", "version": "1"}
        return {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": info,
            }
        }
    if asked["method"] == "tools/list":
        return {"result": {"tools": [tool(n) for n in range(tools)]}}
    if asked["method"] in ("ping", "logging/setLevel"):
        return {"result": {}}
    if asked["method"] == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "found"}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


def tool(number: int) -> dict[str, Any]:
    words = f"Looks up entry {number} of the register and says what is known of it, its neighbours and its history."
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer", "description": "Its number."}},
        "required": ["id"],
    }
    return {"name": f"register_{number}", "description": words, "inputSchema": schema}


def said(number: int, n: int) -> dict[str, Any]:
    data = {"from": number, "n": n, "text": PADDING}
    return {"method": "notifications/message", "params": {"level": "info", "data": data}}


def flood(send: Any, number: int, rate: int, seconds: int, go: Path) -> None:
    while not go.exists():
        time.sleep(SLICE_S)
    began, sent = time.monotonic(), 0
    while sent < rate * seconds:
        due = min(int((time.monotonic() - began) * rate), rate * seconds)
        send(*[said(number, n) for n in range(sent, due)])
        sent = due
        time.sleep(SLICE_S)
    (go.parent / f"done{number}").write_text(f"{time.monotonic() - began:.2f}")


if __name__ == "__main__":
    main()
