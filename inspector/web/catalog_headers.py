"""Which listed tools a client must leave out for their `x-mcp-header`, and why. Flask request threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from inspector.catalog.snapshot import Snapshot
from inspector.console.invoking import TOOLS
from inspector.web.calls_kinds import left_out
from inspector.web.calls_view import definition_of
from inspector.web.catalog_view import Index
from inspector.web.frame import console


def struck(snapshot: Snapshot, key: str, index: Index, positions: Iterable[int]) -> Mapping[int, str]:
    """The reason by position, of those among `positions` that an HTTP client must leave out."""
    if snapshot.what != TOOLS:
        return {}
    server = console().shown(key)
    found = {}
    for position in positions:
        schema = definition_of(index.measures[position]).get("inputSchema")
        if why := left_out(server.spec, server.connection, schema):
            found[position] = why
    return found
