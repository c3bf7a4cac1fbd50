"""Catalogs named on the command line, for compare, lock and check: live servers, list lines, locks, traces."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from inspector.catalog import lock
from inspector.catalog.difference.side import LINES, SERVER, TRACE, Side, side_of
from inspector.catalog.listed_files import snapshot_of_lines, walks_of_trace
from inspector.cli.options import connected, with_options
from inspector.console.catalogs import snapshot_of
from inspector.errors import FileError, UsageError
from inspector.settings.paths import Paths
from inspector.settings.servers import ServerList
from inspector.settings.spec import STDIO, ServerSpec
from inspector.settings.targets import FileTarget, target
from inspector.settings.variables import require_resolved
from inspector.trace.file_reader import read_trace
from inspector.wire.listing import walk

LIST_S = 600.0


@dataclass(frozen=True, slots=True)
class Source:
    """What one word named: a server, or a file."""

    label: str
    spec: ServerSpec | None = None
    path: Path | None = None


def sources(words: tuple[str, ...], options: dict[str, Any]) -> list[Source]:
    """The catalogs in the order given, the command after `--` last. Nothing is started yet."""
    found = [_source(word, options) for word in words]
    argv = click.get_current_context().meta.get("argv")
    if argv is not None:
        if not argv:
            raise UsageError("There is no command after --", "Write the server's command there")
        name = Path(argv[0]).name or argv[0]
        found.append(Source(name, ServerSpec(name, argv=argv, source="command line")))
    if options["record"] is not None and sum([each.spec is not None for each in found]) != 1:
        raise UsageError("--record is for exactly one server", "Leave it out, or record each with `list`")
    return found


def _source(word: str, options: dict[str, Any]) -> Source:
    paths = Paths.locate(options["data_dir"])
    known = ServerList(paths.servers).all() if paths.servers.exists() else {}
    found = target(word, configs=options["config"], configured=known)
    if isinstance(found, FileTarget):
        return Source(found.path.name, path=found.path)
    return Source(found.name, found)


def read(source: Source, options: dict[str, Any]) -> list[Side]:
    """The sides a source holds: one, but for a trace with several connections."""
    if source.spec is not None:
        return [_listed(source.label, source.spec, options)]
    assert source.path is not None
    return _read_file(source.path)


def read_one(source: Source, options: dict[str, Any]) -> Side:
    """The one side a source holds; UsageError when a trace holds several."""
    found = read(source, options)
    if len(found) > 1:
        labels = ", ".join([side.label for side in found])
        raise UsageError(
            f"{source.path} holds several catalogs: {labels}", "Compare them, or record one server alone"
        )
    return found[0]


def _listed(label: str, spec: ServerSpec, options: dict[str, Any]) -> Side:
    """List a server's tools over a connection of its own. Options of the other transport are left out."""
    unfit = {"header": ()} if spec.transport == STDIO else {"env": (), "cwd": None}
    spec = with_options(spec, {**options, **unfit})
    require_resolved(spec)
    with connected(spec, options) as connection:
        found = connection.run(walk, connection, "tools", "user", timeout=LIST_S)
        if found.error is not None:
            raise found.error
        snapshot = snapshot_of(connection, found)
    notes = []
    if found.problem:
        print(f"{label}: {found.problem}.", file=sys.stderr)
        notes.append(found.problem)
    return side_of(snapshot, label, SERVER, notes=notes)


def _read_file(path: Path) -> list[Side]:
    """A lock, a trace or list lines, told apart by what is in the file."""
    if path.suffix == ".gz":
        return _traced(path)
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise FileError(
            f"{path} cannot be read: {problem.strerror or problem}.", "Check the path."
        ) from problem
    if lock.is_lock(content):
        return [lock.side_of_lock(lock.parse_lock(content, str(path)), path.name)]
    if b'"mcp-trace"' in content[:1000]:
        return _traced(path)
    snapshot = snapshot_of_lines(content)
    if all(page.fault for page in snapshot.listing().pages):
        raise FileError(
            f"{path} is no lock, no trace and holds no tools/list answers.",
            "Give a file with one JSON-RPC answer a line, a lock or a trace.",
        )
    return [side_of(snapshot, path.name, LINES)]


def _traced(path: Path) -> list[Side]:
    with read_trace(path) as reader:
        walks = walks_of_trace(reader)
        cut = reader.problem or ("The trace is incomplete: it has no trailer" if reader.incomplete else "")
    if not walks:
        raise FileError(f"{path} records no tools/list.", "Choose a trace in which the tools were listed.")
    if cut:
        print(f"{path}: {cut.removesuffix('.')}.", file=sys.stderr)
    sides = []
    for found in walks:
        notes = [cut.removesuffix(".")] if cut else []
        if not found.complete:
            notes.append("the list was broken off before its last page")
        label = path.name if len(walks) == 1 else f"{path.name} (connection {found.c}, {found.label})"
        sides.append(side_of(found.snapshot, label, TRACE, notes=notes))
    return sides
