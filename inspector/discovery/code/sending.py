"""A brokered call on its way to a real server, over an open connection. Any thread but the loop's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from inspector.discovery.live import Sizes
from inspector.discovery.registry import Tool
from inspector.errors import LoupeError, TimedOut, UsageError
from inspector.wire.connection import CONNECTED, Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.mirrored import mirrored_headers

CAUSE: Final = "code"


@dataclass(frozen=True, slots=True)
class Sent:
    """What came back. request_bytes, reply_bytes: of the frames as they crossed; frames: their seqs."""

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
    headers = mirrored_headers(connection, tool.value.get("inputSchema"), arguments)
    sizes = Sizes(connection.c, CAUSE)
    with connection.link.journal.heard_by(sizes):
        try:
            reply: Reply = connection.ask(
                "tools/call",
                {"name": tool.name, "arguments": dict(arguments)},
                cause=CAUSE,
                op=op,
                headers=headers,
            )
        except LoupeError as problem:
            seqs = (problem.facts.get("request_seq"), problem.facts.get("seq"))
            problem.facts["frame_bytes"] = tuple([sizes.bytes.get(seq or 0, 0) for seq in seqs])
            raise
    asked = sizes.bytes.get(reply.request_seq, 0)
    return Sent(reply.result, asked, len(reply.raw), reply.ms, (reply.request_seq, reply.seq))


def sizes_of(problem: LoupeError) -> tuple[int, int]:
    """Bytes of request and answer behind an error, 0 of what did not cross or is not known."""
    found: tuple[int, int] = problem.facts.get("frame_bytes", (0, 0))
    return found


def frames_of(problem: LoupeError) -> tuple[int, ...]:
    """The frames behind an error, as far as they are known."""
    seqs = (problem.facts.get("request_seq"), problem.facts.get("seq"))
    return tuple([seq for seq in seqs if isinstance(seq, int)])
