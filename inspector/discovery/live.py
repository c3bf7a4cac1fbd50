"""A real server asked by the lab: every discovery step a tools/call, measured. Any thread but the loop's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.discovery.play import Asked, Caller
from inspector.discovery.registry import Registry
from inspector.errors import PeerError, UsageError
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.events import Event
from inspector.wire.mirrored import mirrored_headers

CAUSE = "lab"


class Sizes:
    """A sink that notes how long each frame of one call was, and what an answer took, by seq. cause: of that call; other
    traffic is not ours."""

    def __init__(self, c: int, cause: str = CAUSE) -> None:
        self.c, self.cause = c, cause
        self.bytes: dict[int, int] = {}
        self.ms: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        ours = event.t == "rpc" and event.c == self.c and event.cause == self.cause
        if ours and event.raw is not None:
            self.bytes[event.seq] = len(event.raw)
            if event.ms is not None:
                self.ms[event.seq] = event.ms


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
    asked, answered = problem.facts.get("request_seq") or 0, problem.facts.get("seq") or 0
    result = {"content": [{"type": "text", "text": problem.text}], "isError": True}
    return Asked(
        sizes.bytes.get(asked, 0),
        sizes.bytes.get(answered, 0),
        result,
        sizes.ms.get(answered, 0.0),
        (asked, answered),
        True,
    )


def _headers(
    connection: Connection, registry: Registry, key: str, tool: str, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """The `Mcp-Param-*` headers a modern HTTP server wants mirrored from the arguments."""
    server = registry.server(key)
    known = next((each for each in (server.tools if server else ()) if each.name == tool), None)
    schema = None if known is None else known.value.get("inputSchema")
    return mirrored_headers(connection, schema, arguments)
