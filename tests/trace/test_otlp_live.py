"""Streaming to a collector: what comes is protobuf with the same spans and log records as a file, nothing is lost
unseen, nobody waits for it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from exported import connection, rpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from inspector.errors import UsageError
from inspector.settings.extras import install_command
from inspector.trace import otlp_live, otlp_proto, otlp_send
from inspector.trace.otlp_live import Exporter, endpoint_of, headers_of, logs_endpoint
from inspector.trace.redact import Redactor, Rules
from inspector.wire.events import LOCAL, S2C, Event, Journal

ROOT = Path(__file__).resolve().parents[2]
BOUND = 40.0
KNOWN = "hunter2-x"


@dataclass
class Collector:
    """Takes what comes to /v1/traces and /v1/logs; `answers` are statuses for the first requests with spans, then it
    takes all. logs_status: of every answer to log records."""

    answers: list[int] = field(default_factory=list)
    rejects: int = 0
    logs_status: int = 200
    requests: list[tuple[dict[str, str], ExportTraceServiceRequest]] = field(default_factory=list)
    logs: list[ExportLogsServiceRequest] = field(default_factory=list)
    url: str = ""

    def records(self) -> list[Any]:
        found = [block for message in self.logs for one in message.resource_logs for block in one.scope_logs]
        return [record for block in found for record in block.log_records]

    def spans(self) -> list[Any]:
        found = [
            block
            for _, message in self.requests
            for one in message.resource_spans
            for block in one.scope_spans
        ]
        return [span for block in found for span in block.spans]


@pytest.fixture
def collector() -> Iterator[Collector]:
    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/logs":
                if kept.logs_status == 200:
                    kept.logs.append(ExportLogsServiceRequest.FromString(body))
                self.give(kept.logs_status, ExportLogsServiceResponse().SerializeToString())
                return
            status = kept.answers.pop(0) if kept.answers else 200
            answer = ExportTraceServiceResponse()
            if status == 200 and self.path == "/v1/traces":
                kept.requests.append(
                    (
                        {name.lower(): value for name, value in self.headers.items()},
                        ExportTraceServiceRequest.FromString(body),
                    )
                )
                answer.partial_success.rejected_spans = kept.rejects
            self.give(status, answer.SerializeToString())

        def give(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield kept
        server.shutdown()
        thread.join(BOUND)


def exporting(url: str, journal: Journal, **more: Any) -> Exporter:
    redactor = Redactor(Rules.default(user="", home=""))
    found = Exporter(
        endpoint_of(url), key="k", version="1", redactor=redactor, secrets=lambda: [KNOWN], **more
    )
    journal.attach(found.sink)
    return found


def call(journal: Journal, id: int, tool: str = "search", **result: Any) -> None:
    params = {"name": tool, "arguments": {"q": KNOWN}}
    journal.emit(rpc(id, {"id": id, "method": "tools/call", "params": params}, "request", "tools/call"))
    journal.emit(rpc(id, {"id": id, "result": {"content": [], **result}}, "result", None, S2C))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def test_spans_come_while_the_recording_goes_on_and_the_rest_at_its_end(collector: Collector) -> None:
    journal = Journal()
    exporter = exporting(
        collector.url, journal, contents=True, headers=headers_of("authorization=Bearer%20x,b=1")
    )
    journal.emit(connection())
    call(journal, 1)
    until(lambda: len(collector.spans()) == 1)
    journal.emit(rpc(2, {"id": 2, "method": "tools/list"}, "request", "tools/list"))
    exporter.close(BOUND)
    first, last = collector.spans()
    assert (first.name, last.name) == ("tools/call search", "tools/list")
    values = {one.key: one.value.string_value for one in first.attributes}
    assert values["gen_ai.tool.call.arguments"] == '{"q":"[redacted:R9:1]"}'
    assert {one.key: one.value.string_value for one in last.attributes}["error.type"] == "_OTHER"
    headers, message = collector.requests[0]
    assert (headers["content-type"], headers["authorization"]) == ("application/x-protobuf", "Bearer x")
    assert message.resource_spans[0].scope_spans[0].scope.attributes[0].value.string_value == "h"
    health = exporter.health()
    assert (health.sent, health.waiting, health.dropped, health.unseen, health.error) == (2, 0, 0, 0, "")
    assert [record.event_name for record in collector.records()] == ["loupe.connection"]
    assert health.records == 1


def test_what_is_no_span_comes_as_log_records_without_what_was_passed(collector: Collector) -> None:
    journal = Journal()
    exporter = exporting(collector.url, journal)
    journal.emit(connection())
    journal.emit(Event("stderr", 1, S2C, {}, f"starting with {KNOWN}".encode()))
    journal.emit(Event("proc", 1, LOCAL, {"what": "exited", "code": 3}))
    large = rpc(5, {"id": 5, "result": {"content": "x" * 300_000}}, "result", None, S2C)
    journal.emit(large)
    exporter.close(BOUND)
    told = [(record.event_name, record.body.string_value) for record in collector.records()]
    assert told == [
        ("loupe.connection", "h"),
        ("loupe.stderr", "starting with [redacted:R9:1]"),
        ("loupe.proc", "exited"),
        ("loupe.rpc", "result"),
    ]
    sizes = {one.key: one.value.int_value for one in collector.records()[3].attributes}
    assert sizes["loupe.bytes"] == len(large.raw or b"")
    assert (exporter.health().sent, exporter.health().records, exporter.health().error) == (0, 4, "")


def test_a_collector_without_logs_gets_its_spans_and_the_sentence_says_what_to_do(
    collector: Collector,
) -> None:
    collector.logs_status = 404
    journal = Journal()
    exporter = exporting(collector.url, journal)
    journal.emit(connection())
    call(journal, 1)
    exporter.close(BOUND)
    health = exporter.health()
    assert (health.sent, health.records, health.dropped) == (1, 0, 1)
    assert "/v1/logs answered HTTP 404" in health.error
    assert "--otlp-spans-only" in health.error
    journal = Journal()
    exporter = exporting(collector.url, journal, logs=False)
    journal.emit(connection())
    call(journal, 1)
    exporter.close(BOUND)
    assert (exporter.health().sent, exporter.health().dropped, exporter.health().error) == (1, 0, "")


def test_a_collector_that_is_busy_is_asked_again_and_what_it_refuses_is_counted(collector: Collector) -> None:
    collector.answers, collector.rejects = [503, 429], 2
    journal = Journal()
    exporter = exporting(collector.url, journal)
    for id in range(1, 4):
        call(journal, id)
    until(lambda: exporter.health().sent + exporter.health().dropped == 3)
    assert (exporter.health().sent, exporter.health().dropped) == (1, 2)
    assert "refused 2 spans" in exporter.health().error
    assert len(collector.spans()) == 3
    collector.answers, collector.rejects = [400], 0
    call(journal, 9)
    until(lambda: exporter.health().dropped == 3)
    assert "HTTP 400" in exporter.health().error
    exporter.close(BOUND)


def test_a_dead_collector_slows_nobody_and_drops_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_live, "MOST", 100)
    monkeypatch.setattr(otlp_live, "EVENTS_BYTES", 400_000)
    recorded: list[Event] = []
    journal = Journal(recorded.append)
    exporter = exporting("http://127.0.0.1:9", journal)
    for id in range(1, 2001):
        call(journal, id)
    assert len(recorded) == 4000
    until(lambda: exporter.health().error != "" and not exporter._events)
    health = exporter.health()
    assert "127.0.0.1:9/v1/traces cannot be reached" in health.error
    assert health.waiting <= 100 + otlp_send.TOGETHER
    exporter.close(BOUND)
    health = exporter.health()
    assert (health.sent, health.waiting) == (0, 0)
    assert 0 < health.dropped <= 2000
    assert health.dropped + health.unseen >= 2000


@pytest.mark.parametrize("answer", [b"", b"<html>not a collector</html>", b"\x0a\xff"])
def test_an_answer_that_is_no_protobuf_refuses_nothing(answer: bytes) -> None:
    assert otlp_proto.spans_rejected(answer) == otlp_proto.records_rejected(answer) == (0, "")


@pytest.mark.parametrize("text", ["collector:4318", "ftp://x", "http://", "http://x:99999", "http://[x"])
def test_an_address_that_is_none_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is no collector's address"):
        endpoint_of(text)


@pytest.mark.parametrize("text", ["a=1,authorization=Bearer%20s%C3%A9cret", "authorization=secret%0A"])
def test_a_header_that_cannot_be_sent_is_refused_at_once_and_its_value_is_not_told(text: str) -> None:
    with pytest.raises(UsageError, match="a header authorization that HTTP cannot carry") as caught:
        headers_of(text)
    assert "cret" not in caught.value.message + caught.value.remedy


def test_without_the_extra_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "inspector.trace.otlp_proto", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.common.v1.common_pb2", None)
    with pytest.raises(UsageError, match="needs the extra") as told:
        endpoint_of("http://h:4318")
    assert told.value.remedy == f"Install it: {install_command('otel')}"


def test_an_address_is_the_collectors_own_or_that_of_its_traces() -> None:
    assert endpoint_of("http://h:4318") == endpoint_of("http://h:4318/") == "http://h:4318/v1/traces"
    assert (
        endpoint_of("https://h/otlp/v1/traces") == endpoint_of("https://h/otlp") == "https://h/otlp/v1/traces"
    )
    assert logs_endpoint("https://h/otlp/v1/traces?key=1") == "https://h/otlp/v1/logs?key=1"


def test_serve_streams_what_its_servers_say_and_the_status_line_counts(
    tmp_path: Path, collector: Collector
) -> None:
    from inspector.cli.serve import ask_for_link
    from inspector.settings.paths import Paths, living_consoles

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MCP_LOUPE_DATA": str(tmp_path / "loupe")}
    server = f"{sys.executable} {ROOT / 'tests' / 'trace' / 'tiny_server.py'}"
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", "serve", "--json", "--no-open", "--port", "0", "--otlp", collector.url,
         "--era", "handshake", "--env", f"MY_TOKEN={KNOWN}", f"cmd:{server}"],
        stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        json.loads(process.stdout.readline())
        until(
            lambda: any(span.name == "tools/list" for span in collector.spans()) and collector.records() != []
        )
        (console,) = living_consoles(Paths.locate(tmp_path / "loupe"))
        link = urlsplit(ask_for_link(console.url, console.admin_secret))
        client = http.client.HTTPConnection(link.netloc, timeout=BOUND)
        client.request("GET", f"{link.path}?{link.query}")
        answer = client.getresponse()
        answer.read()
        cookie = str(answer.headers["Set-Cookie"]).split(";")[0]
        client.request("GET", "/servers", headers={"Cookie": cookie})
        page = client.getresponse().read().decode()
        client.close()
    finally:
        process.terminate()
        process.wait(BOUND)
        process.stdout.close()
    assert "OTLP " in page and " spans" in page and " log records" in page
    names = [span.name for span in collector.spans()]
    assert names.index("initialize") < names.index("tools/list")
    names = [record.event_name for record in collector.records()]
    assert {"loupe.connection", "loupe.proc", "loupe.stderr", "loupe.cache"} <= set(names)
    everything = b"".join(
        message.SerializeToString() for message in [*(one for _, one in collector.requests), *collector.logs]
    )
    assert KNOWN.encode() not in everything
    assert b"[redacted:R9:" in everything
