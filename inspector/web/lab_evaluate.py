"""The Evaluate screen: which tool would a search find, over a task set, by every method. Flask request threads."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from markupsafe import Markup, escape
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.jobs import Job
from inspector.console.lab import Bench
from inspector.console.lab_work import evaluated
from inspector.discovery.evaluate import SCHEMA, Quality, Task, parse_tasks, quality_entry, task_sets
from inspector.discovery.search.search import METHODS, usable_methods
from inspector.errors import LoupeError, UsageError
from inspector.web.compare import comparisons
from inspector.web.compare_sides import Sides
from inspector.web.downloads import download
from inspector.web.frame import console, shell, store
from inspector.web.lab import AT_ONCE_S, bench_of, lab, picks_of, wanted_of
from inspector.web.lab_files import finished
from inspector.web.lab_query import Query
from inspector.web.query import whole
from inspector.web.render import is_partial

blueprint = Blueprint("lab_evaluate", __name__)
EXTENSION: Final = "lab-tasks"
HALVES: Final = ("development", "blind")
LARGEST: Final = 8 << 20
KEPT: Final = 20
FILLS: Final = {"keyword": "desc", "regex": "ann", "semantic": "schema", "hybrid": "meta"}


@dataclass(slots=True)
class TaskFiles:
    """Task sets somebody uploaded, for this run: (name, tasks) by id."""

    kept: OrderedDict[str, tuple[str, list[Task]]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, content: bytes) -> str:
        """Raises FileError or UsageError, one sentence, when it is none."""
        if len(content) > LARGEST:
            raise UsageError(f"{name} is larger than {LARGEST >> 20} MiB.", "Give a smaller file.")
        tasks = parse_tasks(content.decode("utf-8", "replace"), name)
        id_ = hashlib.blake2b(content, digest_size=6).hexdigest()
        with self.lock:
            self.kept[id_] = (name, tasks)
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return id_


def files() -> TaskFiles:
    return current_app.extensions.setdefault(EXTENSION, TaskFiles())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for beside catalogs and contexts. tasks: the id of a set; bar: of recall@5, per cent."""

    tasks: str
    half: str
    methods: tuple[str, ...]
    bar: str

    @classmethod
    def read(cls, args: Any) -> Asked:
        chosen = tuple([name for name in usable_methods() if name in args.getlist("method")])
        half = args.get("half", "") if args.get("half") in HALVES else ""
        bar = args.get("bar", "")
        bar = bar if (whole(bar) or 0) <= 100 and bar.isdecimal() else ""
        return cls(args.get("tasks", ""), half, chosen or usable_methods(), bar)

    def href(self, query: Query) -> str:
        """The address of the screen with both."""
        own = {"tasks": self.tasks, "half": self.half, "bar": self.bar}
        pairs = [(name, value) for name, value in own.items() if value]
        if self.methods != usable_methods():
            pairs += [("method", name) for name in self.methods]
        return query.href() + ("&" if query.href() != "?" and pairs else "") + urlencode(pairs)


@blueprint.get("/lab/evaluate")
def index() -> AnyResponse | str:
    """The screen; its inner part when htmx asks."""
    context = screen(Query.read(request.args), Asked.read(request.args), None)
    if is_partial() and context["job"] is not None:
        waits = make_response(render_template("lab/_progress.html", progress=context["job"].progress))
        waits.headers["HX-Retarget"], waits.headers["HX-Reswap"] = "#lab-progress", "outerHTML"
        return waits
    return answer(context)


@blueprint.get("/lab/evaluate.json")
def report() -> Response:
    """The document of `evaluate --json`."""
    query, asked = Query.read(request.args), Asked.read(request.args)
    bench = finished(bench_here(query))
    found = finished(job_of(query, asked, bench))
    document = {"schema": SCHEMA, "methods": [quality_entry(each) for each in found], "not_run": []}
    return download(json.dumps(document, ensure_ascii=False) + "\n", "evaluate.json", "application/json")


@blueprint.post("/lab/tasks")
def upload() -> AnyResponse | str:
    """Keep a task set for this run."""
    request.max_content_length = LARGEST + (1 << 20)
    query, asked = Query.read(request.args), Asked.read(request.args)
    given = request.files.get("file")
    try:
        if given is None or not given.filename:
            raise UsageError("No file was chosen.", "Choose tasks, one JSON object a line.")
        id_ = files().add(given.filename, given.read())
    except LoupeError as problem:
        return answer(screen(query, asked, problem), 422)
    there = Asked(f"file:{id_}", "", asked.methods, asked.bar)
    return redirect(url_for(".index") + there.href(query), 303)


@blueprint.post("/lab/evaluate/cancel")
def cancel() -> AnyResponse:
    """End the evaluation, or the reading of the catalogs before it."""
    query, asked = Query.read(request.args), Asked.read(request.args)
    bench = bench_here(query).result(0)
    if bench is None:  # the catalogs are being read; looking with them in the address would begin anew
        lab().jobs.drop(wanted_of(query, picks_of(query)))
        return redirect(url_for(".index"), 303)
    lab().jobs.drop(key_of(query, asked, bench))
    return redirect(url_for(".index") + Asked("", asked.half, asked.methods, asked.bar).href(query), 303)


