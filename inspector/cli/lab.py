"""Catalogs named on the command line as the lab's registry: live servers, list lines, locks, traces. Parsing and I/O."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from inspector.catalog.snapshot import Snapshot
from inspector.cli.doing import doing
from inspector.cli.sides import Source, listed, sources
from inspector.cli.terminal import printable, warn
from inspector.console.lab_catalogs import LOCK, read_catalogs
from inspector.console.listed import snapshot_of
from inspector.discovery.registry import Registry, Server, read_server, registry_of
from inspector.wire.connection import Connection


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
            measured = not (source.path is not None and snapshot.transport == LOCK)
            with doing(f"reading {printable(label)}"):
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
        return [(label, snapshot, None) for label, snapshot in read_catalogs(source.path)]
    with ExitStack() as stack:
        opened = listed(source.label, source.spec, options)
        connection, found = (keep_open or stack).enter_context(opened)
        kept = connection if keep_open is not None else None
        return [(source.label, snapshot_of(connection, found), kept)]
