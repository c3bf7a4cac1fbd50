"""The catalogs that files hold, as sides of a comparison: locks, traces, list lines. Blocks; the CLI or the worker."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from inspector.catalog import lock
from inspector.catalog.difference.side import LINES, TRACE, Side, side_of
from inspector.catalog.listed_files import TracedWalk, snapshot_of_lines, walks_of_trace
from inspector.errors import FileError
from inspector.settings.files import read_bytes
from inspector.trace.file_reader import read_trace

_GZIP: Final = b"\x1f\x8b"


def read_file(path: Path) -> list[Side]:
    """A lock, a trace or list lines, told apart by what is in the file: one side, but for a trace with several
    connections. Raises FileError."""
    if path.suffix == ".gz":
        return _sides_of_walks(*_walks(path), path.name)
    content = read_bytes(path)
    if _is_trace(content):
        return _sides_of_walks(*_walks(path), path.name)
    return [_side(content, str(path), path.name)]


def read_content(content: bytes, label: str, *, tokens: bool = True) -> list[Side]:
    """`read_file` of bytes at hand, as from an upload; errors call it `label`."""
    if not (content.startswith(_GZIP) or _is_trace(content)):
        return [_side(content, label, label, tokens=tokens)]
    with TemporaryDirectory(prefix="mcp-loupe-") as folder:
        # A trace is read line by line from a file, and only its name says that it is packed.
        path = Path(folder) / ("upload.gz" if content.startswith(_GZIP) else "upload")
        path.write_bytes(content)
        try:
            walks, cut = _walks(path)
        except FileError as problem:
            raise FileError(problem.message.replace(str(path), label), problem.remedy) from problem
    return _sides_of_walks(walks, cut, label, tokens=tokens)


def _is_trace(content: bytes) -> bool:
    # A lock may name anything, a trace too; a lock says first what it is.
    return b'"mcp-trace"' in content[:1000] and not lock.is_lock(content)


def _side(content: bytes, where: str, label: str, *, tokens: bool = True) -> Side:
    """A lock or list lines."""
    if lock.is_lock(content):
        return lock.side_of_lock(lock.parse_lock(content, where), label)
    snapshot = snapshot_of_lines(content)
    if all(page.fault for page in snapshot.listing().pages):
        raise FileError(
            f"{where} is no lock, no trace and holds no tools/list answers.",
            "Give a file with one JSON-RPC answer a line, a lock or a trace.",
        )
    return side_of(snapshot, label, LINES, tokens=tokens)


def _walks(path: Path) -> tuple[list[TracedWalk], str]:
    """The lists of a trace, and what is wrong with the file, a sentence or nothing."""
    with read_trace(path) as reader:
        walks = walks_of_trace(reader)
        cut = reader.problem or ("The trace is incomplete: it has no trailer" if reader.incomplete else "")
    if not walks:
        raise FileError(f"{path} records no tools/list.", "Choose a trace in which the tools were listed.")
    return walks, cut


def _sides_of_walks(walks: list[TracedWalk], cut: str, label: str, *, tokens: bool = True) -> list[Side]:
    sides = []
    for found in walks:
        notes = [cut.removesuffix(".")] if cut else []
        if not found.complete:
            notes.append("the list was broken off before its last page")
        named = label if len(walks) == 1 else f"{label} (connection {found.c}, {found.label})"
        sides.append(side_of(found.snapshot, named, TRACE, tokens=tokens, notes=notes))
    return sides
