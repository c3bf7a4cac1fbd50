"""Secrets of many kinds, planted everywhere an event can hold text; and how to look for what survived."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from inspector.wire.events import C2S, LOCAL, S2C, Event

PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "\n".join(
        ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 2 + ["MzEfYyjiWA4R4aQbcAFiq=="]
    )
    + "\n-----END PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWl0"


@dataclass
class Planted:
    """Events, and (kind, secret) of all that may not survive."""

    events: list[Event] = field(default_factory=list)
    secrets: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    _made: int = 0

    def make(self, kind: str, prefix: str = "") -> str:
        """A new secret of this kind."""
        self._made += 1
        secret = f"{prefix}{kind[0].upper()}q{self._made:03d}w8Xv5Lm2Zt9Rb4Kc7"
        self.secrets.append((kind, secret))
        return secret

    def rpc(self, value: Any, *, ascii: bool = False, **fields: Any) -> None:
        raw = json.dumps(value, ensure_ascii=ascii).encode()
        kind = "request" if "method" in value else "result"
        self.events.append(
            Event("rpc", 1, C2S if kind == "request" else S2C, fields, raw, kind, value.get("method"))
        )

    def call(self, arguments: Any, *, ascii: bool = False) -> None:
        params = {"name": "t", "arguments": arguments}
        self.rpc({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, ascii=ascii)

    def result(self, text: str, *, ascii: bool = False) -> None:
        self.rpc(
            {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}, ascii=ascii
        )

    def line(self, text: str, t: str = "stderr") -> None:
        self.events.append(Event(t, 1, S2C, {}, text.encode()))


def plant() -> Planted:
    p = Planted()
    p.known += [p.make("env") for _ in range(3)]
    _headers(p)
    _urls(p)
    _keys(p)
    _texts(p)
    _inside(p)
    _known(p)
    _people(p)
    return p


def _headers(p: Planted) -> None:
    names = (
        "Authorization",
        "Cookie",
        "X-Api-Key",
        "Proxy-Authorization",
        "Mcp-Session-Id",
        "X-Auth-Token",
        "X-My-Secret",
    )
    pairs = []
    for name in names:
        value = p.make("header")
        shown = {"Authorization": f"Bearer {value}", "Cookie": f"sid={value}; theme=dark"}.get(name, value)
        pairs.append([name, shown])
    pairs.append(["Set-Cookie", f"session={p.make('cookie')}; Path=/; HttpOnly"])
    pairs.append(["Location", f"https://h.example/cb?code={p.make('query')}"])
    p.events.append(
        Event(
            "http",
            1,
            C2S,
            {"phase": "request", "method": "POST", "url": "http://h.example/mcp", "headers": pairs},
        )
    )
    basic = base64.b64encode(f"ann:{p.make('basic')}".encode()).decode()
    p.events.append(
        Event("http", 1, S2C, {"phase": "end"}, f"<p>sent Authorization: Basic {basic}</p>".encode())
    )


def _urls(p: Planted) -> None:
    user = f"https://ann:{p.make('userinfo')}@git.example/repo.git"
    p.events.append(
        Event("connection", 1, LOCAL, {"target": {"url": f"https://h.example/mcp?sig={p.make('query')}"}})
    )
    p.call({"repo": user, "next": f"see http://h.example/a?x=1&access_token={p.make('query')}#top."})
    p.call({"u": f"https://h.example/?q={p.make('query')}&y={p.make('query')}"}, ascii=True)
    p.line(f"connecting to postgres://svc:{p.make('userinfo')}@db.example:5432/app")
    p.line(f"redirect https://h.example/#access_token={p.make('fragment')}&state=x", "noise")
    p.line(f"GET /messages/?session_id={p.make('query')} 200")
    p.events.append(
        Event(
            "connection",
            1,
            LOCAL,
            {"target": {"argv": ["srv", "--api-key", p.make("argv"), f"--token={p.make('argv')}"]}},
        )
    )


def _keys(p: Planted) -> None:
    names = (
        "password",
        "apiKey",
        "client_secret",
        "access_token",
        "X-API-Key",
        "privateKey",
        "db_passwd",
        "otp",
        "secret",
    )
    p.call({name: p.make("key") for name in names})
    p.call(
        {
            "deep": [{"er": {"refreshToken": p.make("key"), "note": "ordinary"}}],
            "properties": {"password": p.make("key")},
        }
    )
    p.result(
        json.dumps(
            {"config": {"credentials": p.make("nested"), "inner": json.dumps({"token": p.make("nested")})}}
        )
    )
    p.result("config:\n" + json.dumps({"password": p.make("nested")}, indent=2), ascii=True)
    escaped = json.dumps({"password": p.make("escaped")}).replace("password", "\\u0070assw\\u006frd").encode()
    p.events.append(Event("rpc", 1, S2C, {}, b'{"id":1,"result":' + escaped + b"}", "result"))
    p.line(json.dumps({"level": "debug", "api_key": p.make("key")}))
    p.line(str({"user": "ann", "password": p.make("key")}), "noise")


def _texts(p: Planted) -> None:
    prefixes = {
        "openai": "sk-proj-", "github": "ghp_", "aws": "AKIA", "slack": "xoxb-", "gitlab": "glpat-", "hf": "hf_",
        "stripe": "sk_live_", "google": "AIzaSyA0123456789",
    }  # fmt: skip
    for kind, prefix in prefixes.items():
        secret = p.make(kind, prefix)
        if kind == "aws":
            secret = "AKIAQ7RZ4WX2LM9TB5KC"
            p.secrets[-1] = (kind, secret)
        p.result(f"Use {secret}\nfrom now on.")
        p.line(f"\x1b[32m{secret}\x1b[0m")
    p.secrets += [("jwt", JWT), *[("pem", line) for line in PEM.splitlines()[1:-1]]]
    p.result(f"token is {JWT}, ok")
    p.call({"cert": PEM})
    for line in PEM.splitlines():
        p.line(line)
    p.line(f"curl -H 'Authorization: Bearer {p.make('bearer')}' x")
    p.line(f"X-Api-Key: {p.make('header')}", "noise")
    p.line(f"DB_PASSWORD={p.make('assigned')} starting")
    p.line(f"password: {p.make('assigned')}")
    p.line(f"run --password {p.make('flag')} now")
    p.events.append(
        Event(
            "error",
            1,
            LOCAL,
            {"origin": "console", "class": "X", "message": f"refused: Bearer {p.make('bearer')}"},
        )
    )


def _inside(p: Planted) -> None:
    def b64(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    p.call({"blob": b64(json.dumps({"password": p.make("base64"), "a": 1}))})
    p.call({"blob": b64(f"x {p.make('base64', 'ghp_')}")})
    p.call({"blob": b64("ab:" + p.make("base64", "sk-"))})
    p.result("data:application/json;base64," + b64(json.dumps({"api_key": p.make("base64")})))
    p.line("payload " + b64(f"https://ann:{p.make('base64')}@h.example/"))
    wrapped = base64.encodebytes(
        json.dumps({"filler": "x" * 100, "token": p.make("base64")}).encode()
    ).decode()
    p.result(wrapped)
    p.call({"form": "a=1&payload=" + quote(json.dumps({"password": p.make("percent")}))})
    p.events.append(Event("noise", 1, S2C, {}, b"\xff\xfe password=" + p.make("binary").encode() + b"\xff"))
    p.events.append(
        Event("rpc", 1, S2C, {}, b'{"id":"\xff","password":"' + p.make("binary").encode() + b'"}', "unparsed")
    )
    p.events.append(
        Event("rpc", 1, S2C, {}, b'{"password":"' + p.make("broken").encode() + b'", "x', "unparsed")
    )


def _known(p: Planted) -> None:
    for n, known in enumerate(p.known):
        p.line(f"env is {known}{'x' * n}")
        p.result(f"echo {known}")
        for offset in range(3):
            p.result(base64.b64encode(b"\xff" * offset + known.encode() + b"\xff").decode())
        p.call({"nextCursor": known, known: 1})
    odd = 'pä"ss\\wörd/42 %x'
    p.known.append(odd)
    p.secrets.append(("env", odd))
    p.result(f"value {odd}")
    p.result(f"value {odd}", ascii=True)
    p.line(f"value {odd} and {quote(odd)}")


def _people(p: Planted) -> None:
    p.secrets += [("user", "/home/annabel"), ("user", "Users\\annabel"), ("user", "/Users/annabel")]
    p.call(
        {"path": "/home/annabel/src", "other": "C:\\Users\\annabel\\x", "uri": "file:///Users/annabel/a%20b"}
    )
    p.line('Traceback: File "/home/annabel/app.py"')


def forms(secret: str) -> dict[str, str]:
    """Every way the secret may stand in a file, by name."""
    content = secret.encode()
    found = {
        "raw": secret,
        "json": json.dumps(secret)[1:-1],
        "json raw": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json twice": json.dumps(json.dumps(secret)[1:-1])[1:-1],
        "percent": quote(secret, safe=""),
    }
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + content).decode()
        core = whole[-(-8 * offset // 6) : 8 * (offset + len(content)) // 6]
        found[f"base64 at {offset}"] = core
        found[f"base64url at {offset}"] = core.replace("+", "-").replace("/", "_")
    return found


def views(lines: list[bytes]) -> str:
    """The file's text, and once more with the payloads that are base64 because they are no UTF-8."""
    text = b"".join(lines).decode()
    for line in lines:
        event = json.loads(line)
        for name in ("raw", "data", "body"):
            if event.get("enc") == "base64" and isinstance(event.get(name), str):
                text += base64.b64decode(event[name]).decode("latin-1")
        for name in ("raw", "data"):
            value = event.get(name)
            if isinstance(value, str):
                text += value.replace("\\n", "").replace("\n", "")
    return text
