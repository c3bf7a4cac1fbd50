"""The Call screen: choose a tool, prompt or resource, fill in its arguments, run it, read what came. Request threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Final

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.calls import MOST_RUNS, Call
from inspector.console.console import Server
from inspector.console.tasks import support_of
from inspector.errors import UsageError
from inspector.protocol.eras import HANDSHAKE
from inspector.web.apps import app_of
from inspector.web.calls_address import options_of
from inspector.web.calls_kinds import (
    BROKEN,
    METHOD,
    NOUNS,
    PROMPTS,
    TEMPLATES,
    TOOLS,
    facts_of,
    what_of,
)
from inspector.web.calls_known import definition as definition_of_item
from inspector.web.calls_known import found as found_items
from inspector.web.calls_known import left_out_of
from inspector.web.calls_links import address, call_of, kinds
from inspector.web.calls_post import (
    Options,
    Order,
    Wrong,
    pane_of,
    posted_options,
    posted_order,
    posted_timeout,
    typed,
)
from inspector.web.calls_result import Shown, raw_answer, shown_call
from inspector.web.calls_view import (
    Arguments,
    Hint,
    Tools,
    confirmation,
    hints_of,
    type_words,
)
from inspector.web.downloads import download
from inspector.web.frame import console, first_key, shell
from inspector.web.guard import spawns
from inspector.web.headlines import headline
from inspector.web.questions import view_of
from inspector.web.render import is_partial
from inspector.web.results import octets_of

blueprint = Blueprint("calls", __name__)

AT_ONCE_S: Final = 0.3
"""A call that ends this soon is answered with its result, without polling."""
HISTORY: Final = 20


@dataclass(frozen=True, slots=True)
class Bench:
    """The middle of the screen: one tool and what would be sent. listed: its definition is known.

    what: the list it is of; uri: the resource's, when another name stands for it. facts: (name, text) beside it.
    """

    what: str
    tool: str
    listed: bool
    title: str
    description: str
    hints: Sequence[Hint]
    confirm: str
    options: Options
    facts: tuple[tuple[str, str], ...] = ()
    tasks: str = ""
    """The server can make a task of it when asked (handshake era): what the tool says of it, `forbidden` when nothing."""
    app: str = ""
    """The URI of the tool's app."""
    broken: str = ""
    left_out: str = ""


# --- reading


@blueprint.get("/call")
def index() -> AnyResponse | str:
    """The screen of the first connected server, else of the first; what to do when there is none."""
    if key := first_key():
        return redirect(url_for("calls.show", key=key))
    return render_template("calls/none.html", shell=shell("call"))


@blueprint.get("/call/<key>")
def show(key: str) -> str:
    """The screen of one server. Query: what, tool, mode (form, json), call (an id), q (filter), arguments (JSON)."""
    server = console().server(key)
    call, gone = _asked_call(key)
    what = what_of(request.args.get("what") or (call.what if call else ""))
    found = found_items(key, what, request.args.get("q", ""))
    first = next((line.name for line in found.lines if line.link), "")
    of_call = call if call is not None and call.what == what else None
    tool = request.args.get("tool") or (of_call.tool if of_call else "") or first
    text = request.args.get("arguments") or (of_call.arguments if of_call and of_call.tool == tool else None)
    pane = pane_of(definition_of_item(key, tool, what), request.args.get("mode", "form"), text)
    options = Options(runs=str(call.runs), task=call.task) if call is not None else options_of(request.args)
    return _page(server, _bench(key, what, tool, options), pane, found, call, gone)


@blueprint.get("/call/<key>/tools")
def tools(key: str) -> str:
    """The tool list for a filter text, as htmx asks for it while someone types."""
    q, what = request.args.get("q", ""), what_of(request.args.get("what", ""))
    found = found_items(key, what, q)
    tool = request.args.get("tool", "")
    return render_template(
        "calls/_tools.html", key=key, tools=found, tool=tool, q=q, what=what, noun=NOUNS[what]
    )


