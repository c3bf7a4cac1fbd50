"""Scripts that run or have run in code mode: each on a thread of its own, with the people it waits for. Any thread.

A run outlives the page that started it; its calls are in the timeline like any other.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from inspector.catalog.tokens import TokenCount, count
from inspector.console.catalogs import Catalog, Catalogs
from inspector.console.worker import Worker
from inspector.discovery.access import EVERYONE
from inspector.discovery.code.approvals import Ask, Decision
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.calls import Call
from inspector.discovery.code.comparison import Comparison, compare, texts_of
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Result, Run
from inspector.discovery.code.runtime import Runtime
from inspector.discovery.code.sending import sender
from inspector.discovery.code.stubs import Stubs, stubs_of
from inspector.discovery.registry import Registry, Server, read_server, registry_of
from inspector.errors import LoupeError, UsageError
from inspector.wire.connection import Connection

KEPT: Final = 20
ANSWER_S: Final = 600.0
"""How long a call waits for a person; then it is denied."""
COUNTED: Final = 64
COUNT_S: Final = 0.4
COMPARE_S: Final = 120.0
READ: Final = 16
"""Catalogs kept as the lab reads them."""


class Waiting:
    """Where a run's thread waits for a person, and a request's thread brings the answer."""

    def __init__(self) -> None:
        self.ask: Ask | None = None
        self._decision: Decision = "deny"
        self._over = False
        self._changed = threading.Condition()

    def decide(self, ask: Ask) -> Decision:
        with self._changed:
            self.ask, self._decision = ask, "deny"
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.ask is None or self._over, ANSWER_S)
            self.ask = None
            return self._decision

    def wait_for_ask(self, timeout_s: float) -> bool:
        """Until a call waits; False when none does within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.ask is not None, timeout_s)

    def answer(self, n: int, decision: Decision) -> bool:
        """False when that call does not wait (any more): it was answered elsewhere, or it gave up."""
        with self._changed:
            if self.ask is None or self.ask.call.n != n:
                return False
            self.ask, self._decision = None, decision
            self._changed.notify_all()
            return True

    def give_up(self) -> None:
        """The run was stopped: whatever is asked, now or later, is denied at once."""
        with self._changed:
            self.ask, self._over = None, True
            self._changed.notify_all()


@dataclass(slots=True)
class ScriptRun:
    """One run. keys: of its servers. changes: how often something happened, so that a page can ask for news."""

    id: str
    keys: tuple[str, ...]
    code: str
    run: Run
    waiting: Waiting
    stubs: Stubs
    rules: Rules
    began_ms: int
    result: Result | None = None
    comparison: Comparison | None = None
    stopped: bool = False
    changes: int = 0
    done: bool = False
    thread: threading.Thread | None = field(default=None, repr=False)

    @property
    def calls(self) -> list[Call]:
        return list(self.run.broker.calls)

    def seen(self) -> str:
        """What a page has seen of it, as a word."""
        ask = self.waiting.ask
        asked = ask.call.n if ask is not None else 0
        ended = int(self.result is not None) + int(self.done)
        return f"{self.changes}.{len(self.run.printed)}.{asked}.{ended}"


