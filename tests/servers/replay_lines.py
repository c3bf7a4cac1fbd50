"""Serves recorded tools/list answers byte for byte: `replay_lines.py FILE [--http PORT] [--era E]`.

FILE holds one JSON-RPC answer a line, one line a page. Only the id is replaced, and only when it differs.
Without --era, lines that carry `resultType` are served in both eras, others in the handshake era alone.
With --http the first stdout line is {"url","pid"}. Ends at stdin's EOF.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from answers import answer, dumps

EDGE = 200
AT_HEAD = re.compile(rb'\{"jsonrpc":\s*"2\.0",\s*"id":\s*(\d+|"[^"]*")')
AT_TAIL = re.compile(rb'"id":\s*(\d+|"[^"]*")(?:,\s*"jsonrpc":\s*"2\.0")?\}$')


class Page:
    """One recorded line, split around its top-level id."""

    def __init__(self, raw: bytes) -> None:
        head = AT_HEAD.match(raw[:EDGE])
        tail = AT_TAIL.search(raw[-EDGE:])
        if head:
            start, end = head.span(1)
        elif tail:
            start, end = (max(0, len(raw) - EDGE) + at for at in tail.span(1))
        else:
            raise SystemExit("replay_lines: a line has no id at its beginning or end")
        self.before, self.after = raw[:start], raw[end:]
        result = json.loads(raw, parse_int=str)["result"]
        self.next_cursor = result.get("nextCursor")
        self.modern = "resultType" in result

    def answering(self, id_: Any) -> bytes:
        return b"".join((self.before, dumps(id_), self.after))


class Recording:
    def __init__(self, path: Path, era: str | None) -> None:
        self.pages = [Page(line) for line in path.read_bytes().split(b"\n") if line]
        self.modern = era in ("modern", "both") if era else self.pages[0].modern
        self._by_cursor = {page.next_cursor: n for n, page in enumerate(self.pages, 1) if n < len(self.pages)}

    def answer(self, raw: bytes) -> bytes | None:
        frame = json.loads(raw)
        if frame.get("method") != "tools/list":
            return answer(frame, self.modern) if "method" in frame else None
        params = frame.get("params") or {}
        at = self._by_cursor.get(params["cursor"]) if "cursor" in params else 0
        if at is None:
            error = {"code": -32602, "message": "Invalid cursor"}
            return dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error})
        return self.pages[at].answering(frame["id"])


def serve_stdio(recording: Recording) -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        reply = recording.answer(line) if line.strip() else None
        if reply is not None:
            out.write(reply)
            out.write(b"\n")
            out.flush()


def serve_http(recording: Recording, port: int) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: Any) -> None:
            pass

        def do_POST(self) -> None:
            reply = recording.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self._respond(202 if reply is None else 200, reply or b"")

        def do_GET(self) -> None:
            self._respond(405, b"")

        do_DELETE = do_GET

        def _respond(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if body:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as site:
        url = f"http://127.0.0.1:{site.server_address[1]}/mcp"
        print(json.dumps({"url": url, "pid": os.getpid()}), flush=True)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        while sys.stdin.buffer.read(65_536):
            pass
        site.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--era", choices=("handshake", "modern", "both"))
    options = parser.parse_args()
    recording = Recording(options.file, options.era)
    if options.http is None:
        serve_stdio(recording)
    else:
        serve_http(recording, options.http)


if __name__ == "__main__":
    main()
