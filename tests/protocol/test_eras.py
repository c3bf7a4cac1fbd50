"""The eras, what each modern request carries, and each answer to `server/discover` seen in the field."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.protocol import eras
from inspector.protocol.eras import HANDSHAKE, MODERN, Ended, Reply, Silence


def failed(code: Any, data: Any = None, status: int | None = None) -> Reply:
    error: dict[str, Any] = {"code": code, "message": "no"}
    if data is not None:
        error["data"] = data
    return Reply({"jsonrpc": "2.0", "id": 10, "error": error}, status)


def discovered(*versions: Any, status: int | None = None) -> Reply:
    result = {"supportedVersions": list(versions), "capabilities": {}, "resultType": "complete"}
    return Reply({"jsonrpc": "2.0", "id": 10, "result": result}, status)


@pytest.mark.parametrize(
    ("version", "era"),
    [
        ("2024-11-05", HANDSHAKE),
        ("2025-03-26", HANDSHAKE),
        ("2025-06-18", HANDSHAKE),
        ("2025-11-25", HANDSHAKE),
        ("2026-07-28", MODERN),
        ("2026-07-27", None),
        ("2027-01-01", None),
        ("", None),
    ],
)
def test_a_version_belongs_to_an_era_by_enumeration_not_by_order(version: str, era: str | None) -> None:
    assert eras.era_of(version) == era


def test_modern_meta_carries_the_two_required_keys_and_only_what_was_given() -> None:
    assert eras.modern_meta("2026-07-28", None, {}) == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    full = eras.modern_meta("2026-07-28", {"name": "n", "version": "1"}, {"roots": {}}, "debug")
    assert full["io.modelcontextprotocol/clientInfo"] == {"name": "n", "version": "1"}
    assert full["io.modelcontextprotocol/logLevel"] == "debug"


STDIO = [
    # protocol digest 1.6, stdio
    ("1 DiscoverResult", discovered("2026-07-28"), MODERN, "2026-07-28"),
    ("1 both listed", discovered("2025-11-25", "2026-07-28", 7), MODERN, "2026-07-28"),
    ("2 -32022 with ours", failed(-32022, {"supported": ["2026-07-28"]}), MODERN, "2026-07-28"),
    ("2 -32022 with none of ours", failed(-32022, {"supported": ["2027-03-01"]}), MODERN, None),
    ("2 -32022 without data", failed(-32022), MODERN, None),
    ("2 -32022 with odd data", failed(-32022, "2026-07-28"), MODERN, None),
    ("2 -32022 handshake only", failed(-32022, {"supported": ["2025-11-25"]}), HANDSHAKE, None),
    ("2 -32021", failed(-32021, {"requiredCapabilities": {"roots": {}}}), MODERN, "2026-07-28"),
    ("2 -32020", failed(-32020), MODERN, "2026-07-28"),
    ("3 time-out", Silence(10.0), HANDSHAKE, None),
    ("discover without 2026-07-28", discovered("2025-11-25"), HANDSHAKE, None),
    ("discover with an empty list", discovered(), HANDSHAKE, None),
    ("a result of another shape", Reply({"jsonrpc": "2.0", "id": 10, "result": {}}), HANDSHAKE, None),
    ("versions as a string", Reply({"result": {"supportedVersions": "2026-07-28"}}), HANDSHAKE, None),
    ("neither result nor error", Reply({"jsonrpc": "2.0", "id": 10}), HANDSHAKE, None),
    ("a list as result", Reply({"jsonrpc": "2.0", "id": 10, "result": []}), HANDSHAKE, None),
    ("an error that is no object", Reply({"error": "no"}), HANDSHAKE, None),
    # real servers: TS 1.x, C#; Python 1.x; older Go; others
    ("TS SDK 1.x, C#", failed(-32601), HANDSHAKE, None),
    ("Python SDK 1.x", failed(-32602, ""), HANDSHAKE, None),
    ("older Go", failed(0), HANDSHAKE, None),
    ("server not initialized", failed(-32000), HANDSHAKE, None),
    ("internal error", failed(-32603), HANDSHAKE, None),
    ("code as a string", failed("-32022"), HANDSHAKE, None),
    ("code null", failed(None), HANDSHAKE, None),
    ("code true", failed(True), HANDSHAKE, None),
    ("exit 1", Ended("code 1"), None, None),
    ("output closed", Ended(), None, None),
]

HTTP = [
    # protocol digest 1.6, HTTP: on 400 read the body before deciding
    ("200 discover", discovered("2026-07-28", status=200), MODERN, "2026-07-28"),
    ("stateful Go", discovered("2025-11-25", status=200), HANDSHAKE, None),
    ("400 -32022", failed(-32022, {"supported": ["2026-07-28"]}, 400), MODERN, "2026-07-28"),
    ("400 -32020", failed(-32020, status=400), MODERN, "2026-07-28"),
    ("400 -32021", failed(-32021, status=400), MODERN, "2026-07-28"),
    ("403 -32021: the body counts first", failed(-32021, status=403), MODERN, "2026-07-28"),
    ("400 empty", Reply(None, 400), HANDSHAKE, None),
    ("400 other JSON", Reply({"detail": "bad"}, 400), HANDSHAKE, None),
    ("400 text", Reply("Bad Request", 400), HANDSHAKE, None),
    ("400 -32000 server not initialized", failed(-32000, status=400), HANDSHAKE, None),
    ("400 -32600", failed(-32600, status=400), HANDSHAKE, None),
    ("404 -32601", failed(-32601, status=404), MODERN, "2026-07-28"),
    ("200 -32601", failed(-32601, status=200), HANDSHAKE, None),
    ("404 HTML", Reply(None, 404), HANDSHAKE, None),
    ("405", Reply(None, 405), HANDSHAKE, None),
    ("406", Reply(None, 406), HANDSHAKE, None),
    ("202", Reply(None, 202), HANDSHAKE, None),
    ("200 HTML", Reply(None, 200), HANDSHAKE, None),
    ("401", Reply({"error": "unauthorized"}, 401), None, None),
    ("401 with a JSON-RPC error", failed(-32000, status=401), None, None),
    ("403", Reply(None, 403), None, None),
    ("302", Reply(None, 302), None, None),
    ("429", Reply(None, 429), None, None),
    ("500", Reply(None, 500), None, None),
    ("502", Reply(None, 502), None, None),
    ("500 with a JSON-RPC error", failed(-32603, status=500), HANDSHAKE, None),
]


@pytest.mark.parametrize(
    ("answer", "era", "version"), [row[1:] for row in STDIO + HTTP], ids=[row[0] for row in STDIO + HTTP]
)
def test_the_answer_to_the_probe_decides_the_era(
    answer: Reply | Silence | Ended, era: str | None, version: str | None
) -> None:
    probe = eras.verdict(answer)
    assert (probe.era, probe.version) == (era, version)
    assert probe.why.endswith(".")


@pytest.mark.parametrize("code", [0, 1, -1, -32000, -32001, -32023, -32099, -32600, -32700, -32800])
def test_any_other_code_leads_to_the_handshake(code: int) -> None:
    assert eras.verdict(failed(code)).era == HANDSHAKE


def test_the_versions_are_kept_as_the_server_listed_them() -> None:
    assert eras.verdict(discovered("2027-01-01", "2026-07-28")).versions == ("2027-01-01", "2026-07-28")
    assert eras.verdict(failed(-32022, {"supported": ["2027-01-01"]})).versions == ("2027-01-01",)
    assert eras.verdict(Silence(1)).versions == ()


@pytest.mark.parametrize("status", [404, 405])
def test_a_bare_404_or_405_names_the_old_transport_as_the_last_resort(status: int) -> None:
    assert "endpoint event" in eras.verdict(Reply(None, status)).why


def test_a_404_with_a_method_not_found_body_is_told_from_a_missing_endpoint() -> None:
    assert "the endpoint is there" in eras.verdict(failed(-32601, status=404)).why


def test_how_the_process_ended_is_said() -> None:
    assert "signal SIGSEGV" in eras.verdict(Ended("signal SIGSEGV")).why
