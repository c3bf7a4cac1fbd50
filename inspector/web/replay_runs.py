"""What came of a replay, and the difference of two recorded sessions: pairs beside each other. Flask request threads."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.replays import Replay
from inspector.console.worker import Worker
from inspector.errors import FileError, LoupeError, TimedOut, UsageError
from inspector.replay import aligned as engine
from inspector.replay.aligned import Aligned, Told
from inspector.replay.compare import Ignore
from inspector.trace.store import Store
from inspector.web.compare_jobs import REPORT_S, Job
from inspector.web.downloads import download
from inspector.web.frame import console, shell, store
from inspector.web.guard import spawns
from inspector.web.render import is_partial
from inspector.web.replay import offered, recent
from inspector.web.replay_pairs import (
    VERDICTS,
    pane,
    report_json,
    report_markdown,
    window,
)
from inspector.web.replay_query import Asked, Pairs
from inspector.web.replay_sides import Side, newest, side_of, tokens_of

blueprint = Blueprint("replay_runs", __name__)
EXTENSION: Final = "replay-jobs"
AT_ONCE_S: Final = 0.6
PANE_S: Final = 20.0
KEPT: Final = 8


class Jobs:
    """What the worker aligns or judges, by what it was asked; bounded. Any thread."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._jobs: OrderedDict[str, Job[list[Aligned]]] = OrderedDict()
        self._lock = threading.Lock()

    def job(self, key: str, begin: Callable[[Worker], Future[list[Aligned]]]) -> Job[list[Aligned]]:
        """Started when it is not known."""
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = Job(begin(self._worker), int(time.time() * 1000))
            self._jobs.move_to_end(key)
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)[1].future.cancel()
            return self._jobs[key]

    def drop(self, key: str) -> None:
        """Forget it; what runs ends."""
        with self._lock:
            found = self._jobs.pop(key, None)
        if found is not None:
            found.future.cancel()


def jobs() -> Jobs:
    return current_app.extensions.setdefault(EXTENSION, Jobs(console().worker))  # type: ignore[no-any-return]


# --- a run


@blueprint.get("/replay/runs/<id>")
def show(id: str) -> AnyResponse | str:
    """The run as it stands; its inner part when htmx asks, every second while it goes on."""
    return _run_page(console().replays.get(id), Asked.read(request.args))


@blueprint.post("/replay/runs/<id>/cancel")
@spawns
def cancel(id: str) -> AnyResponse:
    """Send nothing more, and take back the request that waits."""
    console().replays.cancel(id)
    return redirect(url_for("replay_runs.show", id=id), 303)


@blueprint.post("/replay/runs/<id>/again")
@spawns
def again(id: str) -> AnyResponse:
    """The same requests to the same server once more, with the ignored paths of the page."""
    rules = Asked.read(request.form).rules
    order = replace(
        console().replays.get(id).order, token=request.form.get("token", ""), ignore=rules.lines, volatile=rules.volatile
    )  # fmt: skip
    if rules.problem:
        raise UsageError(rules.problem, "Mend the ignored paths.")
    console().connection(order.key)  # says at once when there is none
    return redirect(url_for("replay_runs.show", id=console().replays.start(order).id), 303)


@blueprint.get("/replay/runs/<id>/report.<any(md, json):form>")
def report(id: str, form: str) -> Response:
    """What came of a run, as a file."""
    replay, asked = console().replays.get(id), Asked.read(request.args)
    pairs = _judged(replay, asked, REPORT_S)
    if pairs is None:
        raise TimedOut("The answers were not compared in time.", "Ask again in a while.")
    found = _documents(pairs, asked.rules.ignore())
    for item, one in zip(replay.items, found, strict=True):
        one |= {name: text for name, text in (("why", item.why), ("remedy", item.remedy)) if text}
    order = replay.order
    document = {
        "schema": "mcp-loupe/replay-report/1",
        "title": f"Replay of {order.source} to {order.label}",
        "about": {"a": order.source, "b": f"{order.label}, {replay.version or 'not connected'}",
                  "ignored": ", ".join(asked.rules.lines) or "nothing"},
        "summary": dict(window(pairs, asked).counts), "exchanges": found,
    }  # fmt: skip
    return _download(document, form, id)


