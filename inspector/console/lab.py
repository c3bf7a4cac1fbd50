"""The lab over a console: catalogs read once, runs kept state by state, long work as jobs. Any thread but the loop's.

A run's address holds every choice, so a state that is not kept any more is derived again; what a real server answered
is not: those states belong to one live run, by its id, and are gone when it is.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from inspector.catalog.jsontext import compact_value
from inspector.catalog.snapshot import Snapshot
from inspector.console.console import Console
from inspector.console.jobs import Job, Jobs, Progress
from inspector.console.lab_catalogs import LOCK, catalogs_of
from inspector.discovery import meta_tools, whatif
from inspector.discovery.access import Access
from inspector.discovery.choices import Choice, Happening, choice_text, follow
from inspector.discovery.context import Weigher, weigh
from inspector.discovery.ledger import MEASURED
from inspector.discovery.live import caller
from inspector.discovery.play import Asked, Caller, Move, Setting, State, Strategy, begin
from inspector.discovery.registry import SEPARATOR, Registry, Server, Tool, read_server, registry_of
from inspector.discovery.report import steps_of
from inspector.discovery.running import Flat
from inspector.discovery.scenario import Scenario, setting_of, write_scenario
from inspector.discovery.search.search import Search, method_of
from inspector.discovery.strategies.full import Full
from inspector.errors import UsageError
from inspector.wire.events import LOCAL, Event

CHUNK_BYTES: Final = 250_000
"""Definitions handed to the worker at a time: about half a second, so that ending a job is quick."""
SCRIPT: Final = "run_code"
STATES: Final = 600
"""States that are kept, over all runs."""


class Unconfirmed(Exception):
    """A live move would call a tool that its server does not call read-only: nothing was sent."""

    def __init__(self, server: str, tool: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(f"{tool} of {server}")
        self.server, self.tool, self.arguments = server, tool, arguments


@dataclass(frozen=True, slots=True)
class Given:
    """A catalog to read: a snapshot as listed, or a file's content and which of its catalogs. key: of the console's
    server when calls may go to it; stamp: the same for the same catalog."""

    label: str
    stamp: str
    snapshot: Snapshot | None = field(default=None, repr=False)
    content: bytes = field(default=b"", repr=False)
    part: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What tells one bench from another: the catalogs' stamps, provider, authorization context, search."""

    stamps: tuple[str, ...]
    baseline: str
    provider: str
    access: Access
    search: str


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Catalogs read, weighed and indexed. live: the console's server key by the registry's. lock: weigher and search
    serve one thread at a time."""

    stamp: str
    registry: Registry
    flat_registry: Registry
    weigher: Weigher
    search: Search
    live: Mapping[str, str]
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    flats: dict[str, Flat] = field(default_factory=dict, repr=False)

    def setting(self, scenario: Scenario) -> Setting:
        return setting_of(scenario, self.weigher, self.search)

    def flat(self, scenario: Scenario) -> Flat:
        """Full disclosure of the baseline, not played: what it lists and what it puts into the context."""
        key = _key(scenario)
        with self.lock:
            if key not in self.flats:
                state = begin(Full(), replace(self.setting(scenario), always=()), self.flat_registry)
                entry = state.ledger.rows[0]
                self.flats.clear()
                self.flats[key] = Flat(state, entry.reply_bytes, entry.provenance == MEASURED)
            return self.flats[key]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A state of a run. extra: what the event that led here adds to the next request, in uncached input tokens."""

    state: State
    extra: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Which run: its scenario (whose script is not looked at), the strategy, and of a live one its id."""

    scenario: Scenario
    strategy: Strategy
    live: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return _key(self.scenario), self.strategy.id, self.live


class Lab:
    """Everything of the lab that one console keeps."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.jobs = Jobs()
        self._nodes: OrderedDict[Any, Node] = OrderedDict()
        self._live: dict[str, threading.RLock] = {}
        self._lock = threading.Lock()

    # --- benches

    def bench(self, wanted: Wanted, givens: Callable[[], tuple[list[Given], Given | None]]) -> Job[Bench]:
        """The bench for these catalogs, read by a job when there is none. givens: catalogs and baseline, asked for
        only then. Raises what `givens` raises."""
        found: Job[Bench] | None = self.jobs.known(wanted)
        if found is not None:
            return found
        catalogs, baseline = givens()
        return self.jobs.start(wanted, lambda progress: self._read(wanted, catalogs, baseline, progress))

    def _read(
        self, wanted: Wanted, givens: Sequence[Given], baseline: Given | None, progress: Progress
    ) -> Bench:
        now_us, access = time.time_ns() // 1000, wanted.access
        live: dict[str, str] = {}
        servers = _servers(givens, access, now_us, progress, live)
        registry = flat = registry_of(servers, now_us)
        if baseline is not None:
            flat = registry_of(_servers([baseline], access, now_us, progress, {}), now_us)
        weigher = Weigher(wanted.provider)
        every = [tool for each in (registry, flat) for server in each.servers for tool in server.tools]
        self.weigh_all(weigher, every, progress)
        progress.at(f"Making the {wanted.search} index.", 1.0)
        search = Search(method_of(wanted.search))
        search.index(registry.visible(access))
        for server in registry.reachable(access):
            progress.at(f"Counted the names of {server.label}.", 1.0)
            # A reply that lists every name (an enabled server's) is then counted from what is known.
            weigher.tokens(compact_value([tool.public for tool in server.tools]))
        return Bench(repr(wanted), registry, flat, weigher, search, live)

    def weigh_all(self, weigher: Weigher, tools: Sequence[Tool], progress: Progress) -> None:
        """Count the tokens of definitions in the worker, bit by bit."""
        texts = weigher.unknown([tool.text for tool in tools])
        whole, at = len(texts), 0
        while at < whole:
            progress.at(f"Counted {at:,} of {whole:,} definitions.", at / whole)
            end, size = at, 0
            while end < whole and (end == at or size < CHUNK_BYTES):
                size += len(texts[end])
                end += 1
            chunk = texts[at:end]
            pieces, exact = progress.wait(self.console.worker.submit(weigh, weigher.provider, chunk))
            weigher.learn(tools, dict(zip(chunk, pieces, strict=True)))
            weigher.exact = weigher.exact and exact
            at = end

    # --- runs

    def open_live(self) -> str:
        """The id of a new live run."""
        id_ = secrets.token_hex(4)
        with self._lock:
            self._live[id_] = threading.RLock()
        return id_

    def at(self, bench: Bench, run: Run, choices: Sequence[Choice]) -> tuple[Node, int]:
        """The state after `choices`, and how many of them it has: of a live run only what is kept. Raises
        UsageError when a choice cannot be made, or the strategy cannot be had here."""
        with self._locked(bench, run):
            node, done = self._kept(bench, run, choices)
            if run.live:
                return node, done
            for number in range(done, len(choices)):
                node = self._keep(bench, run, choices[: number + 1], _after(run, node.state, choices[number]))
            return node, len(choices)

    def step(
        self, bench: Bench, run: Run, choices: Sequence[Choice], new: Choice, *, confirmed: bool
    ) -> Node:
        """One more choice; in a live run this may send. The same choice at the same place is sent once. Raises
        Unconfirmed for a call that is to be agreed to first, and UsageError for a choice that cannot be made."""
        with self._locked(bench, run):
            before, done = self.at(bench, run, choices)
            if done < len(choices):
                raise UsageError("The answers of this live run are no longer kept.", "Start it again.")
            made = (*choices, new)
            node, known = self._kept(bench, run, made)
            if known == len(made):
                return node
            state = before.state
            if not run.live:
                return self._keep(bench, run, made, _after(run, state, new))
            # Approving a script approves no call: in the lab it makes those that only read.
            script = isinstance(new, Move) and new.tool == SCRIPT
            asking = replace(
                state.setting,
                call=self._caller(bench, confirmed=confirmed and not script),
                confirmed=not script,
            )
            after = _after(run, replace(state, setting=asking), new)
            # What may be sent next is asked for again.
            kept = replace(after.state.setting, call=state.setting.call, confirmed=True)
            own = replace(after.state, setting=kept)
            return self._keep(bench, run, made, replace(after, state=own))

    def price(self, bench: Bench, run: Run, state: State, choice: Choice) -> float | None:
        """What an event would add to the next request, were it to happen now. Raises UsageError."""
        with self._locked(bench, run):
            return _after(run, state, choice).extra

    def record_step(self, bench: Bench, run: Run, node: Node) -> None:
        """The newest step of a live run as a `lab` event of the recording, beside its frames."""
        step = steps_of(node.state.ledger.rows)[-1]
        key = asked_of(bench.live, step["asked"])
        connection = self.console.server(key).connection if key is not None else None
        c = connection.c if connection is not None else 0
        self._emit(c, {"run": run.live, "strategy": run.strategy.id, **step})

    def record(self, bench: Bench, run: Run, choices: Sequence[Choice], saved: Scenario) -> int:
        """The run as `lab` events of this session: its scenario, then every step. Returns how many."""
        node, _ = self.at(bench, run, choices)
        id_ = run.live or secrets.token_hex(4)
        facts = {"run": id_, "strategy": run.strategy.id}
        self._emit(0, facts | {"scenario": json.loads(write_scenario(saved))})
        steps = steps_of(node.state.ledger.rows)
        for step in steps:
            self._emit(0, facts | step)
        return 1 + len(steps)

    def _emit(self, c: int, body: dict[str, Any]) -> None:
        self.console.journal.emit(Event("lab", c, LOCAL, body))

    def _locked(self, bench: Bench, run: Run) -> threading.RLock:
        if not run.live:
            return bench.lock
        with self._lock:
            return self._live.setdefault(run.live, threading.RLock())

    def _kept(self, bench: Bench, run: Run, choices: Sequence[Choice]) -> tuple[Node, int]:
        """The longest beginning that is kept; the start of a run is made when there is none."""
        texts = [choice_text(each) for each in choices]
        with self._lock:
            for number in range(len(texts), -1, -1):
                found = self._nodes.get((bench.stamp, run.key, *texts[:number]))
                if found is not None:
                    self._nodes.move_to_end((bench.stamp, run.key, *texts[:number]))
                    return found, number
        setting = bench.setting(run.scenario)
        if run.live:
            # Whether a call is to be confirmed is the caller's to say: it knows what would really be sent.
            call = self._caller(bench, confirmed=False)
            setting = replace(setting, call=call, confirmed=True, weigher=bench.weigher.fork())
        return self._keep(bench, run, (), Node(begin(run.strategy, setting, bench.registry))), 0

    def _keep(self, bench: Bench, run: Run, choices: Sequence[Choice], node: Node) -> Node:
        with self._lock:
            self._nodes[bench.stamp, run.key, *[choice_text(each) for each in choices]] = node
            while len(self._nodes) > STATES:
                self._nodes.popitem(last=False)
        return node

    def _caller(self, bench: Bench, *, confirmed: bool) -> Caller:
        """Calls go over the connection that a server has at the time. Raises Unconfirmed, by itself, for a tool that
        is not said to be read-only."""

        def call(key: str, tool: str, arguments: Mapping[str, Any]) -> Asked:
            if key not in bench.live:
                raise UsageError(f"{key} is no connected server", "Choose a server's newest list, connected")
            if not confirmed and not _read_only(bench.registry, key, tool):
                raise Unconfirmed(key, tool, arguments)
            connection = self.console.connection(bench.live[key])
            return caller({key: connection}, bench.registry)(key, tool, arguments)

        return call


