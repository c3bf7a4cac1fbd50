"""Catalogs as the lab reads them: list lines, locks and traces as snapshots. Blocks; the CLI or a thread of the lab."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from inspector.catalog import lock
from inspector.catalog.jsontext import utf8
from inspector.catalog.listed_files import snapshot_of_lines, walks_of_trace
from inspector.catalog.snapshot import TOOLS, Page, Snapshot
from inspector.discovery import meta_tools
from inspector.errors import FileError
from inspector.trace.file_reader import read_trace

LOCK: Final = "lock"
"""`transport` of a snapshot whose page we made up from a lock."""
_GZIP: Final = b"\x1f\x8b"


def read_catalogs(path: Path) -> list[tuple[str, Snapshot]]:
    """A lock, a trace or list lines, told apart by what is in the file: (label, snapshot). Raises FileError."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path} cannot be read: {problem.strerror or problem}", "Check the path") from None
    if path.suffix == ".gz" or _is_trace(content):
        return _of_trace(path, path.name)
    return _of_content(content, str(path), path.name)


def catalogs_of(content: bytes, label: str) -> list[tuple[str, Snapshot]]:
    """The same of bytes at hand, as from an upload."""
    if not (content.startswith(_GZIP) or _is_trace(content)):
        return _of_content(content, label, label)
    with TemporaryDirectory(prefix="mcp-loupe-") as folder:
        path = Path(folder) / ("upload.gz" if content.startswith(_GZIP) else "upload")
        path.write_bytes(content)
        try:
            return _of_trace(path, label)
        except FileError as problem:
            raise FileError(problem.message.replace(str(path), label), problem.remedy) from problem


def _is_trace(content: bytes) -> bool:
    return b'"mcp-trace"' in content[:1000] and not lock.is_lock(content)


def _of_content(content: bytes, where: str, label: str) -> list[tuple[str, Snapshot]]:
    if lock.is_lock(content):
        side = lock.side_of_lock(lock.parse_lock(content, where), label)
        page = Page(None, utf8(meta_tools.listed([tool.text for tool in side.tools])), 0)
        return [(label, Snapshot(TOOLS, (page,), transport=LOCK))]
    snapshot = snapshot_of_lines(content)
    if all(page.fault for page in snapshot.listing().pages):
        raise FileError(
            f"{where} is no lock, no trace and holds no tools/list answers",
            "Give a file with one JSON-RPC answer a line, a lock or a trace",
        )
    return [(label, snapshot)]


def _of_trace(path: Path, label: str) -> list[tuple[str, Snapshot]]:
    with read_trace(path) as reader:
        walks = walks_of_trace(reader)
    if not walks:
        raise FileError(f"{path} records no tools/list", "Choose a trace in which the tools were listed")
    return [(label if len(walks) == 1 else walk.label, walk.snapshot) for walk in walks]