def _run_page(replay: Replay, asked: Asked) -> AnyResponse:
    running = replay.running  # before the pairs are read: what ends meanwhile is shown by the next look
    pairs = _judged(replay, asked, AT_ONCE_S)
    shown = [item.pair for item in replay.items] if pairs is None else pairs
    whys = [(item.why, item.remedy) for item in replay.items]
    here = url_for("replay_runs.show", id=replay.id)
    context = {
        "replay": replay, "running": running, "label": replay.order.label, "judging": pairs is None,
        "token": f"{replay.id}-{time.time_ns()}",
        "current": console().recorder.session,
        **_shown(shown, asked, whys, here, [], read=request.args.get("poll") != "1"),
    }  # fmt: skip
    if is_partial():
        if request.args.get("poll") == "1":
            return make_response(render_template("replay/_poll.html", **context))
        answer = make_response(render_template("replay/_run.html", **context))
        answer.headers["HX-Push-Url"] = here + context["href"]()
        return answer
    known = {server.key for server in console().servers()}
    key = replay.order.key if replay.order.key in known else None
    return make_response(render_template("replay/run.html", shell=shell("replay", key), **context))


def _judged(replay: Replay, asked: Asked, wait_s: float) -> list[Aligned] | None:
    """The pairs by the rules of the page: as the run judged them, or judged anew; None while that goes on."""
    pairs = [item.pair for item in replay.items]
    order = replay.order
    if replay.running or asked.rules.ignore() == Ignore.of(order.ignore, volatile=order.volatile):
        return pairs
    both = [at for at, pair in enumerate(pairs) if pair.b is not None and pair.b.answer is not None]
    key = f"{replay.id} {asked.rules.key}"
    database, rules = console().paths.database, asked.rules.ignore()
    chosen = [pairs[at] for at in both]
    job = jobs().job(key, lambda worker: worker.submit(engine.judged, database, chosen, rules))
    try:
        found = job.result(wait_s)
    except LoupeError:
        jobs().drop(key)
        raise
    if found is None:
        return None
    for at, pair in zip(both, found, strict=True):
        pairs[at] = pair
    return pairs


# --- two sessions


@blueprint.get("/replay/diff")
def difference() -> AnyResponse | str:
    """Two recorded sessions, or connections of them, aligned."""
    return _diff_page(Asked.read(request.args))


@blueprint.get("/replay/diff/wait")
def wait() -> AnyResponse:
    """204 while it is being aligned, then the screen."""
    asked = Asked.read(request.args)
    sides = _sides(store())
    found, job, _ = _aligned(sides, asked, 0)
    if not is_partial():
        return redirect(url_for("replay_runs.difference") + "?" + urlencode(_named(sides) + asked.pairs()))
    return Response(status=204) if job is not None and found is None else _diff_page(asked)


@blueprint.post("/replay/diff/cancel")
def stop() -> AnyResponse:
    """End the alignment that runs; looking at the page again does not start it anew."""
    asked, sides = Asked.read(request.form), _sides(store(), request.form)
    jobs().drop(_key(sides, asked))
    pairs = [*_named(sides), *asked.pairs(), ("hold", "1")]
    return redirect(url_for("replay_runs.difference") + "?" + urlencode(pairs), 303)


@blueprint.get("/replay/diff/report.<any(md, json):form>")
def difference_report(form: str) -> Response:
    """The whole difference as a file."""
    asked, sides = Asked.read(request.args), _sides(store())
    pairs, _, problem = _aligned(sides, asked, REPORT_S)
    if problem is not None:
        raise problem
    if pairs is None:
        raise UsageError("A difference needs two recordings.", "Choose A and B on the Diff screen.")
    seen = window(pairs, asked)
    document = {
        "schema": "mcp-loupe/session-diff/1", "title": f"{sides[0].label} against {sides[1].label}",
        "about": {"a": sides[0].line, "b": sides[1].line, "ignored": ", ".join(asked.rules.lines) or "nothing"},
        "delta": {"bytes": seen.bytes, "ms_median": seen.ms},
        "summary": dict(seen.counts), "exchanges": _documents(pairs, asked.rules.ignore()),
    }  # fmt: skip
    return _download(document, form, "diff")


