"""A modern server that says too much of everything: words of a megabyte, a requestState of five, endless proposals.

Stdio, no SDK. Each item is named by what is too much about it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from answers import INFO, MODERN, dumps

WORD = "\u202ew" + "o" * 1_000_000 + "\x1b[31m<script>"
STATE = "s\u00e9" * 2_500_000
FORM = {
    "type": "object",
    "properties": {f"f{n}": {"type": "string", "title": "t" * 500} for n in range(2_000)},
}
TOOLS = ("state", "word", "links", "asks", "many", "page", "task")
MANY = ",".join(f"v{n}" for n in range(300))
TEMPLATES = ["x://{" + WORD[1:], "x://{" * 2_000, "x://{a}" * 2_000, f"x://{{?{MANY}}}", "x://{a:99999}",
             "x://\u202e{a}", "javascript:{a}", "x://{+a}"]  # fmt: skip
CAPABILITIES: dict[str, Any] = {
    "tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}  # fmt: skip


def write(**message: Any) -> None:
    sys.stdout.buffer.write(dumps({"jsonrpc": "2.0", **message}) + b"\n")
    sys.stdout.buffer.flush()


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], "resultType": "complete"}


def asks(**asked: Any) -> dict[str, Any]:
    return {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": "elicitation/create", "params": asked}},
    }


def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
    if name == "state":
        echoed = params.get("requestState")
        if echoed is None:
            return asks(mode="form", message="Go on?", requestedSchema={"type": "object"}) | {
                "requestState": STATE
            }
        return text(hashlib.sha256(echoed.encode()).hexdigest())
    if name == "word":
        return text(WORD) | {"structuredContent": {WORD: WORD, "list": [WORD]}, WORD: WORD}
    if name == "links":
        link = {"type": "resource_link", "uri": "javascript:pwn()", "name": WORD, "description": WORD}
        inner = {"type": "resource", "resource": {"uri": WORD, "mimeType": WORD, "text": WORD}}
        return {"content": [link, inner, {"type": WORD}, {"type": "image", "data": WORD, "mimeType": WORD}]}
    if name == "page":
        return text("x") | {"content": [{"type": "text", "text": f"item {n}"} for n in range(20_000)]}
    if name == "task":
        return {
            "resultType": "task",
            "taskId": WORD,
            "status": "completed",
            "statusMessage": WORD,
            "result": text("done"),
        }
    if "inputResponses" in params:
        return text("answered")
    schema = (
        FORM
        if name == "many"
        else {"type": "object", "properties": {WORD: {"type": "string", "title": WORD}}}
    )
    return asks(mode="form", message=WORD, requestedSchema=schema)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        return kept | {"supportedVersions": [MODERN], "capabilities": CAPABILITIES,
                       "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}  # fmt: skip
    if method == "tools/list":
        return kept | {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "prompts/list":
        return kept | {"prompts": [{"name": "p", "title": WORD, "description": WORD,
                                    "arguments": [{"name": "a", "description": WORD}, {"name": WORD}]}]}  # fmt: skip
    if method == "resources/list":
        return kept | {"resources": [{"uri": "x://" + WORD, "name": WORD, "description": WORD}]}
    if method == "resources/templates/list":
        return kept | {
            "resourceTemplates": [{"uriTemplate": each, "name": f"t{n}"} for n, each in enumerate(TEMPLATES)]
        }
    if method == "completion/complete":
        values = [WORD, *[f"value {n} \u202e" for n in range(50_000)]]
        return {"resultType": "complete", "completion": {"values": values, "hasMore": True, "total": 10**30}}
    if method == "prompts/get":
        return kept | {
            "messages": [{"role": WORD, "content": {"type": "text", "text": WORD}}] * 3,
            "description": WORD,
        }
    if method == "resources/read":
        return kept | {"contents": [{"uri": WORD, "mimeType": WORD, "text": WORD}]}
    return call(params["name"], params)


def main() -> None:
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        method, params = frame.get("method"), frame.get("params") or {}
        if method == "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": frame["id"]}
            agreed = {"notifications": {"resourceSubscriptions": [WORD]}, "_meta": meta}
            write(method="notifications/subscriptions/acknowledged", params=agreed)
            write(method="notifications/resources/updated", params={"uri": WORD, "_meta": meta})
        elif "id" in frame:
            write(id=frame["id"], result=answer(method, params))


if __name__ == "__main__":
    main()
