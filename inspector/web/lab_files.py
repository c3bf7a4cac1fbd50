"""What leaves and enters the Lab: scenarios, the report, the run as events of the recording. Flask request threads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.jobs import Job
from inspector.console.lab import Run
from inspector.console.lab_work import Side, reported, side_by_side
from inspector.discovery.evaluate import Task, task_sets
from inspector.discovery.one_page import Section, markdown
from inspector.discovery.registry import Registry
from inspector.discovery.scenario import Scenario, parse_scenario, write_scenario
from inspector.discovery.strategies import strategies
from inspector.errors import LoupeError, TimedOut, UsageError
from inspector.trace.file_reader import read_trace
from inspector.web.downloads import download
from inspector.web.frame import console, shell, store
from inspector.web.lab import answer, lab, picks_of, ready, screen
from inspector.web.lab_context import side_key
from inspector.web.lab_query import Query, query_of, read_scenario_text
from inspector.web.render import is_partial

blueprint = Blueprint("lab_files", __name__)
REPORT_S: Final = 120.0
LARGEST: Final = 64 << 20
_GZIP: Final = b"\x1f\x8b"


@blueprint.get("/lab/scenario.json")
def save() -> Response:
    """The scenario with every choice, for `simulate` and for loading here."""
    query = Query.read(request.args)
    content = write_scenario(portable(query.saved()))
    return download(content, "scenario.json", "application/json")


@blueprint.post("/lab/scenario")
def load() -> AnyResponse | str:
    """A saved scenario, or a trace that holds one."""
    request.max_content_length = LARGEST + (1 << 20)
    given = request.files.get("file")
    try:
        if given is None or not given.filename:
            raise UsageError("No file was chosen.", "Choose a file that Save wrote.")
        content, name = given.read(), given.filename
        traced = content.startswith(_GZIP) or b'"mcp-trace"' in content[:1000]
        scenario = of_trace(content, name) if traced else read_scenario_text(content, name)
        query = here(scenario)
        query.choices()
    except LoupeError as problem:
        empty = Query(edit=True)
        return answer(empty, screen(empty) | {"refused": problem}, 422)
    return redirect(url_for("lab.index") + query.href(), 303)


@blueprint.post("/lab/record")
def record() -> AnyResponse:
    """Put the run into the recording as `lab` events, so that an exported trace holds it."""
    query = Query.read(request.args)
    bench, scenario = ready(query)
    run = Run(scenario, strategies()[query.strategy], query.live)
    events = lab().record(bench, run, query.choices(), portable(query.saved()))
    says = json.dumps({"toast": {"text": f"{events} lab events are in the recording.", "error": False}})
    if is_partial():
        found = Response(status=204)
        found.headers["HX-Trigger"] = says
        return found
    return redirect(url_for("lab.index") + query.href(), 303)


@blueprint.get("/lab/recorded/<int:session>/<int:e>")
def recorded(session: int, e: int) -> AnyResponse:
    """The run whose scenario a recorded `lab` event holds. Nothing is asked of any server."""
    row = store().row(session, e)
    if row is None or row.t != "lab" or not isinstance(row.body.get("scenario"), dict):
        raise UsageError(
            "This event holds no scenario of the lab.", "Choose the first event of a recorded run."
        )
    return redirect(url_for("lab.index") + here(parse_scenario(row.body["scenario"])).href(), 303)


@blueprint.get("/lab/report")
def report_page() -> AnyResponse | str:
    """The report on one page; while it is made, how far it is."""
    query = Query.read(request.args)
    job, problem, sections = None, None, None
    try:
        job = report_job(query)
        sections = job.result(0.6)
    except LoupeError as found:
        problem = found
    context = {"query": query, "job": job, "problem": problem, "sections": sections}
    if is_partial() and job is not None and sections is None:
        html = render_template("lab/_progress.html", progress=job.progress)
        waits = make_response(html)
        waits.headers["HX-Retarget"], waits.headers["HX-Reswap"] = "#lab-progress", "outerHTML"
        return waits
    if is_partial():
        return render_template("lab/_report.html", **context)
    return render_template("lab/report.html", shell=shell("lab", pin=False), **context)


@blueprint.get("/lab/report.<any(md, json):form>")
def report(form: str) -> Response:
    """The report as Markdown, or the whole document of `simulate --json`."""
    query = Query.read(request.args)
    if form == "md":
        sections = finished(report_job(query))
        return download(markdown(sections), "discovery.md", "text/markdown")
    bench, scenario = ready(query)
    job: Job[Side] = lab().jobs.start(
        side_key(bench, query), lambda progress: side_by_side(bench, scenario, progress)
    )
    document = finished(job).document
    return download(json.dumps(document, ensure_ascii=False) + "\n", "simulate.json", "application/json")


def report_job(query: Query) -> Job[list[Section]]:
    """The report of an address, made when there is none. Raises LoupeError."""
    bench, scenario = ready(query)
    picks, own = picks_of(query), lab()
    label = ", ".join([picks[token].label for token in query.catalog])
    return own.jobs.start(
        ("report", *side_key(bench, query)),
        lambda progress: reported(own, bench, scenario, label, fitting(bench.registry), progress),
    )


def finished(job: Job[Any]) -> Any:
    found = job.result(REPORT_S)
    if found is None:
        raise TimedOut(f"It was not done within {REPORT_S:.0f} s.", "Ask again in a while.")
    return found


def fitting(registry: Registry) -> tuple[Task, ...]:
    """The tasks of the shipped set whose tools this catalog lists all of; empty when there is none."""
    return next((each.tasks for each in task_sets() if each.fits(registry)), ())


# --- a scenario's catalogs, here and elsewhere


def portable(scenario: Scenario) -> Scenario:
    """With its catalogs as the command line calls them: demo:NAME for ours, else the server's name in our list."""
    specs = console().servers_file.all()

    def target(token: str) -> str:
        spec = specs.get(token)
        return spec.name if spec is not None and spec.source == "demo" else token

    catalogs = tuple([target(token) for token in scenario.catalogs])
    return replace(
        scenario, catalogs=catalogs, baseline=target(scenario.baseline) if scenario.baseline else ""
    )


def here(scenario: Scenario) -> Query:
    """The address of a scenario: its catalogs by key, else by name. One that is not here is said to be missing."""
    specs = console().servers_file.all()

    def token(target: str) -> str:
        if target in specs:
            return target
        return next((key for key, spec in specs.items() if spec.name == target), target)

    tokens = [token(target) for target in scenario.catalogs]
    return query_of(scenario, tokens, token(scenario.baseline) if scenario.baseline else "")


def of_trace(content: bytes, name: str) -> Scenario:
    """The last scenario that a trace's `lab` events hold. Raises UsageError when there is none."""
    found = None
    suffix = ".jsonl.gz" if content.startswith(_GZIP) else ".jsonl"
    with NamedTemporaryFile(prefix="mcp-loupe-", suffix=suffix) as kept:
        kept.write(content)
        kept.flush()
        with read_trace(Path(kept.name)) as events:
            for event in events:
                if event.get("t") == "lab" and isinstance(event.get("scenario"), dict):
                    found = event["scenario"]
    if found is None:
        raise UsageError(
            f"{name} holds no scenario of the lab.", "Choose a trace in which a run was recorded."
        )
    return parse_scenario(found)
