"""An MCP server of the handshake era whose answers differ by its one argument, a version: what a replay looks for.

`look` says that it is read-only and ends the process when asked to fail; `write` says nothing; `slow` never answers.
"""

import json
import sys

VERSION = int(sys.argv[1])
n = 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    params = asked.get("params") or {}
    if asked["method"] == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        }
    elif asked["method"] == "tools/list":
        if "cursor" not in params:
            n += 1
            look = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            result = {"tools": [look], "nextCursor": f"{VERSION}-{n}"}
        elif params["cursor"] == f"{VERSION}-{n}":
            slow = {"name": "slow", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            result = {"tools": [{"name": "write", "inputSchema": {"type": "object"}}, slow]}
        else:
            result = None
    elif asked["method"] == "tools/call" and params["name"] == "look" and params["arguments"].get("fail"):
        sys.exit(3)
    elif asked["method"] == "tools/call" and params["name"] == "slow":
        continue
    elif asked["method"] == "tools/call":
        at = f"2026-01-0{VERSION}T00:00:00Z"
        text = f"run 0000000{VERSION}-1111-2222-3333-444455556666 at {at}: {params['arguments']}"
        result = {
            "content": [{"type": "text", "text": text}],
            "version": VERSION if params["name"] == "write" else 1,
        }
    else:
        result = None
    answer = (
        {"result": result} if result is not None else {"error": {"code": -32602, "message": f"no {VERSION}"}}
    )
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
