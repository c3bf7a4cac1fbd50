"""`mcp-loupe compare`: what changed between catalogs, and how much it matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inspector.catalog.difference.change import BREAKING, CAUTION
from inspector.catalog.difference.comparing import Difference, compare, distinct
from inspector.catalog.difference.html import html
from inspector.catalog.difference.markdown import markdown
from inspector.catalog.difference.report import document
from inspector.cli.doing import doing
from inspector.cli.options import TargetCommand, target_options
from inspector.cli.output import write
from inspector.cli.sides import read, sources
from inspector.cli.terminal import document_text
from inspector.errors import UsageError

FORMATS = ("md", "html", "json")


@click.command("compare", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="A B…")
@click.option("--format", "form", type=click.Choice(FORMATS), help="The report's form (md).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the report here.")
@click.option(
    "--fail-on", type=click.Choice((BREAKING, CAUTION)), help="Exit 1 when a change is that severe."
)
@target_options
def compare_(
    words: tuple[str, ...], form: str | None, output: Path | None, fail_on: str | None, **options: Any
) -> int:
    """Compare catalogs with the first one: servers, list lines, locks, traces."""
    if options["as_json"] and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other", "Give one of them")
    named = sources(words, options)
    sides = distinct([side for source in named for side in read(source, options)])
    if len(sides) < 2:
        raise UsageError("A comparison needs two catalogs", "Write: mcp-loupe compare OLD NEW")
    with doing("comparing"):
        differences = compare(sides)
    write(_report(differences, "json" if options["as_json"] else form or "md"), output)
    return int(fail_on is not None and _fails(differences, fail_on))


def _report(differences: list[Difference], form: str) -> str:
    if form == "json":
        return document_text(document(differences)) + "\n"
    return html(differences) if form == "html" else markdown(differences)


def _fails(differences: list[Difference], fail_on: str) -> bool:
    """`caution` means that or worse."""
    counts = [each.summary for each in differences]
    return any(each[BREAKING] or (fail_on == CAUTION and each[CAUTION]) for each in counts)
