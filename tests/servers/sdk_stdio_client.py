"""The SDK's client as it comes, for `mcp-loupe conformance --stdio -- python sdk_stdio_client.py`; none of our layers.

It lists and calls each tool once, cancels a call by cancelling its task, and starts a server that went again. Two
settings are the scenario's hints: the time-out of a request, and of the whole connecting (the SDK has none of its own).
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

CONTEXT = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
WAITS = CONTEXT.get("timeouts", {})
CALL_S = WAITS.get("call", 20_000) / 1000
CONNECT_S = WAITS.get("connect", 20_000) / 1000
MOST_RESTARTS = 2


async def play(calls: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Make these calls, or all that are listed; what is left when the server went."""
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    with anyio.fail_after(CONNECT_S) as connecting:
        async with Client(server, read_timeout_seconds=CALL_S) as client:
            connecting.deadline = math.inf
            if calls is None:
                calls = CONTEXT.get("toolCalls") or [
                    {
                        "name": tool.name,
                        "arguments": {"token": tool.input_schema["properties"]["token"]["default"]},
                    }
                    for tool in (await client.list_tools()).tools
                ]
            while calls:
                one = calls.pop(0)
                try:
                    with anyio.move_on_after(one.get("cancelAfterMs", math.inf) / 1000):
                        await client.call_tool(one["name"], one["arguments"])
                except Exception as problem:
                    print(f"{one['name']}: {problem!r}", file=sys.stderr)
                    if "closed" in repr(problem).lower():
                        return calls
    return []


async def main() -> None:
    left: list[dict[str, Any]] | None = None
    for _ in range(1 + MOST_RESTARTS):
        left = await play(left)
        if not left:
            return


if __name__ == "__main__":
    anyio.run(main)
