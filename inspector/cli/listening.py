"""`call --listen`, `--log-level`, `--trace-context`: what a server announces, told as it comes. Main thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from inspector.cli.terminal import printable, warn
from inspector.console.subscriptions import LISTS, Subscriptions
from inspector.errors import LoupeError
from inspector.protocol import eras
from inspector.wire.connection import Connection

SHOWN_CHARS = 2_000


def with_extras(connection: Connection, level: str | None, trace: bool) -> None:
    """What each request carries from now on; in the handshake era the level is set by a request of its own."""
    connection.extras.trace = trace
    connection.extras.log_level = level
    if level is not None and connection.peer is not None and connection.peer.era == eras.HANDSHAKE:
        try:
            connection.ask("logging/setLevel", {"level": level})
        except LoupeError as problem:
            warn(f"The log level was not taken: {printable(problem.message)}")


def listened(connection: Connection, seconds: float, uris: list[str]) -> list[dict[str, Any]]:
    """Everything announced within `seconds`: of the lists, and of these resources, which are subscribed to."""
    heard: list[dict[str, Any]] = []
    streams = Subscriptions()

    def notified(method: str, params: Mapping[str, Any]) -> None:
        streams.notified(connection.c, method, params)
        heard.append({"method": method, "params": dict(params)})
        warn(
            f"heard {printable(method)} {printable(json.dumps(dict(params), ensure_ascii=False))[:SHOWN_CHARS]}"
        )

    connection.on_notification = notified
    modern = connection.peer is not None and connection.peer.era == eras.MODERN
    if modern or uris:
        streams.begin(connection, "", uris, list(LISTS))
    threading.Event().wait(seconds)
    for one in streams.of(""):
        if one.why:
            warn(f"listening ended: {printable(one.why)}")
        streams.end(connection, one.id)
    return heard
