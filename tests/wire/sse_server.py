"""A raw HTTP+SSE server of 2024-11-05: GET /sse names where to POST; answers come on the stream. Ends with stdin."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RESULTS = {
    "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}},
    "tools/list": {"tools": []},
    "ping": {},
}  # fmt: skip
answers: queue.Queue[bytes | None] = queue.Queue()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            endpoint = b"http://elsewhere.invalid/post"
        else:
            endpoint = b"/post?session=1"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.wfile.write(b"event: endpoint\ndata: " + endpoint + b"\n\n")
        while (answer := answers.get()) is not None:
            self.wfile.write(b"event: message\ndata: " + answer + b"\n\n")

    def do_POST(self) -> None:
        frame = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.startswith("/post"):
            self._respond(404 if "404" in self.path else 405)
            return
        self._respond(202)
        method = frame.get("method")
        if method == "hang-up":
            answers.put(None)
        elif "id" in frame and method in RESULTS:
            answers.put(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": RESULTS[method]}).encode())

    def _respond(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


site = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
site.daemon_threads = True
threading.Thread(target=site.serve_forever, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{site.server_address[1]}"}), flush=True)
while sys.stdin.buffer.read(1024):
    pass
os._exit(0)
