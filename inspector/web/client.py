"""What a client does beside calling: completion as a person types, answers to what servers ask. Request threads."""

from __future__ import annotations

from concurrent.futures import wait

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.completing import complete as completed
from inspector.console.invoking import PROMPTS, TEMPLATES
from inspector.errors import LoupeError, UsageError
from inspector.web.calls import AT_ONCE_S, shown_answer
from inspector.web.calls_view import NAME, type_words
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.questions import QuestionView, WrongAnswer, posted_answer
from inspector.web.render import is_partial

blueprint = Blueprint("client", __name__)


def _member(name: str) -> str:
    """The argument an input of the form is for."""
    return name.removeprefix(NAME).removeprefix("/").replace("~1", "/").replace("~0", "~")


@blueprint.post("/call/<key>/complete")
@spawns
def complete(key: str) -> str:
    """The server's proposals for the argument being typed, as options; none when it fails: the timeline says why."""
    posted = request.form
    what, path = posted.get("what", ""), posted.get("argument", "")
    if what not in (PROMPTS, TEMPLATES):
        raise UsageError("Only arguments of prompts and templates are completed", "Choose one of them")
    typed = {
        _member(name): text
        for name, text in posted.items()
        if name.startswith(NAME) and name != NAME and text
    }
    argument = _member(path)
    value = typed.pop(argument, "")
    try:
        values = completed(console().connection(key), what, posted.get("tool", ""), argument, value, typed)
    except LoupeError:
        values = []
    return render_template("calls/_completions.html", values=values)


@blueprint.post("/call/<key>/answer/<id>")
@spawns
def answer(key: str, id: str) -> AnyResponse | str:
    """A person's answer to a question of this server; then the call that goes on, or the page it was asked on."""
    question = console().asking.get(id)
    if question.server_key != key:
        raise UsageError(f"{id} was no question of this server", "Answer it on that server's Call screen")
    try:
        given = posted_answer(question)
    except WrongAnswer as wrong:
        return make_response(_again(key, wrong.view), 422)
    console().asking.answer(id, given)
    if "keep" in request.form:
        console().asking.answers.save(key, question.method, question.params, *given)
    call = next((one for one in console().calls.recent(key) if question.call in ("", one.id)), None)
    if call is None:
        return redirect(url_for("calls.show", key=key), 303)
    wait([call.future], AT_ONCE_S)
    return shown_answer(call)


def _again(key: str, view: QuestionView) -> str:
    """The question with what was typed and what is wrong with it; without htmx on a page of its own."""
    context = {"key": key, "view": view, "type_words": type_words, "completes": False}
    if is_partial():
        return render_template("calls/_question.html", **context)
    return render_template("calls/question.html", shell=shell("call", key), **context)
