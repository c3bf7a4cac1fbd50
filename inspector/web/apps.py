"""Apps of servers (extension io.modelcontextprotocol/ui): source as text, run on request in a frame of no origin.

Request threads. The frame has `sandbox="allow-scripts"` and a policy of its own: no address can be fetched, and its
origin is opaque, so that neither our pages nor our cookie are within its reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Blueprint, Response, make_response, render_template, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.catalog.jsontext import utf8
from inspector.console.outcome import Outcome
from inspector.errors import UsageError
from inspector.web.frame import console, shell
from inspector.web.guard import CSP

blueprint = Blueprint("apps", __name__)

MEDIA: Final = "text/html"
FRAME_CSP: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


def app_of(definition: Mapping[str, Any]) -> str:
    """The URI of a tool's app; empty when it names none."""
    meta = definition.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    ui = meta.get("ui")
    uri = ui.get("resourceUri") if isinstance(ui, Mapping) else meta.get("ui/resourceUri")
    return uri if isinstance(uri, str) else ""


def runnable(outcome: Outcome | None) -> str | None:
    """The HTML of a `ui://` resource that was read; None when the result holds none."""
    contents = (outcome.result or {}).get("contents") if outcome is not None else None
    for item in contents if isinstance(contents, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("text"), str):
            continue
        if str(item.get("uri", "")).startswith("ui://") and str(item.get("mimeType", "")).startswith(MEDIA):
            return str(item["text"])
    return None


@blueprint.get("/call/<key>/app/<id>")
def show(key: str, id: str) -> AnyResponse:
    """The page around a running app."""
    _html(key, id)
    page = render_template(
        "calls/app.html", shell=shell("call", key), key=key, id=id, call=console().calls.get(id)
    )
    answer = make_response(page)
    answer.headers["Content-Security-Policy"] = f"{CSP}; frame-src 'self'"
    return answer


@blueprint.get("/call/<key>/app/<id>/frame")
def frame(key: str, id: str) -> Response:
    """The app itself, with a policy that gives it no origin and no network."""
    answer = Response(utf8(_html(key, id)), mimetype=MEDIA)
    answer.headers["Content-Security-Policy"] = FRAME_CSP
    return answer


def _html(key: str, id: str) -> str:
    call = console().calls.get(id)
    found = runnable(call.outcome) if call.server_key == key else None
    if found is None:
        raise UsageError(
            "That call brought no app", f"Read its ui:// resource first, at {url_for('calls.index')}"
        )
    return found
