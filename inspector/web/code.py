"""The code screen: a script over chosen servers, the functions beside it, approvals, calls, effects. Request threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.jsontext import compact_value
from inspector.console.scripts import ScriptRun, Scripts
from inspector.discovery.access import Access
from inspector.discovery.code.approvals import DECISIONS, WORDS, Decision
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.limits import HARDEST, TITLES, Limits, limits_of
from inspector.discovery.code.monty import installed
from inspector.discovery.code.provenance import POLICIES, Policy
from inspector.discovery.code.stubs import Finding, Level, Stubs
from inspector.discovery.ledger import percent
from inspector.errors import LoupeError, UsageError
from inspector.settings.extras import install_command
from inspector.web.frame import console, event_link, shell
from inspector.web.guard import spawns
from inspector.web.labels import labels
from inspector.web.query import whole
from inspector.web.render import is_partial

blueprint = Blueprint("code", __name__)

LANGUAGES: Final = (("python", "Python"), ("typescript", "TypeScript"))
LEVELS: Final[tuple[tuple[Level, str], ...]] = (
    ("names", "names"), ("described", "descriptions"), ("typed", "types"), ("full", "types and words"),
)  # fmt: skip
SHOWN: Final = 400
CALLS: Final = 200
FINDINGS: Final = 30
EXAMPLE: Final = """found = logs__search_logs()
counts: dict[str, int] = {}
for entry in found["entries"]:
    counts[entry["message"]] = counts.get(entry["message"], 0) + 1
print(f"{found['total']} entries, {len(counts)} distinct messages")
for message, times in counts.items():
    tracker__create_issue(title=message, body=f"seen {times} times")
"""
MARKS: Final = {
    "done": "ok", "reused": "ok", "failed": "err", "refused": "warn", "unknown": "warn", "running": "busy",
}  # fmt: skip
PAIR: Final = ("demo:logs", "demo:tracker")


@dataclass(frozen=True, slots=True)
class Choice:
    """A server that may be chosen. usable: it is connected, with its tools listed."""

    key: str
    label: str
    tools: int | None
    usable: bool
    on: bool


AT_ONCE: Final = 500
"""Tools whose functions are written before the page is shown; those of more come after it."""


def scripts() -> Scripts:
    return console().scripts


@blueprint.get("/code")
def index() -> AnyResponse:
    """The editor and, beside it, the functions or a run (`run=`)."""
    run = scripts().get(request.args["run"]) if request.args.get("run") else None
    context = screen(run, request.args.getlist("server"), name=request.args.get("script", ""))
    return make_response(render_template("code/page.html", shell=shell("code"), **context))


@blueprint.get("/code/functions")
def functions() -> AnyResponse:
    """The stubs of the chosen servers."""
    keys = request.args.getlist("server")
    if not is_partial():
        return redirect(url_for("code.index", server=keys))
    return make_response(render_template("code/_functions.html", **shown_functions(keys)))


@blueprint.get("/code/runs/<id_>")
def show(id_: str) -> AnyResponse:
    """A run as far as it is; a partial gets 204 when nothing is new."""
    run = scripts().get(id_)
    if not is_partial():
        return redirect(url_for("code.index", run=id_))
    if request.args.get("seen") == run.seen():
        return Response(status=204)
    return make_response(render_template("code/_run.html", **shown_run(run)))


@blueprint.post("/code/run")
@spawns
def start() -> AnyResponse:
    """Run the script; approving it approves no call."""
    form = request.form
    keys, code = form.getlist("server"), form.get("code", "").replace("\r\n", "\n")
    try:
        rules = Rules(_limits(form), _access(form), _allowed(form), _policy(form.get("flows", "ask")))
        run = scripts().start(
            keys, code, rules, typed=form.get("typed") == "1", resume=form.get("resume", "")
        )
    except LoupeError as problem:
        context = screen(None, keys, code=code, problem=problem)
        return make_response(render_template("code/page.html", shell=shell("code"), **context), 422)
    return redirect(url_for("code.index", run=run.id), 303)


@blueprint.post("/code/runs/<id_>/answer")
@spawns
def answer(id_: str) -> AnyResponse:
    """A person's word on the call that waits."""
    run = scripts().get(id_)
    said, n = request.form.get("decision", ""), request.form.get("n", "")
    decision: Decision | None = next((each for each in DECISIONS if each == said), None)
    if decision is None or (call := whole(n)) is None:
        raise UsageError("The answer was not understood.", "Use one of the buttons beside the call.")
    if not run.waiting.answer(call, decision):
        raise UsageError(
            f"Call {call} does not wait for an answer any more.",
            "Look at the run: it was answered or stopped.",
        )
    return redirect(url_for("code.index", run=id_), 303)


