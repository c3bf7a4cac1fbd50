"""Streams what a journal records to an OTLP collector, as it happens. Threads `otlp-spans` and `otlp-send`.

Recording never waits for it: `sink` appends to a bounded queue, one thread makes spans of the events and hides their
secrets, another posts them. What does not fit, or is not taken, is dropped and counted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpx2

from inspector.errors import UsageError
from inspector.trace.file import event_fields
from inspector.trace.redact import Redactor
from inspector.trace.spans import Span, Spans
from inspector.wire.events import Event

EVENTS_BYTES: Final = 32 << 20
EVENT_COST: Final = 500
SPANS_MOST: Final = 10_000
TOGETHER: Final = 512
GATHER_S: Final = 1.0
ANSWER_S: Final = 10.0
TRIES: Final = 6
LONGEST_WAIT_S: Final = 30.0
SEARCHED: Final = 256 * 1024
"""Nothing of a longer answer is on a span, so its bytes are not looked through."""
RETRYABLE: Final = frozenset((429, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class Streaming:
    """How streaming goes. sent, dropped: spans. unseen: events that no span could be made of, for want of room.

    error: what went wrong last, until something is sent again.
    """

    endpoint: str
    sent: int
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
        remedy = "Install it: pip install 'mcp-loupe[otel]'"
        raise UsageError("--otlp needs the extra [otel], which is not installed", remedy) from None
    return text if parts.path.strip("/") else f"{text.rstrip('/')}/v1/traces"


def headers_of(text: str) -> dict[str, str]:
    """Headers as OTEL_EXPORTER_OTLP_HEADERS has them: `name=value,name=value`, percent-encoded."""
    pairs = [part.partition("=") for part in text.split(",") if "=" in part]
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}


class Exporter:
    """Attach `sink` to a journal; `close` at the end. key: what tells this recording from others (see Spans).

    redactor: None only when the person asked for that. secrets: asked, when a connection begins, for what it must hide.
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
    ) -> None:
        self.endpoint = endpoint
        self._version = version
        self._redactor = redactor
        self._secrets = secrets
        self._contents = contents
        self._headers = {**(headers or {}), "Content-Type": "application/x-protobuf"}
        self._spans = Spans(key, contents)
        self._events: deque[Event] = deque()
        self._queued = self._taken = 0
        self._ready: deque[tuple[Span, str]] = deque()
        self._sent = self._dropped = self._unseen = 0
        self._error = ""
        self._sending = 0
        self._event_came, self._span_came = threading.Event(), threading.Event()
        self._closing, self._giving_up = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._make, name="otlp-spans", daemon=True),
            threading.Thread(target=self._send_all, name="otlp-send", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def sink(self, event: Event) -> None:
        """Take an event; called under the journal's lock, returns at once."""
        if self._queued - self._taken > EVENTS_BYTES:
            self._unseen += 1
            return
        self._queued += EVENT_COST + len(event.raw or b"")
        self._events.append(event)
        if not self._event_came.is_set():
            self._event_came.set()

    def health(self) -> Streaming:
        waiting = len(self._ready) + self._sending
        return Streaming(self.endpoint, self._sent, waiting, self._dropped, self._unseen, self._error)

    def close(self, timeout: float = 3.0) -> None:
        """Send what there is, for at most so long."""
        self._closing.set()
        self._event_came.set()
        until = time.monotonic() + timeout
        for thread in self._threads:
            self._span_came.set()
            thread.join(max(0.0, until - time.monotonic()))
        self._giving_up.set()

    # --- otlp-spans

    def _make(self) -> None:
        while not self._closing.is_set() or self._events:
            self._event_came.wait()
            self._event_came.clear()
            while self._events:
                event = self._events.popleft()
                self._taken += EVENT_COST + len(event.raw or b"")
                try:
                    self._take(event)
                except Exception as problem:  # noqa: BLE001 - one odd event must not end the streaming
                    self._unseen += 1
                    self._error = f"An event could not be exported: {type(problem).__name__}"
        for span in self._spans.rest():
            self._offer(span)
        self._span_came.set()

    def _take(self, event: Event) -> None:
        if self._redactor is not None and event.t == "connection":
            self._redactor.know(self._secrets())
        if event.kind == "result" and not self._contents and len(event.raw or b"") > SEARCHED:
            event = replace(event, raw=b"{}")
        fields: dict[str, Any] = event_fields(event)
        if self._redactor is not None:
            fields = self._redactor.apply(fields)
        for span in self._spans.take(fields):
            self._offer(span)

    def _offer(self, span: Span) -> None:
        if len(self._ready) >= SPANS_MOST:
            self._dropped += 1
            return
        self._ready.append((span, self._spans.label(span.c)))
        if not self._span_came.is_set():
            self._span_came.set()

    # --- otlp-send

    def _send_all(self) -> None:
        with httpx2.Client(timeout=ANSWER_S, headers=self._headers) as client:
            while not self._giving_up.is_set():
                self._span_came.wait()
                self._closing.wait(GATHER_S)
                self._span_came.clear()
                while self._ready and not self._giving_up.is_set():
                    self._send(
                        client, [self._ready.popleft() for _ in range(min(TOGETHER, len(self._ready)))]
                    )
                if self._closing.is_set() and not self._threads[0].is_alive() and not self._ready:
                    return

    def _send(self, client: httpx2.Client, batch: list[tuple[Span, str]]) -> None:
        """Post one batch, again while that may help; then it is sent, or dropped."""
        from inspector.trace.otlp_proto import rejected, request

        self._sending = len(batch)
        body, refused = request(batch, self._version), len(batch)
        for attempt in range(TRIES):
            wait = min(2.0**attempt, LONGEST_WAIT_S)
            try:
                answer = client.post(self.endpoint, content=body)
            except httpx2.HTTPError as problem:
                self._error = f"{self.endpoint} cannot be reached: {problem}"
            else:
                if answer.is_success:
                    refused, said = rejected(answer.content)
                    self._error = f"The collector refused {refused} spans: {said}" if refused else ""
                    break
                self._error = f"{self.endpoint} answered HTTP {answer.status_code}"
                if answer.status_code not in RETRYABLE:
                    break
                wait = _asked_to_wait(answer.headers.get("retry-after", ""), wait)
            if attempt == TRIES - 1 or self._closing.wait(wait):
                break
        self._sent += len(batch) - refused
        self._dropped += refused
        self._sending = 0


def _asked_to_wait(retry_after: str, usual: float) -> float:
    return min(float(retry_after), LONGEST_WAIT_S) if retry_after.isdecimal() else usual
