"""What page.html shows around every screen, gathered from the console. Request threads."""

from __future__ import annotations

import hashlib
import statistics
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, g, make_response, render_template, request, url_for
from flask.blueprints import BlueprintSetupState
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.console import Console, Server
from inspector.console.recorded import session_of_key
from inspector.errors import UsageError
from inspector.trace.filters import Filter
from inspector.trace.store import Store
from inspector.web.labels import labels, marks
from inspector.web.render import Fact, RailServer, Recording, Screen, Shell, short_size
from inspector.web.render import ms as short_ms
from inspector.web.rows import Known, view
from inspector.web.verdicts import invalid_outputs
from inspector.wire.connection import CONNECTED
from inspector.wire.listing import offers

blueprint = Blueprint("frame", __name__)
PINNED = 60
FLUSH_S: Final = 0.5
"""How long a page waits for what is being recorded. In a flood it shows what is there by then, and follows."""
STATES = {
    "connected": "ok",
    "connecting": "busy",
    "failed": "error",
    "lost": "error",
    "closed": "off",
    "never": "off",
    "recorded": "off",
}


def console() -> Console:
    """The console this application shows."""
    found = current_app.extensions["console"]
    assert isinstance(found, Console)
    return found


def store() -> Store:
    """This request's reader, of all that happened before it; closed at teardown."""
    if "store" not in g:
        recorder = console().recorder
        if recorder.backlog:
            recorder.flush(FLUSH_S)
        g.store = console().store()
    found = g.store
    assert isinstance(found, Store)
    return found


def close_store(_error: BaseException | None = None) -> None:
    """Registered as teardown by the application."""
    found = g.pop("store", None)
    if found is not None:
        found.close()


def screens(key: str | None) -> list[Screen]:
    """The screens that exist, with the current server kept in their links; one out of a file cannot be called."""
    session = session_of_key(key or "")
    call = url_for("calls.show", key=key) if key and session is None else url_for("calls.index")
    catalog = url_for("catalog.show", key=key, what="tools") if key else url_for("catalog.index")
    replay = url_for("replay.index", to=key if session is None else None, session=session)
    return [
        Screen("servers", "Servers", url_for("servers.index"), "servers", 1),
        Screen("catalog", "Catalog", catalog, "catalog", 2),
        Screen("call", "Call", call, "call", 3),
        Screen("timeline", "Timeline", url_for("timeline.show", server=key, session=session), "timeline", 4),
        Screen("replay", "Replay", replay, "replay", 5),
        Screen("compare", "Compare", url_for("compare.index", a=key), "compare", 6),
        Screen("lab", "Lab", url_for("lab.index", catalog=key), "lab", 7),
        Screen("traces", "Traces", url_for("traces.index"), "traces", 8),
        Screen("code", "Code", url_for("code.index", server=key), "code", 9),
    ]


def first_key() -> str | None:
    """The server a screen opens with when its address names none: the first connected one, else the first."""
    servers = console().servers()
    open_ones = (s for s in servers if s.connection is not None and s.connection.state == CONNECTED)
    found = next(open_ones, servers[0] if servers else None)
    return found.key if found is not None else None


def shell(screen: str, key: str | None = None, *, pin: bool = True) -> Shell:
    """The frame for a screen about server `key` (or about none)."""
    servers = console().servers()
    current = next((server for server in servers if server.key == key), None) or _of_a_file(key)
    named = labels(servers)
    short = marks(named)
    entries = [
        rail(server, screen, server.key == key, named[server.key], short[server.key]) for server in servers
    ]
    found = Shell(screen, screens(key), entries)
    found.recording = recording()
    found.palette = url_for("timeline.palette")
    if current is not None and current.session is not None:
        found.subject, found.target = current.spec.name, f"out of {current.spec.source}"
        found.status = [Fact("recording of a file: nothing here is live", icon="traces"), recorder_fact()]
    elif current is not None:
        found.subject = named[current.key]
        found.target = f"{current.spec.transport} · {current.spec.shown_target()}"
        found.status = status(current)
    else:
        found.status = overall(servers)
    found.pulse = url_for("frame.pulse", screen=screen, server=key, seen=_digest(found))
    if pin and (current is None or current.session is None):
        _pin(found, current)
    health = console().recorder.health()
    if health.error is not None:
        found.notice = f"Recording stopped: {health.error} {health.dropped:,} events are not recorded."
    return found


