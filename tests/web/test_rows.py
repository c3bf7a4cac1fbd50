"""The words of a timeline row, for every kind of event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inspector.trace.rows import Row as Stored
from inspector.trace.rows import row_of
from inspector.web.rows import Known, error_code, place, view
from inspector.wire.events import C2S, LOCAL, S2C, Event


def stored(t: str, dir: str = S2C, seq: int = 1, **fields: Any) -> Stored:
    return row_of(1, Event(t, 1, dir, seq=seq, **fields))


def frame(kind: str, value: dict[str, Any], dir: str = S2C, **fields: Any) -> Stored:
    raw = json.dumps({"jsonrpc": "2.0", **value}).encode()
    return stored("rpc", dir, raw=raw, kind=kind, **fields)


def result(method: str, value: dict[str, Any], **fields: Any) -> Stored:
    return frame("result", {"id": 1, "result": value}, method=method, **fields)


def said(row: Stored, known: Known | None = None) -> tuple[str, str, str, str]:
    found = view(row, known=known or Known())
    return found.kind, found.lead, found.rest, found.status


def test_a_call_names_the_tool_and_its_plain_arguments() -> None:
    params = {"name": "get_pods", "arguments": {"ns": "prod", "n": 3, "deep": {"a": 1}}}
    row = frame("request", {"id": 1, "method": "tools/call", "params": params}, C2S, method="tools/call")
    assert said(row) == ("request", "tools/call get_pods", "prod, 3, {…}", "")


def test_a_call_too_long_to_parse_still_names_its_tool() -> None:
    head = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big \\"one\\"","arguments":{"x":"'
    )
    row = stored("rpc", C2S, raw=head + b"x" * 9000 + b'"}}}', kind="request", method="tools/call")
    assert said(row)[1] == 'tools/call big "one"'


def test_a_request_of_the_server_says_so() -> None:
    row = frame("request", {"id": 1, "method": "ping"}, S2C, method="ping")
    assert said(row) == ("request", "ping", "", "from the server")


def test_a_list_shows_its_count_and_its_hints_as_sent() -> None:
    row = result("tools/list", {"tools": [{}, {}], "ttlMs": 300000, "cacheScope": "private"})
    assert said(row)[2] == "2 tools · ttlMs 300000 · private"


def test_hints_that_were_not_sent_are_said_to_be_absent() -> None:
    row = result("tools/list", {"tools": [{}]})
    assert said(row, Known({1: "modern"}))[2] == "1 tool · no ttlMs · no cacheScope"


def test_the_handshake_era_has_no_hints_to_be_absent() -> None:
    row = result("resources/list", {"resources": [], "nextCursor": "2"})
    assert said(row, Known({1: "handshake"}))[2] == "0 resources · more pages"


def test_a_list_larger_than_its_head_says_nothing_it_does_not_know() -> None:
    row = result("tools/list", {"tools": ["x" * 5000]})
    assert said(row) == ("answer", "tools/list", "", "")


def test_a_hint_of_the_wrong_type_is_shown_as_it_was_sent() -> None:
    row = result("tools/list", {"tools": [], "ttlMs": "soon", "cacheScope": None})
    assert said(row)[2] == "0 tools · ttlMs soon · null"


def test_a_tool_error_is_red_and_named() -> None:
    value = {"content": [{"type": "text", "text": "no such table"}], "isError": True}
    row = result("tools/call", value, body={"tool_error": True})
    assert said(row) == ("answer", "tools/call", "no such table", "tool error")
    assert view(row).sev == "err"


def test_a_result_lists_what_is_not_text() -> None:
    value = {"content": [{"type": "image", "data": "…"}], "structuredContent": {}}
    assert said(result("tools/call", value))[2] == "image · structuredContent"


def test_an_introduction_shows_name_versions_and_capabilities() -> None:
    modern = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "prompts": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "k8s", "version": "2"}},
    }
    assert said(result("server/discover", modern))[2] == "k8s 2 · 2026-07-28 · tools, prompts"
    older = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "old"}, "capabilities": {}}
    assert said(result("initialize", older))[2] == "old · 2025-11-25"


def test_an_error_shows_code_name_and_the_servers_text() -> None:
    row = frame("error", {"id": 1, "error": {"code": -32602, "message": "Unknown tool"}})
    assert said(row) == ("error", "−32602 Invalid params", "Unknown tool", "")


def test_a_refused_probe_is_no_error_of_the_server_and_does_not_look_like_one() -> None:
    row = frame("error", {"id": 1, "error": {"code": -32601, "message": "Method not found"}}, cause="probe")
    assert said(row) == ("error", "−32601 Method not found", "Method not found", "refuses the probe")
    assert (view(row).cls, view(row).sev) == ("res", "")


@pytest.mark.parametrize(("era", "name"), [("modern", "pre-release"), ("handshake", "Implementation")])
def test_the_era_decides_what_a_code_means(era: Any, name: str) -> None:
    row = frame("error", {"id": 1, "error": {"code": -32001, "message": "x"}})
    assert name in said(row, Known({1: era}))[1]


def test_the_code_of_an_error_longer_than_its_head_is_still_found() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"' + b"x" * 9000 + b'"}}'
    assert error_code(stored("rpc", raw=raw, kind="error")) == -32603


def test_a_code_that_is_no_integer_is_none() -> None:
    assert error_code(frame("error", {"id": 1, "error": {"code": "E1"}})) is None


@pytest.mark.parametrize(
    ("method", "params", "rest"),
    [
        ("notifications/progress", {"progress": 1, "total": 3, "message": "events"}, "1 of 3 · events"),
        ("notifications/progress", {"progress": 0.5}, "0.5"),
        ("notifications/cancelled", {"requestId": 7, "reason": "bored"}, "request 7 · bored"),
        ("notifications/message", {"level": "warning", "data": "low"}, "warning: low"),
        ("notifications/tools/list_changed", {"_meta": {"a": 1}}, ""),
    ],
)
def test_a_notification_says_what_it_brings(method: str, params: dict[str, Any], rest: str) -> None:
    row = frame("notification", {"method": method, "params": params}, method=method)
    assert said(row) == ("notify", method, rest, "")


def test_a_frame_that_breaks_the_rules_says_which() -> None:
    row = frame("unparsed", {"id": 1}, body={"why": "neither method, result nor error"})
    assert said(row) == ("refused", "", "neither method, result nor error", "no valid frame")


def test_noise_shows_its_text_and_that_it_is_no_frame() -> None:
    row = stored("noise", raw=b"Server \x1b[32mready\x1b[0m", body={"why": "not JSON at character 0"})
    assert said(row)[2:] == ("Server ready", "not a frame")


def test_stderr_keeps_its_indent_and_an_empty_line_is_told() -> None:
    assert said(stored("stderr", raw=b"    at main.js:3  \r\n"))[2:] == ("    at main.js:3  ", "")
    assert said(stored("stderr", raw=b""))[2:] == ("", "empty line")


def test_a_result_that_breaks_its_schema_is_a_caution_and_no_error() -> None:
    row = frame("result", {"id": 1, "result": {"content": []}}, method="tools/call")
    assert (view(row).sev, view(row).status) == ("", "")
    shown = view(row, known=Known(invalid={row.seq}))
    assert (shown.sev, shown.status) == ("warn", "output invalid")


def test_stderr_loses_its_colours_but_not_its_text() -> None:
    assert said(stored("stderr", raw=b"\x1b[1;31mERROR\x1b[0m \xff"))[2] == "ERROR \\xff"


def test_the_three_events_of_an_exchange_are_told_by_its_request() -> None:
    url = "https://u:p@host/mcp?token=abc"
    headers = [["mcp-method", "tools/call"], ["Mcp-Name", "x"]]
    asked = stored(
        "http", C2S, body={"phase": "request", "method": "POST", "url": url, "headers": headers, "bytes": 12}
    )
    known = Known(asked={1: asked})
    assert said(asked) == ("http", "POST /mcp?…", "tools/call x", "")
    assert view(asked).bytes == 12
    head = [["Content-Type", "application/json"]]
    body = {"phase": "response", "status": 200, "reason": "OK", "headers": head}
    answer = stored("http", seq=2, pair=1, body=body, dt_us=5000)
    assert said(answer, known) == ("http", "POST /mcp?…", "application/json", "200 OK")
    assert view(answer, known=known).ms == 5.0
    end = stored("http", seq=3, pair=1, body={"phase": "end", "bytes": 0})
    assert said(end, known) == ("http", "POST /mcp?…", "body ended", "")
    assert view(end).bytes == 0


def test_an_answer_whose_request_is_unknown_claims_no_method() -> None:
    assert said(stored("http", pair=9, body={"phase": "response", "status": 500}))[1:] == (
        "HTTP",
        "no content type",
        "500",
    )


def test_a_stream_event_without_a_frame_shows_its_parts() -> None:
    row = stored("http", pair=1, body={"phase": "response", "sse": {"retry": 1500, "comment": "ping"}})
    assert said(row)[2] == "event stream: retry 1500, comment ping"


@pytest.mark.parametrize(
    ("body", "lead", "rest"),
    [
        ({"what": "spawned", "pid": 7, "argv": ["uv", "run x"]}, "spawned", "uv 'run x' pid 7"),
        ({"what": "exited", "pid": 7, "code": 3}, "exited", "code 3, by itself"),
        ({"what": "exited", "pid": 7, "signal": "SIGSEGV"}, "exited", "SIGSEGV, by itself"),
        ({"what": "exited", "pid": 7, "code": 0, "expected": True}, "exited", "code 0, as asked"),
        ({"what": "kill", "pid": 7}, "SIGKILL sent", "pid 7"),
    ],
)
def test_a_process_tells_how_it_began_and_ended(body: dict[str, Any], lead: str, rest: str) -> None:
    assert said(stored("proc", LOCAL, body=body)) == ("process", lead, rest, "")


def test_an_error_we_noted_shows_class_and_message() -> None:
    row = stored(
        "error", LOCAL, body={"class": "timeout", "message": "No answer within 5 s", "origin": "console"}
    )
    assert said(row) == ("error", "timeout", "No answer within 5 s", "")


def test_a_connection_tells_what_became_known() -> None:
    body = {"label": "billing", "transport": "stdio"}
    assert said(stored("connection", LOCAL, body=body))[1:3] == ("billing", "stdio · connecting")
    body |= {"era": "modern", "protocol_version": "2026-07-28", "server_info": {"name": "b", "version": "1"}}
    assert said(stored("connection", LOCAL, body=body))[2] == "stdio · modern · 2026-07-28 · b 1"


def test_a_finished_list_sums_its_pages() -> None:
    body = {"what": "tools", "count": 47, "pages": [{"ttl_ms": 0}, {}]}
    assert said(stored("catalog", LOCAL, body=body))[1:3] == (
        "tools listed",
        "47 tools · 2 pages · ttlMs 0 · no cacheScope",
    )


def test_an_unknown_kind_of_event_is_shown_as_unknown() -> None:
    assert said(stored("telepathy", LOCAL))[:2] == ("telepathy", "telepathy")


def test_a_row_is_one_short_line_whatever_a_server_sends() -> None:
    row = view(stored("stderr", raw=b"a\nb" + b"x" * 4000))
    assert row.rest.startswith("a bx")
    assert len(row.rest) == 241


def test_a_place_never_shows_query_values_or_user_names() -> None:
    assert place("http://u:secret@h:1/a?key=1") == "/a?…"
    assert place("http://h") == "/"
    assert place("http://[") == "?"
