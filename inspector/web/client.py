"""What a client does beside calling: completion as a person types. Flask request threads."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from inspector.console.completing import complete as completed
from inspector.console.invoking import PROMPTS, TEMPLATES
from inspector.errors import LoupeError, UsageError
from inspector.web.calls_view import NAME
from inspector.web.frame import console
from inspector.web.guard import spawns

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
