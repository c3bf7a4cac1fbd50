"""Catalogs of earlier listings and servers of opened files, read back from recordings. Any thread; blocks on the disk."""

from __future__ import annotations

import re
from typing import Any, Final

from inspector.catalog.snapshot import Page, Snapshot
from inspector.settings.spec import SSE, STDIO, STREAMABLE_HTTP, ServerSpec
from inspector.trace.store import Connection, Store
from inspector.trace.store import Snapshot as Kept

HISTORY = 50
"""Listings of one server and list that a history looks back on."""


def read_back(store: Store, kept: Kept) -> Snapshot | None:
    """The snapshot as the catalog room takes it; None when the recording no longer holds a page of it.

    What the server said of itself is not kept with a snapshot: instructions and server_info are None.
    """
    pages = []
    for page in kept.pages:
        raw = store.raw(kept.session, page["seq"])
        if raw is None:
            return None
        pages.append(Page(page["cursor"], raw, page.get("received", kept.at_us), page["seq"]))
    return Snapshot(kept.what, tuple(pages), era=kept.era, declared=tuple(kept.declared))


_KEY: Final = re.compile(r"~(\d{1,15})\.(\d{1,15})")
Found = tuple[ServerSpec, None, None, int]
"""What a `Server` out of a file is made of: its spec as recorded, no connection, no count, the session."""


def session_of_key(key: str) -> int | None:
    """The session of a server out of a file; None when `key` is no such key."""
    match = _KEY.fullmatch(key)
    return int(match[1]) if match else None


def recorded_server(store: Store, key: str) -> Found | None:
    """What a file says of one of its servers; None when the file is not here any more."""
    session = session_of_key(key)
    opened = store.opened(session) if session is not None else []
    known = (
        [each for each in store.connections(opened[0].session) if each.server_key == key] if opened else []
    )
    if not known or opened[0].state != "ready":
        return None
    return _spec(known, opened[0].name), None, None, opened[0].session


def recorded_servers(store: Store, most: int) -> list[tuple[str, Found]]:
    """The servers of the newest opened files, newest file first."""
    found: dict[str, Found] = {}
    for opened in [each for each in store.opened() if each.state == "ready"][:most]:
        connections = store.connections(opened.session)
        for key in dict.fromkeys(each.server_key for each in connections if each.server_key):
            known = [each for each in connections if each.server_key == key]
            found[key] = _spec(known, opened.name), None, None, opened.session
    return list(found.items())[:most]


def _spec(connections: list[Connection], file: str) -> ServerSpec:
    """How the server was reached, as recorded: for reading only."""
    first = connections[0]
    target: dict[str, Any] = next((each.target for each in connections if each.target), {})
    argv, url = target.get("argv"), target.get("url")
    transport = first.transport if first.transport in (STDIO, STREAMABLE_HTTP, SSE) else STDIO
    return ServerSpec(
        first.label or f"connection {first.c}",
        transport,
        tuple(map(str, argv)) if isinstance(argv, list) else (),
        url=url if isinstance(url, str) else None,
        source=file,
    )
