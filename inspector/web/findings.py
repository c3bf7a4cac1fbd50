"""The rules of the findings, a section each, and the switch of each. Flask request threads."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, render_template, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.findings.rule import rules
from inspector.web.frame import console, shell

blueprint = Blueprint("findings", __name__)


@blueprint.get("/findings")
def index() -> str:
    """What Loupe looks for in a list, why, and what to do."""
    off = console().rules_off.all()
    return render_template("findings/page.html", shell=shell(""), rules=list(rules().values()), off=off)


@blueprint.post("/findings/<rule>/<any(on, off):to>")
def switch(rule: str, to: str) -> AnyResponse:
    """Switch a rule on or off, for every catalog."""
    if rule not in rules():
        abort(404)
    console().rules_off.switch(rule, on=to == "on")
    return redirect(url_for("findings.index", _anchor=rule), 303)
