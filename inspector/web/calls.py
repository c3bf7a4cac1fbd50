"""The Call screen: choose a tool, fill in its arguments, run it, read what came. Flask request threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any, Final

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.measure import Measure
from inspector.console.calls import MOST_RUNS, Call
from inspector.console.console import Server
from inspector.errors import UsageError
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
    definition_of,
    hints_of,
    tools_of,
    type_words,
)
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.results import headline, octets_of

blueprint = Blueprint("calls", __name__)

AT_ONCE_S: Final = 0.3
"""A call that ends this soon is answered with its result, without polling."""
HISTORY: Final = 20


@dataclass(frozen=True, slots=True)
class Bench:
    """The middle of the screen: one tool and what would be sent. listed: its definition is known."""

    tool: str
    listed: bool
    title: str
    description: str
    hints: Sequence[Hint]
    confirm: str
    options: Options


# --- reading


@blueprint.get("/call")
def index() -> AnyResponse | str:
    """The first server's screen, or what to do when there is none."""
    servers = console().servers()
    if servers:
        return redirect(url_for("calls.show", key=servers[0].key))
    return render_template("calls/none.html", shell=shell("call"))


@blueprint.get("/call/<key>")
def show(key: str) -> str:
    """The screen of one server. Query: tool, mode (form, json), call (an id), q (filter), arguments (JSON)."""
    server = console().server(key)
    call, gone = _asked_call(key)
    found = tools_of(_measures(key), request.args.get("q", ""))
    first = next((line.name for line in found.lines if line.link), "")
    tool = request.args.get("tool") or (call.tool if call else "") or first
    text = call.arguments if call is not None and call.tool == tool else request.args.get("arguments")
    pane = pane_of(_definition(key, tool), request.args.get("mode", "form"), text)
    options = Options(runs=str(call.runs) if call is not None else "1")
    return _page(server, _bench(key, tool, options), pane, found, call, gone)


@blueprint.get("/call/<key>/tools")
def tools(key: str) -> str:
    """The tool list for a filter text, as htmx asks for it while someone types."""
    q = request.args.get("q", "")
    found = tools_of(_measures(key), q)
    return render_template("calls/_tools.html", key=key, tools=found, tool=request.args.get("tool", ""), q=q)


@blueprint.post("/call/<key>/switch")
def switch(key: str) -> AnyResponse:
    """Form to JSON or back, with what was typed; sends nothing."""
    definition = _definition(key, request.form.get("tool", ""))
    try:
        pane = pane_of(definition, request.form.get("to", "json"), typed(definition))
    except Wrong as wrong:
        return _arguments(key, wrong.arguments, 422)
    return _arguments(key, pane, 200)


@blueprint.get("/call/<key>/result/<id>")
def result(key: str, id: str) -> AnyResponse:
    """How the call stands; what the running page asks for every 400 ms."""
    return _answer(_call(key, id))


@blueprint.get("/call/<key>/result/<id>/raw")
def raw(key: str, id: str) -> Response:
    """The answer exactly as it came, as a download."""
    octets = raw_answer(_call(key, id))
    if octets is None:
        raise UsageError("No answer came to this call", "Its frames are in the timeline")
    return _download(octets, f"{id}.json")


@blueprint.get("/call/<key>/result/<id>/item/<int:number>")
def item(key: str, id: str, number: int) -> Response:
    """One content item, decoded, as a download."""
    outcome = _call(key, id).outcome
    octets = octets_of(outcome, number) if outcome is not None else None
    if octets is None:
        raise UsageError(f"Content item {number + 1} holds nothing to download", "Download the raw answer")
    return _download(octets, f"{id}-item-{number + 1}.bin")


# --- running


@blueprint.post("/call/<key>")
@spawns
def run(key: str) -> AnyResponse:
    """Check what was typed against the schema, unless told not to, and call the tool."""
    tool = request.form.get("tool", "")
    try:
        order = posted_order(_definition(key, tool))
    except Wrong as wrong:
        return _arguments(key, wrong.arguments, 422)
    call = _start(key, tool, order)
    # The form showed errors that hold no more: it is drawn afresh.
    mode = request.form.get("mode", "form")
    clean = pane_of(_definition(key, tool), mode, call.arguments) if "wrong" in request.form else None
    return _answer(call, clean)


