"""An MCP server that puts terminal controls wherever it has a say. argv: `fine`, or where it fails.

Failing: `exit` (dies at tools/list), `error` (answers that with an error), `init` (answers initialize with one),
`surrogate` (fine, with half surrogates in every text).
"""

from __future__ import annotations

import json
import sys
from typing import Any

MODE = sys.argv[1]
EVIL = "\x1b]0;PWNED\x07\x1b[2J\x1b[31mRED\x9b2J\x7f\x00\x08\r\u202eevil\u2066\u200b\ufeff"
if MODE == "surrogate":
    EVIL += "\ud800"


def send(frame: dict[str, Any]) -> None:
    """Controls above ASCII go raw, as UTF-8; JSON has those below escaped anyway, and surrogates must be."""
    text = json.dumps({"jsonrpc": "2.0", **frame}, ensure_ascii=MODE == "surrogate")
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def complain() -> None:
    sys.stderr.buffer.write(EVIL.encode("utf-8", "replace") + b"\xff\n")
    sys.stderr.buffer.flush()


def tool(name: str) -> dict[str, Any]:
    properties = {EVIL: {"type": "string", "description": EVIL}}
    schema = {"type": "object", "properties": properties}
    output = {"type": "object", "required": [EVIL], "properties": {"n": {"const": EVIL}}}
    return {
        "name": name, "title": EVIL, "description": EVIL, "inputSchema": schema, "outputSchema": output,
    }  # fmt: skip


def call(asked: dict[str, Any]) -> dict[str, Any]:
    token = asked["params"].get("_meta", {}).get("progressToken")
    told = {"progressToken": token, "progress": EVIL, "total": EVIL, "message": EVIL}
    send({"method": "notifications/progress", "params": told})
    content = [{"type": "text", "text": EVIL}, {"type": EVIL, "x": EVIL}, {"type": "image", "data": EVIL}]
    return {
        "content": content,
        "structuredContent": {"n": EVIL, EVIL: EVIL} if MODE == "surrogate" else {"n": EVIL},
    }


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    method = asked["method"]
    if method == "initialize" and MODE != "init":
        info = {"name": EVIL, "version": EVIL}
        found = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        return {"result": found | {"instructions": EVIL}}
    if method == "tools/list" and MODE != "error":
        return {"result": {"tools": [tool("t"), tool(EVIL)], "ttlMs": EVIL, "cacheScope": EVIL}}
    if method == "tools/call":
        return {"result": call(asked)}
    return {"error": {"code": -32601, "message": EVIL, "data": EVIL}}


complain()
if MODE in ("fine", "surrogate"):
    sys.stdout.buffer.write(EVIL.encode("utf-8", "replace") + b"\n")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if MODE == "exit" and asked["method"] == "tools/list":
        complain()
        sys.exit(3)
    send({"id": asked["id"], **answer(asked)})
