"""OTLP: spans and log records as its JSON, and a trace as one OTLP JSON document in pieces. Any thread; flat memory.

Source: OpenTelemetry protocol 1.x, trace/v1, logs/v1 and their JSON mapping: ids in hexadecimal, 64-bit numbers as
strings; a receiver leaves out names it does not know, so one document serves both /v1/traces and /v1/logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final, TypeVar

from inspector.trace.exporting import Fields, Source, pieces, text
from inspector.trace.file import encode
from inspector.trace.otlp_records import Record, Telling, Value
from inspector.trace.spans import Span

SCOPE: Final = "mcp-loupe"
ERROR: Final = 2
TOGETHER: Final = 200

Told = TypeVar("Told", Span, Record)


def otlp(source: Source, *, version: str = "", contents: bool = False) -> Iterator[bytes]:
    """The trace as an ExportTraceServiceRequest and an ExportLogsServiceRequest in one JSON document.

    contents: with arguments and results of tool calls. Raises FileError before the first piece.
    """
    source.survey()
    return pieces(_document(source, version, contents))


def spans_of(source: Source, telling: Telling) -> Iterator[Span]:
    """Every span of a trace, in the order they are complete."""
    for event in source.events():
        yield from telling.take(event)[0]
    yield from telling.rest()


def records_of(source: Source, telling: Telling) -> Iterator[Record]:
    """Every log record of a trace, in its order."""
    for event in source.events():
        if (record := telling.take(event)[1]) is not None:
            yield record


def key_of(header: Fields) -> str:
    """What tells one recording from another."""
    clock = header.get("clock")
    wall0 = text(clock.get("wall0")) if isinstance(clock, dict) else ""
    return f"{text(header.get('created'))}|{wall0}"


def resource(version: str) -> Fields:
    """Who made the spans."""
    named = {"service.name": "mcp-loupe", "service.version": version or "unknown"}
    return {"attributes": [_attribute(name, value) for name, value in named.items()]}


def scope(version: str, label: str) -> Fields:
    """Whose spans they are: the connection's name is the scope's, for the conventions have no attribute for it."""
    attributes = [_attribute("loupe.connection", label)] if label else []
    return {"name": SCOPE, "version": version or "unknown", "attributes": attributes}


def span_json(span: Span) -> Fields:
    """The span in OTLP's JSON."""
    found: Fields = {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": [_attribute(name, value) for name, value in span.attributes.items()],
        "status": {},
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id.hex()
    if span.failed:
        found["status"] = {"code": ERROR, "message": span.message} if span.message else {"code": ERROR}
    return found


def record_json(record: Record) -> Fields:
    """The log record in OTLP's JSON."""
    found: Fields = {
        "timeUnixNano": str(record.at_ns),
        "observedTimeUnixNano": str(record.at_ns),
        "eventName": record.name,
        "body": {"stringValue": record.body},
        "attributes": [_attribute(name, value) for name, value in record.attributes.items()],
    }
    if record.severity:
        found["severityNumber"] = record.severity
    if record.span_id:
        found |= {"traceId": record.trace_id.hex(), "spanId": record.span_id.hex()}
    return found


def _attribute(name: str, value: Value) -> Fields:
    return {"key": name, "value": _any(value)}


def _any(value: Value) -> Fields:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [_any(one) for one in value]}}


def _document(source: Source, version: str, contents: bool) -> Iterator[bytes]:
    key = key_of(source.header)
    from_ = b'"resource":' + encode(resource(version)).strip()
    spans, records = Telling(key, contents), Telling(key, contents)
    yield b'{"resourceSpans":[{' + from_ + b',"scopeSpans":['
    yield from _blocks(spans_of(source, spans), spans, version, "spans", span_json)
    yield b'\n]}],"resourceLogs":[{' + from_ + b',"scopeLogs":['
    yield from _blocks(records_of(source, records), records, version, "logRecords", record_json)
    yield b"\n]}]}\n"


def _blocks(
    told: Iterable[Told], telling: Telling, version: str, name: str, as_json: Callable[[Told], Fields]
) -> Iterator[bytes]:
    """What is told, each run of one connection under its scope."""
    before = b"\n"
    for run in _runs(told):
        block = {"scope": scope(version, telling.spans.label(run[0].c)), name: [as_json(one) for one in run]}
        yield before + encode(block).strip()
        before = b",\n"


def _runs(told: Iterable[Told]) -> Iterator[list[Told]]:
    """Those of one connection that follow each other, TOGETHER at most."""
    for _, group in groupby(told, key=lambda one: one.c):
        run: list[Told] = []
        for one in group:
            run.append(one)
            if len(run) == TOGETHER:
                yield run
                run = []
        if run:
            yield run
