"""What a host's cache would have done with a request of the Call screen, and makes of the answer. Request threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inspector.catalog.snapshot import ABSENT
from inspector.console.console import Server
from inspector.console.hosting import told
from inspector.discovery.host_cache import Look
from inspector.web.catalog_facts import as_sent, counts_as
from inspector.web.frame import console


@dataclass(frozen=True, slots=True)
class CacheSaid:
    """Of one answer. ttl, scope: as sent, as JSON text, empty when absent. counts_as: the same as they count, and why.
    would: before the request; now: of the same request now, None when the connection is gone. delivery: whether
    changes would be heard of. faults: what the server did against the specification."""

    ttl: str
    scope: str
    counts_as: str
    why: str
    row: int
    faults: tuple[str, ...]
    context: str
    would: Look[Any]
    now: Look[Any] | None
    delivery: str


def cache_said(server: Server, reply_seq: int | None) -> CacheSaid | None:
    """None for an answer that no cache may keep by its method, and for one of another run."""
    hosting = console().hosting
    said = hosting.said(reply_seq) if reply_seq is not None else None
    if said is None:
        return None
    connection, hints = server.connection, said.hints
    live = connection is not None and server.state == "connected"
    now = delivery = None
    if live and connection is not None:
        now = hosting.look(connection, server.key, said.key.method, said.key.params or {})
        delivery = told(connection, said.key.method)
    return CacheSaid(
        _sent(hints.ttl_raw, hints.ttl_present), _sent(hints.scope_raw, hints.scope_present), counts_as(hints),
        hints.why, hints.row, hints.violations, said.context, said.look, now,
        f"{delivery.why} (row {delivery.row})" if delivery is not None else "",
    )  # fmt: skip


def _sent(value: Any, present: bool) -> str:
    return as_sent(value if present else ABSENT)
