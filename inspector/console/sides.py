"""The catalogs that files hold, as sides of a comparison. Blocks; the CLI or the worker."""

from __future__ import annotations

from pathlib import Path

from inspector.catalog.difference.side import LINES, TRACE, Side, side_of
from inspector.catalog.lock import side_of_lock
from inspector.console.catalog_files import Held, held_by, held_in


def read_file(path: Path) -> list[Side]:
    """One side, but for a trace with several connections. Raises FileError."""
    return _sides(held_by(path), path.name)


def read_content(content: bytes, label: str, *, tokens: bool = True) -> list[Side]:
    """`read_file` of bytes at hand, as from an upload; errors call it `label`."""
    return _sides(held_in(content, label), label, tokens=tokens)


def _sides(held: Held, label: str, *, tokens: bool = True) -> list[Side]:
    if held.lock is not None:
        return [side_of_lock(held.lock, label)]
    if held.lines is not None:
        return [side_of(held.lines, label, LINES, tokens=tokens)]
    sides = []
    for found in held.walks:
        notes = [held.cut.removesuffix(".")] if held.cut else []
        if not found.complete:
            notes.append("the list was broken off before its last page")
        named = label if len(held.walks) == 1 else f"{label} (connection {found.c}, {found.label})"
        sides.append(side_of(found.snapshot, named, TRACE, tokens=tokens, notes=notes))
    return sides
