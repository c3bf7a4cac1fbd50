"""What a person configured about one server: a frozen value, no I/O. Any thread."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Final

STDIO: Final = "stdio"
STREAMABLE_HTTP: Final = "streamable-http"
SSE: Final = "sse"
ERAS: Final = ("auto", "handshake", "modern")
NO_ERA: Final = "none"
"""Of a scratch connection: the transport comes up and nothing is sent. Never stored."""
GRANTS: Final = ("authorization_code", "client_credentials")
CLIENT_CAPABILITIES: Final = ("roots", "sampling", "elicitation", "elicitation.url")
CLIENT_TASKS: Final = "tasks"
"""Handshake era only: what the server asks may come as a task, which it polls."""
TASKS: Final = "io.modelcontextprotocol/tasks"
APPS: Final = "io.modelcontextprotocol/ui"
SKILLS: Final = "io.modelcontextprotocol/skills"
EXTENSIONS: Final = (TASKS, APPS, SKILLS)
DECLARABLE: Final = (*CLIENT_CAPABILITIES, CLIENT_TASKS, *EXTENSIONS)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `probe`: how long `server/discover` may take before the handshake era is tried; `connect`: the
    whole way to the first capability answer; `call`: one request, its progress starting it again up to `most`; `close`:
    each step of the shutdown ladder."""

    probe: float = 10.0
    connect: float = 30.0
    call: float = 60.0
    close: float = 3.0
    most: float = 600.0


@dataclass(frozen=True, slots=True)
class OAuth:
    """How to get a token, where the server's own metadata does not say enough.

    grant: `authorization_code` (a person signs in) or `client_credentials` (nobody does). client_id: of a client
    registered beforehand; without it we register, or name our metadata document. client_secret may hold a
    `${env:NAME}`. issuer: the only authorization server these credentials may be sent to; client_credentials must
    name it, or the MCP server would decide who gets the secret.
    """

    grant: str = "authorization_code"
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    scope: str | None = None
    issuer: str | None = None
    client_metadata_url: str | None = None


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One target. Either `argv` (stdio) or `url` (streamable-http, or sse when `transport` says so).

    env and headers hold values, some of them secret: show and record their names only.
    declare: client capabilities and extensions (with a slash) we announce. ids: `int` (from 10 on) or `str` (`c10`).
    source: where the definition came from, for people ("added by hand", a file's path, "demo").
    """

    name: str
    transport: str = STDIO
    argv: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    era: str = "auto"
    timeouts: Timeouts = Timeouts()
    declare: tuple[str, ...] = ()
    ids: str = "int"
    source: str = "added by hand"
    oauth: OAuth | None = None

    def capabilities(self) -> dict[str, Any]:
        """The client capabilities of `declare` as they are sent."""
        found: dict[str, Any] = {name: {} for name in self.declare if name in CLIENT_CAPABILITIES[:3]}
        if "elicitation.url" in self.declare:
            forms: dict[str, Any] = {"form": {}} if "elicitation" in self.declare else {}
            found["elicitation"] = {**forms, "url": {}}
        extensions: dict[str, Any] = {name: {} for name in self.declare if "/" in name}
        return found | ({"extensions": extensions} if extensions else {})

    def shown_target(self) -> str:
        """The command as a shell would take it, or the URL without userinfo: for people, never for spawning."""
        if self.url is not None:
            return re.sub(r"(?<=//)[^/@]*@", "…@", self.url)
        return shlex.join(self.argv)

    def public(self) -> dict[str, Any]:
        """The trace format's `target`: {argv, cwd, env_names} or {url, header_names}; no values."""
        if self.url is not None:
            return {"url": self.shown_target(), "header_names": sorted(self.headers)}
        return {"argv": list(self.argv), "cwd": self.cwd, "env_names": sorted(self.env)}
