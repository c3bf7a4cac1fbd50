"""Catalogs as the lab reads them out of files: list lines, locks and traces as snapshots. Blocks; the CLI or a thread of
the lab."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from inspector.catalog.jsontext import utf8
from inspector.catalog.lock import side_of_lock
from inspector.catalog.snapshot import TOOLS, Page, Snapshot
from inspector.console.catalog_files import Held, held_by, held_in
from inspector.discovery import meta_tools

LOCK: Final = "lock"
"""`transport` of a snapshot whose page we made up from a lock."""


def read_catalogs(path: Path) -> list[tuple[str, Snapshot]]:
    """(label, snapshot) of each catalog in a file. Raises FileError."""
    return _catalogs(held_by(path), path.name)


def catalogs_of(content: bytes, label: str) -> list[tuple[str, Snapshot]]:
    """The same of bytes at hand, as from an upload."""
    return _catalogs(held_in(content, label), label)


def _catalogs(held: Held, label: str) -> list[tuple[str, Snapshot]]:
    if held.lock is not None:
        side = side_of_lock(held.lock, label)
        page = Page(None, utf8(meta_tools.listed([tool.text for tool in side.tools])), 0)
        return [(label, Snapshot(TOOLS, (page,), transport=LOCK))]
    if held.lines is not None:
        return [(label, held.lines)]
    return [(label if len(held.walks) == 1 else walk.label, walk.snapshot) for walk in held.walks]
