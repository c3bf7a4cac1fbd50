"""A brokered call on its way to a real server, over an open connection. Any thread but the loop's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from inspector.discovery.registry import Tool
from inspector.errors import LoupeError, TimedOut, UsageError
from inspector.protocol import eras
from inspector.protocol.headers import param_headers
from inspector.wire.connection import CONNECTED, Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.http import HttpTransport

CAUSE: Final = "code"


@dataclass(frozen=True, slots=True)
class Sent:
    """What came back. request_bytes: of the arguments as sent; frames: seqs of request and answer."""

    result: Mapping[str, Any] = field(repr=False)
    request_bytes: int
    reply_bytes: int
    ms: float
    frames: tuple[int, ...]


class Sender(Protocol):
    """(tool, arguments, op) to what came back; raises LoupeError: PeerError is a refusal, TimedOut and ConnectionLost
    leave open what happened."""

    def __call__(self, tool: Tool, arguments: Mapping[str, Any], op: str) -> Sent: ...


def sender(connection_of: Callable[[str], Connection | None]) -> Sender:
    """connection_of: the open connection of a server key of the registry, None when there is none."""

    def send(tool: Tool, arguments: Mapping[str, Any], op: str) -> Sent:
        connection = connection_of(tool.server)
        if connection is None:
            raise UsageError(
                f"There is no open connection to {tool.server}", "Connect it, or name a server, not a file"
            )
        # Said before anything is sent: later it would be unknown what took place.
        if connection.state != CONNECTED:
            raise UsageError(f"{tool.server} is not connected any more", "Connect it again")
        try:
            return _sent(connection, tool, arguments, op)
        except TimeoutError:
            raise TimedOut(f"{tool.server} did not answer in time", "Look whether it took place") from None

    return send


def _sent(connection: Connection, tool: Tool, arguments: Mapping[str, Any], op: str) -> Sent:
    reply: Reply = connection.ask(
        "tools/call", {"name": tool.name, "arguments": dict(arguments)},
        cause=CAUSE, op=op, headers=_headers(connection, tool, arguments),
    )  # fmt: skip
    return Sent(reply.result, 0, len(reply.raw), reply.ms, (reply.request_seq, reply.seq))


def frames_of(problem: LoupeError) -> tuple[int, ...]:
    """The frames behind an error, as far as they are known."""
    seqs = (problem.facts.get("request_seq"), problem.facts.get("seq"))
    return tuple([seq for seq in seqs if isinstance(seq, int)])


def _headers(connection: Connection, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers a modern HTTP server wants mirrored from the arguments."""
    modern = connection.peer is not None and connection.peer.era == eras.MODERN
    if not modern or not isinstance(connection.transport, HttpTransport):
        return {}
    return dict(param_headers(tool.value.get("inputSchema"), dict(arguments))[0])
