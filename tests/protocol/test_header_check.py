"""The headers of a modern request beside its body, one verdict each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.protocol.header_check import DIFFERS, MISSING, SAME, UNKNOWN, compared

VERSION = "io.modelcontextprotocol/protocolVersion"
META = {VERSION: "2026-07-28"}
SCHEMA = {
    "type": "object",
    "properties": {
        "owner": {"type": "string", "x-mcp-header": "Owner"},
        "note": {"type": "string", "x-mcp-header": "Note"},
    },
}


def verdicts(
    sent: dict[str, str], params: dict[str, Any], method: str = "tools/call", schema: Any = SCHEMA
) -> Any:
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return {
        one.name: (one.sent, one.body, one.verdict)
        for one in compared(sent.items(), frame, lambda _tool: schema)
    }


def test_what_agrees_differs_or_is_missing_is_told_apart() -> None:
    params = {"name": "天気", "arguments": {"owner": "me", "note": ""}, "_meta": META}
    sent = {
        "mcp-protocol-version": "2025-11-25", "Mcp-Name": "=?base64?5aSp5rCX?=", "mcp-param-owner": "you",
        "Mcp-Param-Note": "=?base64??=", "Mcp-Param-Other": "x", "Mcp-Param-Odd": "=?base64?!?=",
    }  # fmt: skip
    assert verdicts(sent, params) == {
        "MCP-Protocol-Version": ("2025-11-25", "2026-07-28", DIFFERS),
        "Mcp-Method": (None, "tools/call", MISSING),
        "Mcp-Name": ("天気", "天気", SAME),
        "Mcp-Param-Owner": ("you", "me", DIFFERS),
        "Mcp-Param-Note": ("", "", SAME),
        "Mcp-Param-Other": ("x", None, DIFFERS),
        "Mcp-Param-Odd": ("=?base64?!?=", None, DIFFERS),
    }


def test_of_a_tool_whose_schema_is_not_known_the_parameters_are_not_judged() -> None:
    params = {"name": "t", "arguments": {"owner": "me"}, "_meta": META}
    assert verdicts({"Mcp-Param-Owner": "you"}, params, schema=None)["Mcp-Param-Owner"] == (
        "you",
        None,
        UNKNOWN,
    )


def test_a_name_is_due_where_the_method_has_one_and_judged_where_it_is_sent() -> None:
    assert verdicts({}, {"uri": "file:///a", "_meta": META}, "resources/read")["Mcp-Name"] == (
        None,
        "file:///a",
        MISSING,
    )
    assert "Mcp-Name" not in verdicts({}, {"_meta": META}, "tools/list")
    assert verdicts({"Mcp-Name": "x"}, {"_meta": META}, "tools/list")["Mcp-Name"] == ("x", None, DIFFERS)


@pytest.mark.parametrize("frame", [b"", b"\xff", b"[" * 5000, b"7", b"[]", b"{}", b'{"params":{"_meta":{}}}'])
def test_what_is_no_modern_request_has_nothing_to_compare(frame: bytes) -> None:
    assert compared([("Mcp-Method", "x")], frame) == []
