"""The healthy half of the chaos server: both eras, written by hand; runs on the thread that read the frame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from inspector.demo.chaos_faults import (
    CALL,
    CAPABILITIES_KEY,
    DISCOVER,
    INFO_KEY,
    INITIALIZE,
    LIST,
    SERVER_INFO,
    START,
    VERSION_KEY,
    Ask,
    Fault,
    Out,
    State,
    dumps,
)

MODERN: Final = "2026-07-28"
HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
FRESHNESS: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}
INSTRUCTIONS: Final = "Every tool but echo is a fault. Call one and see what your client makes of it."

ECHO: Final[Mapping[str, Any]] = {
    "name": "echo",
    "description": "Works: gives back its arguments. `owner` is mirrored in a header over HTTP.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "owner": {"type": "string", "x-mcp-header": "Owner"}},
    },
}


class ChaosServer:
    """Answers frames; where a fault was chosen, the fault answers instead.

    faults: all that exist on this transport. chosen: fault and argument by method, HTTP verb or `start`.
    """

    def __init__(
        self, transport: str, faults: Mapping[str, Fault], chosen: Mapping[str, tuple[Fault, Any]]
    ) -> None:
        self.transport = transport
        self.faults = faults
        self.chosen = chosen
        self.state = State()
        self.tools = [dict(ECHO), *(each.tool() for each in faults.values() if each.is_tool)]

    def start(self, out: Any) -> None:
        """Before the first frame is read; `out` is the pipe or the HTTP site."""
        self.strike(START, Ask(START), out)

    def strike(self, key: str, ask: Ask, out: Any) -> bool:
        """Let the fault chosen for this method or verb answer; False when there is none."""
        if key not in self.chosen:
            return False
        chosen, ask.arg = self.chosen[key]
        chosen.act(ask, out)
        return True

    def handle(self, raw: bytes, out: Out) -> None:
        """Answer one frame (no terminator)."""
        try:
            value = json.loads(raw)
        except ValueError:
            return out.frame(Ask("").error(-32700, "Parse error"), 400)
        if isinstance(value, list):
            return out.frame(Ask("").error(-32600, "Batches are not supported"), 400)
        if not isinstance(value, dict) or not isinstance(value.get("method"), str):
            return out.accepted()
        given = value.get("params")
        params = given if isinstance(given, dict) else {}
        if "id" in value:
            return self.request(value["method"], value["id"], params, out)
        return self.notification(value["method"], params, out)

    def notification(self, method: str, params: dict[str, Any], out: Out) -> None:
        if not self.strike(method, Ask(method, params=params), out):
            out.accepted()
        if method == "notifications/cancelled":
            answer = self.state.waiting.pop(dumps(params.get("requestId")), None)
            if answer is not None:
                answer()

    def request(self, method: str, id_: Any, params: dict[str, Any], out: Out) -> None:
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        modern = "modern" in self.state.eras and (method == DISCOVER or VERSION_KEY in meta)
        ask = Ask(method, id_, params, modern)
        if self._refused(ask, meta, out) or not out.admit(ask):
            return
        right = self.right(ask)
        if right is not None:
            ask.right = right
        if self.strike(method, ask, out):
            return
        tool = self.faults.get(str(params.get("name"))) if method == CALL else None
        if right is not None:
            out.frame(ask.answer())
        elif tool is not None and tool.is_tool:
            self._call(tool, ask, out)
        elif method == CALL:
            out.frame(ask.error(-32602, f"Unknown tool: {params.get('name')}"))
        else:
            out.frame(ask.error(-32601, f"Method not found: {method}"), 404 if ask.modern else 200)

    def _call(self, tool: Fault, ask: Ask, out: Out) -> None:
        arguments = ask.params.get("arguments")
        try:
            if tool.takes is not None:
                ask.arg = tool.takes.read((arguments or {}).get(tool.takes.name))
        except (AttributeError, TypeError, ValueError):
            return out.frame(ask.error(-32602, "The argument cannot be used"))
        ask.right = self._stamped(ask, {"content": [{"type": "text", "text": tool.name}]})
        tool.act(ask, out)

    def _refused(self, ask: Ask, meta: Mapping[str, Any], out: Out) -> bool:
        """Whether an era's rules refuse the request; if so it has been answered."""
        error = self._era_error(ask, meta)
        if error is not None:
            out.frame(error, 400)
        return error is not None

    def _era_error(self, ask: Ask, meta: Mapping[str, Any]) -> bytes | None:
        state = self.state
        era = "modern" if ask.modern else "handshake"
        state.first_era = state.first_era or era
        version = meta.get(VERSION_KEY)
        if state.integer_ids_only and not isinstance(ask.id, int):
            return ask.error(-32600, "The id must be an integer")
        if ask.modern and version is None:
            return ask.error(-32602, f"Missing _meta {VERSION_KEY}")
        if (
            (ask.modern and version != MODERN)
            or (state.era_lock and state.first_era != era)
            or (ask.method == INITIALIZE and "handshake" not in state.eras)
        ):
            asked = str(version or ask.params.get("protocolVersion"))
            known = {"supported": [MODERN], "requested": asked}
            return ask.error(-32022, "Unsupported protocol version", data=known)
        if not ask.modern and "handshake" not in state.eras:
            return ask.error(-32602, f"Missing _meta {VERSION_KEY}")
        if ask.modern and not isinstance(meta.get(CAPABILITIES_KEY), dict):
            return ask.error(-32602, f"Missing _meta {CAPABILITIES_KEY}")
        return None

    def right(self, ask: Ask) -> dict[str, Any] | None:
        """The healthy result, or None for an unknown method and for calls of anything but `echo`."""
        if ask.method == DISCOVER and ask.modern:
            about = {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "instructions": INSTRUCTIONS,
            }
            return self._stamped(ask, {**about, **FRESHNESS})
        if ask.method == INITIALIZE:
            return initialized(ask)
        if ask.method == "ping" and not ask.modern:
            return {}
        if ask.method == LIST:
            return self._stamped(ask, {"tools": self.tools, **(FRESHNESS if ask.modern else {})})
        if ask.method == CALL and ask.params.get("name") == "echo":
            text = dumps(ask.params.get("arguments", {})).decode()
            return self._stamped(ask, {"content": [{"type": "text", "text": text}]})
        return None

    def _stamped(self, ask: Ask, result: dict[str, Any]) -> dict[str, Any]:
        """A result with what the modern era wants on every one."""
        return (
            {"resultType": "complete", **result, "_meta": {INFO_KEY: SERVER_INFO}} if ask.modern else result
        )


def initialized(ask: Ask) -> dict[str, Any]:
    """The result of `initialize`: the version asked for when known, else the last one."""
    asked = ask.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }
