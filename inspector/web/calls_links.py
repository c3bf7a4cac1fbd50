"""Addresses of the Call screen: its tabs, a call; and the call an address means. Flask request threads."""

from __future__ import annotations

from typing import Any

from flask import url_for

from inspector.console.calls import Call
from inspector.console.console import Server
from inspector.console.skills import offers_skills
from inspector.errors import UsageError
from inspector.web.calls_kinds import LABELS, METHOD, TOOLS
from inspector.web.calls_view import ADDRESSED
from inspector.web.frame import console
from inspector.wire.listing import offers


def call_of(key: str, id: str) -> Call:
    """A call of this server. Raises UsageError."""
    call = console().calls.get(id)
    if call.server_key != key:
        raise UsageError(f"{id} was no call of this server", "Choose one of its recent calls")
    return call


def address(call: Call, mode: str | None = None) -> str:
    """Where a call is shown."""
    what = call.what if call.what != TOOLS else None
    tool = call.tool if len(call.tool) <= ADDRESSED else None
    return url_for("calls.show", key=call.server_key, what=what, tool=tool, mode=mode, call=call.id)


def kinds(server: Server, what: str) -> list[dict[str, Any]]:
    """The tabs: what the server offers, what was listed, and the one that is open."""
    found = []
    for each, label in LABELS.items():
        if each == METHOD:
            continue
        listed = console().catalogs.count(server.key, each)
        offered = server.connection is not None and offers(server.connection, each)
        if each in (what, TOOLS) or offered or listed is not None:
            href = url_for("calls.show", key=server.key, what=each if each != TOOLS else None)
            found.append({"id": each, "label": label, "count": listed, "href": href})
    if what == "skills" or offers_skills(server.connection) or console().skills.known(server.key):
        listing = console().skills.known(server.key)
        count = len(listing.skills) if listing is not None else None
        href = url_for("skills.show", key=server.key)
        found.append({"id": "skills", "label": "Skills", "count": count, "href": href})
    other = {
        "id": METHOD,
        "label": LABELS[METHOD],
        "href": url_for("calls.show", key=server.key, what=METHOD),
    }
    client = {"id": "client", "label": "Client", "href": url_for("listen.show", key=server.key)}
    raw = {"id": "raw", "label": "Raw frames", "href": url_for("raw.show", key=server.key)}
    return [*found, other, raw, client]
