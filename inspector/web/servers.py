"""The Servers screen: the list, adding and changing a server, connecting it, one server's page. Request threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from inspector.errors import ConfigError, UsageError
from inspector.settings.found import discover
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import DEMOS, demo_spec, same_server
from inspector.trace.filters import Filter
from inspector.web.frame import console, current_label, shell, store
from inspector.web.guard import spawns
from inspector.web.labels import labels
from inspector.web.listing import text_of
from inspector.web.render import is_partial
from inspector.web.servers_forms import (
    DECLARES,
    Draft,
    FormErrors,
    draft_of,
    is_json,
    pasted_json,
    read_draft,
    spec_of,
)
from inspector.web.servers_import import chooser, imports
from inspector.web.servers_preview import Preview, digest, needs_look, preview
from inspector.web.servers_state import state
from inspector.web.servers_tap import tap_line
from inspector.web.servers_view import STDERR_SHOWN, Detail, Line, detail, line
from inspector.web.signing import signing_of
from inspector.web.traces_view import shipped

blueprint = Blueprint("servers", __name__)
blueprint.register_blueprint(imports)

AT_ONCE_S = 1.5
"""A connect that ends this soon leads straight to the catalog."""
NOISE_SHOWN = 120
DEMO_WORDS = {
    "flat": "the tools of a made-up company, all listed at once",
    "progressive": "the same tools behind a few that find them",
    "cache-hints": "lists with ttlMs and cacheScope, to watch freshness",
    "chaos": "a server of faults, to see how each one looks",
    "logs": "10,000 log entries with seven messages, for code mode",
    "tracker": "an issue tracker whose fourth issue fails, for code mode",
}


def to(path: str) -> Response:
    """Send the browser on: htmx follows a header, a plain form the 303."""
    if is_partial():
        answer = make_response("")
        answer.headers["HX-Redirect"] = path
        return answer
    return redirect(path, 303)


def lines() -> list[Line]:
    servers = console().servers()
    named = labels(servers)
    return [replace(line(server, state().openings), name=named[server.key]) for server in servers]


# --- the list


@blueprint.get("/")
def home() -> Response:
    """Where people start: what the first server that is up lists; why it is not, when none is; or how to add one."""
    servers = console().servers()
    up = (each for each in servers if each.state in ("connected", "connecting"))
    first = next(up, servers[0] if servers else None)
    if first is None:
        return redirect(url_for(".index"), 302)
    if first.state in ("failed", "lost"):
        return redirect(url_for(".show", key=first.key), 302)
    return redirect(url_for("catalog.show", key=first.key, what="tools"), 302)


@blueprint.get("/servers")
def index() -> str:
    return list_page(Draft())


def list_page(draft: Draft, errors: dict[str, str] | None = None, look: Preview | None = None) -> str:
    """The whole screen, with the form as it was typed."""
    rows, here = lines(), state()
    known = {row.key: row for row in rows}
    problems: list[str] = console().servers_file.problems()
    return render_template(
        "servers/index.html",
        shell=shell("servers"),
        lines=rows,
        problems=problems,
        file=console().servers_file.path,
        swept=[] if here.swept_read else console().swept,
        removed=[(key, here.removed[key]) for key in request.args.getlist("removed") if key in here.removed],
        added=[known[key] for key in request.args.getlist("added") if key in known],
        found=discover(),
        demos=[(name, DEMO_WORDS[name]) for name in DEMOS if name in DEMO_WORDS],
        shipped=shipped(),
        declares=DECLARES,
        draft=draft,
        errors=errors or {},
        look=look,
        editing="",
    )


@blueprint.get("/servers/<key>/row")
def row(key: str) -> str:
    """What changed in one row, and around it; asked for while a connect is under way."""
    return changed([key])


def changed(keys: Sequence[str]) -> str:
    """Parts for the rows of `keys` and the rail."""
    return render_template(
        "servers/_changed.html",
        shell=shell("servers", pin=False),
        lines=[one for one in lines() if one.key in keys],
    )


@blueprint.post("/servers/swept/dismiss")
def dismiss_swept() -> Response | str:
    state().swept_read = True
    return "" if is_partial() else to(url_for(".index"))


# --- adding and changing


@blueprint.post("/servers/add")
@spawns
def add() -> Response | str:
    """Check (show what would run), save, or connect what the form describes."""
    draft = read_draft(request.form, request.form.getlist("declare"))
    try:
        if is_json(draft.target):
            imported = pasted_json(draft.target)
            if len(imported.specs) != 1 or imported.problems or imported.unresolved:
                return whole(chooser(imported, text=draft.target))
            pasted = imported.specs[0]
            return form_answer(draft_of(pasted, masked=False), {}, preview(pasted))
        return take(draft, spec_of(draft), "")
    except FormErrors as problem:
        return form_answer(draft, problem.errors, None, status=422)


@blueprint.route("/servers/<key>/edit", methods=["GET"])
def edit(key: str) -> str:
    return edit_page(key, draft_of(console().servers_file.get(key)))


@blueprint.post("/servers/<key>/edit")
@spawns
def change(key: str) -> Response | str:
    """As `add`, for a server that exists; masked values stay."""
    draft = read_draft(request.form, request.form.getlist("declare"))
    try:
        return take(draft, spec_of(draft, console().servers_file.get(key)), key)
    except FormErrors as problem:
        return form_answer(draft, problem.errors, None, key, status=422)


def take(draft: Draft, spec: ServerSpec, key: str) -> Response | str:
    """Do what the pressed button says. Connecting needs the look: the digest of what was shown."""
    do, shown = request.form.get("do", "check"), digest(spec)
    if do == "connect" and request.form.get("seen") == shown:
        key = keep(spec, key)
        state().seen.add(shown)
        state().openings.begin(console(), key)
        return to(landing(key))
    if do == "save":
        key = keep(spec, key)
        return to(url_for(".index", added=key))
    return form_answer(draft, {}, preview(spec), key)


def keep(spec: ServerSpec, key: str) -> str:
    """Write the definition; a connection whose key changes with its name ends. Raises FormErrors."""
    try:
        if not key:
            return console().servers_file.add(spec)
        new_key = console().servers_file.replace(key, spec)
    except ConfigError as problem:
        raise FormErrors({"form": f"{problem.message} {problem.remedy}"}) from None
    if new_key != key:
        console().disconnect(key)
        console().catalogs.forget(key)
    state().openings.forget(key)
    return new_key


def form_answer(
    draft: Draft, errors: dict[str, str], look: Preview | None, key: str = "", *, status: int = 200
) -> Response:
    """The form again, alone for htmx, on its page for a plain form."""
    if is_partial():
        text = render_template(
            "servers/_form.html", draft=draft, errors=errors, look=look, editing=key, declares=DECLARES
        )
    else:
        text = edit_page(key, draft, errors, look) if key else list_page(draft, errors, look)
    return make_response(text, status)


def edit_page(
    key: str, draft: Draft, errors: dict[str, str] | None = None, look: Preview | None = None
) -> str:
    return render_template(
        "servers/edit.html",
        shell=shell("servers", key),
        name=console().servers_file.get(key).name,
        draft=draft,
        errors=errors or {},
        look=look,
        editing=key,
        declares=DECLARES,
    )


def whole(page: str) -> Response:
    """A whole page as the answer to any kind of request."""
    answer = make_response(page)
    if is_partial():
        answer.headers["HX-Retarget"] = "body"
        answer.headers["HX-Reswap"] = "innerHTML"
    return answer


@blueprint.post("/servers/demo")
@spawns
def demo() -> Response:
    """Add one of the servers we ship, unless it is there, and connect it; back to the Lab when it was asked for there."""
    spec = demo_spec(request.form.get("name", ""))
    known = console().servers_file.all()
    key = same_server(spec, known)
    if key is None:
        key = console().servers_file.add(spec)
    elif known[key].argv != spec.argv:  # of another environment, which may be gone
        key = console().servers_file.replace(
            key, replace(known[key], argv=spec.argv, env=spec.env, source=spec.source)
        )
    state().openings.begin(console(), key)
    if request.form.get("to") == "lab":
        state().openings.wait(key, AT_ONCE_S)
        return to(url_for("lab.index", catalog=key, edit="1"))
    return to(landing(key))


# --- connecting


def landing(key: str) -> str:
    """Where a connect leads: what the server lists, when that is there at once; else its page, which follows it."""
    state().openings.wait(key, AT_ONCE_S)
    server = console().server(key)
    if server.state == "connected" and state().openings.current(key) is None:
        return url_for("catalog.show", key=key, what="tools")
    return url_for(".show", key=key)


@blueprint.post("/servers/connect")
@spawns
def connect() -> Response | str:
    """Connect (or reconnect) the servers named `key`; those that need a look first are shown before they start."""
    keys, seen = request.form.getlist("key"), set(request.form.getlist("seen"))
    ready: list[str] = []
    pending: list[str] = []
    for key in keys:
        spec = console().servers_file.get(key)
        shown = digest(spec)
        (pending if needs_look(spec) and shown not in seen | state().seen else ready).append(key)
    for key in ready:
        state().seen.add(digest(console().servers_file.get(key)))
        state().openings.begin(console(), key)
    if pending:
        return to(url_for(".confirm", key=pending))
    return after(ready)


def after(keys: Sequence[str]) -> Response | str:
    """Where a row's or page's button leads: parts of the list, the page it was pressed on."""
    if is_partial():
        return changed(keys)
    if request.form.get("from") == "list" or len(keys) != 1:
        return to(url_for(".index"))
    return to(landing(keys[0]))


@blueprint.get("/servers/connect/confirm")
def confirm() -> str:
    """What connecting the named servers will run."""
    specs = [(key, console().servers_file.get(key)) for key in request.args.getlist("key")]
    return render_template(
        "servers/confirm.html",
        shell=shell("servers"),
        looks=[(key, preview(spec)) for key, spec in specs],
    )


@blueprint.post("/servers/<key>/stop")
@spawns
def stop(key: str) -> Response | str:
    """End the connection and its process; a connect under way is cancelled."""
    console().servers_file.get(key)
    console().disconnect(key)
    return after([key])


@blueprint.post("/servers/<key>/duplicate")
def duplicate(key: str) -> Response:
    return to(url_for(".edit", key=console().servers_file.duplicate(key)))


@blueprint.post("/servers/<key>/remove")
@spawns
def remove(key: str) -> Response:
    """Take it out of the list, with an undo; what was recorded stays."""
    here = state()
    if here.openings.current(key) is not None:
        raise UsageError("This server is still connecting.", "Cancel that first, then remove it.")
    keys = [*console().servers_file.all(), None]
    here.before[key] = keys[keys.index(key) + 1] if key in keys else None
    here.removed[key] = console().remove(key)
    here.openings.forget(key)
    return to(url_for(".index", removed=key))


@blueprint.post("/servers/removed/<key>/restore")
def restore(key: str) -> Response:
    spec = state().removed.pop(key, None)
    if spec is None:
        raise UsageError("There is nothing to put back.", "It was restored already, or Loupe was restarted.")
    return to(url_for(".index", added=console().servers_file.add(spec, before=state().before.pop(key, None))))


# --- one server


@blueprint.get("/servers/<key>")
def show(key: str) -> str:
    tap = tap_line(key, console().server(key).spec, console().paths)
    return render_template("servers/show.html", shell=shell("servers", key), tap=tap, **page_of(key))


@blueprint.get("/servers/<key>/state")
def live_state(key: str) -> Response | str:
    """The part of the page that moves. `c` is the connection the page was made for: another one needs a new page."""
    context = page_of(key)
    found: Detail = context["d"]
    if request.args.get("c") != str(found.c) and not found.line.busy:
        return to(url_for(".show", key=key))
    return render_template(
        "servers/_state.html", shell=shell("servers", key, pin=False), around=True, **context
    )


def page_of(key: str) -> dict[str, Any]:
    """What the page of one server shows: its state, and what a start would run."""
    server = console().server(key)
    found = detail(server, state().openings)
    found = replace(found, line=replace(found.line, name=current_label(key)), stderr=last_stderr(found.c))
    return {
        "d": found,
        "look": preview(server.spec),
        "noise": last_noise(found.c),
        "signing": signing_of(server),
    }


def last_stderr(c: int) -> list[str]:
    """The last lines of the connection's process; of its last process, when it was started twice."""
    wanted = Filter(c=(c,), t=frozenset({"stderr", "proc"}))
    rows = store().page(console().recorder.session, wanted, limit=STDERR_SHOWN) if c > 0 else []
    starts = [at for at, row in enumerate(rows) if row.body.get("what") in ("spawned", "restarted")]
    return [text_of(row) for row in rows[starts[-1] if starts else 0 :] if row.t == "stderr"]


def last_noise(c: int) -> str:
    """The last text on stdout, or in an HTTP body, that was no frame; empty when there was none."""
    wanted = Filter(c=(c,), t=frozenset({"noise"}))
    found = store().page(console().recorder.session, wanted, limit=1) if c > 0 else []
    return text_of(found[0])[:NOISE_SHOWN] if found else ""
