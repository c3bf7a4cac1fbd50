"""`mcp-loupe lock` and `mcp-loupe check`: pin a catalog, and tell in CI when it drifts or outgrows its budget."""

from __future__ import annotations

import re
import time
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from inspector.catalog.budgets import NONE, RULES, Checked, Limits, check
from inspector.catalog.difference.change import SEVERITIES
from inspector.catalog.difference.prose import number, visible
from inspector.catalog.difference.side import Side
from inspector.catalog.junit import junit
from inspector.catalog.lock import lock_bytes, lock_of, parse_lock, same_but_created, side_of_lock
from inspector.catalog.report import rfc3339
from inspector.catalog.sarif import sarif
from inspector.cli.options import TargetCommand, target_options
from inspector.cli.output import write, write_file
from inspector.cli.sides import Source, read_one, sources
from inspector.cli.terminal import document_text, print_document, say, warn
from inspector.errors import UsageError
from inspector.settings.files import read_bytes

FORMATS = ("text", "json", "junit", "sarif")
_PER_CENT = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*%\Z")


@click.command("lock", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The lock file to write."
)
@target_options
def lock(words: tuple[str, ...], output: Path, **options: Any) -> None:
    """Pin a catalog in a file: canonical definitions, hashes, totals, hints."""
    side = read_one(_only(sources(words, options)), options)
    document = lock_of(side, rfc3339(time.time_ns() // 1000))
    content = lock_bytes(document)
    unchanged = output.is_file() and same_but_created(read_bytes(output), content)
    if not unchanged:  # the file of an unchanged catalog stays as it is, and so does its history
        write_file(output, [content])
    written = {
        "file": str(output),
        "unchanged": unchanged,
        "tools": len(side.tools),
        "sha256": document["sha256"],
    }
    if options["as_json"]:
        print_document({"schema": "mcp-loupe/locked/1", **written, "totals": document["totals"]})
    else:
        done = "is up to date" if unchanged else "written"
        say(f"{output} {done}: {_sum(side)}")
    for note in side.notes:
        warn(f"{side.label}: {visible(note)}.")


@click.command("check", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option(
    "--lock", "lock_file", type=click.Path(path_type=Path), required=True, help="The lock to check against."
)
@click.option(
    "--max-tokens", type=click.IntRange(0), metavar="N", help="Most tokens of all definitions (o200k_base)."
)
@click.option(
    "--max-wire-bytes", type=click.IntRange(0), metavar="N", help="Most bytes of the list on the wire."
)
@click.option("--max-increase", metavar="P%", help="Most growth of tokens and bytes since the lock.")
@click.option(
    "--fail-on", multiple=True, metavar="RULE", help="breaking, caution, fine, none or a rule (caution)."
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="The report's form (text).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the report here.")
@target_options
def check_(
    words: tuple[str, ...], lock_file: Path, form: str | None, output: Path | None, **options: Any
) -> int:
    """Check a catalog against its lock: drift and budgets. Exit 1 when something does not hold."""
    if options["as_json"] and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other", "Give one of them")
    limits = _limits(options)
    content = read_bytes(lock_file)
    locked = side_of_lock(parse_lock(content, str(lock_file)), lock_file.name)
    if options["declare"] is None and locked.declared:
        options["declare"] = ",".join(locked.declared)  # what a server lists depends on it
    checked = check(locked, read_one(_only(sources(words, options)), options), limits)
    form = "json" if options["as_json"] else form or "text"
    write(_report(checked, form, lock_file, content), output)
    return 0 if checked.ok else 1


def _only(named: list[Source]) -> Source:
    if not named:
        raise UsageError(
            "Which catalog?", "Give a URL, -- CMD ARG…, cmd:'…', demo:flat, a file, or a server's name"
        )
    if len(named) > 1:
        raise UsageError(f"Two targets were given: {named[0].label} and {named[1].label}", "Give one")
    return named[0]


def _limits(options: dict[str, Any]) -> Limits:
    """Takes the budgets out of the options, which then are the common ones alone."""
    chosen = tuple(options.pop("fail_on")) or Limits().fail_on
    for rule in chosen:
        if rule not in (*SEVERITIES, NONE, *RULES):
            near = get_close_matches(rule, [*SEVERITIES, NONE, *RULES], n=1)
            hint = (
                f"Did you mean {near[0]}?" if near else f"Choose among {', '.join(SEVERITIES)} and the rules"
            )
            raise UsageError(f"There is no rule {rule}", f"{hint} (docs/in-ci.md lists them)")
    return Limits(
        options.pop("max_tokens"), options.pop("max_wire_bytes"), _share(options.pop("max_increase")), chosen
    )


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    found = _PER_CENT.match(text.strip())
    if not found:
        raise UsageError("--max-increase wants a percentage", "Write for example --max-increase 5%")
    return float(f"{found[1]}e-2")


def _report(checked: Checked, form: str, lock_file: Path, content: bytes) -> str:
    if form == "json":
        return document_text(checked.as_json()) + "\n"
    if form == "junit":
        return junit(checked)
    if form == "sarif":
        return document_text(sarif(checked, lock_file.as_posix(), content), indent=1) + "\n"
    return _text(checked)


def _text(checked: Checked) -> str:
    """For people: what does not hold, then one line."""
    lines = [f"{each.severity:9} {each.rule:22} {each.message}" for each in checked.violations]
    drift = ", ".join([f"{count:,} {severity}" for severity, count in checked.difference.summary.items()])
    verdict = "holds" if checked.ok else f"does not hold: {_some(len(checked.violations), 'violation')}"
    side = checked.difference.after
    return "\n".join([*lines, f"{visible(side.label)} {verdict} (drift: {drift}; {_sum(side)})"]) + "\n"


def _sum(side: Side) -> str:
    totals = side.totals
    return (
        f"{_some(totals.tools, 'tool')}, {number(totals.wire_bytes)} B on the wire, {totals.definition_bytes:,} B and "
        f"{number(totals.definition_tokens)} tokens of definitions"
    )


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
