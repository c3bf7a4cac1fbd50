"""The Catalog screen: what a server lists, what it costs, how long it may be used again. Flask request threads."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, Response, abort, make_response, redirect, render_template, request, url_for
from flask.blueprints import BlueprintSetupState
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.findings.rule import rules
from inspector.catalog.snapshot import TOOLS
from inspector.errors import LoupeError
from inspector.web.catalog_context import (
    EXTENSION,
    Indexes,
    address,
    catalog_of,
    listed,
    screen,
    stamp,
    table,
)
from inspector.web.catalog_detail import RAW_SHOWN
from inspector.web.catalog_facts import NOUNS, raw_text
from inspector.web.catalog_findings import ticked
from inspector.web.catalog_view import Query
from inspector.web.downloads import download
from inspector.web.frame import console, first_key, shell
from inspector.web.guard import spawns
from inspector.web.render import is_partial, num

blueprint = Blueprint("catalog", __name__)


@blueprint.record_once
def install(state: BlueprintSetupState) -> None:
    state.app.extensions[EXTENSION] = Indexes()
    state.app.jinja_env.globals["ticked"] = ticked


@blueprint.get("/catalog")
def index() -> AnyResponse | str:
    """The catalog of the first connected server, else of the first."""
    if key := first_key():
        return redirect(url_for("catalog.show", key=key, what=TOOLS))
    return render_template("catalog/none.html", shell=shell("catalog"))


@blueprint.get("/catalog/<key>/<what>")
def show(key: str, what: str) -> AnyResponse | str:
    """The screen; its inner part when htmx asks."""
    query = Query.read(request.args)
    context = screen(key, checked(what), query)
    if is_partial():
        return pushed(render_template("catalog/_catalog.html", **context), key, what, query)
    return render_template("catalog/page.html", shell=shell("catalog", key), **context)


@blueprint.get("/catalog/<key>/<what>/detail")
def show_detail(key: str, what: str) -> AnyResponse:
    """The pane of one item, and the treemap that marks it."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(key, what, query))
    listed(key, checked(what), query)
    context = screen(key, what, query)
    moved = not request.headers.get("HX-Source", "").startswith("a#tab-")
    return pushed(render_template("catalog/_selected.html", moved=moved, **context), key, what, query)


@blueprint.get("/catalog/<key>/<what>/list")
def show_list(key: str, what: str) -> AnyResponse:
    """The table, filtered and ordered anew."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(key, what, query))
    return pushed(
        render_template("catalog/_relisted.html", **screen(key, checked(what), query)), key, what, query
    )


@blueprint.get("/catalog/<key>/<what>/rows")
def rows(key: str, what: str) -> str:
    """One window of rows, and the row that brings the next."""
    query = Query.read(request.args)
    catalog = listed(key, checked(what), query)
    return render_template("catalog/_rows.html", key=key, what=what, query=query, **table(catalog, query))


@blueprint.get("/catalog/<key>/<what>/tokens")
def tokens(key: str, what: str) -> AnyResponse:
    """What changed since the page was rendered (`seen`); 204 when nothing did.

    Tokens, findings and list_changed marks replace their places; another catalog or state replaces the screen, and
    so do findings that the table is filtered by.
    """
    query = Query.read(request.args)
    server, catalog = console().shown(key), catalog_of(key, checked(what), query)
    seen, now = request.args.get("seen", ""), stamp(server, what, catalog)
    if seen == now and "stale" not in request.args:
        return Response(status=204)
    context = screen(key, what, query)
    if query.find or seen.rsplit(".", 2)[0] != now.rsplit(".", 2)[0]:
        answer = make_response(render_template("catalog/_catalog.html", **context))
        answer.headers["HX-Retarget"] = "#catalog"
        answer.headers["HX-Reswap"] = "outerHTML"
        return answer
    answer = make_response(render_template("catalog/_news.html", **context))
    if seen.rsplit(".", 2)[1] != now.rsplit(".", 2)[1]:
        answer.headers["HX-Trigger"] = "tokens-ready"
    return answer


@blueprint.post("/catalog/<key>/<what>/refresh")
@spawns
def refresh(key: str, what: str) -> AnyResponse:
    """List again over the wire. A failure leaves the old catalog on the screen and says why above it."""
    query, failure = replace(Query.read(request.form), snapshot=0), None
    try:
        console().refresh(key, checked(what), through=query.ask == "cache")
    except LoupeError as problem:
        failure = problem
    if failure is None and not is_partial():
        return redirect(address(key, what, query), 303)
    context = screen(key, what, query, failure)
    if is_partial():
        return pushed(render_template("catalog/_refreshed.html", **context), key, what, query)
    return make_response(render_template("catalog/page.html", shell=shell("catalog", key), **context), 502)


@blueprint.post("/catalog/<key>/<what>/rule/<rule>/<any(on, off):to>")
def switch(key: str, what: str, rule: str, to: str) -> AnyResponse:
    """Switch a rule of the findings on or off, for every catalog."""
    query = Query.read(request.form)
    if rule not in rules():
        abort(404)
    console().rules_off.switch(rule, on=to == "on")
    if not is_partial():
        return redirect(address(key, checked(what), query), 303)
    context = screen(key, checked(what), query)
    return pushed(render_template("catalog/_catalog.html", switched=rule, **context), key, what, query)


@blueprint.get("/catalog/<key>/<what>/page/<int:number>")
def page(key: str, what: str, number: int) -> str:
    """The beginning of one page exactly as received."""
    raw = page_bytes(key, checked(what), number)
    text, left_out = raw_text(raw, RAW_SHOWN)
    context = {
        "key": key,
        "what": what,
        "past": Query.read(request.args).snapshot or None,
        "number": number,
        "size": len(raw),
        "text": text,
        "left_out": left_out,
    }
    if is_partial():
        return render_template("catalog/_raw_page.html", **context)
    return render_template("catalog/raw_page.html", shell=shell("catalog", key), **context)


@blueprint.get("/catalog/<key>/<what>/page/<int:number>.json")
def page_file(key: str, what: str, number: int) -> Response:
    """The exact bytes of one page, as a file."""
    raw = page_bytes(key, checked(what), number)
    return download(raw, f"{what}-page-{number}.json")


def page_bytes(key: str, what: str, number: int) -> bytes:
    """One page as received; 404 when the walk had no such page."""
    pages = listed(key, what, Query.read(request.args)).snapshot.pages
    if not 1 <= number <= len(pages):
        abort(404, f"The list has {num(len(pages))} pages; there is no page {num(number)}.")
    return pages[number - 1].raw


def checked(what: str) -> str:
    if what not in NOUNS:
        abort(404)
    return what


def pushed(html: str, key: str, what: str, query: Query) -> AnyResponse:
    """A part of the screen, and the address of the whole that the browser is to show."""
    answer = make_response(html)
    answer.headers["HX-Push-Url"] = address(key, what, query)
    return answer
