"""The Lab screen: what a model would be shown, what it would cost, which tool it would find. Flask request threads."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import parse_qsl

from flask import Blueprint, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.calls import read_arguments
from inspector.console.jobs import Job
from inspector.console.lab import Bench, Given, Lab, Run, Unconfirmed, Wanted
from inspector.console.lab_work import Side, side_by_side
from inspector.discovery.choices import Choice, choice_text, parse_choice
from inspector.discovery.play import Move
from inspector.discovery.policies import choose, policy_of
from inspector.discovery.scenario import Scenario
from inspector.discovery.strategies import strategies
from inspector.errors import LoupeError, UsageError
from inspector.web.compare import comparisons
from inspector.web.compare_sides import Pick, Sides
from inspector.web.frame import console, shell, store
from inspector.web.guard import spawns
from inspector.web.lab_context import run_context, side_context, side_key
from inspector.web.lab_query import Query, read_choice
from inspector.web.lab_start import examples, started
from inspector.web.render import is_partial

blueprint = Blueprint("lab", __name__)
EXTENSION: Final = "lab"
AT_ONCE_S: Final = 0.6
"""How long a page waits for catalogs to be read, and again for the strategies, before it shows that they run."""
READ_S: Final = 20.0
MOST_PLAYED: Final = 100


def lab() -> Lab:
    """What this application keeps of the lab."""
    return current_app.extensions.setdefault(EXTENSION, Lab(console()))  # type: ignore[no-any-return]


@blueprint.get("/lab")
def index() -> AnyResponse | str:
    """The screen; its inner part when htmx asks."""
    query = Query.read(request.args)
    return answer(query, screen(query))


@blueprint.get("/lab/wait")
def wait() -> AnyResponse | str:
    """204 while the catalogs are read, then the screen."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(query))
    context = screen(query)
    if context["job"] is not None:
        return answered_later(context)
    return make_response(render_template("lab/_lab.html", **context))


@blueprint.get("/lab/side")
def side() -> AnyResponse:
    """204 while the strategies are played, then chart and table."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(query))
    context = screen(query)
    if context.get("side") is None and context.get("side_job") is not None:
        return answered_later(context)
    return make_response(render_template("lab/_side.html", **context))


def answered_later(context: dict[str, Any]) -> AnyResponse:
    """What changes while something runs: only the words of its progress."""
    job: Job[Any] = context["job"] or context["side_job"] or context["grown_job"]
    html = render_template("lab/_progress.html", progress=job.progress)
    found = make_response(html)
    found.headers["HX-Retarget"], found.headers["HX-Reswap"] = "#lab-progress", "outerHTML"
    return found


@blueprint.get("/lab/growth")
def growth_wait() -> AnyResponse:
    """204-like while the growth curve is made, then the screen."""
    query = Query.read(request.args)
    if not is_partial():
        return redirect(address(query))
    context = screen(query)
    if context.get("grown_job") is not None:
        return answered_later(context)
    return make_response(render_template("lab/_lab.html", **context))


@blueprint.post("/lab/step")
@spawns
def step() -> AnyResponse | str:
    """One more choice: a move of the model, or an event. In a live run a move may call a real server."""
    query = Query.read(request.args)
    try:
        choice = choice_of(request.form)
        bench, scenario = ready(query)
        run = Run(scenario, strategies()[query.strategy], query.live)
        confirmed = request.form.get("confirmed") == "1"
        try:
            node = lab().step(bench, run, query.choices(), choice, confirmed=confirmed)
        except Unconfirmed as asks:
            return answer(query, screen(query) | {"confirm": asks, "confirm_choice": choice_text(choice)})
        if query.live:
            lab().record_step(bench, run, node)
        return to(query, query.chosen(choice, pane="what" if not isinstance(choice, Move) else "moves"))
    except LoupeError as problem:
        return answer(query, screen(query) | {"refused": problem}, 422)


@blueprint.post("/lab/auto")
@spawns
def auto() -> AnyResponse | str:
    """Let the policy play to the end. A live run stops before a call that is to be confirmed."""
    query = Query.read(request.args)
    try:
        bench, scenario = ready(query)
        strategy, policy = strategies()[query.strategy], policy_of(query.auto)
        run, made = Run(scenario, strategy, query.live), query.choices()
        played: list[Choice] = []
        node, _ = lab().at(bench, run, made)
        failed: list[Move] = []
        for _ in range(1 if request.form.get("to") == "one" else MOST_PLAYED):
            move = choose(strategy, node.state, policy, query.expect, failed)
            if move is None:
                break
            try:
                node = lab().step(bench, run, [*made, *played], move, confirmed=False)
            except Unconfirmed as asks:
                if not played:
                    return answer(
                        query, screen(query) | {"confirm": asks, "confirm_choice": choice_text(move)}
                    )
                break
            if query.live:
                lab().record_step(bench, run, node)
            played.append(move)
            if node.state.ledger.rows[-1].column == "error":
                failed.append(move)
        return to(query, query.chosen(*played, pane="moves"))
    except LoupeError as problem:
        return answer(query, screen(query) | {"refused": problem}, 422)


@blueprint.post("/lab/live")
@spawns
def live() -> AnyResponse:
    """A new live run from the start; nothing is sent yet."""
    query = Query.read(request.args)
    return to(query, query.href(live=lab().open_live(), do=(), at=None, pane="moves", call="", args=""))


@blueprint.post("/lab/cancel")
def cancel() -> AnyResponse:
    """End what runs; looking at the page again does not start it anew."""
    query = Query.read(request.args)
    try:
        keys = job_keys(query)
    except LoupeError:
        keys = []
    for key in keys:
        lab().jobs.drop(key)
    return redirect(url_for("lab.index") + query.href(hold=True, grow=False), 303)


@blueprint.post("/lab/files")
def upload() -> AnyResponse | str:
    """Keep a catalog's file for this run and add it to the catalogs."""
    request.max_content_length = (64 << 20) + (1 << 20)
    query = Query.read(request.args)
    given = request.files.get("file")
    try:
        if given is None or not given.filename:
            raise UsageError("No file was chosen.", "Choose a lock, a trace or list answers, one a line.")
        kept = comparisons().upload(given.filename, given.read())
    except LoupeError as problem:
        return answer(query, screen(query) | {"refused": problem}, 422)
    token = f"file:{kept.id}.0"
    return redirect(url_for("lab.index") + query.href(catalog=(*query.catalog, token), edit=True), 303)