@blueprint.post("/call/<key>/switch")
def switch(key: str) -> AnyResponse:
    """Form to JSON or back, with what was typed; sends nothing."""
    definition = definition_of_item(key, request.form.get("tool", ""), _posted_what())
    try:
        pane = pane_of(definition, request.form.get("to", "json"), typed(definition))
    except Wrong as wrong:
        return _arguments(key, wrong.arguments, 422)
    return _arguments(key, pane, 200)


@blueprint.get("/call/<key>/result/<id>")
def result(key: str, id: str) -> AnyResponse:
    """How the call stands; what the running page asks for every 400 ms. 204 while it waits for the same answers."""
    call = call_of(key, id)
    asked = request.args.get("asked")
    waiting = [one.id for one in console().asking.waiting(key)]
    if asked and not call.done and asked == ",".join(waiting):
        return Response(status=204)
    return shown_answer(call)


@blueprint.get("/call/<key>/result/<id>/raw")
def raw(key: str, id: str) -> Response:
    """The answer exactly as it came, as a download."""
    octets = raw_answer(call_of(key, id))
    if octets is None:
        raise UsageError("No answer came to this call", "Its frames are in the timeline")
    return download(octets, f"{id}.json")


@blueprint.get("/call/<key>/result/<id>/item/<int:number>")
def item(key: str, id: str, number: int) -> Response:
    """One content item, decoded, as a download."""
    outcome = call_of(key, id).outcome
    octets = octets_of(outcome, number) if outcome is not None else None
    if octets is None:
        raise UsageError(f"Content item {number + 1} holds nothing to download", "Download the raw answer")
    return download(octets, f"{id}-item-{number + 1}.bin")


# --- running


@blueprint.post("/call/<key>")
@spawns
def run(key: str) -> AnyResponse:
    """Check what was typed against the schema, unless told not to, and call the tool."""
    tool, what = request.form.get("tool", ""), _posted_what()
    definition = definition_of_item(key, tool, what)
    try:
        order = posted_order(definition, what, tool)
    except Wrong as wrong:
        return _arguments(key, wrong.arguments, 422)
    call = _start(key, what, tool, order, "task" in request.form)
    # The form showed errors that hold no more: it is drawn afresh.
    mode = request.form.get("mode", "form")
    clean = pane_of(definition, mode, call.arguments) if "wrong" in request.form else None
    return shown_answer(call, clean)


@blueprint.post("/call/<key>/again/<id>")
@spawns
def again(key: str, id: str) -> AnyResponse:
    """The same call once more, with byte for byte the same arguments."""
    call = call_of(key, id)
    order = Order(call.arguments, call.runs, posted_timeout())
    return shown_answer(_start(key, call.what, call.tool, order, call.task))


@blueprint.post("/call/<key>/list")
@spawns
def relist(key: str) -> AnyResponse:
    """List the tools, prompts, resources or templates now, and show them."""
    what = _posted_what()
    if what == METHOD:
        raise UsageError("Methods are not listed by a server", "Choose one on the Call screen")
    console().refresh(key, what)
    return redirect(url_for("calls.show", key=key, what=what), 303)


@blueprint.post("/call/<key>/cancel/<id>")
@spawns
def cancel(key: str, id: str) -> AnyResponse:
    """Stop waiting and tell the server so."""
    call_of(key, id)
    return shown_answer(console().calls.cancel(id))


def _start(key: str, what: str, tool: str, order: Order, task: bool) -> Call:
    """Start the call and give it a moment to end."""
    call = console().calls.start(
        console().connection(key),
        key,
        tool,
        order.arguments,
        definition=definition_of_item(key, tool, what),
        runs=order.runs,
        timeout=order.timeout,
        what=what,
        patient="impatient" not in request.form,
        task=task,
    )
    wait([call.future], AT_ONCE_S)
    return call


# --- answers


def _arguments(key: str, pane: Arguments, status: int) -> AnyResponse:
    """The arguments again; without htmx in the whole page, so that nothing typed is lost."""
    if is_partial():
        shown = render_template(
            "calls/_arguments.html",
            key=key,
            pane=pane,
            type_words=type_words,
            completes=_completes(key, _posted_what()),
        )
    else:
        what = _posted_what()
        bench = _bench(key, what, request.form.get("tool", ""), posted_options())
        shown = _page(console().server(key), bench, pane, found_items(key, what, ""), None, "")
    return make_response(shown, status)


