"""What is known of a server's items on the Call screen, and what a client must not offer. Flask request threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from inspector.catalog.measure import Measure
from inspector.console.methods import known as known_methods
from inspector.settings.spec import ServerSpec
from inspector.web.calls_kinds import METHOD, TOOLS, formed, left_out
from inspector.web.calls_view import Tools, definition_of, tools_of
from inspector.web.frame import console
from inspector.wire.connection import Connection


def measures(key: str, what: str) -> Sequence[Measure]:
    if what == METHOD:
        connection = console().server(key).connection
        return known_methods(connection.peer.era if connection is not None and connection.peer else None)
    catalog = console().catalogs.known(key, what)
    return catalog.measured.measures if catalog is not None else ()


def found(key: str, what: str, q: str) -> Tools:
    """The items that match, those that a client must leave out marked."""
    judge = partial(left_out, *_link(key)) if what == TOOLS else (lambda _schema: "")
    return tools_of(measures(key, what), q, judge)


def _link(key: str) -> tuple[ServerSpec, Connection | None]:
    server = console().server(key)
    return server.spec, server.connection


def definition(key: str, tool: str, what: str) -> dict[str, Any]:
    """The item as listed last, with the schema its form is made of; {} when it was not listed."""
    listed = definition_of(next((each for each in measures(key, what) if each.name == tool), None))
    return formed(what, tool, listed)


def left_out_of(key: str, what: str, definition: Mapping[str, Any]) -> str:
    """Why a client must not offer this item; empty when it may."""
    return left_out(*_link(key), definition.get("inputSchema")) if what == TOOLS else ""
