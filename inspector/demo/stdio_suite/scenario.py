"""What a scenario is: how its server behaves, what it asks of the client, and how it judges; values, any thread."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from inspector.demo.stdio_suite.log import Seen

if TYPE_CHECKING:
    from inspector.demo.stdio_suite.server import SuiteServer

MARK: Final = "до-é-😀-\N{LATIN SMALL LETTER SHARP S}"
"""The default every tool's `token` has: a client that calls with it has read the list to the byte."""
MUST, SHOULD, FIELD = "must", "should", "field"
"""Where a check comes from: the specification's MUST or SHOULD, or servers found in the field."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing asked of a client. found: what was seen, for people, whether good or bad."""

    id: str
    level: str
    ok: bool
    asks: str
    found: str
    source: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("id", "level", "ok", "asks", "found", "source")}


class Scenario:
    """One server gone wrong, or merely odd. A subclass says how; its docstring is what the server does.

    asks: what a client has to do. source: where that is written, or where such a server was seen. eras: what the server
    speaks. lives: most processes a client may start. calls: the tools it has, in order; the client calls each once.
    reaches: the tool whose call shows that the client got through, None when it must not call any. level: of that check.
    timeouts: hints to the client, in ms. cancel: tools whose call it is to cancel, after so many ms.
    """

    name = ""
    group = ""
    asks = "Goes on as if nothing had happened."
    source = ""
    level = FIELD
    eras: tuple[str, ...] = ("handshake", "modern")
    era_lock = False
    lives = 1
    calls: tuple[str, ...] = ("first", "second")
    reaches: str | None = "second"
    timeouts: Mapping[str, int] = MappingProxyType({})
    cancel: Mapping[str, int] = MappingProxyType({})
    signals: tuple[str, ...] = ()
    """Signals a client may send here, once it has closed stdin."""

    @property
    def does(self) -> str:
        return " ".join((type(self).__doc__ or "").split())

    def context(self) -> dict[str, Any]:
        """MCP_CONFORMANCE_CONTEXT: what the client is to do, where that is more than calling each tool once."""
        found: dict[str, Any] = {}
        if self.cancel:
            found["toolCalls"] = [
                {"name": name, "arguments": {"token": self.token(name)}}
                | ({"cancelAfterMs": self.cancel[name]} if name in self.cancel else {})
                for name in self.calls
            ]
        if self.timeouts:
            found["timeouts"] = dict(self.timeouts)
        return found

    def token(self, name: str) -> str:
        """The default of a tool's argument."""
        return f"{MARK}-{name}"

    def tools(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "description": "Works.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"token": {"type": "string", "default": self.token(name)}},
                    "required": ["token"],
                },
            }
            for name in self.calls
        ]

    # --- in the server's process

    def start(self, server: SuiteServer) -> None:
        """Before anything is read."""

    def request(self, server: SuiteServer, method: str, id_: Any, params: dict[str, Any]) -> None:
        server.answer(method, id_, params)

    def notified(self, server: SuiteServer, method: str, params: dict[str, Any]) -> None:
        """A notification of the client."""

    def replied(self, server: SuiteServer, frame: dict[str, Any]) -> None:
        """An answer of the client."""

    def write(self, server: SuiteServer, raw: bytes) -> None:
        """How one frame gets to the client."""
        server.raw(raw + b"\n")

    def eof(self, server: SuiteServer) -> None:
        """Stdin was closed; the process ends when this returns."""

    def term(self, server: SuiteServer) -> None:
        """SIGTERM or SIGINT came."""
        server.die("on a signal", 0)

    # --- in the suite

    def judge(self, seen: Seen) -> Iterable[Check]:
        """The checks of this scenario only, besides those of every scenario and the one of `reaches`."""
        return ()

    def check(self, id_: str, level: str, ok: bool, asks: str, found: str) -> Check:
        return Check(id_, level, ok, asks, found, self.source)


def is_call(method: str, params: Mapping[str, Any], name: str) -> bool:
    return method == "tools/call" and params.get("name") == name


def kill_self(server: SuiteServer, why: str) -> None:
    """SIGKILL, as the kernel's out-of-memory killer sends it."""
    server.log.put("exit", text=why)
    os.kill(os.getpid(), 9)