def _of_a_file(key: str | None) -> Server | None:
    """A server out of an opened file; None when it is none, or its file was deleted."""
    if session_of_key(key or "") is None:
        return None
    with suppress(UsageError):
        return console().shown(key or "")
    return None


def _digest(found: Shell) -> str:
    """What the moving parts of the frame show, so that an unchanged one costs the page nothing."""
    shown = repr((found.servers, found.status, found.recording)).encode()
    return hashlib.blake2b(shown, digest_size=8).hexdigest()


@blueprint.record_once
def install(state: BlueprintSetupState) -> None:
    state.app.extensions["shell"] = _around_an_error


def _around_an_error() -> Shell:
    """The frame of an error page: of the server the address names, when there is such a one."""
    key = (request.view_args or {}).get("key")
    known = _of_a_file(key) or any(server.key == key for server in console().servers())
    return shell("", key if known else None, pin=False)


@blueprint.get("/frame")
def pulse() -> AnyResponse:
    """The rail, the status line and the recorder's count, when they differ from what the page has; else 204."""
    screen = request.args.get("screen", "")
    newer = shell(screen, server_of_request(), pin=False)
    if newer.pulse.endswith(f"seen={request.args.get('seen', '')}"):
        return Response(status=204)
    return make_response(render_template("_frame.html", shell=newer))


def _pin(found: Shell, current: Server | None) -> None:
    """The last events of the current server, and the socket that brings the next ones."""
    c = current.connection.c if current is not None and current.connection is not None else None
    session = console().recorder.session
    # An unconnected server has no events of this run; another's must not be shown as its own.
    wanted = Filter(c=(c,)) if c is not None else (Filter(c=(-1,)) if current is not None else Filter())
    newest = store().last_seq(session)  # before the rows: what comes between is pushed, not lost
    rows = store().page(session, wanted, after=None, before=None, limit=PINNED)
    known = Known(invalid=invalid_outputs(console(), rows))
    found.pin = [view(row, href=event_link(current, row.seq), known=known) for row in rows]
    counts = store().counts(session, c) if c is not None or current is None else {}
    found.pin_errors = counts.get("errors", 0)
    found.pin_line = found.subject if current is not None else "all servers"
    since = max(newest, found.pin[-1].seq if found.pin else 0)
    query: dict[str, Any] = {"view": "mini", "after": since}
    if current is not None:
        query |= {"server": current.key, "c": c if c is not None else -1}
    found.live = f"/live?{urlencode(query)}"


def event_link(server: Server | None, seq: int) -> str:
    """The timeline with one event open."""
    key, session = (server.key, server.session) if server is not None else (None, None)
    return url_for("timeline.show", e=seq, server=key, session=session) + f"#e{seq}"


def rail(server: Server, screen: str, on: bool, label: str, mark: str) -> RailServer:
    """A server's line in the rail; its link keeps the screen."""
    peer = server.connection.peer if server.connection is not None else None
    transport = {"streamable-http": "http"}.get(server.spec.transport, server.spec.transport)
    line = f"{peer.era} · {transport}" if peer is not None else transport
    if server.state in ("failed", "lost", "connecting", "closed"):
        line = f"{transport} · {server.state}"
    return RailServer(
        label,
        _same_screen(server.key, screen),
        STATES[server.state],
        line,
        server.tools,
        on,
        mark=mark,
    )


def _same_screen(key: str, screen: str) -> str:
    if screen == "catalog":
        return url_for("catalog.show", key=key, what="tools")
    if screen == "call":
        return url_for("calls.show", key=key)
    if screen == "timeline":
        return url_for("timeline.show", server=key)
    if screen == "replay":
        return url_for("replay.index", to=key)
    if screen == "lab":
        return url_for("lab.index", catalog=key)
    return url_for("servers.show", key=key)


