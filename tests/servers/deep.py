"""A server on stdio with two tools; the schema of the first is nested `deep.py DEPTH` levels. Standard library only."""

from __future__ import annotations

import json
import sys

ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "deep", "version": "1"},
}


def main() -> None:
    depth = int(sys.argv[1])
    deep = '{"name":"deep","inputSchema":' + '{"a":' * depth + "1" + "}" * depth + "}"
    answers = {
        "initialize": f'"result":{json.dumps(ABOUT)}',
        "tools/list": f'"result":{{"tools":[{deep},{{"name":"fine","inputSchema":{{"type":"object"}}}}]}}',
        "tools/call": '"result":{"content":[{"type":"text","text":"called"}]}',
    }
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            answer = answers.get(asked["method"], '"error":{"code":-32601,"message":"Method not found"}')
            print(f'{{"jsonrpc":"2.0","id":{asked["id"]},{answer}}}', flush=True)


if __name__ == "__main__":
    main()
