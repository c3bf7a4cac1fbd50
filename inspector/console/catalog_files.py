"""What a file that names a catalog holds: a lock, the lists of a trace, or list lines. Blocks; the CLI, a thread of the
lab or the worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from inspector.catalog import lock
from inspector.catalog.listed_files import TracedWalk, snapshot_of_lines, walks_of_trace
from inspector.catalog.snapshot import Snapshot
from inspector.errors import FileError
from inspector.settings.files import read_bytes
from inspector.trace.file_reader import read_trace

_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Held:
    """One of the three. cut: what is wrong with the trace as a file, a sentence or nothing."""

    lock: dict[str, Any] | None = None
    lines: Snapshot | None = None
    walks: tuple[TracedWalk, ...] = ()
    cut: str = ""


def held_by(path: Path) -> Held:
    """Told apart by what is in the file. Raises FileError."""
    if path.suffix == ".gz":
        return _traced(path)
    content = read_bytes(path)
    return _traced(path) if _is_trace(content) else _plain(content, str(path))


def held_in(content: bytes, label: str) -> Held:
    """The same of bytes at hand, as from an upload; errors call it `label`."""
    if not (content.startswith(_GZIP) or _is_trace(content)):
        return _plain(content, label)
    with TemporaryDirectory(prefix="mcp-loupe-") as folder:
        # A trace is read line by line from a file, and only its name says that it is packed.
        path = Path(folder) / ("upload.gz" if content.startswith(_GZIP) else "upload")
        path.write_bytes(content)
        try:
            return _traced(path)
        except FileError as problem:
            raise FileError(problem.message.replace(str(path), label), problem.remedy) from problem


def _is_trace(content: bytes) -> bool:
    # A lock may name anything, a trace too; a lock says first what it is.
    return b'"mcp-trace"' in content[:1000] and not lock.is_lock(content)


def _plain(content: bytes, where: str) -> Held:
    if lock.is_lock(content):
        return Held(lock=lock.parse_lock(content, where))
    snapshot = snapshot_of_lines(content)
    if all(page.fault for page in snapshot.listing().pages):
        raise FileError(
            f"{where} is no lock, no trace and holds no tools/list answers.",
            "Give a file with one JSON-RPC answer a line, a lock or a trace.",
        )
    return Held(lines=snapshot)


def _traced(path: Path) -> Held:
    with read_trace(path) as reader:
        walks = walks_of_trace(reader)
        cut = reader.problem or ("The trace is incomplete: it has no trailer" if reader.incomplete else "")
    if not walks:
        raise FileError(f"{path} records no tools/list.", "Choose a trace in which the tools were listed.")
    return Held(walks=tuple(walks), cut=cut)
