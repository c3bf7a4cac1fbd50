"""An MCP server whose every text tries to become markup, script or a request. stdio; `--modern`; `--http` prints a URL.

The texts are the payloads of tests/security/payloads.py, turned by one for each place, so that a view that cuts
texts short still meets every one of them.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))

from payloads import ADDRESS, SVG, evil, line

MODERN = "2026-07-28"
modern, over_http = "--modern" in sys.argv, "--http" in sys.argv
lock = threading.Lock()


def send(**message: Any) -> None:
    with lock:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()


def complain() -> None:
    sys.stderr.buffer.write((line() + "\n").encode())
    sys.stderr.buffer.flush()


def tool(name: str, **more: Any) -> dict[str, Any]:
    schema = {
        "type": "object", "title": evil(), "description": evil(), "$comment": evil(),
        "properties": {
            evil(): {"type": "string", "title": evil(), "description": evil(), "default": evil(), "examples": [evil()]},
            "choice": {"enum": [evil(), evil()], "description": evil()},
            "many": {"type": "array", "items": {"type": "string", "pattern": evil(), "format": evil()}},
            "deep": {"type": "object", "properties": {evil(): {"type": evil()}}, "required": [evil()]},
        },
    }  # fmt: skip
    return {
        "name": name, "title": evil(), "description": evil(), "inputSchema": schema,
        "outputSchema": {"type": "object", "properties": {"n": {"const": evil()}}, "required": [evil()]},
        "annotations": {"title": evil(), "readOnlyHint": evil(), evil(): evil()}, "_meta": {evil(): evil()},
        "icons": [{"src": ADDRESS, "mimeType": evil(), "sizes": [evil()]}, {"src": evil()}], **more,
    }  # fmt: skip


def app_tool() -> dict[str, Any]:
    return tool("app", _meta={"ui": {"resourceUri": "ui://app/main"}})


def icons() -> dict[str, Any]:
    return {"icons": [{"src": ADDRESS, "mimeType": "image/svg+xml"}], "annotations": {"audience": [evil()]}}


def listing(method: str) -> dict[str, Any]:
    if method == "tools/list":
        items = [tool("say"), tool("large"), app_tool(), tool(evil()), tool(evil())]
        found: dict[str, Any] = {"tools": items}
    elif method == "prompts/list":
        arguments = [{"name": evil(), "description": evil(), "title": evil()}, {"name": "plain"}]
        found = {
            "prompts": [
                {"name": name, "title": evil(), "description": evil(), "arguments": arguments, **icons()}
                for name in ("greet", evil())
            ]
        }
    elif method == "resources/list":
        uris = ["note://one", "ui://app/main", "javascript:pwn(5)", ADDRESS, evil()]
        found = {
            "resources": [
                {
                    "uri": u,
                    "name": evil(),
                    "title": evil(),
                    "description": evil(),
                    "mimeType": evil(),
                    **icons(),
                }
                for u in uris
            ]
        }
    else:
        found = {
            "resourceTemplates": [
                {"uriTemplate": u, "name": evil(), "title": evil(), "description": evil(), "mimeType": evil()}
                for u in ("note://{a}", evil())
            ]
        }
    return found | {"ttlMs": evil(), "cacheScope": evil(), "_meta": {evil(): evil()}} | complete()


def complete() -> dict[str, Any]:
    return {"resultType": "complete"} if modern else {}


def content() -> list[dict[str, Any]]:
    svg, html = base64.b64encode(SVG.encode()).decode(), "text/html"
    return [
        {"type": "text", "text": evil(), "annotations": {"audience": [evil()], "priority": evil()}},
        {"type": "image", "data": svg, "mimeType": "image/svg+xml"},
        {"type": "image", "data": svg, "mimeType": evil()},
        {"type": "audio", "data": svg, "mimeType": evil()},
        {"type": "resource_link", "uri": "javascript:pwn(5)", "name": evil(), "title": evil(), "mimeType": evil()},
        {"type": "resource_link", "uri": ADDRESS, "name": evil(), "icons": [{"src": ADDRESS}]},
        {"type": "resource", "resource": {"uri": evil(), "mimeType": html, "text": f"<script>{evil()}</script>"}},
        {"type": "resource", "resource": {"uri": evil(), "mimeType": evil(), "blob": svg}},
        {"type": evil(), evil(): evil()},
    ]  # fmt: skip


def large() -> dict[str, Any]:
    """Too much for a page: a table, and JSON inside a text, which are opened part by part; and many members."""
    columns = [evil() for _ in range(4)]
    rows = [{name: f"{n}{evil()}" for name in columns} for n in range(120)]
    nested = {f"{evil()}{n}": [evil(), {evil(): evil()}] for n in range(120)}
    text = {"type": "text", "text": json.dumps(nested)}
    return {"content": [text], "structuredContent": rows, **{f"{evil()}{n}": evil() for n in range(60)}}


def tell(token: Any) -> None:
    """Every kind of notification."""
    complain()
    if token is not None:
        progress = {"progressToken": token, "progress": 1, "total": 2, "message": evil()}
        send(method="notifications/progress", params=progress)
    send(method="notifications/message", params={"level": evil(), "logger": evil(), "data": evil()})
    send(method="notifications/resources/updated", params={"uri": evil()})
    send(method=evil(), params={evil(): evil()})
    sys.stdout.buffer.write(line().encode() + b"\n")


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("elicitation/create", {"mode": "form", "message": evil(), "requestedSchema": {
        "type": "object", "title": evil(), "properties": {evil(): {"type": "string", "title": evil(), "description":
        evil()}, "c": {"type": "string", "enum": [evil()], "enumNames": [evil()]}}, "required": [evil()]}}),
    ("elicitation/create", {"mode": "url", "message": evil(), "elicitationId": evil(), "url": "javascript:pwn(5)"}),
    ("elicitation/create", {"mode": "url", "message": evil(), "elicitationId": evil(), "url": ADDRESS}),
    ("sampling/createMessage", {"messages": [{"role": evil(), "content": {"type": "text", "text": evil()}}],
     "systemPrompt": evil(), "modelPreferences": {"hints": [{"name": evil()}]}, "maxTokens": 9}),
]  # fmt: skip


def call(id_: Any, params: dict[str, Any]) -> None:
    name, meta = params.get("name"), params.get("_meta") or {}
    tell(meta.get("progressToken"))
    if name == "say":
        send(id=id_, result={"content": content(), "structuredContent": {evil(): evil()}} | complete())
    elif name == "large":
        send(id=id_, result=large() | complete())
    elif name == "app":  # asks all it can, and ends at once: its questions stay on the page
        if modern:
            inputs = {evil(): {"method": method, "params": wanted} for method, wanted in QUESTIONS}
            send(
                id=id_,
                result={"resultType": "input_required", "inputRequests": inputs, "requestState": evil()},
            )
        else:
            for n, (method, wanted) in enumerate(QUESTIONS):
                send(id=f"{n}{evil()}", method=method, params=wanted)
    else:
        send(id=id_, error={"code": -32000, "message": evil(), "data": {evil(): evil()}})


def read(uri: str) -> dict[str, Any]:
    body: dict[str, Any] = {"uri": uri, "mimeType": evil(), "text": evil(), "_meta": {evil(): evil()}}
    if uri.startswith("ui://"):
        body |= {"mimeType": "text/html;profile=mcp-app", "text": SVG}
    return {
        "contents": [body, {"uri": evil(), "mimeType": "image/svg+xml", "blob": "not base64!"}]
    } | complete()


def info() -> dict[str, Any]:
    return {"name": evil(), "title": evil(), "version": evil(), "websiteUrl": "javascript:pwn(5)", **icons()}


CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {},
    "experimental": {evil(): {evil(): evil()}}, evil(): {},
}  # fmt: skip


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """None for what this server refuses."""
    if method == "initialize" and not modern:
        return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": info(),
                "instructions": evil()}  # fmt: skip
    if method == "server/discover" and modern:
        return {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": CAPABILITIES, "ttlMs": 0,
                "cacheScope": "private", "instructions": evil(),
                "_meta": {"io.modelcontextprotocol/serverInfo": info()}}  # fmt: skip
    if method.endswith("/list"):
        return listing(method)
    if method == "prompts/get":
        messages = [{"role": evil(), "content": one} for one in content()]
        return {"description": evil(), "messages": messages} | complete()
    if method == "resources/read":
        return read(params["uri"])
    if method == "completion/complete":
        return {"completion": {"values": [evil(), evil()]}}
    return {} if method in ("ping", "resources/subscribe", "logging/setLevel") else None


def handle(frame: dict[str, Any]) -> None:
    method, id_ = frame.get("method"), frame.get("id")
    if method is None or id_ is None:
        return
    if method == "tools/call":
        return call(id_, frame["params"])
    result = result_of(method, frame.get("params") or {})
    if result is None:
        return send(id=id_, error={"code": -32601, "message": evil(), "data": evil()})
    return send(id=id_, result=result)


class Http(BaseHTTPRequestHandler):
    """Answers initialize; then 401, a redirect, a page, a 500, each with texts in status line, headers and body."""

    protocol_version = "HTTP/1.1"
    turn = 0

    def answer(self, status: int, body: str, media: str, **headers: str) -> None:
        octets = body.encode()
        self.send_response(status, line()[:200])
        for name, value in {"Content-Type": media, "X-Said": line(), "Server": line(), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if "id" not in asked:
            return self.answer(202, "", "text/plain")
        result = result_of(asked["method"], asked.get("params") or {})
        if asked["method"] in ("initialize", "tools/list") and result is not None:
            text = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})
            if asked["method"] == "initialize":
                return self.answer(200, text, "application/json", Mcp_Session_Id="a\"'><i>")
            stream = f": {line()}\nid: {line()}\nevent: message\nretry: 1\ndata: {text}\n\n"
            return self.answer(200, stream, "text/event-stream")
        Http.turn += 1
        if Http.turn % 3 == 0:
            return self.answer(302, evil(), "text/html", Location="javascript:pwn(5)")
        if Http.turn % 3 == 1:
            return self.answer(500, f"<html>{evil()}</html>", "text/html")
        return self.answer(200, evil(), line()[:80].replace("/", "") + "/html")

    def do_GET(self) -> None:
        self.answer(405, evil(), "text/html")

    def do_DELETE(self) -> None:
        self.answer(200, "", "text/plain")

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    if over_http:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Http)
        print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
        server.serve_forever()
    complain()
    for each in sys.stdin.buffer:
        frame = json.loads(each)
        if isinstance(frame, dict):
            handle(frame)


if __name__ == "__main__":
    main()