def shown_answer(call: Call, clean: Arguments | None = None) -> AnyResponse:
    """The state of a call and the history beside it; without htmx a redirect to the page that shows both."""
    mode = request.form.get("mode")
    place = address(call, mode)
    if not is_partial():
        return redirect(place, 303)
    server = console().server(call.server_key)
    answer = make_response(
        render_template(
            "calls/_answer.html",
            key=server.key,
            shown=_shown(server, call),
            recent=console().calls.recent(server.key)[:HISTORY],
            ended=headline,
            call=call,
            clean=clean,
            type_words=type_words,
            completes=_completes(server.key, call.what),
            address=address,
        )
    )
    if request.endpoint in ("calls.run", "calls.again"):
        answer.headers["HX-Push-Url"] = place
    return answer


def _page(server: Server, bench: Bench, pane: Arguments, found: Tools, call: Call | None, gone: str) -> str:
    return render_template(
        "calls/page.html",
        shell=shell("call", server.key),
        server=server,
        key=server.key,
        bench=bench,
        pane=pane,
        type_words=type_words,
        tools=found,
        completes=_completes(server.key, bench.what),
        address=address,
        tool=bench.tool,
        what=bench.what,
        noun=NOUNS[bench.what],
        kinds=kinds(server, bench.what),
        q=request.args.get("q", ""),
        listed=bench.what == METHOD or console().catalogs.known(server.key, bench.what) is not None,
        shown=_shown(server, call) if call is not None else None,
        call=call,
        gone=gone,
        asked=[view_of(one) for one in console().asking.waiting(server.key)] if call is None else (),
        recent=console().calls.recent(server.key)[:HISTORY],
        ended=headline,
        most_runs=MOST_RUNS,
    )


def _shown(server: Server, call: Call) -> Shown:
    annotations = definition_of_item(server.key, call.tool, call.what).get("annotations")
    return shown_call(server, call, confirmation(call.tool, annotations) if call.what == TOOLS else "")


def _completes(key: str, what: str) -> bool:
    """Whether the server says that it completes the arguments of such items."""
    connection = console().server(key).connection
    capabilities = connection.peer.capabilities if connection is not None and connection.peer else None
    return what in (PROMPTS, TEMPLATES) and "completions" in (capabilities or {})


def _tasks(key: str, what: str, definition: Mapping[str, Any]) -> str:
    """How a tool takes being made a task, where the server can make one."""
    connection = console().server(key).connection
    peer = connection.peer if connection is not None else None
    if what != TOOLS or peer is None or peer.era != HANDSHAKE or "tasks" not in (peer.capabilities or {}):
        return ""
    return support_of(definition)


def _bench(key: str, what: str, tool: str, options: Options) -> Bench:
    definition = definition_of_item(key, tool, what)
    annotations = definition.get("annotations") if what == TOOLS else None
    title = definition.get("title") or (annotations.get("title") if isinstance(annotations, dict) else None)
    description = definition.get("description")
    return Bench(
        what,
        tool,
        bool(definition),
        title if isinstance(title, str) else "",
        description if isinstance(description, str) else "",
        hints_of(annotations) if definition and what == TOOLS else [],
        confirmation(tool, annotations),
        options,
        facts_of(what, definition),
        _tasks(key, what, definition),
        app_of(definition) if what == TOOLS else "",
        str(definition.get(BROKEN, "")),
        left_out_of(key, what, definition),
    )


# --- what is known


def _posted_what() -> str:
    return what_of(request.form.get("what", ""))


def _asked_call(key: str) -> tuple[Call | None, str]:
    """The call the URL names, and a sentence when it is no longer known."""
    id = request.args.get("call")
    if not id:
        return None, ""
    try:
        return call_of(key, id), ""
    except UsageError as problem:
        return None, f"{problem.message}. {problem.remedy}."