def recording() -> Recording:
    health = console().recorder.health()
    if health.state == "recording":
        return Recording(True, "Rec", f"{health.committed_seq:,} events")
    return Recording(False, "Rec failed" if health.state == "failed" else "Not recording", health.error or "")


def current_label(key: str) -> str:
    """What the server is called on the screens."""
    if (recorded := _of_a_file(key)) is not None:
        return recorded.spec.name
    return labels(console().servers()).get(key, key)


def status(server: Server) -> list[Fact]:
    """The status line of a server: connection, era, round trip, frames, bytes, recorder."""
    facts = [Fact(server.state if server.state != "never" else "not connected", sev=_sev(server.state))]
    connection = server.connection
    if connection is not None and connection.peer is not None:
        stats = connection.link.stats
        facts.append(Fact(f"{connection.peer.era} · {connection.peer.protocol_version}"))
        if fact := round_trip(list(stats.rtts), listed_first=offers(connection, "tools")):
            facts.append(fact)
        facts.append(Fact(f"{stats.frames_in + stats.frames_out:,} frames"))
        facts.append(Fact(f"{short_size(stats.bytes_in)} in · {short_size(stats.bytes_out)} out"))
        if waiting := len(console().asking.waiting(server.key)):
            asks = f"{waiting} question{'s' if waiting > 1 else ''} of the server: see Call"
            facts.append(Fact(asks, sev="warn"))
        if stats.noise:
            facts.append(Fact(f"{stats.noise:,} noise on stdout", icon="noise", sev="warn"))
    return [*facts, recorder_fact(), *streaming_facts()]


def round_trip(rtts: list[float], *, listed_first: bool) -> Fact | None:
    """The median and 95th percentile of a connection's round trips, and of how many; None without any.

    listed_first: the first one is the list Loupe asks for by itself while the server still starts up, so it says
    nothing of the server and is left out. Once the oldest have rolled off it is gone anyway.
    """
    ordered = sorted(rtts[1:] if listed_first else rtts)
    if not ordered:
        return None
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    of = f"p95 {short_ms(p95)} · {len(ordered):,} requests" if len(ordered) > 1 else "1 request"
    return Fact(f"RTT {short_ms(statistics.median(ordered))} ms", dim=of)


def overall(servers: list[Server]) -> list[Fact]:
    """The status line where no server is current: how many are connected, how many failed."""
    connected = sum(server.state == "connected" for server in servers)
    failed = sum(server.state in ("failed", "lost") for server in servers)
    facts = [Fact(f"{connected} connected", sev="ok" if connected else "")]
    if failed:
        facts.append(Fact(f"{failed} failed", sev="err"))
    return [*facts, recorder_fact(), *streaming_facts()]


def streaming_facts() -> list[Fact]:
    """How streaming to a collector goes, when that was asked for."""
    exporter = console().streaming
    if exporter is None:
        return []
    health = exporter.health()
    lost = health.dropped + health.unseen
    spans = f"{health.sent:,} spans"
    logs = [f"{health.records:,} log records"] if health.records else []
    more = [f"{spans} sent", *logs] if lost else logs
    more += [f"{health.waiting:,} waiting"] if health.waiting else []
    more += [health.error] if health.error else []
    text = f"OTLP {lost:,} dropped" if lost else f"OTLP {spans}"
    return [Fact(text, dim=" · ".join(more), sev="warn" if lost or health.error else "ok")]


def recorder_fact() -> Fact:
    healthy = console().recorder.health().state == "recording"
    return Fact("recorder healthy" if healthy else "recorder failed", sev="ok" if healthy else "err")


def _sev(state: str) -> str:
    return {"connected": "ok", "failed": "err", "lost": "err"}.get(state, "")


def server_of_request() -> str | None:
    """The server a query string names, when there is such a server."""
    key = request.args.get("server")
    known = _of_a_file(key) or any(server.key == key for server in console().servers())
    return key if key and known else None