# --- what the pages share


def choice_of(form: Any) -> Choice:
    """The choice a form describes: `choice` as JSON, or an event's fields, or tool and arguments as typed."""
    if form.get("choice"):
        return read_choice(form["choice"])
    if form.get("event"):
        facts: dict[str, Any] = {"event": form["event"]}
        facts |= {name: form[name].strip() for name in ("server", "tool", "context") if name in form}
        if "seconds" in form:
            text = form["seconds"].strip().replace(",", "")
            facts["seconds"] = int(text) if text.isdecimal() and len(text) < 12 else text
        return parse_choice(facts)
    tool, typed = form.get("tool", "").strip(), form.get("arguments", "").strip()
    if not tool:
        raise UsageError("Which tool is called?", "Give the name as the model would say it.")
    return Move(tool, json.loads(read_arguments(typed)) if typed else None, form.get("target", "").strip())


def ready(query: Query) -> tuple[Bench, Scenario]:
    """The bench of an address, read. Raises LoupeError when it cannot be, or is not yet."""
    if not query.named():
        raise UsageError("Nothing is simulated yet.", "Choose a catalog and write a task.")
    scenario = query.scenario()
    bench = bench_of(query, picks_of(query)).result(READ_S)
    if bench is None:
        raise UsageError("The catalogs are still being read.", "Try again in a moment.")
    return bench, scenario


def picks_of(query: Query) -> dict[str, Pick]:
    """Token -> what it stands for, of catalogs and baseline."""
    sides = Sides(console(), store(), comparisons())
    return {token: sides.pick("", token) for token in (*query.catalog, query.baseline) if token}


def given_of(pick: Pick) -> Given:
    """What the lab reads. Raises UsageError for what is not there."""
    if pick.given is None:
        raise UsageError(pick.problem or "There is no such catalog.", "Choose another catalog.")
    found = pick.given()
    key = pick.key if pick.token == pick.key else ""
    return Given(found.label, pick.stamp, found.snapshot, found.content, found.part, key)


