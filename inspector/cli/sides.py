"""Catalogs named on the command line, for compare, lock and check: live servers, list lines, locks, traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from inspector.catalog.difference.side import SERVER, TRACE, Side, side_of
from inspector.catalog.snapshot import TOOLS
from inspector.catalog.tokens import load
from inspector.cli.doing import doing
from inspector.cli.options import connected, with_options
from inspector.cli.terminal import printable, warn
from inspector.console.listed import snapshot_of
from inspector.console.sides import read_file
from inspector.errors import UsageError
from inspector.settings.commands import command_name
from inspector.settings.paths import Paths
from inspector.settings.servers import ServerList
from inspector.settings.spec import STDIO, ServerSpec
from inspector.settings.targets import FileTarget, target
from inspector.settings.variables import require_resolved
from inspector.wire.connection import Connection
from inspector.wire.listing import Walk, walk

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
        name = command_name(argv)
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
    with doing(f"reading {printable(source.label)}"):
        found = read_file(source.path)
    for note in dict.fromkeys([note for side in found if side.source == TRACE for note in side.notes]):
        warn(f"{source.path}: {note}.")
    return found


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
    with listed(label, spec, options) as (connection, found):
        connection.begin_close()
        notes = [found.problem] if found.problem else []
        with doing(f"weighing {printable(label)}"):
            return side_of(snapshot_of(connection, found), label, SERVER, notes=notes)


@contextmanager
def listed(label: str, spec: ServerSpec, options: dict[str, Any]) -> Iterator[tuple[Connection, Walk]]:
    """A server's tools, over a connection of its own that is open meanwhile. Options of the other transport are left
    out."""
    unfit = {"header": ()} if spec.transport == STDIO else {"env": (), "cwd": None}
    spec = with_options(spec, {**options, **unfit})
    require_resolved(spec)
    with connected(spec, options, load) as connection:
        with doing(f"listing {printable(label)}"):
            found = connection.run(walk, connection, TOOLS, "user", timeout=LIST_S)
        if found.error is not None:
            raise found.error
        if found.problem:
            warn(f"{label}: {printable(found.problem)}.")
        yield connection, found
