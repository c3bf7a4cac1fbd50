"""The three providers' token counters on loopback: `token_counters.py`; the first stdout line is {"url"}.

A count is 7 and a token for each byte of the compact `tools`. A model named m-401, m-html… asks for that failure.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATHS = {"/v1/messages/count_tokens": "x-api-key", "/v1/responses/input_tokens": "Authorization"}
SENTENCES = {401: "invalid key {key}", 404: "no such model", 429: "slow down", 500: "", 302: ""}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        gemini = self.path.endswith(":countTokens")
        key = self.headers.get("x-goog-api-key" if gemini else PATHS.get(self.path, "")) or ""
        model = self.path.split("/")[-1].split(":")[0] if gemini else str(body.get("model"))
        wish = model.removeprefix("m-")
        if not key or (self.path.startswith("/v1/responses") and not key.startswith("Bearer ")):
            return self._send(401, {"error": {"message": "no key"}})
        if self.path.startswith("/v1/messages") and not self.headers.get("anthropic-version"):
            return self._send(400, {"error": {"message": "anthropic-version: header is required"}})
        if wish == "drop":
            self.close_connection = True
            return self.connection.close()
        if wish in ("html", "text"):
            return self._send(200, "<html>hello</html>" if wish == "html" else {"input_tokens": "12"})
        if wish.isdigit() and int(wish) > 200:
            sentence = SENTENCES[int(wish)].format(key=key)
            return self._send(int(wish), {"error": {"message": sentence}} if sentence else "down")
        asked = body.get("generateContentRequest", body)
        tools = (
            json.dumps(asked["tools"], ensure_ascii=False, separators=(",", ":")) if "tools" in asked else ""
        )
        return self._send(200, {"totalTokens" if gemini else "input_tokens": 7 + len(tools.encode())})

    def _send(self, status: int, content: Any) -> None:
        raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)
server.serve_forever()
