"""The Compare screen: two or more catalogs, what changed between them and how much it matters. Flask request threads."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.difference.comparing import Difference
from inspector.catalog.difference.html import html
from inspector.catalog.difference.markdown import markdown
from inspector.catalog.difference.prose import explained
from inspector.catalog.difference.report import document, unmeasured
from inspector.errors import LoupeError, TimedOut, UsageError
from inspector.web.compare_diff import diff, told
from inspector.web.compare_jobs import LARGEST, REPORT_S, Comparisons, Job
from inspector.web.compare_sides import LETTERS, Pick, Sides
from inspector.web.compare_view import (
    WINDOW,
    Bars,
    Query,
    figures,
    find,
    statuses,
    summary,
    table,
)
from inspector.web.compare_work import Compared
from inspector.web.downloads import download
from inspector.web.frame import console, shell, store
from inspector.web.render import is_partial

blueprint = Blueprint("compare", __name__)
EXTENSION: Final = "comparisons"
AT_ONCE_S: Final = 0.6
"""How long a page waits for a comparison before it shows that one is running."""
FORM_BYTES: Final = LARGEST + (1 << 20)
REPORTS: Final = {
    "md": ("text/markdown", markdown),
    "json": ("application/json", lambda found: json.dumps(document(found), ensure_ascii=False) + "\n"),
    "html": ("text/html", html),
}


def comparisons() -> Comparisons:
    """What this application keeps; made on the first request, when the console has its worker."""
    return current_app.extensions.setdefault(EXTENSION, Comparisons(console().worker))  # type: ignore[no-any-return]


@blueprint.get("/compare")
def index() -> AnyResponse | str:
    """The screen; its inner part when htmx asks."""
    query = Query.read(request.args)
    context = screen(query)
    if is_partial():
        return pushed(render_template("compare/_compare.html", **context), query)
    return render_template("compare/page.html", shell=framed(context), **context)


@blueprint.get("/compare/wait")
def wait() -> AnyResponse:
    """204 while the comparison runs, then the screen."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(query))
    context = screen(query)
    if context["job"] is not None:
        return Response(status=204)
    return make_response(render_template("compare/_compare.html", **context))


@blueprint.get("/compare/list")
def show_list() -> AnyResponse:
    """The table, filtered and ordered anew."""
    return part("compare/_relisted.html")


@blueprint.get("/compare/tool")
def show_tool() -> AnyResponse:
    """One tool beside the table, or the list as a whole."""
    return part("compare/_selected.html")


@blueprint.get("/compare/rows")
def rows() -> AnyResponse:
    """One window of rows, and the row that brings the next."""
    query = Query.read(request.args)
    context = screen(query)
    if not is_partial() or context["found"] is None:
        return redirect(address(query))
    return make_response(render_template("compare/_rows.html", **context))


@blueprint.get("/compare/report.<any(md, json, html):form>")
def report(form: str) -> Response:
    """The whole comparison as a file, every side against A."""
    query = Query.read(request.args)
    sides = Sides(console(), store(), comparisons())
    picks = [sides.pick(letter, token) for letter, token in query.sides.items()]
    if len(picks) < 2 or picks[0].letter != "a":
        raise UsageError("A comparison needs two catalogs.", "Choose A and B on the Compare screen.")
    found = [finished(running(picks[0], pick)) for pick in picks[1:]]
    kind, write = REPORTS[form]
    return download(write(found), f"compare.{form}", kind)


@blueprint.post("/compare/files")
def upload() -> AnyResponse:
    """Keep a file for this run and put it on a side; when it cannot be read, the screen says why."""
    request.max_content_length = FORM_BYTES
    query = Query.read(request.form)
    given = request.files.get("file")
    try:
        if given is None or not given.filename:
            raise UsageError("No file was chosen.", "Choose a lock, a trace or list answers, one a line.")
        kept = comparisons().upload(given.filename, given.read())
    except LoupeError as problem:
        context = screen(query, problem)
        return make_response(render_template("compare/page.html", shell=framed(context), **context), 422)
    letter = request.form.get("side", "")
    letter = letter if letter in tuple(LETTERS) else free(query)
    return redirect(address(query.only_sides(**{letter: f"file:{kept.id}.0"})), 303)


@blueprint.post("/compare/cancel")
def cancel() -> AnyResponse:
    """End the comparison that runs; looking at the page again does not start it anew."""
    query = Query.read(request.form)
    sides = Sides(console(), store(), comparisons())
    comparisons().drop((sides.pick("a", query.a).stamp, other(sides, query).stamp))
    return redirect(url_for("compare.index") + query.href(hold=True), 303)