def bench_of(query: Query, picks: dict[str, Pick]) -> Job[Bench]:
    """The bench of an address, read by a job when there is none. Raises LoupeError for what is not there."""

    def givens() -> tuple[list[Given], Given | None]:
        baseline = given_of(picks[query.baseline]) if query.baseline else None
        return [given_of(picks[token]) for token in query.catalog], baseline

    return lab().bench(wanted_of(query, picks), givens)


def wanted_of(query: Query, picks: dict[str, Pick]) -> Wanted:
    against = picks[query.baseline].stamp if query.baseline else ""
    stamps = tuple([picks[token].stamp for token in query.catalog])
    return Wanted(stamps, against, query.provider, query.scenario().access, query.search)


def job_keys(query: Query) -> list[Any]:
    """Of everything that runs for an address: what is to be dropped when it is cancelled."""
    key = wanted_of(query, picks_of(query))
    job = lab().jobs.known(key)
    if job is None or not job.future.done():
        return [key]
    side = side_key(job.future.result(), query)
    known = [(each, lab().jobs.known(each)) for each in (side, ("growth", *side), ("report", *side))]
    return [each for each, found in known if found is not None and not found.future.done()]


def screen(query: Query) -> dict[str, Any]:
    """The whole context of lab/_lab.html."""
    sides = Sides(console(), store(), comparisons())
    picks = {token: sides.pick("", token) for token in (*query.catalog, query.baseline) if token}
    context: dict[str, Any] = {
        "query": query, "picks": picks, "choices": sides.choices(list(picks.values())), "job": None, "side": None,
        "side_job": None, "bench": None, "problem": None, "refused": None, "confirm": None, "run": None,
        "confirm_choice": "",
        "servers": list(sides.servers), "side_problem": None, "strategies": strategies(), "facts": None,
    }  # fmt: skip
    context["form"] = started(query, context["choices"], console().servers())
    context["examples"] = examples(context["form"], console().servers())
    if not query.named():
        return context
    problems = [pick.problem for pick in picks.values() if pick.problem]
    try:
        if problems:
            raise UsageError(problems[0], "Choose another catalog under Change.")
        scenario = query.scenario()
        if query.hold and lab().jobs.known(wanted_of(query, picks)) is None:
            return context
        job = bench_of(query, picks)
        bench = job.result(AT_ONCE_S)
        if bench is None:
            return context | {"job": job}
        context |= {"bench": bench, "scenario": scenario}
        context |= run_context(lab(), bench, scenario, query)
        if not query.hold or lab().jobs.known(side_key(bench, query)) is not None:
            context |= sided(bench, scenario, query, context)
    except LoupeError as problem:
        context["problem"] = problem
    return context


def sided(bench: Bench, scenario: Scenario, query: Query, context: dict[str, Any]) -> dict[str, Any]:
    """Chart and table of all strategies, or the job that makes them."""
    job: Job[Side] = lab().jobs.start(
        side_key(bench, query), lambda progress: side_by_side(bench, scenario, progress)
    )
    try:
        found = job.result(AT_ONCE_S)
    except LoupeError as problem:
        lab().jobs.drop(side_key(bench, query))
        return {"side_problem": problem, "side_job": None, "side": None}
    if found is None:
        return {"side_job": job, "side_problem": None}
    return {"side": found, "side_problem": None} | side_context(
        lab(), bench, scenario, query, found, context["run"]
    )


def answer(query: Query, context: dict[str, Any], status: int = 200) -> AnyResponse:
    """The whole page, or the part for htmx with the address the browser is to show."""
    if not is_partial():
        return make_response(render_template("lab/page.html", shell=framed(query), **context), status)
    found = make_response(render_template("lab/_lab.html", **context), status)
    if request.method == "GET":
        found.headers["HX-Push-Url"] = address(query)
    return found


def to(query: Query, href: str) -> AnyResponse:
    """On to another address of the screen; htmx gets the part at once."""
    if not is_partial():
        return redirect(url_for("lab.index") + href, 303)
    there = Query.read(MultiDict(parse_qsl(href.removeprefix("?"), keep_blank_values=True)))
    found = make_response(render_template("lab/_lab.html", **screen(there)))
    found.headers["HX-Push-Url"] = address(there)
    return found


def framed(query: Query) -> Any:
    """The page's frame, about the first catalog's server."""
    known = [token for token in query.catalog if any(each.key == token for each in console().servers())]
    return shell("lab", known[0] if known else None, pin=False)


def address(query: Query) -> str:
    return url_for("lab.index") + query.href()
