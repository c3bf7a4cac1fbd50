"""A real server asked by the lab: every discovery step a tools/call, measured. Any thread but the loop's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.discovery.play import Asked, Caller
from inspector.discovery.registry import Registry
from inspector.errors import PeerError, UsageError
from inspector.protocol import eras
from inspector.protocol.headers import param_headers
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.events import C2S, S2C, Event
from inspector.wire.http import HttpTransport

CAUSE = "lab"


class Sizes:
    """A sink that notes how long each frame of one lab call was, by seq: other traffic is not ours."""

    def __init__(self, c: int) -> None:
        self.c = c
        self.bytes: dict[int, int] = {}
        self.last: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        ours = event.t == "rpc" and event.c == self.c and event.cause == CAUSE
        if ours and event.raw is not None:
            self.bytes[event.seq] = len(event.raw)
            self.last[event.dir] = event.seq


def caller(connections: Mapping[str, Connection], registry: Registry) -> Caller:
    """How the lab asks: by the registry's server keys, over open connections."""

    def ask(key: str, tool: str, arguments: Mapping[str, Any]) -> Asked:
        connection = connections.get(key)
        if connection is None:
            raise UsageError(f"There is no open connection to {key}", "Use --live with a server, not a file")
        headers = _headers(connection, registry, key, tool, arguments)
        sizes = Sizes(connection.c)
        with connection.link.journal.heard_by(sizes):
            try:
                reply: Reply = connection.ask(
                    "tools/call", {"name": tool, "arguments": dict(arguments)}, cause=CAUSE, headers=headers
                )
            except PeerError as problem:
                return _refused(sizes, problem)
        return Asked(
            sizes.bytes.get(reply.request_seq, 0), len(reply.raw), reply.result, reply.ms,
            (reply.request_seq, reply.seq), reply.result.get("isError") is True,
        )  # fmt: skip

    return ask


def _refused(sizes: Sizes, problem: PeerError) -> Asked:
    """A protocol error is an answer too: the model reads its text."""
    asked, answered = sizes.last.get(C2S, 0), sizes.last.get(S2C, 0)
    result = {"content": [{"type": "text", "text": problem.text}], "isError": True}
    return Asked(
        sizes.bytes.get(asked, 0), sizes.bytes.get(answered, 0), result, 0.0, (asked, answered), True
    )


def _headers(
    connection: Connection, registry: Registry, key: str, tool: str, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """The `Mcp-Param-*` headers a modern HTTP server wants mirrored from the arguments."""
    modern = connection.peer is not None and connection.peer.era == eras.MODERN
    server = registry.server(key)
    if not modern or server is None or not isinstance(connection.transport, HttpTransport):
        return {}
    known = next((each for each in server.tools if each.name == tool), None)
    schema = None if known is None else known.value.get("inputSchema")
    return dict(param_headers(schema, dict(arguments))[0])