def answer(context: dict[str, Any], status: int = 200) -> AnyResponse:
    if is_partial():
        return make_response(render_template("lab/_evaluate.html", **context), status)
    return make_response(
        render_template("lab/evaluate.html", shell=shell("lab", pin=False), **context), status
    )


def bench_here(query: Query) -> Job[Bench]:
    return bench_of(query, picks_of(query))


def key_of(query: Query, asked: Asked, bench: Bench) -> tuple[Any, ...]:
    return ("evaluate", bench.stamp, query.contexts, asked.tasks, asked.half, asked.methods)


def tasks_of(asked: Asked) -> list[Task]:
    """The chosen set. Raises UsageError when there is none of that name or half."""
    if asked.tasks.startswith("file:"):
        kept = files().kept.get(asked.tasks.removeprefix("file:"))
        if kept is None:
            raise UsageError("That task set is no longer here: files are kept for one run.", "Add it again.")
        every = kept[1]
    else:
        found = next((each for each in task_sets() if each.id == asked.tasks), None)
        if found is None:
            raise UsageError("There is no such task set.", "Choose one of the list, or add a file.")
        every = list(found.tasks)
    tasks = [task for task in every if asked.half in ("", task.half)]
    if not tasks:
        raise UsageError(f"This set has no task of the {asked.half} half.", "Choose all tasks.")
    return tasks


def job_of(query: Query, asked: Asked, bench: Bench) -> Job[list[Quality]]:
    tasks, scenario = tasks_of(asked), query.scenario()
    return lab().jobs.start(
        key_of(query, asked, bench),
        lambda progress: evaluated(bench, scenario, tasks, asked.methods, progress),
    )


def screen(query: Query, asked: Asked, refused: LoupeError | None) -> dict[str, Any]:
    """The whole context of lab/_evaluate.html."""
    sides = Sides(console(), store(), comparisons())
    picks = {token: sides.pick("", token) for token in query.catalog}
    context: dict[str, Any] = {
        "query": query, "asked": asked, "picks": picks, "choices": sides.choices(list(picks.values())),
        "sets": task_sets(), "uploads": list(files().kept.items()), "refused": refused, "problem": None, "job": None,
        "found": None, "METHODS": METHODS, "usable": usable_methods(), "HALVES": HALVES, "chart": None, "key": [],
        "fits": None,
    }  # fmt: skip
    if not query.catalog:
        return context
    try:
        if (problem := next((pick.problem for pick in picks.values() if pick.problem), "")) != "":
            raise UsageError(problem, "Choose another catalog.")
        reading = bench_of(query, picks)
        bench = reading.result(AT_ONCE_S)
        if bench is None:
            return context | {"job": reading}
        context["fits"] = [each.id for each in task_sets() if each.fits(bench.registry)]
        if not asked.tasks:
            return context
        job = job_of(query, asked, bench)
        try:
            found = job.result(AT_ONCE_S)
        except LoupeError:
            lab().jobs.drop(key_of(query, asked, bench))
            raise
        if found is None:
            return context | {"job": job}
        context |= {
            "found": found, "chart": recall_chart(found, asked.bar),
            "key": [(each.search, FILLS[each.search], "") for each in found],
        }  # fmt: skip
    except LoupeError as problem_:
        context["problem"] = problem_
    return context


def recall_chart(found: list[Quality], bar: str) -> Markup:
    """Bars of recall@1, 3 and 5 by method, the wanted one as a line."""
    height, foot = 168, 20
    drawn = []
    for tick in (0, 25, 50, 75, 100):
        y = (height - foot) - (height - foot - 12) * tick / 100
        drawn.append(
            f'<line class="{"grid" if tick else "base"}" x1="6%" x2="86%" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="5.5%" y="{y + 4:.1f}" text-anchor="end">{tick} %</text>'
        )
    width = 80 / 3
    for at, k in enumerate((1, 3, 5)):
        left, each = 6 + at * width, width * 0.8 / max(len(found), 1)
        drawn.append(
            f'<text x="{left + width * 0.45:.2f}%" y="{height - 5}" text-anchor="middle">recall@{k}</text>'
        )
        for number, one in enumerate(found):
            value = one.recall(k) or 0.0
            tall = (height - foot - 12) * value
            x = left + width * 0.05 + number * each
            drawn.append(
                f'<rect class="f-{FILLS[one.search]}" x="{x:.2f}%" width="{each * 0.9:.2f}%"'
                f' y="{height - foot - tall:.1f}" height="{tall:.1f}"/>'
                f'<text class="b" x="{x + each * 0.45:.2f}%" y="{max(height - foot - tall - 3, 10):.1f}"'
                f' text-anchor="middle">{value * 100:.0f}</text>'
            )
    if bar:
        y = (height - foot) - (height - foot - 12) * int(bar) / 100
        drawn.append(
            f'<line class="thresh" x1="6%" x2="86%" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="lab__w" x="86.5%" y="{y + 4:.1f}">wanted {bar} %</text>'
        )
    says = "Recall among the first five: " + ", ".join(
        [f"{one.search} {(one.recall(5) or 0) * 100:.1f} per cent" for one in found]
    )
    body = Markup("".join(drawn))  # noqa: S704 -- numbers and our own words
    return Markup('<svg class="chart" role="img" aria-label="{}" height="{}">{}</svg>').format(
        escape(says), height, body
    )
