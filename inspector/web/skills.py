"""The Skills tab: what skills/list brought, each skill with its files, to be read as resources. Request threads."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.skills import offers_skills
from inspector.web.calls_links import kinds
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.wire.connection import CONNECTED

blueprint = Blueprint("skills", __name__)

SHOWN = 200
FILES_SHOWN = 100


@blueprint.get("/call/<key>/skills")
def show(key: str) -> str:
    """The skills as listed last."""
    server = console().server(key)
    return render_template(
        "calls/skills.html",
        shell=shell("call", key),
        server=server,
        key=key,
        kinds=kinds(server, "skills"),
        live=server.state == CONNECTED,
        offered=offers_skills(server.connection),
        listing=console().skills.known(key),
        shown=SHOWN,
        files_shown=FILES_SHOWN,
    )


@blueprint.post("/call/<key>/skills/list")
@spawns
def refresh(key: str) -> AnyResponse:
    """List them now."""
    console().skills.refresh(console().connection(key), key)
    return redirect(url_for("skills.show", key=key), 303)
