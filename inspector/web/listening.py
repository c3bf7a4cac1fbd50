"""The Client tab: what we listen for, what we add to requests, which answers are saved. Flask request threads."""

from __future__ import annotations

from concurrent.futures import wait

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.answering import ROOTS
from inspector.console.console import Server
from inspector.console.subscriptions import LISTS, OPEN, Subscription
from inspector.errors import UsageError
from inspector.protocol import eras
from inspector.settings.answers import digest
from inspector.web.calls_links import kinds
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.render import is_partial
from inspector.web.servers_forms import DECLARES
from inspector.wire.connection import CONNECTED, Connection
from inspector.wire.extras import LEVELS

blueprint = Blueprint("listen", __name__)

LIST_WORDS = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}
OPENED_S = 0.5
MOST_URIS = 100
ROOTS_CHANGED = "notifications/roots/list_changed"
NOTIFY_S = 10.0


@blueprint.get("/call/<key>/client")
def show(key: str) -> str:
    """What this client does for the server besides calling. Query: uri (to listen for)."""
    server = console().server(key)
    peer = server.connection.peer if server.connection is not None else None
    return render_template(
        "calls/client.html",
        shell=shell("call", key),
        server=server,
        key=key,
        kinds=kinds(server, "client"),
        live=server.state == CONNECTED,
        modern=peer is not None and peer.era == eras.MODERN,
        declares=DECLARES,
        extras=console().extras(key),
        levels=LEVELS,
        roots=_roots(key),
        saved=console().asking.answers.all(key),
        declines=console().asking.answers.declines(key),
        uri=request.args.get("uri", ""),
        **_streams(server),
    )


@blueprint.get("/call/<key>/client/streams")
def streams(key: str) -> AnyResponse:
    """The subscriptions as they stand; 204 when nothing came since `seen`."""
    found = _streams(console().server(key))
    if request.args.get("seen") == found["seen"]:
        return Response(status=204)
    return make_response(render_template("calls/_streams.html", key=key, **found))


@blueprint.post("/call/<key>/client/listen")
@spawns
def listen(key: str) -> AnyResponse:
    """Begin to listen."""
    uris = [line.strip() for line in request.form.get("uris", "").splitlines() if line.strip()]
    if len(uris) > MOST_URIS:
        raise UsageError(f"{len(uris)} resources are too many for one subscription", f"At most {MOST_URIS}")
    found = console().subscriptions.begin(_connection(key), key, uris, request.form.getlist("lists"))
    if not found.modern:
        wait([found.future], OPENED_S)  # the page follows what takes longer
    return _back(key)


@blueprint.post("/call/<key>/client/end/<id>")
@spawns
def end(key: str, id: str) -> AnyResponse:
    """Stop listening."""
    if console().subscriptions.get(id).server_key != key:
        raise UsageError(f"{id} is no subscription of this server", "End it on that server's page")
    console().subscriptions.end(console().server(key).connection, id)
    return _back(key)


@blueprint.post("/call/<key>/client/extras")
@spawns
def change(key: str) -> AnyResponse:
    """What is added to each request from now on, and whether questions are declined unasked. Changed roots are told."""
    server = console().server(key)
    level = request.form.get("level", "")
    extras = console().extras(server.key)
    extras.log_level = level if level in LEVELS else None
    extras.trace = "trace" in request.form
    answers = console().asking.answers
    answers.set_declines(key, "declines" in request.form)
    roots = [{"uri": line.strip()} for line in request.form.get("roots", "").splitlines() if line.strip()]
    before = _roots(key)
    if roots:
        answers.save(key, ROOTS, {}, "result", {"roots": roots})
    else:
        answers.forget(key, digest(ROOTS, {}))
    if _roots(key) != before:
        _tell_roots_changed(server)
    return redirect(url_for(".show", key=key, said="saved"), 303)


def _tell_roots_changed(server: Server) -> None:
    """In the handshake era the server hears that its roots changed; in the modern one it asks in each call anew."""
    connection = server.connection
    peer = connection.peer if connection is not None and server.state == CONNECTED else None
    handshake = peer is not None and peer.era == eras.HANDSHAKE
    if connection is not None and handshake and "roots" in server.spec.declare:
        connection.run(connection.dispatcher.notify, ROOTS_CHANGED, None, "user", timeout=NOTIFY_S)


@blueprint.post("/call/<key>/client/forget")
def forget(key: str) -> AnyResponse:
    """Drop a saved answer."""
    console().asking.answers.forget(console().server(key).key, request.form.get("digest", ""))
    return _back(key)


def _roots(key: str) -> str:
    """The folders that are saved as the answer to roots/list, a URI a line."""
    kept = console().asking.answers.find(key, ROOTS, {})
    listed = kept.body.get("roots") if kept is not None and isinstance(kept.body, dict) else None
    return "\n".join(str(one.get("uri")) for one in listed or [] if isinstance(one, dict))


def _connection(key: str) -> Connection:
    return console().connection(key)


def _streams(server: Server) -> dict[str, object]:
    found = console().subscriptions.of(server.key)
    seen = ".".join(f"{one.id}:{one.state}:{one.count}" for one in found)
    return {"found": found, "seen": seen or "none", "about": about, "open_state": OPEN, "lists": LIST_WORDS}


def about(subscription: Subscription) -> str:
    """What a subscription is for, in words."""
    parts = [f"changes of the list of {LIST_WORDS[name]}" for name in LISTS if subscription.wanted.get(name)]
    return ", ".join([*parts, *subscription.wanted.get("resourceSubscriptions", [])])


def _back(key: str) -> AnyResponse:
    if is_partial():
        return make_response(
            render_template("calls/_streams.html", key=key, **_streams(console().server(key)))
        )
    return redirect(url_for("listen.show", key=key), 303)
