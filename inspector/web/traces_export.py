"""Exporting a recording: what would be hidden, by which rule and where, then the file. Request threads."""

from __future__ import annotations

import re
from typing import Any, Final

from flask import (
    Blueprint,
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.exporting import FORMATS
from inspector.console.exports import Plan
from inspector.errors import Cancelled, LoupeError, UsageError
from inspector.trace.session_file import Range
from inspector.trace.store import MAX_SEQ, Session
from inspector.web.frame import console, shell, store
from inspector.web.render import is_partial
from inspector.web.traces_view import recording_of

exports = Blueprint("exports", __name__)
AT_ONCE_S: Final = 0.8


def plan_of(session: int) -> Plan:
    """The plan, which knows what was passed to servers."""
    return console().exports.plan(session, lambda: console().secrets(session))


@exports.get("/traces/<int:session>/export")
def show(session: int) -> str:
    """The page: range, rules and what they find, formats."""
    recording, plan = recording_of(session), plan_of(session)
    return page(recording, plan)


def page(recording: Session, plan: Plan, problem: LoupeError | None = None) -> str:
    partial = is_partial()
    template = "traces/_export.html" if partial else "traces/export.html"
    frame = None if partial else shell("traces", pin=False)
    return render_template(template, shell=frame, **context(recording, plan, problem))


def context(recording: Session, plan: Plan, problem: LoupeError | None) -> dict[str, Any]:
    """What _export.html takes. preview None with no failure: it is searched still."""
    preview, failure, made = None, None, None
    if plan.redact:
        try:
            preview = console().exports.preview(plan, AT_ONCE_S)
        except LoupeError as wrong:
            failure = wrong
    if plan.made is not None:
        try:
            made = plan.made.task.result(0)
        except Cancelled:
            plan.made = None
        except LoupeError as wrong:
            problem, plan.made = wrong, None
    last = plan.until if plan.found is not None else store().last_seq(recording.id)
    return {
        "recording": recording, "plan": plan, "preview": preview, "failure": failure, "problem": problem,
        "made": made, "FORMATS": FORMATS, "last": last, "whole": plan.span == Range(),
        "span": (plan.span.first, min(plan.span.last, last)),
        "busy": (plan.redact and preview is None and failure is None) or (plan.made is not None and made is None),
        "event": lambda seq: url_for("timeline.show", session=recording.id, e=seq),
        "notes": len(store().notes(recording.id)),
    }  # fmt: skip


def changed(session: int) -> AnyResponse | str:
    """After a change: the page anew; for htmx the part."""
    if is_partial():
        return page(recording_of(session), plan_of(session))
    return redirect(url_for("traces.exports.show", session=session), 303)


@exports.post("/traces/<int:session>/export/rule")
def add_rule(session: int) -> AnyResponse | str:
    """Hide something more: the values of a key, what a pattern matches, a text."""
    recording, plan = recording_of(session), plan_of(session)
    try:
        console().exports.add_rule(plan, request.form.get("kind", ""), request.form.get("text", ""))
    except LoupeError as problem:
        return make_response(page(recording, plan, problem), 422)
    return changed(session)


@exports.post("/traces/<int:session>/export/drop")
def drop_rule(session: int) -> AnyResponse | str:
    recording_of(session)
    console().exports.drop_rule(plan_of(session), request.form.get("rule", ""))
    return changed(session)


@exports.post("/traces/<int:session>/export/switch")
def switch(session: int) -> AnyResponse | str:
    """Apply a rule, or leave it out."""
    recording_of(session)
    plan, rule = plan_of(session), request.form.get("rule", "")
    console().exports.switch(plan, rule, on=request.form.get("to") == "on")
    return changed(session)


@exports.post("/traces/<int:session>/export/redact")
def redact(session: int) -> AnyResponse | str:
    """Hide nothing at all, or hide again; the former was confirmed."""
    recording_of(session)
    on = request.form.get("to") != "off"
    if not on and request.form.get("sure") != "yes":
        raise UsageError("Exporting without redaction was not confirmed.", "Tick the box beside the button.")
    console().exports.change(plan_of(session), redact=on)
    return changed(session)


@exports.post("/traces/<int:session>/export/range")
def trim(session: int) -> AnyResponse | str:
    """Take a part only."""
    recording, plan = recording_of(session), plan_of(session)
    first, last = (request.form.get(name, "").strip() for name in ("first", "last"))
    try:
        span = range_of(first, last, store().last_seq(session))
    except UsageError as problem:
        return make_response(page(recording, plan, problem), 422)
    console().exports.change(plan, span=span)
    return changed(session)


@exports.post("/traces/<int:session>/export/edge")
def edge(session: int) -> AnyResponse | str:
    """Begin or end at an event that is looked at; the other end stays where it was, as far as it can."""
    recording_of(session)
    plan, newest = plan_of(session), store().last_seq(session)
    seq = request.form.get("seq", "")
    there = int(seq) if re.fullmatch(r"\d{1,15}", seq, re.ASCII) else 0
    first, last = plan.span.first, min(plan.span.last, newest)
    if request.form.get("edge") == "last":
        span = range_of(str(min(first, there)), seq, newest)
    else:
        span = range_of(seq, str(last if last >= there else newest), newest)
    console().exports.change(plan, span=span)
    return redirect(url_for("traces.exports.show", session=session), 303)


def range_of(first: str, last: str, newest: int) -> Range:
    """Raises UsageError when that is no part of the recording."""
    if not all(re.fullmatch(r"\d{0,15}", text, re.ASCII) for text in (first, last)):
        raise UsageError(
            "The range is not made of event numbers.", "Give the number of the first and the last event."
        )
    begin, end = int(first or 1), int(last or newest)
    if begin < 1 or end < begin or begin > newest:
        raise UsageError(
            f"Events {begin} to {end} are no part of #1 to #{newest}.", "Give a range inside it."
        )
    return Range(begin, MAX_SEQ if end >= newest else end)


@exports.post("/traces/<int:session>/export/file")
def write(session: int) -> AnyResponse | str:
    """Begin the file; a small one comes at once."""
    recording, plan = recording_of(session), plan_of(session)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", recording.title)[:60].strip("-.") or f"recording-{session}"
    try:
        made = console().exports.write(plan, request.form.get("format", ""), stem)
        made.task.result(AT_ONCE_S)
    except LoupeError as problem:
        return make_response(page(recording, plan, problem), 422)
    return changed(session)


@exports.get("/traces/<int:session>/export/file/<token>")
def file(session: int, token: str) -> Response:
    """The file that was made, as a download."""
    made = plan_of(session).made
    if made is None or made.token != token or made.task.result(0) is None:
        abort(404, "That export is not here any more.")
    return send_file(
        made.path, mimetype=made.kind.media, as_attachment=True, download_name=made.name, max_age=0
    )


@exports.post("/traces/<int:session>/export/cancel")
def cancel(session: int) -> AnyResponse | str:
    """End the search or the writing."""
    console().exports.change(plan_of(session))
    return redirect(url_for("traces.show", session=session), 303)