@blueprint.post("/code/runs/<id_>/stop")
@spawns
def stop(id_: str) -> AnyResponse:
    """End the run; a call that waits is taken back."""
    scripts().stop(id_)
    return redirect(url_for("code.index", run=id_), 303)


@blueprint.post("/code/scripts")
def save() -> AnyResponse:
    """Keep the script under a name, or forget one."""
    form, saved = request.form, console().saved_scripts
    name = " ".join(form.get("name", "").split())
    if form.get("delete"):
        saved.delete(form["delete"])
        return redirect(url_for("code.index", server=form.getlist("server")), 303)
    try:
        saved.save(name, form.get("code", "").replace("\r\n", "\n"))
    except LoupeError as problem:
        context = screen(None, form.getlist("server"), code=form.get("code", ""), problem=problem)
        return make_response(render_template("code/page.html", shell=shell("code"), **context), 422)
    return redirect(url_for("code.index", server=form.getlist("server"), script=name), 303)


def _limits(form: Any) -> Limits:
    words = [f"{name}={form[name].strip()}" for name in TITLES if form.get(name, "").strip()]
    return limits_of(words)


def _access(form: Any) -> Access:
    deny = tuple(form.get("deny", "").split())
    return Access(deny=deny)


def _allowed(form: Any) -> tuple[str, ...]:
    return tuple(form.get("allow", "").split())


def _policy(word: str) -> Policy:
    for policy in POLICIES:
        if policy == word:
            return policy
    raise UsageError(f"There is no policy {word}.", f"Choose among {', '.join(POLICIES)}.")


# --- what the templates show


def screen(
    run: ScriptRun | None, keys: list[str], *, code: str | None = None, name: str = "", problem: LoupeError | None = None
) -> dict[str, Any]:  # fmt: skip
    """The whole context of page.html. code: what was written, when it could not be run or kept, for `problem`."""
    chosen = list(run.keys) if run is not None else keys
    choices = _choices(chosen)
    if not chosen:
        chosen = _usual(choices)
        choices = [Choice(c.key, c.label, c.tools, c.usable, c.key in chosen) for c in choices]
    saved = console().saved_scripts.all()
    if code is None:
        code = run.code if run is not None else saved.get(name, _first_script(choices, chosen))
    context: dict[str, Any] = {
        "choices": choices, "code": code, "saved": list(saved), "problem": problem,
        "script": name if name in saved else "",
        "installed": installed(), "install": install_command("code"), "run": run, "recent": scripts().recent()[:8],
        "typed": request.form if problem else written(run.rules if run else Rules(flows="ask")),
        "limits": limit_fields(), "policies": POLICIES,
        "keys_query": urlencode([("server", key) for key in chosen]), "chosen": chosen, "writing": None,
    }  # fmt: skip
    if run is not None:
        return context | shown_run(run)
    held = request.args.get("functions") == "none"
    if held or not scripts().written(chosen):
        tools = sum(each.tools or 0 for each in choices if each.on)
        if held or (tools > AT_ONCE and request.args.get("functions") != "now"):
            return context | {"writing": _writing(chosen, tools, held=held)}
    return context | shown_functions(chosen)


def _writing(keys: list[str], tools: int, *, held: bool) -> dict[str, Any]:
    """What stands where the functions of many tools will be, and where they are got, given up and got again."""
    more: dict[str, Any] = {
        "language": request.args.get("language"),
        "level": request.args.get("level"),
        "server": keys,
    }
    return {
        "tools": tools, "held": held, "since_ms": int(time.time() * 1000), "place": url_for("code.functions", **more),
        "off": url_for("code.index", functions="none", **more), "now": url_for("code.index", functions="now", **more),
    }  # fmt: skip


def written(rules: Rules) -> dict[str, str]:
    """Rules as the form has them; limits are left at their usual values."""
    deny = " ".join(rules.access.deny)
    return {"allow": " ".join(rules.allow), "deny": deny, "flows": rules.flows, "typed": "1"}


