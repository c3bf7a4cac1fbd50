"""Catalogs named on the command line as the lab's registry: live servers, list lines, locks, traces. Parsing and I/O."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspector.catalog import lock
from inspector.catalog.jsontext import utf8
from inspector.catalog.listed_files import snapshot_of_lines, walks_of_trace
from inspector.catalog.snapshot import TOOLS, Page, Snapshot
from inspector.cli.options import connected, with_options
from inspector.cli.sides import LIST_S, Source, sources
from inspector.cli.terminal import printable, warn
from inspector.console.listed import snapshot_of
from inspector.discovery import meta_tools
from inspector.discovery.registry import Registry, Server, read_server, registry_of
from inspector.errors import FileError
from inspector.settings.spec import STDIO
from inspector.settings.variables import require_resolved
from inspector.trace.file_reader import read_trace
from inspector.wire.connection import Connection
from inspector.wire.listing import walk


@dataclass(slots=True)
class Catalogs:
    """What was read so far. connections: those kept open, by server key."""

    servers: list[Server] = field(default_factory=list)
    connections: dict[str, Connection] = field(default_factory=dict)


def read_registry(
    words: Sequence[str], options: dict[str, Any], *, kept_for: str = "", keep_open: ExitStack | None = None
) -> tuple[Registry, dict[str, Connection]]:
    """Everything the words name, as listed just now. keep_open: leave the connections open until it closes."""
    found, now_us = Catalogs(), time.time_ns() // 1000
    for source in sources(tuple(words), options):
        for label, snapshot, connection in _listed(source, options, keep_open):
            taken = [server.key for server in found.servers]
            measured = not (source.path is not None and snapshot.transport == "lock")
            server = read_server(
                snapshot, label, taken=taken, kept_for=kept_for, measured=measured, received_at_us=now_us
            )
            found.servers.append(server)
            if connection is not None:
                found.connections[server.key] = connection
            for problem in server.problems:
                warn(f"{label}: {printable(problem)}.")
    return registry_of(found.servers, now_us), found.connections


Read = tuple[str, Snapshot, Connection | None]


def _listed(source: Source, options: dict[str, Any], keep_open: ExitStack | None) -> list[Read]:
    if source.spec is None:
        assert source.path is not None
        return _of_file(source.path)
    unfit = {"header": ()} if source.spec.transport == STDIO else {"env": (), "cwd": None}
    spec = with_options(source.spec, {**options, **unfit})
    require_resolved(spec)
    with ExitStack() as stack:
        connection = (keep_open or stack).enter_context(connected(spec, options))
        found = connection.run(walk, connection, TOOLS, "user", timeout=LIST_S)
        if found.error is not None:
            raise found.error
        if found.problem:
            warn(f"{source.label}: {printable(found.problem)}.")
        kept = connection if keep_open is not None else None
        return [(source.label, snapshot_of(connection, found), kept)]


def _of_file(path: Path) -> list[Read]:
    """A lock, a trace or list lines, told apart by what is in the file."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise FileError(f"{path} cannot be read: {problem.strerror or problem}", "Check the path") from None
    if path.suffix == ".gz" or b'"mcp-trace"' in content[:1000]:
        return _of_trace(path)
    if lock.is_lock(content):
        side = lock.side_of_lock(lock.parse_lock(content, str(path)), path.name)
        page = Page(None, utf8(meta_tools.listed([tool.text for tool in side.tools])), 0)
        return [(path.name, Snapshot(TOOLS, (page,), transport="lock"), None)]
    snapshot = snapshot_of_lines(content)
    if all(page.fault for page in snapshot.listing().pages):
        raise FileError(
            f"{path} is no lock, no trace and holds no tools/list answers",
            "Give a file with one JSON-RPC answer a line, a lock or a trace",
        )
    return [(path.name, snapshot, None)]


def _of_trace(path: Path) -> list[Read]:
    with read_trace(path) as reader:
        walks = walks_of_trace(reader)
    if not walks:
        raise FileError(f"{path} records no tools/list", "Choose a trace in which the tools were listed")
    return [(path.name if len(walks) == 1 else walk.label, walk.snapshot, None) for walk in walks]
