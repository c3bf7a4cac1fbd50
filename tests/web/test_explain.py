"""What the pane says about an event, and what it hides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.trace.rows import Row as Stored
from inspector.trace.rows import row_of
from inspector.web.explain import Around, entry_for, explain
from inspector.web.masking import masked, masked_url, shown_body
from inspector.wire.events import C2S, LOCAL, S2C, Event


def stored(t: str, dir: str = S2C, **fields: Any) -> Stored:
    return row_of(1, Event(t, 1, dir, **fields))


def error(code: int, dir: str = S2C) -> Stored:
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "Unknown tool: x"}}
    ).encode()
    return stored("rpc", dir, raw=raw, kind="error")


def test_an_error_of_the_server_leads_with_its_own_text_and_says_whose_code_it_is() -> None:
    found = explain(error(-32602), Around("modern"))
    facts = dict(found.facts)
    assert (found.code, found.name, found.lead) == (-32602, "Invalid params", "Unknown tool: x")
    assert (
        facts["Whose code"] == "Sent by the server; the number is MCP's or JSON-RPC's. Not raised by Loupe."
    )
    assert facts["Ran?"].startswith("Most likely not")
    assert found.causes and found.remedy


def test_an_error_we_answered_with_is_not_the_servers() -> None:
    assert dict(explain(error(-32601, C2S), Around()).facts)["Whose code"].startswith("Loupe's own answer")


def test_a_code_of_the_old_era_in_the_new_one_is_a_breach() -> None:
    assert "Breach" not in dict(explain(error(-32042), Around("handshake")).facts)
    assert "Breach" in dict(explain(error(-32042), Around("modern")).facts)


def test_a_request_without_an_answer_shows_how_long_it_waits() -> None:
    row = stored("rpc", C2S, kind="request", method="tools/call", id="3", at_us=5_000_000)
    waiting = explain(row, Around(open=True))
    assert (waiting.name, waiting.since_ms) == ("Waiting for an answer", 5000)
    gone = explain(row, Around())
    assert (gone.name, gone.since_ms) == ("No answer", None)


def test_a_request_we_gave_up_on_says_so() -> None:
    row = stored("rpc", C2S, kind="request", method="tools/call", id="3")
    noted = stored(
        "error", LOCAL, body={"class": "timeout", "message": "No answer within 5 s", "remedy": "Wait"}
    )
    found = explain(row, Around(pair=noted))
    assert found.lead == "tools/call got no answer; Loupe noted why: No answer within 5 s"
    assert found.remedy == "Wait"


@pytest.mark.parametrize(
    ("body", "id_"),
    [
        ({"class": "timeout", "origin": "console"}, "timed-out"),
        ({"class": "network", "origin": "console"}, "network-failed"),
        ({"class": "connect-failed", "origin": "console", "layer": "spawn"}, "spawn-failed"),
        ({"class": "http-status", "origin": "peer", "http_status": 404}, "http-not-found"),
        ({"class": "session-lost", "origin": "peer"}, "session-ended"),
        ({"class": "connection-closed", "origin": "console"}, "connection-closed"),
        ({"class": "refused-frame", "origin": "peer"}, "bad-reply"),
        ({"class": "left-children", "origin": "peer"}, None),
    ],
)
def test_an_error_we_noted_is_looked_up_by_its_class(body: dict[str, Any], id_: str | None) -> None:
    entry = entry_for(body, "modern")
    assert (entry.id if entry else None) == id_


def test_our_own_errors_are_never_the_servers() -> None:
    row = stored(
        "error", LOCAL, body={"class": "timeout", "origin": "console", "message": "m", "remedy": "r"}
    )
    found = explain(row, Around())
    facts = dict(found.facts)
    assert facts["Said by"] == "Loupe; the server sent no such error"
    assert facts["About"] == "the server: it did not answer in time"
    assert (found.lead, found.remedy) == ("m", "r")


@pytest.mark.parametrize(
    ("body", "name", "part"),
    [
        ({"code": 127}, "Exited with code 127", "did not find"),
        ({"code": 139}, "Exited with code 139", "SIGSEGV"),
        ({"signal": "SIGSEGV"}, "SIGSEGV", "crash in native code"),
        ({"code": 42}, "Exited with code 42", "of the program's own"),
    ],
)
def test_how_a_process_ended_is_told_in_words(body: dict[str, Any], name: str, part: str) -> None:
    found = explain(stored("proc", LOCAL, body={"what": "exited", "pid": 1, **body}), Around(stderr=["boom"]))
    assert found.name == name
    assert part in found.lead
    assert found.stderr == ["boom"]


def test_a_bare_http_status_is_explained() -> None:
    row = stored("http", body={"phase": "response", "status": 401, "reason": "Unauthorized"})
    assert explain(row, Around()).name == "Authorization needed"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer abc", "•••• (10 characters)"),
        ("Set-Cookie", "a=b", "•••• (3 characters)"),
        ("X-Upstream-Secret", "12345", "•••• (5 characters)"),
        ("mcp-session-id", "0123456789abcdef", "01234567… (16 characters)"),
        ("Content-Type", "text/html", "text/html"),
        ("Location", "https://u:p@h/x?code=1", "https://…@h/x?code=…"),
    ],
)
def test_a_secret_header_shows_its_length_only(name: str, value: str, shown: str) -> None:
    assert masked(name, value) == shown


def test_a_url_keeps_its_names_and_loses_its_values() -> None:
    assert masked_url("http://h/a?x=1&flag&y=2#f") == "http://h/a?x=…&flag&y=…#f"
    assert masked_url("http://h/back#access_token=abc&state=1") == "http://h/back#access_token=…&state=…"
    assert masked_url("http://u:secret@[h/?key=abc") == "no URL (27 characters)"


def test_recorded_fields_are_shown_without_their_secrets() -> None:
    row = stored(
        "http", C2S, body={"phase": "request", "url": "http://u:p@h/", "headers": [["Cookie", "abc"]]}
    )
    text = json.dumps(shown_body(row))
    assert "abc" not in text
    assert "u:p" not in text
