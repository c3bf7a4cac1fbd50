"""The doctor: connects step by step and says what it saw, each step as soon as it is known. Main thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from inspector.catalog.snapshot import Listing, read_pages
from inspector.doctor import auth, http, lists, probes, stdio
from inspector.doctor.step import Seen, Step, sentence
from inspector.errors import LoupeError
from inspector.protocol.eras import MODERN
from inspector.protocol.stderr_hints import remedy_for
from inspector.settings.hiding import Hider
from inspector.settings.paths import Paths
from inspector.settings.spec import STDIO, ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.settings.variables import expand_environment, placeholders
from inspector.wire.children import Children
from inspector.wire.connection import Connection
from inspector.wire.events import Journal


class Doctor:
    """Examines one server on connections of its own; everything it starts is ended before `examine` returns."""

    def __init__(self, spec: ServerSpec, paths: Paths, *, probe: bool = False) -> None:
        self.spec = self.ready = spec
        self.probe = probe
        self.paths = paths
        self.seen = Seen()

    def examine(self) -> Iterator[Step]:
        """The steps in order. A False one that makes further ones pointless ends the examination.

        Raises ConfigError when a variable of the environment has no value; those that have one are not shown.
        """
        self.ready = expand_environment(self.spec)
        yield from map(Hider(placeholders(self.spec)).tree, self._steps())

    def _steps(self) -> Iterator[Step]:
        if self.spec.transport == STDIO:
            step = stdio.command(self.ready)
            yield step
            if not step.ok:
                return
        else:
            reached = list(http.reach(self.ready))
            yield from reached
            if not reached[-1].ok:
                return
        with start_blocking_portal(name="mcp-loop") as portal:
            yield from self._connect(portal)

    def _connection(self, portal: BlockingPortal, spec: ServerSpec, seen: Seen) -> Connection:
        return Connection(
            spec, Journal(seen), portal, Children(self.paths.children), tokens=TokenStore(self.paths.tokens)
        )

    def _connect(self, portal: BlockingPortal) -> Iterator[Step]:
        connection = self._connection(portal, self.spec, self.seen)
        try:
            connection.open()
        except LoupeError as problem:
            yield from self._before_the_lists()
            if self.spec.transport == STDIO:
                yield stdio.stdout(self.seen)
            yield from self._era(connection)
            yield from self._refused(problem, connection)
            return
        finally:
            if connection.error is not None:
                connection.close()
        try:
            yield from self._before_the_lists()
            yield from self._era(connection)
            yield lists.capabilities(connection)
            yield from lists.look_at_lists(connection, self.seen)
        finally:
            connection.close()
        yield from self._after_the_lists()
        yield from self._second_start(portal, connection)
        if self.probe:
            yield from probes.run(lambda: self._scratch(portal))

    def _after_the_lists(self) -> Iterator[Step]:
        if self.spec.transport != STDIO:
            yield http.cors(self.ready)
            return
        yield stdio.stdout(self.seen)
        yield from stdio.probe_noise(self.seen)
        yield from stdio.shutdown(self.seen)

    def _scratch(self, portal: BlockingPortal) -> Connection:
        """A connection of its own for deliberate faults."""
        connection = self._connection(portal, self.spec, Seen())
        try:
            connection.open()
        except LoupeError:
            connection.close()
            raise
        return connection

    def _before_the_lists(self) -> Iterator[Step]:
        if self.spec.transport == STDIO:
            yield from stdio.spawned(self.seen)
            yield from stdio.spoke(self.seen)

    def _era(self, connection: Connection) -> Iterator[Step]:
        for attempt in connection.attempts:
            # A refused probe is how a handshake server should answer it; silence makes every client wait.
            silent = attempt.outcome.startswith("No answer")
            ok = attempt.ok or (connection.peer is not None and (None if silent else True))
            remedy = "Answer unknown methods with -32601 at once." if silent else ""
            yield Step("era", ok, _sentence(attempt.asked, attempt.outcome), remedy)
        peer = connection.peer
        if peer is not None:
            name = (peer.server_info or {}).get("name", "a server without a name")
            version = (peer.server_info or {}).get("version") or "no version"
            yield Step(
                "connected", True, f"{name} ({version}) speaks {peer.protocol_version}, the {peer.era} era."
            )

    def _refused(self, problem: LoupeError, connection: Connection) -> Iterator[Step]:
        """Why it did not come up, and what to look at on its layer."""
        facts: dict[str, Any] = {"layer": problem.layer}
        stderr = list(problem.facts.get("stderr") or [])
        remedy = remedy_for(stderr, problem.remedy)
        yield Step("connected", False, sentence(problem.message), remedy, facts)
        if self.spec.transport == STDIO:
            return
        status = problem.facts.get("status")
        yield from http.host_rule(self.ready, status)
        if connection.auth is not None and connection.auth.refused is not None:
            yield from auth.refusal(self.ready, *connection.auth.refused, connection.auth.steps)
        elif status == 401:  # an Authorization header of the definition's own was refused
            yield from auth.refusal(self.ready, 401, problem.facts.get("www_authenticate"), [])

    def _second_start(self, portal: BlockingPortal, first: Connection) -> Iterator[Step]:
        """A second connection: the same list again? And for a modern server that lists nothing, the other era."""
        before = read_pages("tools", self._tool_pages())
        if before.items and self.spec.transport == STDIO:
            again = self._tools_of(portal, self.spec)
            if again is not None:
                yield lists.compare_order(before, again, "after a second start")
        modern = first.peer is not None and first.peer.era == MODERN
        if modern and not before.items and self.spec.era == "auto":
            other = self._tools_of(portal, replace(self.spec, era="handshake"))
            stderr = [text for text in self.seen.text_of("stderr", 50) if "rror" in text]
            step = lists.nothing_for_modern(before, other, stderr) if other is not None else None
            if step is not None:
                yield step

    def _tools_of(self, portal: BlockingPortal, spec: ServerSpec) -> Listing | None:
        connection = self._connection(portal, spec, Seen())
        with suppress(LoupeError):
            try:
                connection.open()
                return lists.listing_of(connection)
            finally:
                connection.close()
        return None

    def _tool_pages(self) -> list[bytes]:
        """The raw answers of the first walk, up to the page that ended it."""
        pages: list[bytes] = []
        for event in self.seen.events:
            if event.t == "rpc" and event.method == "tools/list" and event.kind == "result" and event.raw:
                pages.append(event.raw)
                if b'"nextCursor"' not in event.raw:
                    break
        return pages


def _sentence(asked: str, outcome: str) -> str:
    return sentence(outcome if outcome.startswith(asked) else f"{asked}: {outcome}")
