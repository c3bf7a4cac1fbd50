"""What a fault of the chaos server is, and what it is handed; pure values, any thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

Where = Literal["stdio", "http", "both"]

START: Final = "start"
CALL: Final = "tools/call"
LIST: Final = "tools/list"
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
HANDSHAKE: Final = (INITIALIZE, DISCOVER)
VERBS: Final = ("GET", "POST", "DELETE", "OPTIONS")

SERVER_INFO: Final[Mapping[str, str]] = {"name": "loupe-chaos", "version": "1"}
INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8, members in the order given; the same value is always the same bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(slots=True)
class Ask:
    """One request to be answered, well or badly.

    right: the `result` a healthy server gives to it. arg: the fault's argument, its default filled in.
    `method` is the HTTP verb when a fault takes the place of a GET, DELETE or OPTIONS.
    """

    method: str
    id: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    modern: bool = False
    right: dict[str, Any] = field(default_factory=dict)
    arg: Any = None

    def envelope(self, **changed: Any) -> dict[str, Any]:
        """The healthy answer as a value, members added or replaced."""
        return {"jsonrpc": "2.0", "id": self.id, "result": self.right, **changed}

    def answer(self, **changed: Any) -> bytes:
        """The healthy answer as bytes, members added or replaced."""
        return dumps(self.envelope(**changed))

    def result(self, **changed: Any) -> bytes:
        """An answer whose `result` has members added or replaced."""
        return dumps(self.envelope(result={**self.right, **changed}))

    def error(self, code: Any, text: str, **more: Any) -> bytes:
        """An `error` answer; `more` joins the error object."""
        return dumps({"jsonrpc": "2.0", "id": self.id, "error": {"code": code, "message": text, **more}})


@dataclass(slots=True)
class State:
    """What one running server remembers: set by start faults, read while it serves.

    eras: those it speaks. first_era: that of the first request, for `era_lock`. waiting: what to run when the
    request of that id (as JSON) is cancelled. linger: stay after stdin's EOF. sessions: HTTP sessions alive.
    unknown_session: HTTP status given to an unknown one. spent: names of faults that strike once.
    """

    eras: set[str] = field(default_factory=lambda: {"handshake", "modern"})
    era_lock: bool = False
    first_era: str = ""
    integer_ids_only: bool = False
    waiting: dict[bytes, Callable[[], None]] = field(default_factory=dict)
    linger: bool = False
    sessions: set[str] = field(default_factory=set)
    sessions_made: int = 0
    unknown_session: int = 404
    spent: set[str] = field(default_factory=set)


class Out(Protocol):
    """The way back to the client: a pipe or an HTTP exchange."""

    state: State

    def frame(self, raw: bytes, status: int = 200) -> None:
        """Send one frame in the transport's own healthy framing (`status` is HTTP's)."""

    def later(self, seconds: float, raw: bytes) -> None:
        """Send one frame after a while, other requests being answered meanwhile."""

    def when_cancelled(self, ask: Ask, raw: bytes) -> None:
        """Send one frame once the request has been cancelled by a notification."""

    def accepted(self) -> None:
        """Acknowledge what gets no answer: nothing on stdio, an empty 202 on HTTP."""

    def admit(self, ask: Ask) -> bool:
        """Whether the transport lets the request through; if not, it has been refused already."""


@dataclass(slots=True, frozen=True)
class Takes:
    """A fault's one argument: its name in a call and what it is when not given."""

    name: str
    default: int | float | str

    def read(self, value: Any) -> int | float | str:
        """The argument from a call or the command line; ValueError when it cannot be one."""
        return self.default if value is None else type(self.default)(value)


@dataclass(slots=True, frozen=True)
class Fault:
    """One thing a server can do wrong.

    where: the transports it exists on. on: the methods, HTTP verbs or `start` it takes the place of.
    does: what it does on the wire. shows: what the console must show. rows: ids of the field reports
    it reproduces (`SDK n`: a trap of the MCP SDK). output_schema: declared by its tool.
    """

    name: str
    where: Where
    on: tuple[str, ...]
    does: str
    shows: str
    rows: tuple[str, ...]
    act: Callable[[Ask, Any], None]
    takes: Takes | None = None
    output_schema: Mapping[str, Any] | None = None

    @property
    def is_tool(self) -> bool:
        return self.on == (CALL,)

    def at(self, transport: str) -> bool:
        return self.where in ("both", transport)

    def tool(self) -> dict[str, Any]:
        """Its entry in `tools/list`."""
        properties: dict[str, Any] = {}
        if self.takes is not None:
            kind = {int: "integer", float: "number", str: "string"}[type(self.takes.default)]
            properties[self.takes.name] = {"type": kind, "default": self.takes.default}
        entry: dict[str, Any] = {
            "name": self.name,
            "description": f"{self.does} Loupe shows: {self.shows}",
            "inputSchema": {"type": "object", "properties": properties},
        }
        if self.output_schema is not None:
            entry["outputSchema"] = self.output_schema
        return entry


def fault(
    where: Where,
    rows: str,
    shows: str,
    *,
    on: str | tuple[str, ...] = CALL,
    takes: tuple[str, int | float | str] | None = None,
    output_schema: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[Ask, Any], None]], Fault]:
    """Turn a function into a `Fault`: its name is the fault's, its docstring says what it does."""

    def made(act: Callable[[Ask, Any], None]) -> Fault:
        return Fault(
            name=act.__name__,
            where=where,
            on=(on,) if isinstance(on, str) else on,
            does=" ".join((act.__doc__ or "").split()),
            shows=shows,
            rows=tuple(rows.split(", ")),
            act=act,
            takes=Takes(*takes) if takes else None,
            output_schema=output_schema,
        )

    return made