@blueprint.post("/call/<key>/again/<id>")
@spawns
def again(key: str, id: str) -> AnyResponse:
    """The same call once more, with byte for byte the same arguments."""
    call = _call(key, id)
    order = Order(call.arguments, call.runs, posted_timeout())
    return _answer(_start(key, call.tool, order))


@blueprint.post("/call/<key>/cancel/<id>")
@spawns
def cancel(key: str, id: str) -> AnyResponse:
    """Stop waiting and tell the server so."""
    _call(key, id)
    return _answer(console().calls.cancel(id))


def _start(key: str, tool: str, order: Order) -> Call:
    """Start the call and give it a moment to end."""
    call = console().calls.start(
        console().connection(key),
        key,
        tool,
        order.arguments,
        definition=_definition(key, tool),
        runs=order.runs,
        timeout=order.timeout,
    )
    wait([call.future], AT_ONCE_S)
    return call


# --- answers


def _is_partial() -> bool:
    return request.headers.get("HX-Request-Type") == "partial"


def _arguments(key: str, pane: Arguments, status: int) -> AnyResponse:
    """The arguments again; without htmx in the whole page, so that nothing typed is lost."""
    if _is_partial():
        shown = render_template("calls/_arguments.html", key=key, pane=pane, type_words=type_words)
    else:
        bench = _bench(key, request.form.get("tool", ""), posted_options())
        shown = _page(console().server(key), bench, pane, tools_of(_measures(key), ""), None, "")
    return make_response(shown, status)


def _answer(call: Call, clean: Arguments | None = None) -> AnyResponse:
    """The state of a call and the history beside it; without htmx a redirect to the page that shows both."""
    mode = request.form.get("mode")
    place = url_for("calls.show", key=call.server_key, tool=call.tool, mode=mode, call=call.id)
    if not _is_partial():
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
        tool=bench.tool,
        q=request.args.get("q", ""),
        listed=console().catalogs.known(server.key, "tools") is not None,
        shown=_shown(server, call) if call is not None else None,
        call=call,
        gone=gone,
        recent=console().calls.recent(server.key)[:HISTORY],
        ended=headline,
        most_runs=MOST_RUNS,
    )


def _shown(server: Server, call: Call) -> Shown:
    return shown_call(
        server, call, confirmation(call.tool, _definition(server.key, call.tool).get("annotations"))
    )


def _bench(key: str, tool: str, options: Options) -> Bench:
    definition = _definition(key, tool)
    annotations = definition.get("annotations")
    title = definition.get("title") or (annotations.get("title") if isinstance(annotations, dict) else None)
    description = definition.get("description")
    return Bench(
        tool,
        bool(definition),
        title if isinstance(title, str) else "",
        description if isinstance(description, str) else "",
        hints_of(annotations) if definition else [],
        confirmation(tool, annotations),
        options,
    )


def _download(octets: bytes, name: str) -> Response:
    # Never a type the browser would show: these bytes are a stranger's, on our origin.
    answer = Response(octets, mimetype="application/octet-stream")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


# --- what is known


def _measures(key: str) -> Sequence[Measure]:
    catalog = console().catalogs.known(key, "tools")
    return catalog.measured.measures if catalog is not None else ()


def _definition(key: str, tool: str) -> dict[str, Any]:
    """The tool as listed last; {} when it was not listed."""
    return definition_of(next((each for each in _measures(key) if each.name == tool), None))


def _call(key: str, id: str) -> Call:
    call = console().calls.get(id)
    if call.server_key != key:
        raise UsageError(f"{id} was no call of this server", "Choose one of its recent calls")
    return call


def _asked_call(key: str) -> tuple[Call | None, str]:
    """The call the URL names, and a sentence when it is no longer known."""
    id = request.args.get("call")
    if not id:
        return None, ""
    try:
        return _call(key, id), ""
    except UsageError as problem:
        return None, f"{problem.message}. {problem.remedy}."
