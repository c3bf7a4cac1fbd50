"""Catalogs of earlier listings, read back from the recording with their raw pages. Any thread; blocks on the disk."""

from __future__ import annotations

from inspector.catalog.snapshot import Page, Snapshot
from inspector.trace.store import Snapshot as Kept
from inspector.trace.store import Store

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
