"""What the small test servers answer to all but tools/list; no SDK."""

from __future__ import annotations

import json
from typing import Any

MODERN = "2026-07-28"
INFO = {"name": "loupe-test-server", "version": "1"}
CAPABILITIES: dict[str, Any] = {"tools": {}}


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def answer(frame: dict[str, Any], modern: bool) -> bytes | None:
    """The answer to a request, None for a notification. `modern`: whether server/discover is known."""
    if "id" not in frame:
        return None
    method, params = frame["method"], frame.get("params") or {}
    if method == "initialize":
        version = params.get("protocolVersion", "2025-11-25")
        result = {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO}
    elif method == "server/discover" and modern:
        result = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": CAPABILITIES}
        result |= {"ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}
    elif method == "ping":
        result = {}
    else:
        error = {"code": -32601, "message": f"Method not found: {method}"}
        return dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error})
    return dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result})
