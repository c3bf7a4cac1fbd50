"""What is put into each request's `_meta` beside what the era demands. Any thread sets it, the loop reads it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspector.protocol import eras
from inspector.wire.negotiate import Client, Peer

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""RFC 5424, as server/utilities/logging lists them."""


@dataclass(slots=True)
class Extras:
    """log_level: of each request in the modern era, None to get no log messages. trace: send a W3C traceparent."""

    log_level: str | None = None
    trace: bool = False


def full_params(
    params: Mapping[str, Any] | None, peer: Peer | None, client: Client, extras: Extras
) -> dict[str, Any]:
    """`params` with what the era demands of each request, and the extras that are on; what was given wins."""
    full = dict(params or {})
    added: dict[str, Any] = {}
    if peer is not None and peer.era == eras.MODERN:
        added = eras.modern_meta(peer.protocol_version, client.info, client.capabilities, extras.log_level)
    if extras.trace:
        added["traceparent"] = traceparent()
    given = full.get("_meta")
    if added:
        full["_meta"] = {**added, **(given if isinstance(given, Mapping) else {})}
    return full


def traceparent() -> str:
    """A trace of its own for one request, sampled (W3C Trace Context, version 00)."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
