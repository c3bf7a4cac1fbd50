"""Each row of the error table is found by the right road, and never by the wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol import codes
from inspector.protocol.eras import HANDSHAKE, MODERN, Era

DOCUMENT = Path(__file__).parents[2] / "docs" / "error-codes.md"

PEER = [
    (-32700, MODERN, "parse-error"),
    (-32600, MODERN, "invalid-request"),
    (-32601, MODERN, "method-not-found"),
    (-32602, HANDSHAKE, "invalid-params"),
    (-32603, HANDSHAKE, "internal-error"),
    (-32020, MODERN, "header-mismatch"),
    (-32021, MODERN, "missing-client-capability"),
    (-32022, MODERN, "unsupported-protocol-version"),
    (-32022, HANDSHAKE, "unsupported-protocol-version"),
    (-32002, HANDSHAKE, "resource-not-found"),
    (-32002, MODERN, "resource-not-found"),
    (-32042, HANDSHAKE, "url-elicitation-required"),
    (-32042, MODERN, "url-elicitation-required"),
    (-32000, HANDSHAKE, "implementation-defined"),
    (-32000, MODERN, "implementation-defined"),
    (-32001, HANDSHAKE, "implementation-defined"),
    (-32019, MODERN, "implementation-defined"),
    (-32001, MODERN, "draft-header-mismatch"),
    (-32003, MODERN, "draft-missing-capability"),
    (-32004, MODERN, "draft-unsupported-version"),
    (-32003, HANDSHAKE, "implementation-defined"),
    (-32004, None, "implementation-defined"),
    (-32023, MODERN, "reserved"),
    (-32099, MODERN, "reserved"),
    (-32050, None, "reserved"),
    (-32050, HANDSHAKE, "implementation-defined"),
    (-32100, MODERN, "jsonrpc-reserved"),
    (-32800, HANDSHAKE, "application-defined"),
    (-32768, HANDSHAKE, "jsonrpc-reserved"),
    (-32769, MODERN, "application-defined"),
    (-31999, MODERN, "application-defined"),
    (-1, HANDSHAKE, "user-rejected"),
    (-1, MODERN, "application-defined"),
    (0, HANDSHAKE, "application-defined"),
    (404, MODERN, "application-defined"),
]


@pytest.mark.parametrize(("code", "era", "id_"), PEER)
def test_a_code_of_the_peer_is_explained_by_era(code: int, era: Era | None, id_: str) -> None:
    assert codes.explain(code, era=era, origin="peer").id == id_
    # A JSON-RPC body counts before the status it came with.
    assert codes.explain(code, era=era, origin="peer", http_status=400, session=True).id == id_


STATUS = [
    (None, "peer", 401, False, "auth-needed"),
    (None, "peer", 403, False, "forbidden"),
    (-32603, "sdk", 401, False, "auth-needed"),
    (-32601, "sdk", 404, False, "http-not-found"),
    (-32600, "sdk", 404, True, "session-ended"),
    (None, "peer", 404, True, "session-ended"),
    (-32603, "sdk", 400, True, "http-error"),
    (-32603, "sdk", 405, False, "http-error"),
    (-32603, "sdk", 406, False, "http-not-acceptable"),
    (-32603, "sdk", 429, False, "http-error"),
    (-32603, "sdk", 500, False, "http-server-error"),
    (None, "console", 502, False, "http-server-error"),
    (None, "peer", 307, False, "http-redirect"),
    (-32600, "sdk", 202, False, "http-no-answer"),
    (-32600, "sdk", 200, False, "http-wrong-type"),
    (None, "peer", 200, False, "http-wrong-type"),
    (-32700, "sdk", 200, False, "not-json"),
    (-32000, "sdk", 200, False, "sdk-connection-closed"),
]


@pytest.mark.parametrize(("code", "origin", "status", "session", "id_"), STATUS)
def test_a_bare_http_status_is_explained_as_such(
    code: int | None, origin: str, status: int, session: bool, id_: str
) -> None:
    found = codes.explain(code, era=HANDSHAKE, origin=origin, http_status=status, session=session)
    assert found.id == id_


@pytest.mark.parametrize(
    ("code", "id_"),
    [
        (-32000, "sdk-connection-closed"),
        (-32001, "sdk-request-timeout"),
        (-32700, "not-json"),
        (-32603, "sdk-made"),
    ],
)
def test_a_code_of_the_client_library_is_never_the_servers(code: int, id_: str) -> None:
    assert codes.explain(code, era=MODERN, origin="sdk").id == id_


@pytest.mark.parametrize(
    ("layer", "origin", "id_"),
    [
        ("spawn", "console", "spawn-failed"),
        ("network", "console", "network-failed"),
        ("tls", "console", "tls-failed"),
        ("handshake", "console", "no-era"),
        ("timeout", "console", "timed-out"),
        ("transport", "console", "connection-closed"),
        ("cancelled", "console", "cancelled"),
        ("auth", "peer", "auth-needed"),
        ("http", "peer", "http-error"),
        ("protocol", "peer", "bad-reply"),
        ("", "peer", "bad-reply"),
        ("config", "console", "console-made"),
        ("", "console", "console-made"),
    ],
)
def test_without_a_code_the_layer_decides(layer: str, origin: str, id_: str) -> None:
    assert codes.explain(None, era=None, origin=origin, layer=layer).id == id_


@given(
    st.none() | st.integers(-33000, 10) | st.integers(),
    st.sampled_from([HANDSHAKE, MODERN, None]),
    st.sampled_from(["peer", "sdk", "console"]),
    st.none() | st.integers(100, 599),
    st.booleans(),
    st.sampled_from(["", "timeout", "transport", "nonsense"]),
)
def test_every_error_has_a_row_and_no_code_of_ours_has_a_servers(
    code: int | None, era: Era | None, origin: str, status: int | None, session: bool, layer: str
) -> None:
    found = codes.explain(code, era=era, origin=origin, http_status=status, session=session, layer=layer)
    if origin == "peer" and code is not None:
        assert found.origin in ("peer", "any")
    else:
        assert found.code is None or found.origin == "sdk"
        assert found.span is None


def test_what_a_modern_server_must_not_send_is_marked() -> None:
    assert {row.id for row in codes.ENTRIES if row.modern_must_not_send} == {
        "resource-not-found",
        "url-elicitation-required",
        "reserved",
        "draft-header-mismatch",
        "draft-missing-capability",
        "draft-unsupported-version",
    }


@pytest.mark.parametrize(
    ("id_", "http"),
    [
        ("method-not-found", "404 (must)"),
        ("header-mismatch", "400 (must)"),
        ("missing-client-capability", "400 (must)"),
        ("unsupported-protocol-version", "400 (must)"),
        ("internal-error", "—"),
    ],
)
def test_the_status_that_goes_with_a_code_is_told(id_: str, http: str) -> None:
    assert codes.entry(id_).http == http


def test_ids_are_unique_slugs_and_every_row_says_everything() -> None:
    ids = [row.id for row in codes.ENTRIES]
    assert len(set(ids)) == len(ids)
    for row in codes.ENTRIES:
        assert row.id.replace("-", "").isalnum()
        assert row.meaning.rstrip(")").endswith(".")
        assert row.remedy.endswith(".")
        assert row.causes
        assert row.spec


def test_the_row_for_tool_errors_says_the_protocol_worked() -> None:
    assert "The protocol worked" in codes.entry("tool-error").meaning


def test_a_range_is_shown_as_one() -> None:
    assert codes.entry("reserved").shown_code == "-32023 … -32099"
    assert codes.entry("timed-out").shown_code == ""
    assert codes.entry("parse-error").shown_code == "-32700"


def test_the_document_is_the_table() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == codes.as_markdown()
