"""HAR 1.2: valid by its schema, every size that crossed the wire, nothing secret, and what it cannot hold is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exported import connection, har_validator, planted_in_exchanges, rpc, source, write
from planted import forms

from inspector.trace import har as module
from inspector.trace.har import har
from inspector.wire.events import C2S, S2C, Event

CALL = {"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "é"}}
NOTE = {"method": "notifications/x"}
ANSWER = b'{"jsonrpc": "2.0","id":10,"result":{"n":1.0}}'


def http(phase: str, dir: str = S2C, pair: int | None = None, **body: Any) -> Event:
    return Event("http", 1, dir, {"phase": phase, **body}, pair=pair)


def two_exchanges() -> list[Event]:
    """A call answered by JSON, and a stream that never ends, with stdio's things between."""
    headers = [["Content-Type", "application/json"], ["Cookie", "a=1; b=2"]]
    streamed = [["content-type", "text/event-stream"]]
    answered = [["content-type", "application/json"], ["Set-Cookie", "s=1; Path=/; HttpOnly"]]
    return [
        connection(),
        http("request", C2S, method="POST", url="https://h.example/mcp?x=1&y=", headers=headers, bytes=88),
        rpc(10, CALL, "request", "tools/call", http=2),
        http("request", C2S, method="GET", url="https://h.example/mcp", headers=[]),
        http("response", pair=4, status=200, reason="OK", version="HTTP/1.1", headers=streamed),
        rpc(None, NOTE, "notification", NOTE["method"], S2C, http=4, sse={"event": "message", "id": "7"}),
        http("response", pair=2, status=200, reason="OK", version="HTTP/2", headers=answered),
        rpc(10, ANSWER, "result", None, S2C, http=2),
        http("end", pair=2, bytes=len(ANSWER)),
        Event("stderr", 1, S2C, {}, b"a line"),
    ]  # fmt: skip


def document(path: Path, **how: Any) -> dict[str, Any]:
    found = json.loads(b"".join(har(source(path, **how), version="1.2.3")))
    assert [error.message for error in har_validator().iter_errors(found)] == []
    return dict(found["log"])


def test_an_exchange_is_an_entry_with_its_exact_text_and_sizes(tmp_path: Path) -> None:
    log = document(write(tmp_path / "a.jsonl", two_exchanges(), "title"), redact=False)
    assert log["creator"] == {"name": "mcp-loupe", "version": "1.2.3"}
    first, second = log["entries"]
    request, response = first["request"], first["response"]
    assert request["postData"] == {"mimeType": "application/json", "text": json.dumps(CALL)}
    assert (request["bodySize"], response["bodySize"]) == (88, len(ANSWER))
    assert request["queryString"] == [{"name": "x", "value": "1"}, {"name": "y", "value": ""}]
    assert request["cookies"] == [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]
    assert response["cookies"] == [
        {"name": "s", "value": "1", "path": "/", "httpOnly": True, "secure": False}
    ]
    assert response["content"] == {
        "size": len(ANSWER),
        "mimeType": "application/json",
        "text": ANSWER.decode(),
    }
    assert (response["status"], response["httpVersion"]) == (200, "HTTP/2")
    assert first["time"] == pytest.approx(first["timings"]["wait"] + first["timings"]["receive"])
    assert (
        second["response"]["content"]["text"]
        == 'event: message\nid: 7\ndata: {"method": "notifications/x"}\n\n'
    )
    assert "no end of this exchange" in second["comment"]
    assert "written anew from its recorded events" in second["comment"]
    assert [(page["id"], page["title"]) for page in log["pages"]] == [("c1", "h")]
    assert first["pageref"] == "c1"
    assert "1 events have no place in HAR" in log["comment"]


def test_a_body_beyond_the_cap_is_cut_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRY_TEXT", 20)
    (first, _) = document(write(tmp_path / "a.jsonl", two_exchanges()))["entries"]
    assert first["response"]["content"]["text"] == ANSWER.decode()[:20]
    assert first["response"]["content"]["size"] == len(ANSWER)
    assert f"{len(ANSWER) - 20} more characters of the answer" in first["comment"]


def test_bytes_that_are_no_text_are_said_to_be_base64(tmp_path: Path) -> None:
    events = [
        http("request", C2S, method="POST", url="https://h.example/"),
        Event("rpc", 1, C2S, {"http": 1}, b"\xff", "unparsed"),
        http("end", pair=1),
        http("request", C2S, method="GET", url="https://h.example/"),
        Event("http", 1, S2C, {"phase": "end"}, b"\xfe", pair=4),
    ]
    asked, answered = document(write(tmp_path / "a.jsonl", events))["entries"]
    assert asked["request"]["postData"]["text"] == "/w=="
    assert "no UTF-8 stand in its text as base64" in asked["comment"]
    content = answered["response"]["content"]
    assert (content["text"], content["encoding"], "base64" in answered["comment"]) == (
        "/g==",
        "base64",
        False,
    )


def test_fields_of_the_wrong_type_make_no_invalid_document(tmp_path: Path) -> None:
    odd = [
        Event("connection", 1, S2C, {"target": [1], "label": 3}),
        http("request", C2S, method=["x"], url=7, headers=[["a"], 3, ["b", 1]], bytes=-4),
        http("response", pair=2, status="200", reason={}, version=1.1, headers={"a": "b"}),
        Event("rpc", 1, S2C, {"http": [2], "sse": 3}, b"x"),
        Event("rpc", 1, S2C, {"http": 2, "sse": {"event": ["a"], "retry": 3, "comment": 7}}, b"\xff"),
        http("end", pair=2, bytes="many", aborted=True),
        http("end", pair=2),
        http("request", C2S, url="https://[redacted:R3:1]@h/[x?a=b"),
    ]
    log = document(write(tmp_path / "a.jsonl", odd))
    assert [entry["response"]["status"] for entry in log["entries"]] == [0, 0]


def test_a_trace_without_http_is_an_empty_log_that_says_why(tmp_path: Path) -> None:
    log = document(
        write(tmp_path / "a.jsonl", [rpc(1, {"id": 1}, "request", "x"), Event("stderr", 1, S2C, {}, b"x")])
    )
    assert log["entries"] == []
    assert "2 events have no place in HAR" in log["comment"]


def test_no_planted_secret_survives_in_har(tmp_path: Path) -> None:
    path, secrets, known = planted_in_exchanges(tmp_path / "a.jsonl")
    log = document(path, known=known)
    held = log["entries"][0]["request"]["postData"]["text"] + log["entries"][0]["response"]["content"]["text"]
    assert held.count("[redacted:") > 50
    content = json.dumps(log, ensure_ascii=False)
    texts = content + content.replace("\\n", "") + held + held.replace("\n", "")
    assert [
        (kind, name) for kind, secret in secrets for name, form in forms(secret).items() if form in texts
    ] == []
    as_it_is = json.dumps(document(path, redact=False), ensure_ascii=False)
    assert sum(secret in as_it_is for _, secret in secrets) > 40