def screen(query: Query, failure: LoupeError | None = None) -> dict[str, Any]:
    """The whole context of _compare.html. failure: why an upload did not work."""
    sides = Sides(console(), store(), comparisons())
    picks = {letter: sides.pick(letter, token) for letter, token in query.sides.items()}
    context: dict[str, Any] = {
        "query": query, "picks": picks, "LETTERS": LETTERS, "failure": failure, "free": free(query),
        "choices": sides.choices(list(picks.values())), "found": None, "job": None, "WINDOW": WINDOW,
        "problem": None, "suggestions": [], "servers": list(sides.servers),
        "one": picks.get("a"), "two": picks.get(query.against),
    }  # fmt: skip
    ready = "a" in picks and query.against in picks and not any(pick.problem for pick in picks.values())
    if not ready or query.hold:
        return context | {"suggestions": [] if ready else sides.suggestions()}
    try:
        job = running(picks["a"], picks[query.against])
        found = job.result(AT_ONCE_S)
    except LoupeError as problem:
        comparisons().drop((picks["a"].stamp, picks[query.against].stamp))
        return context | {"problem": problem}
    if found is None:
        return context | {"job": job}
    return context | {"found": found} | shown(found, query, all_sides(picks, found, query))


def shown(found: Compared, query: Query, known: dict[str, Any]) -> dict[str, Any]:
    """What _compare.html shows of a comparison. known: the sides whose totals are known, by letter."""
    groups, total = table(found, query)
    line = find(found, query)
    after = query.at + WINDOW
    return {
        "figures": figures(known, query.against), "summary": summary(found), "statuses": statuses(found),
        "groups": groups, "total": total, "after": after if after < total else None, "bars": Bars.of(found),
        "before": max(0, query.at - WINDOW) if query.at else None, "line": line,
        "changes": told(line.row.changes if line else found.found.listing),
        "change_count": len(line.row.changes if line else found.found.listing),
        "diff": diff(line.before, line.after) if line else None,
        "explained": explained(found.found), "unmeasured": unmeasured([found.found]),
    }  # fmt: skip


def all_sides(picks: dict[str, Pick], found: Compared, query: Query) -> dict[str, Any]:
    """The sides with totals: the two compared, and further ones whose comparison is done, too."""
    known = {"a": found.found.before, query.against: found.found.after}
    for letter, pick in picks.items():
        if letter not in known:
            with suppress(LoupeError):  # its own tab says why
                if (further := running(picks["a"], pick).result(0)) is not None:
                    known[letter] = further.found.after
    return {letter: known[letter] for letter in LETTERS if letter in known}


def running(before: Pick, after: Pick) -> Job[Compared]:
    """The comparison of two sides, started when it is not known. Raises LoupeError when a side cannot be read."""
    one, two = before.given, after.given
    if one is None or two is None:
        raise UsageError(before.problem or after.problem, "Choose another catalog.")
    return comparisons().job((before.stamp, after.stamp), lambda: (one(), two()))


def finished(job: Job[Compared]) -> Difference:
    found = job.result(REPORT_S)
    if found is None:
        raise TimedOut(f"The comparison was not done within {REPORT_S:.0f} s.", "Ask again in a while.")
    return found.found


def other(sides: Sides, query: Query) -> Pick:
    return sides.pick(query.against, query.sides.get(query.against, ""))


def free(query: Query) -> str:
    """The letter of the first side that is not named; the last one when all are."""
    return next((letter for letter in LETTERS if letter not in query.sides), LETTERS[-1])


def part(template: str) -> AnyResponse:
    """A part of the screen for htmx, the whole for everybody else and while there is no comparison."""
    query = Query.read(request.args)
    context = screen(query)
    if not is_partial():
        return redirect(address(query))
    if context["found"] is None:
        answer = make_response(render_template("compare/_compare.html", **context))
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#compare", "outerHTML"
        return answer
    return pushed(render_template(template, **context), query)


def framed(context: dict[str, Any]) -> Any:
    """The page's frame, about the server of side A."""
    first = context["picks"].get("a")
    return shell("compare", first.key or None if first is not None else None)


def address(query: Query) -> str:
    return url_for("compare.index") + query.href()


def pushed(html: str, query: Query) -> AnyResponse:
    """A part of the screen, and the address of the whole that the browser is to show."""
    answer = make_response(html)
    answer.headers["HX-Push-Url"] = address(query)
    return answer
