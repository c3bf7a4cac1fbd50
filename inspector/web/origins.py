"""Who says that something failed, and what it is about: two things that a screen must not mix up. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SAID_BY: Final = {
    "peer": "Loupe, about what the server did",
    "sdk": "the client library, on this side",
    "console": "Loupe; the server sent no such error",
}
"""By origin of an error that is no frame."""

_ABOUT: Final = {
    "spawn": "the server's program: it could not be started",
    "network": "the way to the server: nothing answered at its address",
    "tls": "the server's certificate, or how it speaks TLS",
    "handshake": "the server: it agreed to no version of the protocol",
    "timeout": "the server: it did not answer in time",
    "transport": "the connection: the server's side of it ended",
    "http": "the HTTP answer of the server",
    "protocol": "the server's frames: they break the protocol",
    "auth": "the server: it wants a sign-in",
}
"""By layer of our error tree: whose fault it is when Loupe is only the one who says it."""


def said_by(origin: str) -> str:
    """Who made the sentence, in words."""
    return SAID_BY.get(origin, SAID_BY["console"])


def subject(layer: str, facts: Mapping[str, Any]) -> str:
    """What a failure of this layer is about; empty when that is Loupe itself. facts: as in LoupeError."""
    ended = facts.get("signal") or facts.get("exit")
    if layer in ("transport", "spawn") and ended is not None:
        how = f"on {ended}" if isinstance(ended, str) else f"with code {ended}"
        return f"the server's process: it ended {how}"
    return _ABOUT.get(layer, "")
