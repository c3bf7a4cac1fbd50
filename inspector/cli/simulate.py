"""`mcp-loupe simulate`: what a model would be shown, at what cost, under each way of disclosing a catalog."""

from __future__ import annotations

import json
import secrets
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from inspector.catalog.providers import PROVIDERS
from inspector.cli.doing import doing
from inspector.cli.lab import read_registry
from inspector.cli.options import TargetCommand, target_options
from inspector.cli.output import write_file
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.discovery import meta_tools, report
from inspector.discovery.access import read_contexts
from inspector.discovery.context import NO_PROVIDER
from inspector.discovery.ledger import Row, percent
from inspector.discovery.live import caller
from inspector.discovery.play import Strategy
from inspector.discovery.policies import POLICIES, policy_of
from inspector.discovery.running import Run, flat_of, run_all
from inspector.discovery.scenario import Scenario, read_scenario, setting_of, write_scenario
from inspector.discovery.search.search import METHODS
from inspector.discovery.strategies import strategies
from inspector.errors import UsageError
from inspector.wire.connection import Connection
from inspector.wire.events import LOCAL, Event

ALL = "all"


@click.command("simulate", cls=TargetCommand)
@click.argument("scenario_file", required=False, type=click.Path(path_type=Path), metavar="[SCENARIO]")
@click.option("--catalog", multiple=True, metavar="TARGET", help="A catalog; several form one registry.")
@click.option("--baseline", metavar="TARGET", help="The flat catalog to compare with.")
@click.option("--task", metavar="TEXT", help="What the model is asked to do.")
@click.option("--query", metavar="TEXT", help="What it searches for; the task when not given.")
@click.option("--strategy", multiple=True, metavar="ID", help="A way of disclosing, or all (default).")
@click.option("--window", type=click.IntRange(1), metavar="N", help="The model's window in tokens (200,000).")
@click.option("--provider", type=click.Choice((*PROVIDERS, NO_PROVIDER)), help="Whose requests (anthropic).")
@click.option("--context", metavar="NAME", help="The authorization context to act under.")
@click.option(
    "--contexts", type=click.Path(path_type=Path), metavar="FILE", help="Where contexts are defined."
)
@click.option("--search", type=click.Choice(METHODS), help="How the host searches (keyword).")
@click.option("--live", is_flag=True, help="Ask real servers for what they disclose.")
@click.option("--auto", type=click.Choice(POLICIES), help="Who plays the model (top1).")
@click.option("--expect", metavar="TOOL", help="The tool the task needs.")
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the scenario here.")
@click.option(
    "--show-meta-tools", is_flag=True, help="Print the host-made tools exactly as a model is sent them."
)
@target_options
def simulate(
    scenario_file: Path | None, live: bool, save: Path | None, show_meta_tools: bool, **options: Any
) -> None:
    """Run the discovery lab on a task: what each strategy shows, costs and saves."""
    if show_meta_tools:
        print_document(meta_tools.facts(), indent=1)
        return
    scenario = _scenario(read_scenario(scenario_file) if scenario_file else Scenario(), options)
    chosen = _chosen(scenario.strategies)
    with ExitStack() as stack:
        document, runs = _simulate(scenario, chosen, options, stack if live else None)
    if save is not None:
        write_file(save, [write_scenario(scenario).encode()])
    if options["as_json"]:
        print_document(document)
    else:
        show(document, runs)


def _scenario(scenario: Scenario, options: dict[str, Any]) -> Scenario:
    """The file's scenario as the options change it."""
    named = {
        "baseline": "baseline", "task": "task", "query": "query", "window": "window", "provider": "provider",
        "context": "context", "search": "search", "auto": "auto", "expect": "expect",
    }  # fmt: skip
    changes: dict[str, Any] = {key: options[name] for key, name in named.items() if options[name] is not None}
    if options["catalog"]:
        changes["catalogs"] = options["catalog"]
    if options["strategy"]:
        changes["strategies"] = options["strategy"]
    if options["contexts"] is not None:
        known = read_contexts(options["contexts"])
        changes["contexts"] = {
            name: {
                "user": each.user,
                "tenant": each.tenant,
                "allow": _listed(each.allow),
                "deny": list(each.deny),
            }
            for name, each in known.items()
        }
    found = replace(scenario, **changes)
    if not found.catalogs and click.get_current_context().meta.get("argv") is None:
        raise UsageError("Which catalog?", "Add --catalog TARGET, or give a scenario file")
    if not found.task and not found.query:
        raise UsageError("What is the task?", 'Add --task "…"')
    return found


