"""Signing in to a server from its page: the conversation, the address to open, and the callback. Request threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from inspector.console.console import Server
from inspector.console.signing import CALLBACK, DONE, FAILED, GOING_ON, LOOKING, WAITING
from inspector.errors import UsageError
from inspector.web.frame import console
from inspector.web.guard import spawns
from inspector.web.masking import host_of
from inspector.web.servers_state import state
from inspector.wire.auth import AuthStep

blueprint = Blueprint("signing", __name__)

PHASES: Final = {
    LOOKING: "Looking for its authorization server",
    WAITING: "Waiting for you to sign in there",
    GOING_ON: "Exchanging what came back for a token",
    DONE: "Signed in",
    FAILED: "Not signed in",
}


@dataclass(frozen=True, slots=True)
class Signing:
    """What a server's page says of authorization.

    phase: of the attempt under way or the last one, in words; empty when there was none. address: where to sign in,
    http(s) only, chosen by the server. wanted: the server refused us for want of a token, or of a scope. place:
    where tokens are kept.
    """

    phase: str
    busy: bool
    address: str
    host: str
    wanted: str
    signed_in: bool
    scope: str
    steps: list[AuthStep]
    message: str
    remedy: str
    place: str

    @property
    def shown(self) -> bool:
        return bool(self.phase or self.wanted or self.signed_in)


def signing_of(server: Server) -> Signing | None:
    """None for a server that cannot be signed in to, or was not tried yet."""
    auth = server.connection.auth if server.connection is not None else None
    if auth is None:
        return None
    attempt = console().sign_ins.latest(server.key)
    waiting = attempt is not None and attempt.phase == WAITING
    address = attempt.address if attempt is not None and waiting else ""
    error = attempt.error if attempt is not None else None
    refused = auth.refused
    return Signing(
        phase=PHASES[attempt.phase] if attempt is not None else "",
        busy=attempt is not None and not attempt.over,
        address=address,
        host=host_of(address),
        wanted="" if refused is None else _wanted(*refused),
        signed_in=auth.holds_token,
        scope=auth.scope or "",
        steps=list(auth.steps),
        message=error.message if error is not None else "",
        remedy=error.remedy if error is not None else "",
        place=console().tokens.place,
    )


def _wanted(status: int, challenge: str | None) -> str:
    what = "a token of more scope" if status == 403 else "a token"
    return f"It answered HTTP {status}: it wants {what}." + (f" {challenge}" if challenge else "")


@blueprint.post("/servers/<key>/sign-in")
@spawns
def begin(key: str) -> Response:
    """Look for the authorization server; the page then shows where to go."""
    server = console().server(key)
    if server.connection is None or server.connection.auth is None:
        raise UsageError(
            "There is nothing to sign in to here.",
            "Connect first. Only HTTP servers that bring no Authorization header of their own can be signed in to.",
        )
    here, openings = console(), state().openings

    def go_on() -> None:
        """With a new token: connect, unless a connection that lives uses it already."""
        if here.server(key).state != "connected":
            openings.begin(here, key)

    here.sign_ins.begin(server.connection, key, request.host_url.rstrip("/") + CALLBACK, go_on)
    return redirect(url_for("servers.show", key=key), 303)


@blueprint.post("/servers/<key>/sign-in/cancel")
def cancel(key: str) -> Response:
    console().sign_ins.forget(key)
    return redirect(url_for("servers.show", key=key), 303)


@blueprint.post("/servers/<key>/sign-out")
@spawns
def sign_out(key: str) -> Response:
    """Forget the tokens, here and in the store; the server may know them still."""
    server = console().server(key)
    console().sign_ins.forget(key)
    if server.connection is not None:
        server.connection.sign_out()
    return redirect(url_for("servers.show", key=key), 303)


@blueprint.get(CALLBACK)
def callback() -> Response:
    """Where the authorization server sends the browser back. Needs no cookie: its state is what opens it, once."""
    found = console().sign_ins.came_back(request.args.to_dict())
    page = render_template("auth/came_back.html", known=found is not None)
    return make_response(page, 200 if found is not None else 404)
