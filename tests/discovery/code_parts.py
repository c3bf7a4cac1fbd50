"""Real servers, a real sandbox and one way to run a script over them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import snapshot_of
from inspector.console.direct import direct
from inspector.discovery.code.approvals import Ask, Decision
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Result, Run
from inspector.discovery.code.sending import sender
from inspector.discovery.code.stubs import stubs_of
from inspector.discovery.registry import Registry, read_server, registry_of
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.settings.targets import demo_spec
from inspector.wire.connection import Connection
from inspector.wire.events import Event
from inspector.wire.listing import walk


@dataclass
class Person:
    """Answers what is asked as told, in order, then denies; keeps what was asked."""

    says: list[Decision] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)

    def decide(self, ask: Ask) -> Decision:
        self.asked.append(ask)
        return self.says.pop(0) if self.says else "deny"


@dataclass
class Desk:
    """Open servers under their namespaces. events: everything recorded, of all of them."""

    registry: Registry
    connections: dict[str, Connection]
    runtime: MontyRuntime
    events: list[Event]

    def prepared(self, code: str, rules: Rules | None = None, **more: Any) -> Run:
        rules = rules or Rules(allow=("*",))
        stubs = stubs_of(self.registry, rules.access)
        return Run(
            "code-1", code, self.registry, stubs, self.runtime, rules, sender(self.connections.get), **more
        )

    def run(self, code: str, rules: Rules | None = None, **more: Any) -> Result:
        return self.prepared(code, rules, **more).play()

    def calls_recorded(self) -> list[Event]:
        return [each for each in self.events if each.method == "tools/call" and each.kind == "request"]


@contextmanager
def desk(folder: Path, *specs: tuple[str, ServerSpec]) -> Iterator[Desk]:
    with ExitStack() as stack:
        events: list[Event] = []
        connections, servers = {}, []
        for label, spec in specs:
            connection = stack.enter_context(direct(spec, Paths.locate(folder)))
            connection.link.journal.sinks.append(events.append)
            found = connection.run(walk, connection, TOOLS, "user", timeout=20)
            server = read_server(snapshot_of(connection, found), label, received_at_us=1)
            servers.append(server)
            connections[server.key] = connection
        runtime = MontyRuntime()
        stack.callback(runtime.close)
        yield Desk(registry_of(servers), connections, runtime, events)


PATIENT = Timeouts(probe=30.0, connect=60.0, call=30.0)
"""A busy machine takes seconds to start a server; a probe given up too soon would lock it into the other era."""


def demo(name: str) -> tuple[str, ServerSpec]:
    return name, replace(demo_spec(name), timeouts=PATIENT)


def chaos(*faults: str, wait_s: float = 20.0) -> tuple[str, ServerSpec]:
    """The chaos server, its faults tools of their own."""
    words: Sequence[str] = [word for fault in faults for word in ("--fault", fault)]
    spec = demo_spec("chaos")
    argv = (sys.executable, "-m", "inspector.demo", "chaos", *words)
    return "chaos", ServerSpec(
        "chaos", argv=argv, env=spec.env, source="demo", timeouts=replace(PATIENT, call=wait_s)
    )
