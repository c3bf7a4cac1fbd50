"""The Traces screen: recorded sessions and opened files, opening, describing, deleting. Request threads."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Response, abort, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.recordings import Job
from inspector.errors import LoupeError, UsageError
from inspector.settings.retention import Retention
from inspector.trace.file_reader import Limits
from inspector.web.frame import console, shell, store
from inspector.web.guard import local_path
from inspector.web.notes import notes_on
from inspector.web.query import number, whole
from inspector.web.render import is_partial
from inspector.web.traces_export import exports
from inspector.web.traces_view import about, lines, read_order, recording_of, shipped, shipped_file, title_of

blueprint = Blueprint("traces", __name__)
blueprint.register_blueprint(exports)
AT_ONCE_S: Final = 1.5
"""How long a page waits for a file to be read before it shows that it is being read."""
FORM_BYTES: Final = Limits().unpacked + (1 << 20)
_LONGEST_NAME: Final = 200


# -- the list


@blueprint.get("/traces")
def index() -> str:
    """Everything recorded, and the ways to open a file."""
    return listing()


def listing(failure: LoupeError | None = None) -> str:
    """The page. failure: why a file was not opened."""
    recordings = console().recordings
    order = read_order(request.args)
    shown, more = lines(order)
    try:
        kept, problem = recordings.retention(), recordings.retention_problem
    except LoupeError as wrong:
        kept, problem = Retention(), f"{wrong.message} {wrong.remedy}"
    return render_template(
        "traces/index.html", shell=shell("traces", pin=False), lines=shown, more=more, order=order, shipped=shipped(),
        running=recordings.running(), retention=kept, retention_problem=problem, failure=failure, title_of=title_of,
        deleted=request.args.get("deleted", type=int), limits=Limits(),
    )  # fmt: skip


# -- opening


@blueprint.post("/traces/open")
def open_files() -> AnyResponse:
    """Read the files that were chosen or dropped; with one, show it when it is read."""
    request.max_content_length = FORM_BYTES
    given = [file for file in request.files.getlist("file") if file.filename]
    try:
        if not given:
            raise UsageError("No file was chosen.", "Choose a .mcptrace.jsonl or .mcptrace.jsonl.gz file.")
        jobs = []
        for file in given:
            name = (
                file.filename.replace("\\", "/").rpartition("/")[2][:_LONGEST_NAME]
                if file.filename
                else "file"
            )
            head = file.stream.read(2)
            file.stream.seek(0)
            copy = incoming(packed=head == b"\x1f\x8b")
            file.save(copy)
            file.close()
            jobs.append(console().recordings.open(copy, name, remove=True))
        if len(jobs) > 1:
            return redirect(url_for("traces.index"), 303)
        return opened(jobs[0])
    except LoupeError as problem:
        return make_response(listing(problem), 422)


def incoming(*, packed: bool) -> Path:
    """A new private file for what is uploaded; only its name says that it is packed."""
    folder = console().paths.data / "incoming"
    folder.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=".jsonl.gz" if packed else ".jsonl", dir=folder)
    os.close(handle)
    return Path(name)


@blueprint.post("/traces/shipped/<name>")
def open_shipped(name: str) -> AnyResponse:
    """Open one of the recordings that came with Loupe."""
    path = shipped_file(name)
    if path is None:
        abort(404)
    try:
        return opened(console().recordings.open(path, path.name))
    except LoupeError as problem:
        return make_response(listing(problem), 422)


def opened(job: Job) -> AnyResponse:
    """The timeline of a file that is read quickly, else the page that shows how far it is."""
    try:
        job.future.exception(AT_ONCE_S)
    except TimeoutError:
        return redirect(url_for("traces.opening", token=job.token), 303)
    return redirect(url_for("timeline.show", session=job.session()), 303)


@blueprint.get("/traces/opening/<token>")
def opening(token: str) -> AnyResponse | str:
    """How far the reading of a file is; then its timeline, or why there is none."""
    job = console().recordings.job(token)
    if job is None:
        raise UsageError("That file is not being read any more.", "It is in the list when it was read whole.")
    context: dict[str, Any] = {"job": job, "failure": None, "progress": console().recordings.progress(token)}
    if job.done:
        try:
            target = url_for("timeline.show", session=job.session())
        except LoupeError as problem:
            context["failure"] = problem
        else:
            return Response(headers={"HX-Redirect": target}) if is_partial() else redirect(target, 303)
    template = "traces/_opening.html" if is_partial() else "traces/opening.html"
    return render_template(template, shell=shell("traces", pin=False), **context)


@blueprint.post("/traces/opening/<token>/cancel")
def cancel(token: str) -> AnyResponse:
    """Stop reading; what was read is deleted."""
    console().recordings.cancel(token)
    return redirect(url_for("traces.index"), 303)


# -- one recording


@blueprint.get("/traces/<int:session>")
def show(session: int) -> str:
    """What is known of one recording, and what can be done with it."""
    recording = recording_of(session)
    return render_template("traces/show.html", shell=shell("traces", pin=False), **about(recording))


@blueprint.post("/traces/<int:session>/describe")
def describe(session: int) -> AnyResponse:
    """Keep a title and a note."""
    recording_of(session)
    console().recordings.describe(session, request.form.get("title", ""), request.form.get("note", ""))
    return redirect(url_for("traces.show", session=session, said="saved"), 303)


@blueprint.post("/traces/<int:session>/delete")
def delete(session: int) -> AnyResponse:
    """Delete a recording and everything pinned to it; asked for twice."""
    recording = recording_of(session)
    if request.form.get("sure") != "yes":
        raise UsageError("Deleting was not confirmed.", "Tick the box beside Delete.")
    console().recordings.delete(recording)
    return redirect(url_for("traces.index", deleted=session), 303)


# -- notes


@blueprint.post("/traces/<int:session>/notes")
def add_note(session: int) -> AnyResponse:
    """Pin a note to an event."""
    recording_of(session)
    seq = number(request.form, "seq") or 0
    console().recordings.add_note(session, seq, request.form.get("text", ""))
    return noted(session, seq)


@blueprint.post("/traces/notes/<int:note>")
def change_note(note: int) -> AnyResponse:
    """Change a note, or take it away."""
    known = store().note(note)
    if known is None:
        abort(404, "That note is not there any more.")
    text = "" if request.form.get("delete") else request.form.get("text", "")
    console().recordings.change_note(known, text)
    return noted(known.session, known.seq)


def noted(session: int, seq: int) -> AnyResponse:
    """The notes of an event for htmx, the page they were written on for everybody else."""
    back = local_path(request.form.get("back", ""))
    if not is_partial():
        fallback = url_for("timeline.show", session=session, e=seq)
        return redirect(back if back != "/" else fallback, 303)
    return make_response(render_template("traces/_noted.html", notes=notes_on(session, seq, back)))


# -- retention


@blueprint.get("/traces/retention")
def retention() -> str:
    """How long recordings are kept, and what a setting would delete, before it does."""
    recordings = console().recordings
    if "days" in request.args or "megabytes" in request.args:
        wanted = Retention.read(request.args.get("days", ""), request.args.get("megabytes", ""))
        asked = True
    else:
        wanted, asked = recordings.retention(), False
    return render_template(
        "traces/retention.html", shell=shell("traces", pin=False), wanted=wanted, saved=recordings.retention(),
        asked=asked, due=recordings.due(wanted), sessions=store().sessions(),
    )  # fmt: skip


@blueprint.post("/traces/retention")
def retain() -> AnyResponse:
    """Save the setting, and delete what it deletes now: the list of it was just shown."""
    recordings = console().recordings
    wanted = Retention.read(request.form.get("days", ""), request.form.get("megabytes", ""))
    due = {each.id for each, _ in recordings.due(wanted)}
    if due - {whole(id) for id in request.form.getlist("seen")}:
        raise UsageError("More would be deleted than was shown.", "Go back and look at the list again.")
    recordings.retention_file.save(wanted)
    recordings.apply(wanted)
    return redirect(url_for("traces.index"), 303)