def asked_of(live: Mapping[str, str], asked: str) -> str | None:
    """The console's server whose tool a step names, itself or in its arguments. asked: the step's, as JSON."""
    return next((key for name, key in live.items() if f'"{name}{SEPARATOR}' in asked), None)


def _read_only(registry: Registry, key: str, tool: str) -> bool:
    server = registry.server(key)
    known = [each for each in server.tools if each.name == tool] if server is not None else []
    return bool(known) and meta_tools.read_only(known[0].value)


def _after(run: Run, state: State, choice: Choice) -> Node:
    known = run.scenario.known
    if not isinstance(choice, Happening):
        return Node(follow(run.strategy, state, choice, known))
    found = whatif.priced(state, lambda before: follow(run.strategy, before, choice, known))
    return Node(found.state, found.extra)


def _servers(
    givens: Sequence[Given], access: Access, now_us: int, progress: Progress, live: dict[str, str]
) -> list[Server]:
    found: list[Server] = []
    for given in givens:
        progress.at(f"Reading {given.label}.")
        label, snapshot = given.label, given.snapshot
        if snapshot is None:
            label, snapshot = catalogs_of(given.content, given.label)[given.part]
        server = read_server(
            snapshot, label, taken=[each.key for each in found], kept_for=access.name,
            measured=snapshot.transport != LOCK, received_at_us=now_us,
        )  # fmt: skip
        found.append(server)
        if given.key:
            live[server.key] = given.key
    return found


def _key(scenario: Scenario) -> str:
    """The same for scenarios that differ in script, strategies and policy only."""
    return write_scenario(replace(scenario, script=(), strategies=(), auto="top1", expect=""))
