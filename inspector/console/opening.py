"""A trace file into the recordings: its events, and the catalogs its list answers make. Runs in a worker process.

Nothing is connected, started or loaded. A killed process leaves a session in the state `reading`, which
`Recordings` deletes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from inspector.catalog.listed_files import parsed
from inspector.catalog.report import measure_listing
from inspector.catalog.snapshot import Page
from inspector.console.listed import page_facts, totals_of
from inspector.trace.file_reader import Limits
from inspector.trace.importing import Import, Progress
from inspector.wire.events import C2S, S2C, Event
from inspector.wire.listing import METHODS

LISTS: Final = {method: what for what, method in METHODS.items()}
WALKS_KEPT: Final = 20
"""Listings of one server and list that are kept, the newest."""
_ASKED_MOST: Final = 10_000
_PAGES_MOST: Final = 1000
_LIST_BYTES: Final = 64 << 20
BROKEN_OFF: Final = "The list was broken off before its last page."


def open_file(
    database: Path,
    file: Path,
    name: str,
    token: str,
    progress: Callable[[Progress], None] | None = None,
    limits: Limits | None = None,
) -> int:
    """Read a file into the recordings; the number of its session. Raises FileError, StorageError."""
    lists = Lists()
    with Import(database, file, name=name, token=token, limits=limits) as opening:
        opening.read(progress or (lambda done: None), lists.watch)
        lists.save(opening)
        opening.keep()
        return opening.session


@dataclass(slots=True)
class Walk:
    """One list, page by page: (cursor, seq of the answer, when it came, bytes)."""

    c: int
    what: str
    pages: list[tuple[str | None, int, int, int]] = field(default_factory=list)
    next_cursor: Any = None
    complete: bool = False


class Lists:
    """Finds the list walks among events, page put to page by their cursors."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[str, str | None]] = {}
        self._walks: dict[tuple[int, str], list[Walk]] = {}

    def watch(self, event: Event) -> None:
        """Note a request for a list, or the answer to one."""
        if event.t != "rpc":
            return
        if event.kind == "request" and event.dir == C2S and event.method in LISTS:
            if len(self._asked) < _ASKED_MOST:
                params = parsed(event.raw).get("params")
                cursor = params.get("cursor") if isinstance(params, dict) else None
                self._asked[event.seq] = LISTS[event.method], cursor if isinstance(cursor, str) else None
        elif event.kind == "result" and event.dir == S2C and event.pair in self._asked:
            self._add(event, *self._asked.pop(event.pair))

    def _add(self, event: Event, what: str, cursor: str | None) -> None:
        result = parsed(event.raw).get("result")
        next_cursor = result.get("nextCursor") if isinstance(result, dict) else None
        walks = self._walks.setdefault((event.c, what), [])
        waiting = [walk for walk in walks if not walk.complete and walk.next_cursor == cursor]
        if cursor is None or not waiting:
            walks.append(Walk(event.c, what))
            del walks[:-WALKS_KEPT]
        walk = waiting[-1] if cursor is not None and waiting else walks[-1]
        if len(walk.pages) < _PAGES_MOST:
            walk.pages.append((cursor, event.seq, event.at_us, len(event.raw or b"")))
        walk.next_cursor = next_cursor if isinstance(next_cursor, str) else None
        cut = bool(event.body.get("cut"))
        walk.complete = walk.next_cursor is None and not cut and walk.pages[0][0] is None

    def save(self, opening: Import) -> None:
        """Keep every walk as a snapshot, in the order they came."""
        walks = [walk for found in self._walks.values() for walk in found]
        for walk in sorted(walks, key=lambda walk: walk.pages[-1][1]):
            if sum(size for *_, size in walk.pages) <= _LIST_BYTES:
                self._save(opening, walk)

    def _save(self, opening: Import, walk: Walk) -> None:
        pages = [Page(cursor, opening.raw(seq), at_us, seq) for cursor, seq, at_us, _ in walk.pages]
        measured = measure_listing(walk.what, [page.raw for page in pages], tokens=False, rendered=False)
        era, declared = opening.connection(walk.c)
        totals = totals_of(measured) | ({} if walk.complete else {"problem": BROKEN_OFF})
        key = opening.server_keys.get(walk.c)
        if key is None:  # frames of a connection the file never introduced
            return
        opening.save_snapshot(
            {
                "seq": walk.pages[-1][1], "server_key": key, "what": walk.what, "at_us": walk.pages[-1][2],
                "era": era, "declared": declared, "totals": totals, "sha256": measured.sha256,
                "order_sha256": measured.order_sha256,
                "pages": [page_facts(page, read) for page, read in zip(pages, measured.pages, strict=True)],
            }
        )  # fmt: skip
