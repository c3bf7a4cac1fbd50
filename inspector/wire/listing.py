"""Walking a paged list to its end, keeping every page's bytes. Loop thread; no parsing beyond the frame's own.

Source: MCP 2026-07-28 server/utilities/pagination: a missing nextCursor ends the list, "" is a real cursor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio.lowlevel import checkpoint

from inspector.errors import LoupeError
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply

METHODS = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "templates": "resources/templates/list",
}
KEYS = {"tools": "tools", "prompts": "prompts", "resources": "resources", "templates": "resourceTemplates"}
PAGE_CAP = 1000
LET_GO = 40
"""Items freed between two pauses."""


@dataclass(slots=True)
class ListedPage:
    """One answer to a list request; `cursor` is what we asked with (None on the first page)."""

    cursor: str | None
    reply: Reply


@dataclass(slots=True)
class Walk:
    """All pages that came. `problem`: why the walk stopped early, in one sentence; `error` when an error ended it."""

    what: str
    pages: list[ListedPage] = field(default_factory=list)
    problem: str = ""
    error: LoupeError | None = None


Ask = Callable[[str, Mapping[str, Any]], Awaitable[Reply]]
"""A list request by method and params, however it is answered."""


def offers(connection: Connection, what: str) -> bool:
    """Whether the server declared the capability, or declared nothing at all (then asking is the way to know)."""
    capabilities = connection.peer.capabilities if connection.peer is not None else None
    if capabilities is None:
        return True
    return {"templates": "resources"}.get(what, what) in capabilities


async def walk(connection: Connection, what: str, cause: str, ask: Ask | None = None) -> Walk:
    """`walk_whole`, with the parsed items let go: the raw answers say it all, and are what gets measured.

    In steps, because freeing thousands of objects at once holds the loop as parsing them would.
    """
    found = await walk_whole(connection, what, cause, ask)
    for page in found.pages:
        items = page.reply.result.get(KEYS[what])
        while isinstance(items, list) and items:
            del items[-LET_GO:]
            await checkpoint()
    return found


async def walk_whole(connection: Connection, what: str, cause: str, ask: Ask | None = None) -> Walk:
    """List `what` (tools, prompts, resources, templates) page by page; `ask` stands in for the wire.

    A cursor or a page that repeats, and more than PAGE_CAP pages, stop it (field reports E1, E2); an error on a
    later page keeps the earlier ones. An error on the first page is raised.
    """
    found = Walk(what)
    cursor: str | None = None
    asked: set[str] = set()
    while True:
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        try:
            if ask is None:
                reply = await connection.request(METHODS[what], params, cause=cause)
            else:
                reply = await ask(METHODS[what], params)
        except LoupeError as problem:
            if not found.pages:
                raise
            found.error, found.problem = problem, f"Page {len(found.pages) + 1} failed: {problem.message}"
            return found
        found.pages.append(ListedPage(cursor, reply))
        cursor = reply.result.get("nextCursor")
        if cursor is None:
            return found
        found.problem = _stuck(found, cursor, asked)
        if found.problem:
            remedy = "Return no nextCursor on the last page"
            connection.link.anomaly("paging", found.problem, pair=reply.seq, remedy=remedy)
            return found


def _stuck(found: Walk, cursor: Any, asked: set[str]) -> str:
    """Why following `cursor` would never end, or an empty string."""
    if not isinstance(cursor, str):
        return f"nextCursor is {type(cursor).__name__}, not a string; the list stops here"
    if cursor in asked:
        return f"The server sent the cursor {cursor!r} twice; the list stops here"
    asked.add(cursor)
    *earlier, items = (page.reply.result.get(KEYS[found.what]) for page in found.pages)
    if items and items in earlier:
        return "A page repeated an earlier one: the server seems to ignore the cursor; the list stops here"
    if len(found.pages) >= PAGE_CAP:
        return f"More than {PAGE_CAP} pages; the list stops here"
    return ""
