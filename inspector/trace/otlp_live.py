"""Streams what a journal records to an OTLP collector, as it happens: spans, and log records of all else.

Recording never waits for it: `sink` appends to a bounded queue, thread `otlp-spans` makes spans and records of the
events and hides their secrets, one thread an address posts them (`otlp_send`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from inspector.errors import UsageError
from inspector.protocol.headers import not_carried
from inspector.settings.extras import install_command
from inspector.trace.file import event_fields
from inspector.trace.otlp_records import Record, Telling
from inspector.trace.otlp_send import Road
from inspector.trace.redact import Redactor
from inspector.trace.spans import Span
from inspector.wire.events import Event

EVENTS_BYTES: Final = 32 << 20
EVENT_COST: Final = 500
MOST: Final = 10_000
"""Of spans that wait, and of log records."""
SEARCHED: Final = 256 * 1024
"""Nothing of a longer answer is on a span, so its bytes are not looked through."""
TRACES, LOGS = "/v1/traces", "/v1/logs"
NO_LOGS: Final = "; a collector that takes no log records is served with --otlp-spans-only"


@dataclass(frozen=True, slots=True)
class Streaming:
    """How streaming goes. sent: spans. records: log records sent. waiting, dropped: of both.

    unseen: events that nothing could be made of, for want of room. error: what went wrong last.
    """

    endpoint: str
    sent: int
    records: int
    waiting: int
    dropped: int
    unseen: int
    error: str


def endpoint_of(text: str) -> str:
    """The URL spans are posted to. Raises UsageError."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        known = None
    if not known:
        raise UsageError(f"{text} is no collector's address", "Write --otlp http://127.0.0.1:4318")
    try:
        import_module("inspector.trace.otlp_proto")
    except ImportError:
        remedy = f"Install it: {install_command('otel')}"
        raise UsageError("--otlp needs the extra [otel], which is not installed", remedy) from None
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(TRACES) else f"{path}{TRACES}").geturl()


def logs_endpoint(endpoint: str) -> str:
    """The URL log records are posted to, beside the one of spans."""
    parts = urlsplit(endpoint)
    return parts._replace(path=parts.path.removesuffix(TRACES) + LOGS).geturl()


def headers_of(text: str) -> dict[str, str]:
    """Headers as OTEL_EXPORTER_OTLP_HEADERS has them: `name=value,name=value`, percent-encoded. Raises UsageError."""
    pairs = [part.partition("=") for part in text.split(",") if "=" in part]
    found = {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
    if (odd := not_carried(found.items())) is not None:
        said = f"OTEL_EXPORTER_OTLP_HEADERS holds a header {odd} that HTTP cannot carry"
        raise UsageError(said, "Write plain ASCII, with no space or line end at either end")
    return found


class Exporter:
    """Attach `sink` to a journal; `close` at the end. key: what tells this recording from others (see Spans).

    redactor: None only when the person asked for that. secrets: asked, when a connection begins, for what it must hide.
    logs: send log records too; without them only requests and notifications are streamed.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        key: str,
        version: str,
        redactor: Redactor | None,
        secrets: Callable[[], Iterable[str]] = tuple,
        contents: bool = False,
        headers: dict[str, str] | None = None,
        logs: bool = True,
    ) -> None:
        self.endpoint = endpoint
        self._redactor = redactor
        self._secrets = secrets
        self._contents = contents
        self._telling = Telling(key, contents)
        self._events: deque[Event] = deque()
        self._queued = self._taken = 0
        self._unseen = 0
        self._error = ""
        self._came, self._closing = threading.Event(), threading.Event()
        sent_with = {**(headers or {}), "Content-Type": "application/x-protobuf"}
        self._spans, self._records = _roads(endpoint, sent_with, version, logs=logs)
        self._thread = threading.Thread(target=self._make, name="otlp-spans", daemon=True)
        self._thread.start()

    def sink(self, event: Event) -> None:
        """Take an event; called under the journal's lock, returns at once."""
        if self._queued - self._taken > EVENTS_BYTES:
            self._unseen += 1
            return
        self._queued += EVENT_COST + len(event.raw or b"")
        self._events.append(event)
        if not self._came.is_set():
            self._came.set()

    def health(self) -> Streaming:
        spans, logs = self._spans, self._records
        errors = (self._error, spans.error, logs.error if logs else "")
        return Streaming(
            self.endpoint,
            spans.sent,
            logs.sent if logs else 0,
            spans.waiting + (logs.waiting if logs else 0),
            spans.dropped + (logs.dropped if logs else 0),
            self._unseen,
            next((error for error in errors if error), ""),
        )

    def close(self, timeout: float = 3.0) -> None:
        """Send what there is, for at most so long."""
        roads: list[Road[Any]] = [self._spans, *([self._records] if self._records else [])]
        self._closing.set()
        self._came.set()
        for road in roads:
            road.closing()
        until = time.monotonic() + timeout
        self._thread.join(max(0.0, until - time.monotonic()))
        for road in roads:
            road.end()
        for road in roads:
            road.join(max(0.0, until - time.monotonic()))

    # --- otlp-spans

    def _make(self) -> None:
        while not self._closing.is_set() or self._events:
            self._came.wait()
            self._came.clear()
            while self._events:
                event = self._events.popleft()
                self._taken += EVENT_COST + len(event.raw or b"")
                try:
                    self._take(event)
                except Exception as problem:  # noqa: BLE001 - one odd event must not end the streaming
                    self._unseen += 1
                    self._error = f"An event could not be exported: {type(problem).__name__}"
        for span in self._telling.rest():
            self._offer(span)

    def _take(self, event: Event) -> None:
        if self._redactor is not None and event.t == "connection":
            self._redactor.know(self._secrets())
        size = len(event.raw or b"")
        if event.kind == "result" and not self._contents and size > SEARCHED:
            event = replace(event, raw=b"{}")
        fields: dict[str, Any] = event_fields(event)
        if event.t == "rpc":
            fields["bytes"] = size
        if self._redactor is not None:
            fields = self._redactor.apply(fields)
        spans, record = self._telling.take(fields)
        for span in spans:
            self._offer(span)
        if record is not None and self._records is not None:
            weight = EVENT_COST + len(record.body) + sum(len(str(one)) for one in record.attributes.values())
            self._records.offer(record, self._telling.spans.label(record.c), weight)

    def _offer(self, span: Span) -> None:
        weight = EVENT_COST + sum(len(str(one)) for one in span.attributes.values())
        self._spans.offer(span, self._telling.spans.label(span.c), weight)


def _roads(
    endpoint: str, headers: dict[str, str], version: str, *, logs: bool
) -> tuple[Road[Span], Road[Record] | None]:
    """The ways spans and, when asked for, log records go."""
    from inspector.trace import otlp_proto as proto

    spans = Road[Span](
        endpoint, "spans", headers, partial(proto.spans_request, version=version), proto.spans_rejected,
        thread="otlp-send", most=MOST, most_bytes=EVENTS_BYTES,
    )  # fmt: skip
    if not logs:
        return spans, None
    records = Road[Record](
        logs_endpoint(endpoint), "log records", headers, partial(proto.records_request, version=version),
        proto.records_rejected, thread="otlp-send-logs", hint=NO_LOGS, most=MOST, most_bytes=EVENTS_BYTES,
    )  # fmt: skip
    return spans, records