class Scripts:
    """The runs of one console, the last KEPT of them. connection: the open one of a server key, or ConnectionLost."""

    def __init__(
        self,
        catalogs: Catalogs,
        connection: Callable[[str], Connection],
        worker: Worker,
        runtime: Runtime | None = None,
    ) -> None:
        self._catalogs, self._connection, self._worker = catalogs, connection, worker
        self._runtime = runtime or MontyRuntime()
        self._runs: OrderedDict[str, ScriptRun] = OrderedDict()
        self._stubs: OrderedDict[tuple[int, ...], tuple[Registry, Stubs]] = OrderedDict()
        self._counts: OrderedDict[bytes, Future[TokenCount]] = OrderedDict()
        self._read: OrderedDict[tuple[str, int], Server] = OrderedDict()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    def registry(self, keys: Sequence[str]) -> Registry:
        """What these servers listed last, as one registry; the keys are the namespaces."""
        return registry_of([server for key in keys if (server := self._server(key)) is not None])

    def stubs(self, keys: Sequence[str]) -> Stubs:
        """The functions of these servers, kept until one of them is listed again."""
        servers = [server for key in keys if (server := self._server(key)) is not None]
        at = tuple([id(server) for server in servers])
        with self._lock:
            found = self._stubs.get(at)
        if found is None:
            found = (registry_of(servers), stubs_of(registry_of(servers)))
            with self._lock:
                self._stubs[at] = found
                while len(self._stubs) > READ:
                    self._stubs.popitem(last=False)
        return found[1]

    def written(self, keys: Sequence[str]) -> bool:
        """Whether `stubs` has these functions at hand."""
        at = tuple([id(server) for key in keys if (server := self._server(key)) is not None])
        with self._lock:
            return at in self._stubs

    def tokens(self, text: str) -> int | None:
        """Of a text by o200k_base, counted in the worker process; None while it counts, or when it could not."""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        with self._lock:
            counting = self._counts.get(digest)
            if counting is None:
                counting = self._counts[digest] = self._worker.submit(count, text)
                while len(self._counts) > COUNTED:
                    self._counts.popitem(last=False)
        with suppress(Exception):
            return counting.result(COUNT_S).value
        return None

    def _server(self, key: str) -> Server | None:
        catalog: Catalog | None = self._catalogs.known(key, "tools")
        if catalog is None:
            return None
        at = (key, catalog.listed_at_us)
        with self._lock:
            found = self._read.get(at)
        if found is None:
            found = read_server(catalog.snapshot, key, received_at_us=1)  # every list counts as received now
            with self._lock:
                self._read[at] = found
                while len(self._read) > READ:
                    self._read.popitem(last=False)
        return found

    def start(
        self, keys: Sequence[str], code: str, rules: Rules, *, typed: bool = True, resume: str = ""
    ) -> ScriptRun:
        """Begin and return at once. resume: the id of a run whose results are used again. Raises LoupeError."""
        if not keys:
            raise UsageError("No server is chosen", "Choose at least one; its tools become functions")
        connections = {key: self._connection(key) for key in keys}
        if resume:
            rules.earlier = self.get(resume).calls
        for key in keys:
            catalog = self._catalogs.known(key, "tools")
            if catalog is None or catalog.changed_at_us is not None:
                why = "has not been listed" if catalog is None else "changed since it was listed"
                raise UsageError(
                    f"The catalog of {key} {why}", "Refresh it on the Catalog screen, then run again"
                )
        registry = self.registry(keys)
        of_namespace = {server.key: connections[server.label] for server in registry.servers}
        stubs = self.stubs(keys) if rules.access == EVERYONE else stubs_of(registry, rules.access)
        waiting = Waiting()
        with self._lock:
            id_ = f"code-{next(self._ids)}"

        def changed() -> None:
            found.changes += 1

        run = Run(id_, code, registry, stubs, self._runtime, rules, sender(of_namespace.get), approver=waiting,
                  typed=typed, on_change=changed)  # fmt: skip
        found = ScriptRun(id_, tuple(keys), code, run, waiting, stubs, rules, int(time.time() * 1000))
        with self._lock:
            self._runs[id_] = found
            while len(self._runs) > KEPT:
                self._end(self._runs.popitem(last=False)[1])
        found.thread = threading.Thread(target=self._play, args=(found, registry), name=id_, daemon=True)
        found.thread.start()
        return found

    def _play(self, found: ScriptRun, registry: Registry) -> None:
        try:
            found.result = found.run.play()
        except Exception as problem:  # noqa: BLE001 - a run always ends with something to show
            said = LoupeError(
                f"Loupe itself failed: {type(problem).__name__}: {problem}", "Please report this as a bug"
            )
            found.result = Result(output=found.run.printed, error=said, calls=found.run.broker.calls)
        try:
            texts = texts_of(registry, found.stubs, found.code, found.result, access=found.rules.access)
            found.comparison = self._worker.submit(compare, texts).result(COMPARE_S)
        except Exception:  # noqa: BLE001 - the figures beside a run are missing, the run is not
            found.comparison = None
        finally:
            found.done = True

    def get(self, id_: str) -> ScriptRun:
        with self._lock:
            found = self._runs.get(id_)
        if found is None:
            raise UsageError(f"There is no run {id_} any more", "Its calls are still in the timeline")
        return found

    def recent(self) -> list[ScriptRun]:
        """Newest first."""
        with self._lock:
            return list(reversed(self._runs.values()))

    def stop(self, id_: str) -> ScriptRun:
        """End a run at its next call, and the call that waits for a person now."""
        found = self.get(id_)
        self._end(found)
        return found

    def _end(self, found: ScriptRun) -> None:
        if found.result is None:
            found.stopped = True
            found.run.stop()
            found.waiting.give_up()

    def close(self) -> None:
        """End the runs and the sandbox's workers."""
        for found in self.recent():
            self._end(found)
        self._runtime.close()
        for found in self.recent():
            if found.thread is not None:
                found.thread.join(5)
