"""A handshake server on HTTP whose tools/call stream ends after an event with an id; the rest is had by GET.

Its own stream begins an event that never becomes one, and stays open until `hang-up` is asked. It knows no session
`lost`, and has nothing to say to `nothing`. The tool `torn` and the address `?torn` tear the stream inside its body;
`?slow` and `?refused` are the second initialize, the latter when two requests met the lost session.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INFO = {"name": "breaks-off", "version": "1"}
asked: list[Any] = []
initialised: list[Any] = []
lost: list[Any] = []
let_go = threading.Event()
both_lost = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        frame = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, id_ = frame["method"], frame.get("id")
        if self.headers.get("Mcp-Session-Id") == "lost":
            lost.append(id_)
            self.answer(b"", status=404)
            if len(lost) == 2:
                both_lost.set()
        elif method == "initialize":
            initialised.append(id_)
            if len(initialised) == 2 and self.path.endswith("?slow"):
                time.sleep(0.5)
            if len(initialised) == 2 and self.path.endswith("?refused"):
                both_lost.wait(10)
                time.sleep(0.3)
                self.answer(b"not now", "text/plain", status=503)
                return
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
            self.answer(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode())
        elif method == "tools/call":
            asked.append(id_)
            torn = frame["params"]["name"] == "torn"
            self.answer(b"id: first\nretry: 300\ndata:\n\n", "text/event-stream", torn=torn)
        elif id_ is None or method == "nothing":
            self.answer(b"", status=202 if id_ is None else 200)
        elif method == "hang-up":
            let_go.set()
            self.answer(json.dumps({"jsonrpc": "2.0", "id": id_, "result": {}}).encode())
        else:
            text = {"jsonrpc": "2.0", "id": id_, "error": {"code": -32601, "message": "not here"}}
            self.answer(json.dumps(text).encode())

    def do_GET(self) -> None:
        if self.path.endswith("?torn"):
            if self.headers.get("Last-Event-ID") != "own":
                self.answer(b"id: own\nretry: 300\ndata:\n\n", "text/event-stream", torn=True)
            else:
                self.answer(b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n', "text/event-stream")
            return
        if self.headers.get("Last-Event-ID") != "first":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b": hello\n\ndata: half")
            let_go.wait()
            self.close_connection = True
            return
        result = {"content": [{"type": "text", "text": "the rest"}]}
        frame = json.dumps({"jsonrpc": "2.0", "id": asked[-1], "result": result})
        self.answer(f"id: second\ndata: {frame}\n\n".encode(), "text/event-stream")

    def answer(
        self, body: bytes, kind: str = "application/json", status: int = 200, torn: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) + torn))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.close_connection or torn

    def log_message(self, format: str, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}/mcp"}), flush=True)
server.serve_forever()
