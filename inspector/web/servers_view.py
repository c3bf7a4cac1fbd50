"""A server as its row and its page show it: frozen values made from the console's live objects. Request threads."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass
from typing import Any, Final

from inspector.console.console import Server
from inspector.errors import LoupeError
from inspector.protocol.codes import ErrorEntry, explain
from inspector.settings.spec import SSE, STDIO
from inspector.web.causes import NO_ENDPOINT, http_causes
from inspector.web.origins import said_by, subject
from inspector.web.render import num, size
from inspector.web.servers_preview import warnings
from inspector.web.servers_state import Opening, Openings
from inspector.wire.connection import CLOSED, CONNECTED, CONNECTING, FAILED, LOST, Connection
from inspector.wire.http import HttpTransport
from inspector.wire.stdio import StdioTransport

STDERR_SHOWN: Final = 40
ELSEWHERE: Final = "Check the URL: the path of an MCP endpoint is often /mcp, and /sse with the old transport"
BODY_SHOWN: Final = 240
_WORDS: Final = {
    "never": ("not connected", "off"),
    CONNECTING: ("connecting", "busy"),
    CONNECTED: ("connected", "ok"),
    FAILED: ("failed", "err"),
    LOST: ("lost", "err"),
    CLOSED: ("closed", "off"),
}
_TRANSPORTS: Final = {STDIO: "stdio", SSE: "sse"}
_FIRST_STEP: Final = {
    "config": "check the definition",
    "spawn": "start the program",
    "network": "reach the URL",
    "tls": "agree on TLS",
}
_FACTS: Final = {
    "exit": "Exit code",
    "signal": "Signal",
    "status": "HTTP status",
    "www_authenticate": "Challenge",
}
_COUNTERS: Final = (
    ("noise", "noise", "bytes on stdout, or an HTTP body, that are no frame"),
    ("blank_lines", "blank lines", "empty lines on stdout"),
    ("stderr_lines", "stderr lines", "what the server logged"),
    ("refused", "refused", "frames that break JSON-RPC, so nothing took them"),
    ("unknown", "unknown ids", "answers to a request nobody sent"),
    ("duplicate", "duplicates", "second answers to one request"),
    ("late", "late", "answers after Loupe stopped waiting"),
    ("unanswered", "dropped", "requests of the server beyond those we answer at a time"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A server's row. state: never, connecting, connected, failed, lost, closed. `target` is shell-quoted or a URL.

    busy: ask again soon; since_ms: epoch, when the connect began (None: not begun here). changed: it is
    connected by an earlier definition. error: one line.
    """

    key: str
    name: str
    state: str
    word: str
    sev: str
    era: str
    version: str
    transport: str
    target: str
    cwd: str
    env: list[str]
    headers: list[str]
    source: str
    tools: int | None
    error: str
    layer: str
    busy: bool
    since_ms: int | None
    changed: bool
    warnings: list[str]

    @property
    def open(self) -> bool:
        return self.state in (CONNECTING, CONNECTED)


def line(server: Server, openings: Openings) -> Line:
    """The row of `server` as it stands now."""
    spec, opening = server.spec, openings.current(server.key)
    peer = server.connection.peer if server.connection is not None else None
    state = _state(server, opening)
    problem = _problem(server, openings, state)
    if problem is not None and state not in (FAILED, LOST):
        state = FAILED  # it failed before there was anything to connect, as with a missing value
    word, sev = _WORDS[state]
    return Line(
        key=server.key,
        name=spec.name,
        state=state,
        word=word,
        sev=sev,
        era=peer.era if peer is not None else "",
        version=peer.protocol_version if peer is not None else "",
        transport=_TRANSPORTS.get(spec.transport, "http"),
        target=spec.shown_target(),
        cwd=spec.cwd or "",
        env=sorted(spec.env),
        headers=sorted(spec.headers),
        source=spec.source,
        tools=server.tools,
        error=" ".join(problem.message.split()) if problem is not None else "",
        layer=problem.layer if problem is not None else "",
        busy=opening is not None or state == CONNECTING,
        since_ms=opening.since_ms if opening is not None else None,
        changed=state == CONNECTED and server.connection is not None and server.connection.spec != spec,
        warnings=warnings(spec),
    )


def _state(server: Server, opening: Opening | None) -> str:
    """The connect thread may not have made its connection yet, and may still list tools when it has."""
    if opening is not None and server.state != CONNECTED:
        return CONNECTING
    return server.state


def _problem(server: Server, openings: Openings, state: str) -> LoupeError | None:
    if state in (CONNECTING, CONNECTED, CLOSED):
        return None
    return server.error or openings.problem(server.key)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why it did not come up, or broke: the error, what is known about such errors, and the evidence."""

    message: str
    remedy: str
    layer: str
    row: ErrorEntry
    facts: list[tuple[str, str]]
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """A server's page. c: number of its connection; tried: steps of the negotiation as the macros take them."""

    line: Line
    c: int
    failure: Failure | None
    tried: list[dict[str, Any]]
    said: list[tuple[str, str]]
    capabilities: str
    server_info: str
    instructions: str | None
    connected: bool
    health: list[tuple[str, str, str]]
    waiting: list[tuple[str, str, str]]
    stderr: list[str]
    process: list[tuple[str, str]]
    elapsed_s: int | None