def _diff_page(asked: Asked) -> AnyResponse:
    sides = _sides(store())
    pairs, job, problem = _aligned(sides, asked, AT_ONCE_S)
    here = url_for("replay_runs.difference")
    tokens = tokens_of(store(), offered(store(), sides[0].session or 0))
    context = {
        "sides": sides, "tokens": tokens,
        "job": job if pairs is None else None, "newest": newest(tokens) if not _named(sides) else [],
        "found": pairs is not None, "problem": problem, "hold": request.args.get("hold") == "1",
        "current": console().recorder.session,
        **_shown(pairs or [], asked, (), here, _named(sides)),
    }  # fmt: skip
    if is_partial():
        answer = make_response(render_template("replay/_diff.html", **context))
        answer.headers["HX-Push-Url"] = here + context["href"]()
        return answer
    return make_response(render_template("replay/diff.html", shell=shell("replay"), **context))


def _sides(reader: Store, args: Any = None) -> tuple[Side, Side]:
    given = request.args if args is None else args
    return side_of(reader, given.get("a", "")), side_of(reader, given.get("b", ""))


def _named(sides: Sequence[Side]) -> Pairs:
    return [(letter, side.token) for letter, side in zip("ab", sides, strict=True) if side.token]


def _key(sides: Sequence[Side], asked: Asked) -> str:
    return repr([(side.token, side.stamp) for side in sides]) + asked.rules.key


def _aligned(
    sides: tuple[Side, Side], asked: Asked, wait_s: float
) -> tuple[list[Aligned] | None, Job[list[Aligned]] | None, LoupeError | None]:
    """(pairs, the job while it runs, why nothing came)."""
    a, b = (side.place for side in sides)
    if a is None or b is None or request.args.get("hold") == "1":
        return None, None, None
    database, rules, key = console().paths.database, asked.rules.ignore(), _key(sides, asked)
    job = jobs().job(key, lambda worker: worker.submit(engine.aligned, database, a, b, rules))
    try:
        return job.result(wait_s), job, None
    except LoupeError as problem:
        jobs().drop(key)
        return None, None, problem


# --- both


def _shown(
    pairs: Sequence[Aligned],
    asked: Asked,
    whys: Sequence[tuple[str, str]],
    here: str,
    fixed: Pairs,
    *,
    read: bool = True,
) -> dict[str, Any]:
    """What _pairs.html and _pair.html take. fixed: what of the address belongs to the page itself. read: whether the
    open pair is read, too."""
    seen = window(pairs, asked, whys)

    def href(**changes: Any) -> str:
        spelled = urlencode([*fixed, *replace(asked, **changes).pairs()], errors="backslashreplace")
        return f"?{spelled}" if spelled else ""

    told, problem = _read(seen.opened.pair, asked.rules.ignore()) if seen.opened and read else (None, "")
    return {
        "asked": asked, "seen": seen, "place": here, "href": href, "fixed": fixed, "VERDICTS": VERDICTS,
        "unread": problem, "recent": recent(), **pane(told),
    }  # fmt: skip


def _read(pair: Aligned, rules: Ignore) -> tuple[Told | None, str]:
    """A pair in full, read and compared in the worker; a sentence when that did not work."""
    if pair.b is not None:
        console().recorder.flush(2.0)
    future = console().worker.submit(engine.told, console().paths.database, pair, rules)
    try:
        return future.result(PANE_S), ""
    except LoupeError as problem:
        return None, f"{problem.message} {problem.remedy}"
    except TimeoutError:
        future.cancel()
        return None, f"These answers were not compared within {PANE_S:.0f} s: they are very large."
    except Exception as problem:  # noqa: BLE001 - the worker's process may have died
        return None, f"The comparison broke off ({type(problem).__name__})."


def _documents(pairs: Sequence[Aligned], rules: Ignore) -> list[dict[str, Any]]:
    future = console().worker.submit(engine.documents, console().paths.database, list(pairs), rules)
    try:
        return future.result(REPORT_S)
    except TimeoutError:
        future.cancel()
        text = f"The report was not done within {REPORT_S:.0f} s."
        raise TimedOut(text, "Choose a shorter session, or one connection of it.") from None
    except LoupeError:
        raise
    except Exception as problem:
        raise FileError(f"The report broke off ({type(problem).__name__}).", "Ask again.") from problem


def _download(document: dict[str, Any], form: str, name: str) -> Response:
    kind, text = (
        ("application/json", report_json(document)) if form == "json" else ("text/markdown", report_markdown(document))
    )  # fmt: skip
    return download(text, f"{name}.{form}", kind)
