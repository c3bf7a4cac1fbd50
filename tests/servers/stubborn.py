"""An MCP server that will not go: it and its grandchild ignore EOF and SIGTERM; only SIGKILL ends them.

Stderr's first line is {"pid":…,"grandchild":…,"group":…}. A forgotten pair ends by itself after five minutes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from answers import answer, dumps

LIFETIME = 300
TOOLS = [{"name": "stay", "description": "Does nothing.", "inputSchema": {"type": "object"}}]


def reply(line: bytes) -> bytes | None:
    frame = json.loads(line)
    if frame.get("method") == "tools/list":
        return dumps({"jsonrpc": "2.0", "id": frame["id"], "result": {"tools": TOOLS}})
    return answer(frame, modern=False)


def main() -> None:
    # Ignored signals stay ignored across exec, so the grandchild never has a moment in which SIGTERM ends it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.alarm(LIFETIME)
    grandchild = subprocess.Popen(["sleep", str(LIFETIME)], stdin=subprocess.DEVNULL)
    pids = {"pid": os.getpid(), "grandchild": grandchild.pid, "group": os.getpgrp()}
    print(json.dumps(pids), file=sys.stderr, flush=True)
    for line in sys.stdin.buffer:
        raw = reply(line) if line.strip() else None
        if raw is not None:
            os.write(1, raw + b"\n")
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