def _listed(globs: tuple[str, ...] | None) -> list[str] | None:
    return None if globs is None else list(globs)


def _chosen(names: tuple[str, ...]) -> list[Strategy]:
    known = strategies()
    if not names or ALL in names:
        return list(known.values())
    for name in names:
        if name not in known:
            raise UsageError(f"There is no strategy {name}", f"Choose among {', '.join(known)} or all")
    return [known[name] for name in names]


def _simulate(
    scenario: Scenario, chosen: list[Strategy], options: dict[str, Any], keep_open: ExitStack | None
) -> tuple[dict[str, Any], list[Run]]:
    access = scenario.access
    registry, connections = read_registry(
        scenario.catalogs, options, kept_for=access.name, keep_open=keep_open
    )
    setting = setting_of(scenario)
    if connections:
        setting = replace(setting, call=caller(connections, registry))
    flat_registry = registry
    if scenario.baseline:
        apart = {**options, "record": None}
        meta = click.get_current_context().meta
        argv = meta.pop("argv", None)
        flat_registry, _ = read_registry([scenario.baseline], apart, kept_for=access.name)
        if argv is not None:
            meta["argv"] = argv
    policy = policy_of(scenario.auto)
    with doing("playing the strategies"):
        flat = flat_of(setting, flat_registry)
        runs, not_run = run_all(
            chosen, setting, registry, flat, policy, scenario.expect, scenario.choices, scenario.known
        )
    if options["record"] is not None and keep_open is not None:
        for connection in connections.values():
            record_runs(connection, scenario, runs)
    return report.document(scenario, runs, not_run, flat, live=keep_open is not None), runs


def record_runs(connection: Connection, scenario: Scenario, runs: list[Run]) -> None:
    """Each run as `lab` events behind the frames they name: its scenario, then every step."""
    for run in runs:
        facts = {"run": secrets.token_hex(4), "strategy": run.strategy.id}
        told = json.loads(write_scenario(replace(scenario, strategies=(run.strategy.id,))))
        for body in ({"scenario": told}, *report.steps_of(run.state.ledger.rows)):
            connection.link.journal.emit(Event("lab", connection.c, LOCAL, facts | body))


def show(document: dict[str, Any], runs: list[Run]) -> None:
    """For people: the table, and for a single strategy its steps; what is assumed is said."""
    baseline = document["baseline"]
    say(
        f"{document['mode']} run of “{printable(document['task'])}”: flat list {baseline['entry_bytes']:,} B,"
        f" {baseline['tools']} tools, {baseline['provenance']}"
    )
    if len(runs) == 1:
        _show_steps(runs[0])
    say()
    for line in report.lines(runs):
        say(printable(line))
    for each in runs:
        if each.left_out:
            warn(f"{each.strategy.id}: {printable(each.left_out)}.")
    for each in document["not_run"]:
        warn(f"{each['strategy']} was not run: {printable(each['why'])}.")
    tokenizer = document["tokenizer"]
    say()
    say(f"tokens: {tokenizer['name']}, {tokenizer['role']}; billed: input tokens through the prompt cache")
    if runs:
        advice = runs[0].advice
        say(f"stage {advice.stage}, {advice.text}: {'; '.join(advice.because)}")


def _show_steps(run: Run) -> None:
    say()
    for row in run.state.ledger.rows:
        say(_step(row))
    totals, against = run.state.totals, run.versus
    say()
    say(
        f"net saved {percent(against.net_saved)} (total {totals.total_bytes:,} B = entry {totals.entry_bytes:,} B +"
        f" discovery {totals.discovery_bytes:,} B); entry reduction {percent(against.entry_reduction)}"
    )


def _step(row: Row) -> str:
    took = "" if row.ms is None else f" {row.ms:.1f} ms"
    what = printable(row.asked or row.action)
    return (
        f"{row.n:>2} {row.actor:<8} {row.column:<9} {row.reply_bytes:>9,} B {row.provenance:<8}"
        f" +{row.context_tokens:,} tok{took}  {what[:70]} → {printable(row.got)[:90]}"
    )