def limit_fields() -> list[tuple[str, str, str, str]]:
    """(name, title, `≤ 60 s`, the usual value) of the limits a form has."""
    found = []
    for name, (title, unit) in TITLES.items():
        if name in ("concurrency", "steps"):
            continue
        most = getattr(HARDEST, name)
        shown = f"{most >> 20} MiB" if unit == "B" else f"{most:g}{unit and ' '}{unit}"
        found.append(
            (
                name,
                title,
                f"≤ {shown}",
                f"{getattr(Limits(), name):g}" if unit != "B" else str(getattr(Limits(), name)),
            )
        )
    return found


def _choices(chosen: list[str]) -> list[Choice]:
    servers = console().servers()
    named = labels(servers)
    return [
        Choice(
            each.key,
            named[each.key],
            each.tools,
            each.state == "connected" and each.tools is not None,
            each.key in chosen,
        )
        for each in servers
    ]


def _usual(choices: list[Choice]) -> list[str]:
    """The demo pair when it is connected; else every connected server, at most four."""
    pair = [each.key for each in choices if each.usable and console().server(each.key).spec.name in PAIR]
    return pair if len(pair) == len(PAIR) else [each.key for each in choices if each.usable][:4]


def _first_script(choices: list[Choice], chosen: list[str]) -> str:
    """The classic task on the demo pair, under the namespaces it has here; elsewhere nothing."""
    of_name = {console().server(key).spec.name: key for key in chosen if any(c.key == key for c in choices)}
    if not all(name in of_name for name in PAIR):
        return ""
    known = {server.label: server.key for server in scripts().registry(list(of_name.values())).servers}
    text = EXAMPLE
    for name in PAIR:
        space = known.get(of_name[name], "")
        stem = name.removeprefix("demo:")
        text = text.replace(f"{stem}__", f"{space.replace('-', '_')}__")
    return text


def shown_functions(keys: list[str]) -> dict[str, Any]:
    """The functions pane. Its language and level are in the address."""
    language = "typescript" if request.args.get("language") == "typescript" else "python"
    level: Level = next((each for each, _ in LEVELS if each == request.args.get("level")), "full")
    known = {each.key for each in console().servers()}
    keys = [key for key in keys if key in known]
    stubs = scripts().stubs(keys)
    text = (
        stubs.text("typescript" if language == "typescript" else "python", level) if stubs.functions else ""
    )
    return {
        "keys": keys, "language": language, "level": level, "languages": LANGUAGES, "levels": LEVELS, "text": text,
        "count": len(stubs.functions), "tokens": scripts().tokens(text) if text else None,
        "bytes": len(text.encode("utf-8", "surrogatepass")), "cap": SHOWN,
        "findings": _findings(stubs), "address": _address(keys),
    }  # fmt: skip


def _address(keys: list[str]) -> Callable[..., str]:
    def address(*, language: str, level: str) -> str:
        return url_for("code.functions", server=keys, language=language, level=level)

    return address


def _findings(stubs: Stubs) -> dict[str, Any]:
    found = stubs.findings
    others: list[Finding] = [each for each in found if each.what != "no outputSchema"]
    return {
        "untyped": len(found) - len(others),
        "any": sum([each.what == "any" for each in others]),
        "lost": sum([each.what == "lost" for each in others]),
        "first": others[:FINDINGS],
        "more": max(0, len(others) - FINDINGS),
    }


def shown_run(run: ScriptRun) -> dict[str, Any]:
    """The run pane."""
    result, comparison, ask = run.result, run.comparison, run.waiting.ask
    calls = run.calls
    return {
        "run": run, "result": result, "ask": ask if result is None else None, "words": WORDS, "comparison": comparison,
        "asked": compact_value(dict(ask.call.arguments)) if ask is not None else "",
        "calls": [(call, _short(call.arguments), _frame_link(call.frames)) for call in calls[-CALLS:]],
        "calls_before": max(0, len(calls) - CALLS), "effects": result.effects if result is not None else None,
        "value": _value(result.value) if result is not None and result.value is not None else "",
        "saved_share": percent(comparison.saved) if comparison is not None else "", "seen": run.seen(),
        "output": run.run.printed, "marks": MARKS,
    }  # fmt: skip


def _short(arguments: Mapping[str, Any]) -> str:
    return compact_value(dict(arguments))[:200]


def _value(value: Any) -> str:
    return compact_value(value)[:20_000]


def _frame_link(frames: tuple[int, ...]) -> str:
    return event_link(None, frames[0]) if frames else ""
