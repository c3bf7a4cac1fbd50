"""OTLP JSON: it is what protobuf takes, spans with the names of the conventions and none besides, log records of all
else, and without secrets."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from exported import connection, planted_in_exchanges, rpc, source, write
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from planted import forms

from inspector.trace.file_reader import read_trace
from inspector.trace.otlp import otlp
from inspector.wire.events import C2S, LOCAL, S2C, Event

LISTED = {
    "mcp.method.name", "mcp.protocol.version", "mcp.session.id", "mcp.resource.uri", "gen_ai.tool.name",
    "gen_ai.prompt.name", "gen_ai.operation.name", "jsonrpc.request.id", "rpc.response.status_code", "error.type",
    "network.transport", "server.address", "server.port",
}  # fmt: skip
"""The attribute names of the trace format's contract, all of them."""
ON_REQUEST = {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def message(document: dict[str, Any]) -> tuple[ExportTraceServiceRequest, ExportLogsServiceRequest]:
    """The document as protobuf has it. Ids are hexadecimal in OTLP's JSON, base64 in protobuf's own."""
    assert list(document) == ["resourceSpans", "resourceLogs"]
    spans = [span for block in document["resourceSpans"][0]["scopeSpans"] for span in block["spans"]]
    records = [one for block in document["resourceLogs"][0]["scopeLogs"] for one in block["logRecords"]]
    for told in spans + records:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in told:
                told[name] = base64.b64encode(bytes.fromhex(told[name])).decode()
    return (
        json_format.ParseDict({"resourceSpans": document["resourceSpans"]}, ExportTraceServiceRequest()),
        json_format.ParseDict({"resourceLogs": document["resourceLogs"]}, ExportLogsServiceRequest()),
    )


def told(path: Path, *, redact: bool = True, **how: Any) -> tuple[list[Any], list[Any]]:
    """The spans and the log records of a trace."""
    traces, logs = message(json.loads(b"".join(otlp(source(path, redact=redact), version="1", **how))))
    (spans,), (records,) = traces.resource_spans, logs.resource_logs
    assert spans.resource.attributes[0].key == records.resource.attributes[0].key == "service.name"
    return (
        [span for block in spans.scope_spans for span in block.spans],
        [record for block in records.scope_logs for record in block.log_records],
    )


def spans(path: Path, **how: Any) -> list[Any]:
    return told(path, **how)[0]


def attributes(one: Any) -> dict[str, Any]:
    return {each.key: plain(each.value) for each in one.attributes}


def plain(value: Any) -> Any:
    if value.WhichOneof("value") == "array_value":
        return [plain(one) for one in value.array_value.values]
    return getattr(value, value.WhichOneof("value"))


def ask(id: int, method: str, params: Any = None, dir: str = C2S, **body: Any) -> Event:
    return rpc(
        id, {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, "request", method, dir, **body
    )


def answer(id: int, dir: str = S2C, **result: Any) -> Event:
    return rpc(
        id,
        {"jsonrpc": "2.0", "id": id, "result": result},
        "result",
        None,
        dir,
        tool_error=result.get("isError"),
    )


def conversation() -> list[Event]:
    session = [["Mcp-Session-Id", "session-0123456789abcdef"]]
    return [
        connection(),
        ask(1, "initialize", {"protocolVersion": "2025-11-25"}),
        Event("http", 1, S2C, {"phase": "response", "status": 200, "headers": session}, pair=9),
        answer(1, protocolVersion="2025-06-18"),
        ask(10, "tools/call", {"name": "search", "arguments": {"q": "x"}, "_meta": {"traceparent": PARENT}}),
        answer(10, content=[], isError=True),
        ask(11, "resources/read", {"uri": "file:///a"}),
        rpc(11, {"id": 11, "error": {"code": -32602, "message": "no"}}, "error", None, S2C),
        ask(12, "prompts/get", {"name": "greet"}),
        Event("error", 1, LOCAL, {"origin": "console", "class": "timeout", "message": "gave up"}, pair=9),
        ask(7, "elicitation/create", {}, S2C),
        answer(7, C2S),
        rpc(None, {"method": "notifications/resources/updated", "params": {"uri": "u:1"}}, "notification",
            "notifications/resources/updated", S2C),
        ask(13, "tools/list", {}),
    ]  # fmt: skip


def test_requests_become_spans_with_the_names_of_the_conventions(tmp_path: Path) -> None:
    found = {span.name: span for span in spans(write(tmp_path / "a.jsonl", conversation()))}
    assert list(found) == [
        "initialize", "tools/call search", "resources/read", "prompts/get greet", "elicitation/create",
        "notifications/resources/updated", "tools/list",
    ]  # fmt: skip
    everywhere = {
        "mcp.protocol.version": "2025-06-18", "mcp.session.id": "1", "network.transport": "tcp",
        "server.address": "h.example", "server.port": 8443,
    }  # fmt: skip
    for name, expected in {
        "initialize": {"mcp.method.name": "initialize", "jsonrpc.request.id": "1"},
        "tools/call search": {
            "mcp.method.name": "tools/call", "jsonrpc.request.id": "10", "gen_ai.tool.name": "search",
            "gen_ai.operation.name": "execute_tool", "error.type": "tool_error",
        },
        "resources/read": {
            "mcp.method.name": "resources/read", "jsonrpc.request.id": "11", "mcp.resource.uri": "file:///a",
            "rpc.response.status_code": "-32602", "error.type": "-32602",
        },
        "prompts/get greet": {
            "mcp.method.name": "prompts/get", "jsonrpc.request.id": "12", "gen_ai.prompt.name": "greet",
            "error.type": "timeout",
        },
        "elicitation/create": {"mcp.method.name": "elicitation/create", "jsonrpc.request.id": "7"},
        "notifications/resources/updated": {
            "mcp.method.name": "notifications/resources/updated", "mcp.resource.uri": "u:1",
        },
        "tools/list": {"mcp.method.name": "tools/list", "jsonrpc.request.id": "13", "error.type": "_OTHER"},
    }.items():  # fmt: skip
        assert attributes(found[name]) == everywhere | expected
        assert attributes(found[name]).keys() <= LISTED
    kinds = {name: span.kind for name, span in found.items()}
    client, server = 3, 2
    assert kinds["tools/call search"] == kinds["tools/list"] == client
    assert kinds["elicitation/create"] == kinds["notifications/resources/updated"] == server
    failed = {name for name, span in found.items() if span.status.code == 2}
    assert failed == {"tools/call search", "resources/read", "prompts/get greet", "tools/list"}
    assert found["resources/read"].status.message == "no"


def test_a_span_hangs_under_the_parent_its_meta_names(tmp_path: Path) -> None:
    found = {span.name: span for span in spans(write(tmp_path / "a.jsonl", conversation()))}
    call = found["tools/call search"]
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == tuple(PARENT.split("-")[1:3])
    assert found["tools/list"].parent_span_id == b""
    assert len({span.span_id for span in found.values()}) == len(found)
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in found.values())


def test_the_same_trace_gives_the_same_ids_and_two_recordings_differ(tmp_path: Path) -> None:
    one, two = (write(tmp_path / f"{n}.jsonl", conversation()) for n in range(2))
    ids = [[span.span_id for span in spans(path)] for path in (one, one, two)]
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(ids[2])


def test_arguments_and_results_come_on_request_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", conversation())
    named = {name for span in spans(path) for name in attributes(span)}
    assert named == LISTED
    with_them = {
        name: value for span in spans(path, contents=True) for name, value in attributes(span).items()
    }
    assert with_them.keys() == LISTED | ON_REQUEST
    assert with_them["gen_ai.tool.call.arguments"] == '{"q":"x"}'
    assert json.loads(str(with_them["gen_ai.tool.call.result"])) == {"content": [], "isError": True}


def test_the_session_is_its_number_when_redacted_and_itself_when_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", conversation())
    assert attributes(spans(path)[0])["mcp.session.id"] == "1"
    assert attributes(spans(path, redact=False)[0])["mcp.session.id"] == "session-0123456789abcdef"


def test_hostile_fields_make_spans_that_protobuf_takes(tmp_path: Path) -> None:
    odd = [
        Event("connection", 1, LOCAL, {"target": {"url": "http://a:b@[::1]:99999999999/x"}, "transport": 3}),
        ask(1, "m" * 5000, {"_meta": {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}}),
        rpc(1, b'{"error":' + b"[" * 60 + b"]" * 60 + b"}", "error", None, S2C),
        rpc(2, b'{"method":"tools/call","params":{"name":"\\ud800x"}}', "request", "tools/call"),
        rpc(2, b'{"error":{"code":"\\udfff","message":7}}', "error", None, S2C),
        rpc(3, b"\xff", "request", "tools/call"),
        Event("error", 1, LOCAL, {"class": ["timeout"], "message": {}}, pair=2),
    ]
    found = spans(write(tmp_path / "a.jsonl", odd))
    assert [span.name for span in found] == ["m" * 200, "tools/call \\ud800x", "tools/call"]
    assert attributes(found[1])["error.type"] == "\\udfff"
    assert found[0].parent_span_id == b""


def everything() -> list[Event]:
    """One of each kind of event that is no part of a span, around one call."""
    page = {"phase": "end", "pair": 2, "bytes": 9, "aborted": None}
    head = {
        "phase": "response",
        "pair": 2,
        "status": 502,
        "reason": "Bad",
        "headers": [["Via", "a"], ["via", "b"]],
    }
    return [
        connection(era="modern"),
        Event("http", 1, C2S, {"phase": "request", "method": "POST", "url": "https://h/mcp", "bytes": 5}),
        ask(10, "tools/call", {"name": "t"}, http=2),
        Event("http", 1, S2C, head),
        Event("stderr", 1, S2C, {}, b"Traceback \xe2\x80\xa6"),
        Event("noise", 1, S2C, {"why": "not JSON"}, b"\xff\x00"),
        Event("proc", 1, LOCAL, {"what": "exited", "pid": 7, "code": 3, "argv": ["a", "b"]}),
        Event("error", 1, LOCAL, {"origin": "peer", "class": "rpc", "code": -32602, "message": "no", "pair": 3}),
        rpc(99, {"id": 99, "result": {"content": "asked by nobody"}}, "result", None, S2C),
        Event("catalog", 1, LOCAL, {"what": "tools", "count": 2, "pages": [{"bytes": 3}]}),
        Event("cache", 1, LOCAL, {"key": "tools/list {}", "verdict": "miss", "why": "new"}),
        Event("lab", 1, LOCAL, {"run": "r", "asked": {"password": "x"}}),
        Event("http", 1, S2C, page, b"<h1>oops"),
        answer(10, content=[]),
        Event("something new", 1, LOCAL, {"fraction": 0.5, "yes": True, "huge": 2**70}),
    ]  # fmt: skip


def test_whatever_is_no_part_of_a_span_is_a_log_record(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", everything())
    (call,), records = told(path)
    named = [(record.event_name.removeprefix("loupe."), record.body.string_value) for record in records]
    assert named == [
        ("connection", "h"), ("http", "POST https://h/mcp"), ("http", "502 Bad"), ("stderr", "Traceback …"),
        ("noise", "/wA="), ("proc", "exited"), ("error", "no"), ("rpc", "result"), ("catalog", "tools"),
        ("cache", "new"), ("lab", ""), ("http", "<h1>oops"), ("something new", ""),
    ]  # fmt: skip
    assert [record.severity_number for record in records] == [9, 9, 9, 0, 13, 9, 17, 13, 9, 9, 9, 9, 9]
    assert all(record.time_unix_nano > 0 for record in records)
    belonging = {record.event_name + record.body.string_value for record in records if record.span_id}
    assert belonging == {"loupe.http502 Bad", "loupe.errorno", "loupe.http<h1>oops"}
    assert {(one.trace_id, one.span_id) for one in records if one.span_id} == {(call.trace_id, call.span_id)}
    found = [attributes(record) for record in records]
    assert found[1] | {} == {
        "http.request.method": "POST", "url.full": "https://h/mcp", "http.request.body.size": 5,
        "loupe.phase": "request", "loupe.seq": 2, "loupe.dir": "c2s",
    }  # fmt: skip
    assert found[2]["http.response.status_code"] == 502
    assert found[2]["http.response.header.via"] == ["a", "b"]
    assert (found[3]["log.iostream"], found[4]["log.iostream"]) == ("stderr", "stdout")
    assert (found[4]["loupe.enc"], found[4]["loupe.why"]) == ("base64", "not JSON")
    assert (found[5]["process.pid"], found[5]["process.exit.code"]) == (7, 3)
    assert found[5]["process.command_args"] == ["a", "b"]
    assert (found[6]["error.type"], found[6]["rpc.response.status_code"]) == ("rpc", "-32602")
    assert found[8]["loupe.pages"] == '[{"bytes":3}]'
    assert "loupe.asked" not in found[10]
    assert (found[12]["loupe.fraction"], found[12]["loupe.yes"], found[12]["loupe.huge"]) == (
        0.5,
        True,
        str(2**70),
    )
    with_contents = told(path, contents=True)[1]
    assert "asked by nobody" in with_contents[7].body.string_value


def test_no_planted_secret_survives_in_otlp(tmp_path: Path) -> None:
    path, secrets, known = planted_in_exchanges(tmp_path / "a.jsonl")
    content = b"".join(otlp(source(path, known), contents=True)).decode()
    assert content.count("[redacted:") > 50
    assert "timeout" in content
    texts = content + json.dumps(json.loads(content), ensure_ascii=False).replace("\\\\n", "").replace(
        "\\n", ""
    )
    assert [
        (kind, name) for kind, secret in secrets for name, form in forms(secret).items() if form in texts
    ] == []
    as_it_is = b"".join(otlp(source(path, redact=False), contents=True)).decode()
    assert sum(secret in as_it_is for _, secret in secrets) >= 60


@pytest.mark.parametrize("name", ["git-modern.mcptrace.jsonl", "teradata-hints.mcptrace.jsonl.gz"])
def test_recordings_of_real_servers_export(name: str) -> None:
    path = Path(__file__).resolve().parents[2] / "traces" / name
    found, records = told(path)
    with read_trace(path) as trace:
        others = [event["t"] for event in trace if event["t"] != "rpc"]
    assert [record.event_name for record in records] == [f"loupe.{t}" for t in others]
    assert {"server/discover", "tools/list"} <= {span.name for span in found}
    assert {attributes(span)["network.transport"] for span in found} == {"pipe"}
