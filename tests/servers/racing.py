"""One tool over stdio, modern era: `racing.py [--race] [--fail] [--public]`. No SDK.

--race: list_changed is sent between each tools/list and its answer. --public: its scope, private without. --fail:
only the first tools/list gets a result.
"""

from __future__ import annotations

import json
import sys

from answers import answer, dumps

SCOPE = "public" if "--public" in sys.argv else "private"
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def main() -> None:
    listed = 0
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if frame.get("method") == "tools/list":
            listed += 1
            if "--race" in sys.argv:
                out.write(dumps(CHANGED) + b"\n")
            result = {
                "resultType": "complete",
                "ttlMs": 60000,
                "cacheScope": SCOPE,
                "tools": [{"name": "one"}],
            }
            error = {"code": -32603, "message": "no list today"}
            body = {"error": error} if listed > 1 and "--fail" in sys.argv else {"result": result}
            reply: bytes | None = dumps({"jsonrpc": "2.0", "id": frame["id"], **body})
        else:
            reply = answer(frame, True)
        if reply is not None:
            out.write(reply + b"\n")
            out.flush()


main()
