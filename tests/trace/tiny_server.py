"""A handshake server of twenty lines that starts at once; its tools/list fails; the error and stderr quote MY_TOKEN."""

from __future__ import annotations

import json
import os
import sys

print(f"starting with {os.environ.get('MY_TOKEN')}", file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        info = {"name": "tiny", "version": "1"}
        answer["result"] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    else:
        answer["error"] = {"code": -32603, "message": f"no tools for {os.environ.get('MY_TOKEN')}"}
    print(json.dumps(answer), flush=True)
