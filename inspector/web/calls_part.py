"""One node of a large answer at a time: its children, rows or text, and the exact download of it. Request threads."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, render_template, request

from inspector.errors import UsageError
from inspector.web.calls_links import address, call_of
from inspector.web.calls_result import opened
from inspector.web.downloads import download
from inspector.web.frame import shell
from inspector.web.parts import part_of, text_of
from inspector.web.render import is_partial

blueprint = Blueprint("parts", __name__)


@blueprint.get("/call/<key>/result/<id>/part")
def show(key: str, id: str) -> str:
    """A node. Query: at (a place, web.places), from (the number of its first child shown)."""
    call = call_of(key, id)
    first = request.args.get("from", "0")
    if not first.isdecimal() or len(first) > 11:
        raise UsageError(f"“{first[:40]}” is no number of a child", "Write a number from 0")
    part = part_of(partial(opened, call), request.args.get("at", "answer"), int(first))
    if is_partial():
        return render_template("calls/_part.html", key=key, id=id, part=part)
    return render_template(
        "calls/part.html", shell=shell("call", key), key=key, id=id, part=part, call=call, back=address(call)
    )


@blueprint.get("/call/<key>/result/<id>/part/raw")
def raw(key: str, id: str) -> Response:
    """A node exactly as received, as a download."""
    text = text_of(partial(opened, call_of(key, id)), request.args.get("at", "answer"))
    return download(text, f"{id}-part.json")