def detail(server: Server, openings: Openings) -> Detail:
    """Everything the page of one server shows."""
    row, connection = line(server, openings), server.connection
    peer = connection.peer if connection is not None else None
    problem = _problem(server, openings, server.state) if row.error else None
    return Detail(
        line=row,
        c=connection.c if connection is not None else -1,
        failure=failure(problem, server) if problem is not None else None,
        tried=_tried(connection, problem),
        said=_said(connection) if connection is not None and peer is not None else [],
        capabilities=_json(peer.capabilities) if peer is not None else "",
        server_info=_json(peer.server_info) if peer is not None else "",
        instructions=peer.instructions if peer is not None else None,
        connected=peer is not None,
        health=_health(connection) if connection is not None else [],
        waiting=_waiting(connection) if connection is not None else [],
        stderr=[],
        process=_process(connection) if connection is not None else [],
        elapsed_s=None if row.since_ms is None else max(0, int(time.time() - row.since_ms / 1000)),
    )


def _tried(connection: Connection | None, problem: LoupeError | None) -> list[dict[str, Any]]:
    """The negotiation's steps; when it failed before the first of them, what that was."""
    steps = list(connection.attempts) if connection is not None else []
    found: list[dict[str, Any]] = [
        {"ok": step.ok, "what": step.asked, "evidence": step.outcome} for step in steps
    ]
    if problem is not None and not found:
        what = _FIRST_STEP.get(problem.layer, "send the first request")
        found.append({"ok": False, "what": what, "evidence": problem.message})
    return found


def failure(problem: LoupeError, server: Server) -> Failure:
    """An error with its row of the table and its facts in words; env and header values are in none of them."""
    facts, spec = problem.facts, server.spec
    peer = server.connection.peer if server.connection is not None else None
    status = facts.get("status")
    row = explain(
        problem.code,
        era=peer.era if peer is not None else None,
        origin=problem.origin,
        http_status=status if isinstance(status, int) else None,
        layer=problem.layer,
    )
    shown = [("URL" if spec.url else "Command", spec.shown_target())]
    if spec.cwd:
        shown.append(("Folder", spec.cwd))
    if isinstance(facts.get("searched"), list) and facts["searched"]:
        shown.append(("Looked in", ", ".join(facts["searched"])))
    shown += [
        (label, str(facts[name])) for name, label in _FACTS.items() if facts.get(name) not in (None, "")
    ]
    if facts.get("body"):
        shown.append(("Body begins", " ".join(str(facts["body"]).split())[:BODY_SHOWN]))
    causes = http_causes(row, status, body=str(facts.get("body") or ""))
    remedy = ELSEWHERE if causes[0].startswith(NO_ENDPOINT) else problem.remedy
    about = subject(problem.layer, facts) if problem.origin != "peer" else ""
    shown.insert(0, ("Said by", f"Loupe; about {about}" if about else said_by(problem.origin)))
    return Failure(problem.message, remedy, problem.layer, row, shown, causes)


def _said(connection: Connection) -> list[tuple[str, str]]:
    """What the peer said of itself; what it left out is called absent, never filled in."""
    peer = connection.peer
    assert peer is not None
    info = peer.server_info or {}
    named = " ".join(str(info[key]) for key in ("name", "version") if info.get(key) is not None)
    said = [("Era", peer.era), ("Version", peer.protocol_version)]
    if peer.supported_versions is not None:
        said.append(("Supports", ", ".join(str(version) for version in peer.supported_versions)))
    said.append(("Server", named or "absent: it did not say who it is"))
    offered = ", ".join(peer.capabilities) if peer.capabilities else ""
    said.append(("Offers", offered or ("nothing" if peer.capabilities is not None else "absent")))
    return said


def _json(value: dict[str, Any] | None) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _health(connection: Connection) -> list[tuple[str, str, str]]:
    """(name, number, what it counts)."""
    stats = connection.link.stats
    rows = [
        ("frames in", num(stats.frames_in), size(stats.bytes_in)),
        ("frames out", num(stats.frames_out), size(stats.bytes_out)),
    ]
    rows += [(label, num(getattr(stats, name)), meaning) for name, label, meaning in _COUNTERS]
    rows.append(("waiting", num(len(connection.dispatcher.waiting)), "requests nobody has answered yet"))
    if isinstance(connection.transport, HttpTransport):
        streams = int(connection.transport.stream_open)
        rows.append(("streams open", num(streams), "notification streams the server may push on"))
    return rows


def _waiting(connection: Connection) -> list[tuple[str, str, str]]:
    """(id, method, how long) of requests nobody answered yet."""
    now = connection.link.journal.now_us()
    found = []
    for key, waiter in list(connection.dispatcher.waiting.items()):
        since = f"{(now - waiter.sent.at_us) / 1e6:,.1f} s" if waiter.sent is not None else "not sent yet"
        found.append((key, waiter.out.method or "", since))
    return found


def _process(connection: Connection) -> list[tuple[str, str]]:
    transport = connection.transport
    server = transport.server if isinstance(transport, StdioTransport) else None
    if server is None:
        return []
    outcome = server.outcome
    if "signal" in outcome:
        ended = f"ended by {outcome['signal']}"
    else:
        ended = f"exited with code {outcome['exit']}" if "exit" in outcome else "running"
    return [("Pid", str(server.pid)), ("State", ended), ("Runs", shlex.join(server.argv))]
