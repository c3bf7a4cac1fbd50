"""OTLP: spans as its JSON, and a trace as one OTLP JSON document in pieces. Any thread; flat memory.

Source: OpenTelemetry protocol 1.x, trace/v1 and its JSON mapping: ids in hexadecimal, 64-bit numbers as strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from inspector.trace.exporting import Fields, Source, pieces, text
from inspector.trace.file import encode
from inspector.trace.spans import Span, Spans

SCOPE: Final = "mcp-loupe"
ERROR: Final = 2
TOGETHER: Final = 200


def otlp(source: Source, *, version: str = "", contents: bool = False) -> Iterator[bytes]:
    """The trace as one ExportTraceServiceRequest in JSON, ready to be posted to /v1/traces.

    contents: with arguments and results of tool calls. Raises FileError before the first piece.
    """
    source.survey()
    return pieces(_document(source, version, contents))


def spans_of(source: Source, spans: Spans) -> Iterator[Span]:
    """Every span of a trace, in the order they are complete."""
    for event in source.events():
        yield from spans.take(event)
    yield from spans.rest()


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


def _attribute(name: str, value: str | int) -> Fields:
    if isinstance(value, str):
        return {"key": name, "value": {"stringValue": value}}
    return {"key": name, "value": {"intValue": str(value)}}


def _document(source: Source, version: str, contents: bool) -> Iterator[bytes]:
    spans = Spans(key_of(source.header), contents)
    yield b'{"resourceSpans":[{"resource":' + encode(resource(version)).strip() + b',"scopeSpans":['
    first = True
    for run in _runs(spans_of(source, spans)):
        block = {"scope": scope(version, spans.label(run[0].c)), "spans": [span_json(span) for span in run]}
        yield (b"\n" if first else b",\n") + encode(block).strip()
        first = False
    yield b"\n]}]}\n"


def _runs(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Spans of one connection that follow each other, TOGETHER at most."""
    for _, group in groupby(spans, key=lambda span: span.c):
        run: list[Span] = []
        for span in group:
            run.append(span)
            if len(run) == TOGETHER:
                yield run
                run = []
        if run:
            yield run
