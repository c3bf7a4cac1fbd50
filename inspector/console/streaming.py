"""What `serve --otlp` asks for, and the exporter made of it. Any thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inspector import __version__
from inspector.console.redacting import redactor_for
from inspector.trace.otlp_live import Exporter, endpoint_of, headers_of
from inspector.wire.events import Journal


@dataclass(frozen=True, slots=True)
class Otlp:
    """Where everything recorded is streamed to. logs: what is no span, too. headers: secrets of the collector's."""

    endpoint: str
    redact: bool = True
    contents: bool = False
    logs: bool = True
    headers: dict[str, str] = field(default_factory=dict, repr=False)


def otlp_to(text: str, *, redact: bool, contents: bool, logs: bool = True) -> Otlp:
    """What the command line asks for; the collector's credentials come from OTEL_EXPORTER_OTLP_HEADERS. UsageError."""
    headers = headers_of(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    return Otlp(endpoint_of(text), redact, contents, logs, headers)


def exporter(asked: Otlp, journal: Journal, secrets: Callable[[], Iterable[str]]) -> Exporter:
    """Streaming, begun and attached to the journal; close it at the end."""
    found = Exporter(
        asked.endpoint,
        key=f"{journal.wall0_us}|{os.getpid()}",
        version=__version__,
        redactor=redactor_for() if asked.redact else None,
        secrets=secrets,
        contents=asked.contents,
        headers=asked.headers,
        logs=asked.logs,
    )
    journal.attach(found.sink)
    return found
