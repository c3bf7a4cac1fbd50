"""Spans and log records as OTLP protobuf, and what a collector answered. Any thread. Needs the extra `[otel]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

from inspector.trace.otlp import ERROR, SCOPE
from inspector.trace.otlp_records import Record, Value
from inspector.trace.spans import Span

Told = TypeVar("Told", Span, Record)
Answer = TypeVar("Answer", ExportTraceServiceResponse, ExportLogsServiceResponse)


def spans_request(spans: Sequence[tuple[Span, str]], version: str) -> bytes:
    """One ExportTraceServiceRequest of spans, each with the name of its connection."""
    message = ExportTraceServiceRequest()
    block = message.resource_spans.add()
    _made_by(block.resource, version)
    _fill(block.scope_spans, spans, version, _add_span)
    return bytes(message.SerializeToString())


def records_request(records: Sequence[tuple[Record, str]], version: str) -> bytes:
    """One ExportLogsServiceRequest of log records, each with the name of its connection."""
    message = ExportLogsServiceRequest()
    block = message.resource_logs.add()
    _made_by(block.resource, version)
    _fill(block.scope_logs, records, version, _add_record)
    return bytes(message.SerializeToString())


def spans_rejected(answer: bytes) -> tuple[int, str]:
    """How many spans the collector did not take, and what it said of it."""
    said = _read(ExportTraceServiceResponse(), answer).partial_success
    return int(said.rejected_spans), str(said.error_message)


def records_rejected(answer: bytes) -> tuple[int, str]:
    """How many log records the collector did not take, and what it said of it."""
    said = _read(ExportLogsServiceResponse(), answer).partial_success
    return int(said.rejected_log_records), str(said.error_message)


def _fill(
    scopes: Any, told: Sequence[tuple[Told, str]], version: str, add: Callable[[Any, Told], None]
) -> None:
    """Each run of one connection under its scope."""
    for label, run in groupby(told, key=lambda pair: pair[1]):
        block = scopes.add()
        _scope(block.scope, label, version)
        for one, _ in run:
            add(block, one)


def _add_span(block: ScopeSpans, span: Span) -> None:
    found = block.spans.add(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_id,
        name=span.name,
        kind=span.kind,
        start_time_unix_nano=span.start_ns,
        end_time_unix_nano=span.end_ns,
    )
    for name, value in span.attributes.items():
        _put(found.attributes.add(), name, value)
    if span.failed:
        found.status.code = ERROR
        found.status.message = span.message


def _add_record(block: ScopeLogs, record: Record) -> None:
    found = block.log_records.add(
        time_unix_nano=record.at_ns,
        observed_time_unix_nano=record.at_ns,
        severity_number=record.severity,
        event_name=record.name,
        trace_id=record.trace_id,
        span_id=record.span_id,
    )
    found.body.string_value = record.body
    for name, value in record.attributes.items():
        _put(found.attributes.add(), name, value)


def _read(response: Answer, answer: bytes) -> Answer:
    """What the collector answered. A foreign body says nothing: it took them, as its status says."""
    try:
        response.ParseFromString(answer)
    except Exception:  # noqa: BLE001 - whatever there is about it that protobuf does not take
        response.Clear()
    return response


def _made_by(resource: Resource, version: str) -> None:
    _put(resource.attributes.add(), "service.name", "mcp-loupe")
    _put(resource.attributes.add(), "service.version", version or "unknown")


def _scope(scope: InstrumentationScope, label: str, version: str) -> None:
    scope.name, scope.version = SCOPE, version or "unknown"
    if label:
        _put(scope.attributes.add(), "loupe.connection", label)


def _put(target: KeyValue, name: str, value: Value) -> None:
    target.key = name
    _set(target.value, value)


def _set(target: AnyValue, value: Value) -> None:
    if isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    else:
        for one in value:
            _set(target.array_value.values.add(), one)
