"""An MCP server and its authorization server that lie in one way each: /WAY/mcp wants a token, and WAY says how.

`hostile_oauth.py` prints {"url"} and leaves at stdin's EOF. GET /secrets lists what was given out; GET /other names a
second origin, for what must not be sent to another one: GET /log there tells each request that came, with its body.
A way that stands nowhere below is an honest server.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GIVEN: list[str] = []
REFRESHED: dict[str, int] = {}
LOG: list[str] = []
BIG = "1" * 5_000
BASE, OTHER = "", ""


def secret(name: str) -> str:
    GIVEN.append(f"{name}-{secrets.token_urlsafe(24)}")
    return GIVEN[-1]


def resource(way: str) -> Any:
    found: dict[str, Any] = {"resource": f"{BASE}/{way}/mcp", "authorization_servers": [f"{BASE}/{way}"]}
    if way == "servers-of-file":
        found["authorization_servers"] = ["file:///etc/passwd"]
    if way == "servers-with-userinfo":
        found["authorization_servers"] = [BASE.replace("http://", "http://root:toor@") + f"/{way}"]
    if way == "many-servers":
        found["authorization_servers"] = [f"{BASE}/{n}" for n in range(50_000)]
    if way == "scopes-of-markup":
        found["scopes_supported"] = ["<script>alert(1)</script>", "a\u202eb\u0000\n\x1b[31m"]
    if way == "scopes-no-list":
        found["scopes_supported"] = "all"
    if way == "scope-of-megabytes":
        found["scopes_supported"] = ["s" * 2_000_000]
    return found


def metadata(way: str) -> Any:
    own = f"{BASE}/{way}"
    found: dict[str, Any] = {
        "issuer": own, "authorization_endpoint": f"{own}/authorize", "token_endpoint": f"{own}/token",
        "registration_endpoint": f"{own}/register", "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
    }  # fmt: skip
    changes: dict[str, dict[str, Any]] = {
        "issuer-elsewhere": {"issuer": OTHER},
        "issuer-with-a-slash": {"issuer": own + "/"},
        "page-of-javascript": {"authorization_endpoint": "javascript:alert(document.cookie)"},
        "page-of-file": {"authorization_endpoint": "file:///etc/passwd"},
        "page-with-a-fragment": {"authorization_endpoint": f"{own}/authorize#"},
        "page-with-a-query": {"authorization_endpoint": f"{own}/authorize?tenant=7"},
        "page-with-a-state": {"authorization_endpoint": f"{own}/authorize?state=known&redirect_uri=http://evil.invalid"},
        "page-with-userinfo": {"authorization_endpoint": f"http://accounts.google.com@127.0.0.1:9/{way}"},
        "token-of-file": {"token_endpoint": "file:///etc/passwd"},
        "token-with-userinfo": {"token_endpoint": own.replace("http://", "http://root:toor@") + "/token"},
        "token-at-port-nine": {"token_endpoint": "http://127.0.0.1:9/token"},
        "iss-promised": {"authorization_response_iss_parameter_supported": True},
        "no-s256": {"code_challenge_methods_supported": ["plain"]},
    }  # fmt: skip
    return {**found, **changes.get(way, {})}


def registered(way: str, asked: dict[str, Any]) -> Any:
    found = {**asked, "client_id": secrets.token_hex(8), "client_secret": secret("client"),
             "token_endpoint_auth_method": "client_secret_post"}  # fmt: skip
    if way == "another-redirect":
        found["redirect_uris"] = ["http://evil.invalid/callback"]
    if way == "no-client-id":
        del found["client_id"]
    if way == "client-id-no-text":
        found["client_id"] = 7
    if way == "client-id-of-markup":
        found["client_id"] = "<script>alert(1)</script>&state=mine\r\nX: y\u202e"
    if way == "client-lives-for-ever":
        found["client_secret_expires_at"] = 10**400
    if way == "auth-method-unknown":
        found["token_endpoint_auth_method"] = "tls_client_auth"
    return found


def token(way: str, form: str) -> Any:
    found: dict[str, Any] = {
        "access_token": secret("access"), "token_type": "Bearer", "expires_in": 3600, "scope": "x",
        "refresh_token": secret("refresh"),
    }  # fmt: skip
    changes: dict[str, dict[str, Any]] = {
        "expires-negative": {"expires_in": -5},
        "expires-text": {"expires_in": "soon"},
        "expires-zero": {"expires_in": 0},
        "type-mac": {"token_type": "mac"},
        "token-of-lines": {"access_token": found["access_token"] + "\r\nX-Injected: 1"},
        "token-of-letters": {"access_token": found["access_token"] + "ü\u202e"},
        "token-with-a-space": {"access_token": found["access_token"] + " and more"},
        "token-empty": {"access_token": ""},
        "token-no-text": {"access_token": [found["access_token"]]},
        "token-of-megabytes": {"access_token": found["access_token"] + "t" * 2_000_000},
        "no-refresh": {"refresh_token": None},
        "scope-of-markup": {"scope": "<script>alert(1)</script>\u202e" + "s" * 1_000_000},
    }  # fmt: skip
    found.update(changes.get(way, {}))
    if way in ("refresh-to-nothing", "refresh-refused", "refresh-of-odd") and "refresh_token" not in form:
        found["expires_in"] = 1
    return found


def written(way: str, value: dict[str, Any]) -> bytes:
    """The JSON of a token answer, with what json.dumps would not write."""
    text = json.dumps(value)
    if way == "expires-huge":
        text = text.replace("3600", "1e308")
    if way == "expires-huge-int":
        text = text.replace("3600", "1" + "0" * 400)
    if way == "expires-nan":
        text = text.replace("3600", "NaN")
    if way == "beside-a-long-number":
        text = text[:-1] + f', "n": {BIG}}}'
    if way == "not-closed":
        text = text[:-1]
    if way == "keys-escaped":
        text = text.replace('"access_token"', '"access\\u005ftoken"')[:-1] + f', "n": {BIG}}}'
    if way == "keys-twice":
        text = text[:-1] + f', "access_token": "{secret("second")}"}}'
    if way == "bad-utf8":
        return text.encode()[:-1] + b', "n": "\xff"}'
    if way == "token-deep":
        text = text[:-1] + ', "n": ' + "[" * 5_000 + "]" * 5_000 + "}"
    return text.encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def say(self, status: int, body: Any = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def drip(self, body: bytes = b" ", every: float = 0.2) -> None:
        """A body that never ends."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(body)
                self.wfile.flush()
                if every:
                    time.sleep(every)
        except OSError:
            return

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def answer(self, body: bytes) -> None:
        if f"http://{self.headers['Host']}" == OTHER:
            if self.path == "/log":
                return self.say(200, LOG)
            LOG.append(f"{self.command} {self.path} {self.headers} {body!r}")
            return self.say(404)
        if self.path in ("/secrets", "/other"):
            return self.say(200, GIVEN if self.path == "/secrets" else OTHER)
        parts = self.path.partition("?")[0].strip("/").split("/")
        way = parts[-1] if parts[0] == ".well-known" else parts[0]
        kind = "metadata" if parts[0] == ".well-known" else parts[-1]
        if parts[:2] == [".well-known", "oauth-protected-resource"]:
            return self.say(404)
        getattr(self, f"on_{kind}", lambda *_: self.say(404))(way, body)
        return None

    def on_mcp(self, way: str, body: bytes) -> None:
        if way == "step-up-for-ever" and self.headers.get("Authorization"):
            wants = f'Bearer error="insufficient_scope", scope="more-{secrets.token_hex(2)}"'
            return self.say(403, b"", WWW_Authenticate=wants)
        if not self.headers.get("Authorization") or way == "never-content":
            where = {
                "pointer-broken": "http://[", "pointer-of-file": "file:///etc/passwd",
                "pointer-of-javascript": "javascript:alert(1)", "pointer-with-a-port": "http://127.0.0.1:99999/",
                "pointer-long": f"{BASE}/{'a' * 70_000}", "pointer-relative": "../../etc",
                "pointer-label": f"http://{'a' * 300}.invalid/", "pointer-dots": "http://../", "pointer-no-host": "http:///x",
                "pointer-zone": "http://[fe80::1%25lo]/", "pointer-letters": "http://\u00fc.invalid/",
                "pointer-of-spaces": "http://a b c/", "pointer-elsewhere": f"{OTHER}/prm",
            }.get(way, f"{BASE}/{way}/prm")  # fmt: skip
            more = "".join(f', p{n}="<b>&quot;"' for n in range(4_000)) if way == "many-parameters" else ""
            return self.say(401, b"", WWW_Authenticate=f'Bearer resource_metadata="{where}"{more}')
        asked = json.loads(body or b"{}")
        if "id" not in asked:
            return self.say(202)
        info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"}}  # fmt: skip
        result = info if asked["method"] == "initialize" else {"tools": []}
        return self.say(200, {"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def on_prm(self, way: str, body: bytes) -> None:
        if way == "resource-drips":
            return self.drip()
        if way == "resource-deep":
            return self.say(200, b"[" * 100_000)
        if way == "resource-endless":
            return self.drip(b" " * 65_536, 0)
        return self.say(200, resource(way))

    def on_metadata(self, way: str, body: bytes) -> None:
        if way == "metadata-drips":
            return self.drip()
        if way == "metadata-silent":
            time.sleep(300)
        if way == "metadata-endless":
            return self.drip(b" " * 65_536, 0)
        if way == "metadata-deep":
            return self.say(200, b'{"a":' * 100_000)
        if way == "metadata-not-json":
            return self.say(200, b"<h1>no</h1>", Content_Type="text/html")
        if way == "metadata-circles":
            return self.say(302, b"", Location=self.path + "?again")
        if way == "metadata-beside-a-long-number":
            return self.say(200, json.dumps(metadata(way)).encode()[:-1] + f', "n": {BIG}}}'.encode())
        return self.say(200, metadata(way))

    def on_register(self, way: str, body: bytes) -> None:
        if way == "register-elsewhere":
            return self.say(307, b"", Location=f"{OTHER}/register")
        found = registered(way, json.loads(body))
        if way == "register-refuses-at-length":
            return self.say(400, b"<b>no</b>" + b"x" * 3_000_000)
        if way == "register-refuses-with-a-secret":
            return self.say(400, found)
        if way == "register-not-closed":
            return self.say(201, json.dumps(found).encode()[:-1])
        if way == "register-beside-a-long-number":
            return self.say(201, json.dumps(found).encode()[:-1] + f', "n": {BIG}}}'.encode())
        return self.say(201, found)

    def on_token(self, way: str, body: bytes) -> None:
        form = body.decode()
        if way == "token-elsewhere":
            return self.say(307, b"", Location=f"{OTHER}/token")
        if way == "token-circles":
            return self.say(307, b"", Location=self.path + "?a")
        if way == "token-drips":
            return self.drip()
        if way == "token-echoes":
            return self.say(400, {"error": "invalid_grant", "error_description": form})
        if way == "token-refuses-in-latin":
            return self.say(400, b"\xff\xfe nein")
        if way == "token-is-a-list":
            return self.say(200, [token(way, form)])
        if "refresh_token" in form.partition("grant_type=")[2][:20]:
            REFRESHED[way] = REFRESHED.get(way, 0) + 1
            if way == "refresh-to-nothing":
                return self.say(200, b"{}")
            if way == "refresh-refused":
                return self.say(400, {"error": "invalid_grant"})
            if way == "refresh-of-odd":
                return self.say(200, {**token(way, form), "access_token": secret("access") + "\r\nX: y"})
        return self.say(200, written(way, token(way, form)), Cache_Control="no-store")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    global BASE, OTHER
    own, other = Server(("127.0.0.1", 0), Handler), Server(("127.0.0.1", 0), Handler)
    BASE, OTHER = f"http://127.0.0.1:{own.server_port}", f"http://127.0.0.1:{other.server_port}"
    threading.Thread(target=other.serve_forever, daemon=True).start()
    print(json.dumps({"url": BASE}), flush=True)
    threading.Thread(target=own.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
