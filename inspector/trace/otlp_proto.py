"""Spans as OTLP protobuf, and what a collector answered. Any thread. Needs the extra `[otel]`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from inspector.trace.otlp import ERROR, SCOPE
from inspector.trace.spans import Span


def request(spans: Sequence[tuple[Span, str]], version: str) -> bytes:
    """One ExportTraceServiceRequest of spans, each with the name of its connection."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    _put(resource.resource.attributes.add(), "service.name", "mcp-loupe")
    _put(resource.resource.attributes.add(), "service.version", version or "unknown")
    for label, group in groupby(spans, key=lambda pair: pair[1]):
        block = resource.scope_spans.add()
        block.scope.name, block.scope.version = SCOPE, version or "unknown"
        if label:
            _put(block.scope.attributes.add(), "loupe.connection", label)
        for span, _ in group:
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
    return bytes(message.SerializeToString())


def rejected(answer: bytes) -> tuple[int, str]:
    """How many spans the collector did not take, and what it said of it."""
    found = ExportTraceServiceResponse()
    try:
        found.ParseFromString(answer)
    except Exception:  # noqa: BLE001 - an empty or foreign body: it took them, as its status says
        return 0, ""
    return int(found.partial_success.rejected_spans), str(found.partial_success.error_message)


def _put(target: KeyValue, name: str, value: str | int) -> None:
    target.key = name
    if isinstance(value, str):
        target.value.string_value = value
    else:
        target.value.int_value = value
