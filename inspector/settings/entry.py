"""One server entry of an mcp.json-like file to a ServerSpec and back. Any thread; no I/O."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from inspector.errors import ConfigError
from inspector.settings.spec import SSE, STDIO, STREAMABLE_HTTP, ServerSpec

TRANSPORTS: Final = {
    "stdio": STDIO,
    "local": STDIO,
    "http": STREAMABLE_HTTP,
    "remote": STREAMABLE_HTTP,
    "streamable-http": STREAMABLE_HTTP,
    "streamable_http": STREAMABLE_HTTP,
    "streamablehttp": STREAMABLE_HTTP,
    "sse": SSE,
}
URL_KEYS: Final = ("url", "httpUrl", "serverUrl")
_KINDS: Final = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list"}
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


def read_entry(name: str, entry: Any, source: str) -> ServerSpec:
    """The spec an entry describes, its `${…}` placeholders as written.

    Raises ConfigError: one sentence that names the entry and the key, never a value of env, headers or args.
    """
    if not isinstance(entry, dict):
        raise _refused(name, f"it must be an object with `command` or `url`, not {kind(entry)}")
    _text(name, "the name", name)
    url_key = next((key for key in URL_KEYS if entry.get(key) is not None), None)
    transport = _transport(name, entry, url_key)
    if transport == STDIO:
        return ServerSpec(
            name=name,
            argv=_argv(name, entry),
            env=_env(name, entry.get("env")),
            cwd=None if entry.get("cwd") is None else _text(name, "cwd", entry["cwd"]),
            source=source,
        )
    return ServerSpec(
        name=name,
        transport=transport,
        url=_text(name, url_key or "url", entry.get(url_key or "url")),
        headers=_headers(name, entry.get("headers")),
        source=source,
    )


def written_entry(spec: ServerSpec) -> dict[str, Any]:
    """The entry in the shape most clients read: {type, command, args, env, cwd} or {type, url, headers}."""
    if spec.transport == STDIO:
        found: dict[str, Any] = {"type": STDIO, "command": spec.argv[0], "args": list(spec.argv[1:])}
        return found | ({"env": spec.env} if spec.env else {}) | ({"cwd": spec.cwd} if spec.cwd else {})
    found = {"type": "http" if spec.transport == STREAMABLE_HTTP else SSE, "url": spec.url}
    return found | ({"headers": spec.headers} if spec.headers else {})


def check_url(name: str, url: str) -> None:
    """Raises ConfigError unless `url` is http(s) with a host and a usable port."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise _refused(name, "its URL must look like https://host/path or http://host:port/path")


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    return "null" if value is None else _KINDS.get(type(value), "an object")


def shown(name: str) -> str:
    """A name that can be printed: JSON may hold half a surrogate pair, which no terminal or page can."""
    return name.encode("utf-8", "replace").decode()


def _transport(name: str, entry: dict[str, Any], url_key: str | None) -> str:
    declared = entry.get("type", entry.get("transport"))
    if declared is not None:
        known = TRANSPORTS.get(declared.lower()) if isinstance(declared, str) else None
        if known is None:
            raise _refused(name, "its `type` must be stdio, http, streamable-http or sse")
        if known == STDIO and entry.get("command") is None:
            raise _refused(name, "it is of type stdio, so it needs a `command`")
        if known != STDIO and url_key is None:
            raise _refused(name, f"it is of type {known}, so it needs a `url`")
        return known
    has_command = entry.get("command") is not None
    if has_command and url_key is not None:
        raise _refused(name, f"it has both `command` and `{url_key}`: remove one, or say which with `type`")
    if not has_command and url_key is None:
        has = ", ".join(f"`{shown(key)}`" for key in list(entry)[:6]) or "nothing"
        raise _refused(name, f"it has neither `command` nor `url`; what it has is {has}")
    return STDIO if has_command else STREAMABLE_HTTP


def _argv(name: str, entry: dict[str, Any]) -> tuple[str, ...]:
    command = _text(name, "command", entry["command"])
    args = entry.get("args")
    if args is None:
        return (command,)
    if isinstance(args, str):
        raise _refused(
            name, 'its `args` is one joined text: write a list with one text for each argument, ["a", "b"]'
        )
    if not isinstance(args, list):
        raise _refused(name, f"its `args` must be a list of texts, not {kind(args)}")
    for number, arg in enumerate(args, start=1):
        if not isinstance(arg, str):
            raise _refused(name, f"item {number} of `args` is {kind(arg)}: put it in quotes")
        if _UNSENDABLE.search(arg):
            raise _refused(name, f"item {number} of `args` holds a NUL or half a surrogate pair")
    return (command, *args)


def _env(name: str, env: Any) -> dict[str, str]:
    found = {}
    for key, value in _pairs(name, "env", env):
        if not key or "=" in key or _UNSENDABLE.search(key):
            raise _refused(name, "a name in `env` is empty or holds “=” or NUL")
        if value is not None:  # null means "leave it out" (VS Code)
            found[key] = _scalar(name, f"env.{key}", value)
    return found


def _headers(name: str, headers: Any) -> dict[str, str]:
    found = {}
    for key, value in _pairs(name, "headers", headers):
        if not _HEADER_NAME.match(key):
            raise _refused(name, "a name in `headers` is not a header name")
        found[key] = _scalar(name, f"headers.{key}", value)
        if "\r" in found[key] or "\n" in found[key]:
            raise _refused(name, f"`headers.{key}` holds a line end")
    return found


def _pairs(name: str, key: str, value: Any) -> list[tuple[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, dict):
        raise _refused(name, f"its `{key}` must be an object of names and texts, not {kind(value)}")
    return list(value.items())


def _scalar(name: str, key: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = format(value, "d") if abs(value) < 10**100 else None
    if not isinstance(value, str):
        raise _refused(name, f"`{key}` must be text, not {kind(value)}: put it in quotes")
    if _UNSENDABLE.search(value):
        raise _refused(name, f"`{key}` holds a NUL or half a surrogate pair")
    return value


def _text(name: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(name, f"{key} must be a text that is not blank")
    if _UNSENDABLE.search(value):
        raise _refused(name, f"{key} holds a NUL or half a surrogate pair")
    return value


def _refused(name: str, why: str) -> ConfigError:
    return ConfigError(f"Server “{shown(name)}”: {why}.", "Correct that entry; the others are not affected.")
