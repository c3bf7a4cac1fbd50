"""The Replay screen: choose recorded requests, edit them, choose a server, send them again. Flask request threads."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any, Final

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.calls import read_arguments
from inspector.console.replays import Order, Replay
from inspector.errors import FileError, UsageError
from inspector.replay.sessions import session_of
from inspector.trace.store import Session, Store
from inspector.web.frame import console, shell, store
from inspector.web.guard import spawns
from inspector.web.labels import labels
from inspector.web.render import is_partial
from inspector.web.replay_query import ERAS, MOST_PICKS, Query
from inspector.web.replay_stand_in import Wish, snippets
from inspector.web.replay_view import METHODS, View, fault_of

blueprint = Blueprint("replay", __name__)
OFFERED: Final = 100
RECENT: Final = 8
LARGEST: Final = 4 << 20
"""Characters of edited params."""


@blueprint.get("/replay")
def index() -> AnyResponse | str:
    """The screen; its inner part when htmx asks. `all`: tick everything the filter lets through."""
    query = asked()
    view = View(console(), store(), query, session_of(store(), query.session))
    notice = ""
    if request.args.get("all") == "1":
        matching = view.matching()
        if matching is not None:
            return redirect(url_for("replay.index") + query.href(picks=tuple(matching)))
        notice = f"More than {MOST_PICKS:,} requests pass this filter, too many for one replay: narrow it."
    return answered(view, notice=notice)


@blueprint.post("/replay/params")
def params() -> AnyResponse:
    """Keep the params typed for the open request, or say what is wrong with them; sends nothing."""
    query = asked(request.form)
    text = request.form.get("params", "")
    if query.e is None:
        raise UsageError("No request is open.", "Choose one in the list.")
    if "reset" in request.form:
        return moved(query.with_edit(query.e, None))
    query, problem = edited(query, query.e, text)
    return moved(query, 422 if problem else 200)


def edited(query: Query, seq: int, text: str) -> tuple[Query, str]:
    """The state with these params for a request, and what is wrong with them; those recorded are no edit.

    What is no JSON stays in the state too, so that nothing typed is lost; it is never sent.
    """
    if len(text) > LARGEST:
        raise UsageError(f"The params are longer than {LARGEST >> 20} million characters", "Shorten them")
    problem = fault_of(text)
    if problem:
        return query.with_edit(seq, console().replays.keep(text)), problem
    compact = str(read_arguments(text, "params"))
    opened = View(console(), store(), query, session_of(store(), query.session)).opened()
    same = opened is not None and compact == str(read_arguments(opened.recorded, "params"))
    return query.with_edit(seq, None if same else console().replays.keep(compact)), ""


@blueprint.post("/replay/run")
@spawns
def run() -> AnyResponse:
    """Send what is ticked; the page of the run. `one`: only the open request; `typed`: its params, not kept yet."""
    query = asked(request.form)
    if "typed" in request.form and query.e is not None:
        query, problem = edited(query, query.e, request.form["typed"])
        if problem:
            return moved(query, 422)
    if "one" in request.form and query.e is not None:
        query = replace(query, picks=(query.e,))
    view = View(console(), store(), query, session_of(store(), query.session))
    try:
        replay = console().replays.start(order_of(view))
    except UsageError as problem:
        return answered(view, notice=f"{problem.message} {problem.remedy}", status=422)
    return redirect(url_for("replay_runs.show", id=replay.id), 303)


def order_of(view: View) -> Order:
    """What the form asks for. Raises UsageError when it cannot be sent at all."""
    query, aim = view.query, view.aim
    if aim.server is None or aim.problem:
        raise UsageError(aim.problem, "Connect it on the Servers screen, or choose another server.")
    if query.rules.problem:
        raise UsageError(query.rules.problem, "Mend the ignored paths.")
    choice = view.choice()
    confirmed = "confirmed" in request.form
    if choice.lost:
        raise UsageError(
            f"The edited params of {', '.join(f'#{seq}' for seq in choice.lost)} are gone: Loupe was started anew.",
            "Open each and edit it again, or take the recorded params.",
        )
    if choice.faulty:
        raise UsageError(
            f"The params of {', '.join(f'#{seq}' for seq in choice.faulty)} are no JSON object.",
            "Mend them, or take the recorded params.",
        )
    if choice.seqs and not choice.sendable:
        raise UsageError("None of the chosen exchanges can be sent.", "Each says why; choose others.")
    if choice.waiting and not confirmed and choice.sendable == choice.waiting:
        raise UsageError(
            "All that is chosen may change something on the server.",
            "Tick that they may be sent, where running them twice does no harm.",
        )
    peer = aim.server.connection.peer if aim.server.connection is not None else None
    own = query.era if peer is not None and query.era != peer.era else ""
    return Order(
        source_name(view.recording), aim.server.key, aim.server.spec.name, view.planned(), query.rules.lines,
        query.rules.volatile, own, confirmed, request.form.get("token", ""),
    )  # fmt: skip


def source_name(session: Session) -> str:
    return f"session {session.id} ({session.started_at[:16].replace('T', ' ')})"


# --- the page


def asked(args: Any = None) -> Query:
    return Query.read(request.args if args is None else args, console().recorder.session)


def answered(view: View, *, notice: str = "", status: int = 200) -> AnyResponse:
    """The screen, whole or its inner part. notice: why something was not done."""
    context = screen(view, notice)
    if is_partial():
        answer = make_response(render_template("replay/_replay.html", **context), status)
        answer.headers["HX-Push-Url"] = url_for("replay.index") + view.query.href()
        return answer
    return make_response(render_template("replay/page.html", shell=framed(view), **context), status)


def moved(query: Query, status: int = 200) -> AnyResponse:
    """The screen in another state, after a form: a redirect when all is well, else the screen itself."""
    if not is_partial() and status == 200:
        return redirect(url_for("replay.index") + query.href(), 303)
    return answered(View(console(), store(), query, session_of(store(), query.session)), status=status)


def screen(view: View, notice: str = "") -> dict[str, Any]:
    """The context of replay/_replay.html."""
    lines, after, searched = view.page()
    servers = console().servers()
    return {
        "query": view.query, "recording": view.recording, "sessions": offered(store(), view.query.session),
        "connections": view.connections, "lines": lines, "after": after, "searched": searched,
        "methods": METHODS, "aim": view.aim, "servers": servers, "names": labels(servers), "ERAS": ERAS,
        "opened": view.opened(), "choice": view.choice(), "notice": notice,
        "token": secrets.token_hex(8), "current": console().recorder.session, "recent": recent(),
        "counts": store().counts(view.query.session),
    }  # fmt: skip


def offered(reader: Store, named: int) -> list[Session]:
    """The newest recordings, and the one the address names, however old."""
    known = reader.sessions()
    return [each for at, each in enumerate(known) if at < OFFERED or each.id == named]


def recent() -> list[Replay]:
    return console().replays.recent()[:RECENT]


def framed(view: View) -> Any:
    """The page's frame, about the server that is sent to."""
    return shell("replay", view.aim.server.key if view.aim.server is not None else None)


# --- a recording in a server's place


@blueprint.get("/replay/stand-in")
def stand_in() -> str:
    """The command and the configuration that serve a recording as an MCP server; starts nothing."""
    query = asked()
    session = session_of(store(), query.session)
    connections = store().connections(session.id)
    wish = Wish.read(request.args)
    try:
        found = snippets(console().paths, session, connections, wish)
    except FileError as problem:
        found, wish = None, replace(wish, problem=f"{problem.message} {problem.remedy}")
    return render_template(
        "replay/stand_in.html", shell=shell("replay"), query=query, recording=session, connections=connections,
        sessions=offered(store(), session.id), wish=wish, found=found, current=console().recorder.session,
    )  # fmt: skip
