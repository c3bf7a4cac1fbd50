"""`mcp-loupe evaluate`: how well each way of searching finds the right tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inspector.cli.doing import doing
from inspector.cli.lab import read_registry
from inspector.cli.options import TargetCommand, target_options
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.discovery.access import read_contexts
from inspector.discovery.context import Weigher
from inspector.discovery.evaluate import SCHEMA, Quality, evaluate, quality_entry, read_tasks
from inspector.discovery.ledger import percent
from inspector.discovery.search.search import METHODS, method_of, usable_methods
from inspector.errors import UsageError

ALL = "all"
HALVES = ("development", "blind")


@click.command("evaluate", cls=TargetCommand)
@click.option("--catalog", multiple=True, metavar="TARGET", help="A catalog; several form one registry.")
@click.option(
    "--tasks", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The task set, JSONL."
)
@click.option("--search", multiple=True, type=click.Choice((*METHODS, ALL)), help="How to search (all).")
@click.option("--half", type=click.Choice(HALVES), help="Only this half of the task set.")
@click.option("--contexts", type=click.Path(path_type=Path), metavar="FILE", help="Authorization contexts.")
@click.option("--min-recall", type=click.FloatRange(0, 1), metavar="R", help="Exit 1 when recall@5 is below.")
@target_options
def evaluate_(
    catalog: tuple[str, ...],
    tasks: Path,
    search: tuple[str, ...],
    half: str | None,
    contexts: Path | None,
    min_recall: float | None,
    **options: Any,
) -> int:
    """Measure retrieval: recall, rank, misses, wrong picks, time and tokens."""
    if not catalog and click.get_current_context().meta.get("argv") is None:
        raise UsageError("Which catalog?", "Add --catalog TARGET")
    asked = [task for task in read_tasks(tasks) if half in (None, task.half)]
    if not asked:
        raise UsageError(
            f"{tasks} has no task of the {half} half", 'Tasks say "half": "development" or "blind"'
        )
    every = not search or ALL in search
    names = usable_methods() if every else search
    registry, _ = read_registry(catalog, options)
    known = {} if contexts is None else read_contexts(contexts)
    weigher = Weigher()
    with doing(f"searching for {len(asked):,} tasks"):
        found = [evaluate(method_of(name), registry, asked, known, weigher) for name in names]
    absent = [name for name in METHODS if every and name not in names]
    _print(found, absent, options["as_json"])
    return int(min_recall is not None and any((each.recall(5) or 0) < min_recall for each in found))


def _print(found: list[Quality], absent: list[str], as_json: bool) -> None:
    if as_json:
        document = {
            "schema": SCHEMA,
            "methods": [quality_entry(each) for each in found],
            "not_run": [{"search": name, "why": "needs the extra [semantic]"} for name in absent],
        }
        print_document(document)
        return
    say(f"{'search':<9} recall@1 recall@3 recall@5   mrr   miss  wrong  tokens    p50 ms    p95 ms")
    for each in found:
        recalls = " ".join([percent(each.recall(k)).rjust(8) for k in (1, 3, 5)])
        say(
            f"{each.search:<9} {recalls}  {_of(each.mrr):>4} {percent(each.miss_rate):>6} "
            f"{percent(each.wrong_pick_rate):>6} {_whole(each.tokens_to_schema):>7} "
            f"{each.milliseconds(50) or 0:9.2f} {each.milliseconds(95) or 0:9.2f}"
        )
    for each in found:
        for judged in each.missed:
            say(f"{each.search} missed: {printable(judged.task.task)} ({', '.join(judged.task.expect)})")
    for name in absent:
        warn(f"{name} was not run: it needs the extra [semantic].")


def _of(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
