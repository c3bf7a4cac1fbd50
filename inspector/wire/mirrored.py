"""The `Mcp-Param-*` headers that a modern server wants mirrored from a call's arguments over HTTP. Any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.protocol.eras import MODERN
from inspector.protocol.headers import param_headers
from inspector.wire.connection import Connection
from inspector.wire.http import HttpTransport


def mirrored_headers(connection: Connection, schema: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """schema: the tool's inputSchema as listed, None when it is not known. {} in another era, or over stdio."""
    modern = connection.peer is not None and connection.peer.era == MODERN
    if not modern or not isinstance(connection.transport, HttpTransport):
        return {}
    return dict(param_headers(schema, dict(arguments))[0])
