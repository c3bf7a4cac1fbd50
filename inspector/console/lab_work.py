"""The long work of the lab: all strategies side by side, growth, evaluation. On a job's thread, tokens in the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from inspector.catalog.providers import PROVIDERS
from inspector.console.jobs import Progress
from inspector.console.lab import Bench, Lab
from inspector.discovery import report
from inspector.discovery.conversation import Course, course
from inspector.discovery.evaluate import Quality, Task, evaluate
from inspector.discovery.growth import SIZES, resized
from inspector.discovery.one_page import FlatCost, Section, one_page
from inspector.discovery.play import Setting, Strategy, begin
from inspector.discovery.policies import Policy, policy_of
from inspector.discovery.prompt_cache import Prefix
from inspector.discovery.registry import Registry
from inspector.discovery.running import Flat, Run, flat_of, run
from inspector.discovery.scenario import Scenario, setting_of
from inspector.discovery.search.search import method_of, usable_methods
from inspector.discovery.strategies import strategies
from inspector.discovery.strategies.full import Full
from inspector.errors import UsageError

GROWN: Final = ("full", "categories", "search_inject", "search_stable", "servers_on_demand")
"""Strategies of the growth curve: the others cost like one of these."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """All strategies on the same task. not_run: (strategy, why). courses: 20 turns of each that made a call, with
    one discovery, by strategy. document: as `simulate --json` writes it."""

    flat: Flat
    runs: tuple[Run, ...]
    not_run: tuple[tuple[str, str], ...]
    courses: dict[str, Course] = field(repr=False)
    document: dict[str, Any] = field(repr=False)

    def run_of(self, strategy: str) -> Run | None:
        return next((each for each in self.runs if each.strategy.id == strategy), None)


@dataclass(frozen=True, slots=True)
class Grown:
    """One strategy on a catalog of another size. net_saved, entry_reduction: fractions; tokens: in the context."""

    tools: int
    synthetic: bool
    strategy: str
    net_saved: float | None
    entry_reduction: float | None
    total_bytes: int
    tokens: int
    outcome: str


def side_by_side(bench: Bench, scenario: Scenario, progress: Progress) -> Side:
    """Every strategy played by the scenario's policy, dry. Raises UsageError for a policy that cannot play."""
    progress.at("Reading the flat list.", 0.0)
    setting = own_setting(bench, scenario)
    policy = policy_of(scenario.auto)
    flat = flat_of(setting, bench.flat_registry)
    runs, not_run, known = [], [], list(strategies().values())
    for number, strategy in enumerate(known):
        progress.at(f"Playing {strategy.id}.", (number + 1) / (len(known) + 1))
        try:
            runs.append(_played(strategy, setting, bench.registry, flat, policy, scenario.expect))
        except UsageError as problem:
            not_run.append((strategy.id, problem.message))
    progress.at("Twenty turns of each.", 1.0)
    courses = {each.strategy.id: course(each.state, setting.rules) for each in runs if each.state.called}
    document = report.document(scenario, runs, not_run, flat, live=False)
    return Side(flat, tuple(runs), tuple(not_run), courses, document)


def growth(lab: Lab, bench: Bench, scenario: Scenario, progress: Progress) -> list[Grown]:
    """The same task over catalogs of SIZES tools, sampled or with renamed copies: all derived."""
    setting = own_setting(bench, scenario)
    policy, found = policy_of(scenario.auto), []
    there = sum([len(server.tools) for server in bench.registry.servers])
    for size in SIZES:
        progress.at(f"Making a catalog of {size:,} tools.")
        sized = resized(bench.registry, size, scenario.expect)
        lab.weigh_all(setting.weigher, [tool for server in sized.servers for tool in server.tools], progress)
        flat = flat_of(setting, sized)
        for id_ in GROWN:
            progress.at(f"Playing {id_} over {size:,} tools.")
            made = _played(strategies()[id_], setting, sized, flat, policy, scenario.expect)
            totals = made.state.totals
            found.append(
                Grown(
                    size, size > there, id_, made.versus.net_saved, made.versus.entry_reduction,
                    totals.total_bytes, totals.context_tokens, made.outcome,
                )
            )  # fmt: skip
    return found


def evaluated(
    bench: Bench, scenario: Scenario, tasks: Sequence[Task], methods: Sequence[str], progress: Progress
) -> list[Quality]:
    """Each method over the task set. Raises UsageError for a task whose tool or context there is not."""
    found = []
    for number, name in enumerate(methods):
        progress.at(f"Searching by {name}.", number / len(methods))
        weigher = bench.weigher.fork()
        found.append(evaluate(method_of(name), bench.registry, tasks, scenario.known, weigher))
    return found


def own_setting(bench: Bench, scenario: Scenario) -> Setting:
    """The scenario's dry setting with a weigher and a search of its own: a job has a thread of its own."""
    with bench.lock:
        weigher = bench.weigher.fork()
    return setting_of(scenario, weigher)


def _played(
    strategy: Strategy, setting: Setting, registry: Registry, flat: Flat, policy: Policy, expect: str
) -> Run:
    return run(strategy, replace(setting, call=None), registry, flat, policy=policy, expect=expect)


def reported(
    lab: Lab, bench: Bench, scenario: Scenario, label: str, tasks: Sequence[Task], progress: Progress
) -> list[Section]:
    """The report of a catalog. tasks: a set that fits it, or empty."""
    side = side_by_side(bench, scenario, progress)
    costs = [_flat_cost(lab, bench, replace(scenario, provider=name), progress) for name in PROVIDERS]
    quality: list[Quality] = []
    if tasks:
        progress.at("Searching for every task.")
        quality = evaluated(bench, replace(scenario, search="keyword"), tasks, usable_methods(), progress)
    advice = side.runs[0].advice
    return one_page(scenario, label, side.flat, costs, side.runs, side.not_run, side.courses, quality, advice)


def _flat_cost(lab: Lab, bench: Bench, scenario: Scenario, progress: Progress) -> FlatCost:
    setting = setting_of(replace(scenario, always=()))
    tools = [tool for server in bench.flat_registry.servers for tool in server.tools]
    if scenario.provider == bench.weigher.provider:
        setting = replace(setting, weigher=bench.weigher.fork())
    lab.weigh_all(setting.weigher, tools, progress)
    progress.at(f"The flat list for {scenario.provider}.")
    model = begin(Full(), setting, bench.flat_registry).model
    first, prefix = Prefix().request(model.pieces(), setting.rules)
    later, _ = prefix.request(model.pieces(), setting.rules)
    tokens = model.tokens - sum([piece.tokens for piece in model.messages])
    return FlatCost(
        scenario.provider, tokens, tokens / scenario.window, first.billed(setting.rules),
        later.billed(setting.rules), report.role_of(scenario.provider),
    )  # fmt: skip
