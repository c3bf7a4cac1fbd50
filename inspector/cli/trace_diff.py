"""`mcp-loupe trace diff`: two traces, aligned, and how their answers differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inspector.cli.options import colours
from inspector.cli.terminal import document_text, print_document, printable, say

if TYPE_CHECKING:
    from inspector.replay.compare import Comparison
    from inspector.replay.diff import Difference, Pair

MARKS = {"same": " ", "changed": "~", "missing": "-", "added": "+"}
COLOURS = {"changed": "33", "missing": "31", "added": "32"}
SHOWN_CHARS = 100


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--ignore", multiple=True, metavar="PATH",
    help="A part that does not count, such as /params/arguments/now or /result/content/*/text.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Ids (UUIDs), times, cursors and _meta count too.")
@click.option("--exit-code", is_flag=True, help="Leave with 1 when anything differs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
def diff(
    a: str,
    b: str,
    ignore: tuple[str, ...],
    strict: bool,
    exit_code: bool,
    as_json: bool,
    data_dir: Path | None,
) -> int:
    """Compare two traces, or recorded sessions (session:N): which questions both hold, how the answers differ."""
    from inspector.replay.compare import ignoring
    from inspector.replay.diff import diff as compare_traces
    from inspector.replay.sessions import recording_named

    one, other = (recording_named(name, data_dir) for name in (a, b))
    found = compare_traces(one, other, ignoring(ignore, strict=strict))
    if as_json:
        print_document(found.as_json())
    else:
        show(found)
    return 1 if exit_code and not found.same else 0


def show(found: Difference) -> None:
    """For people: a line an exchange, its changes below it."""
    document = found.as_json()
    for pair in found.pairs:
        line = f"{MARKS[pair.status]} {printable(pair.either.method)} {printable(pair.either.name)}".rstrip()
        say(f"{line}{_deltas(pair)}", colour=coloured(COLOURS.get(pair.status)))
        for text in change_lines(pair.comparison):
            say(f"    {text}")
    for problem in (
        one[name] for one in (document["a"], document["b"]) for name in ("problem",) if one[name]
    ):
        say(printable(problem))
    summary = ", ".join(f"{n} {status}" for status, n in document["summary"].items() if n)
    delta = document["delta"]
    slower = "" if delta["ms_median"] is None else f", {delta['ms_median']:+.1f} ms (median)"
    say(f"{summary}; answers {delta['bytes']:+,} bytes{slower}")


def _deltas(pair: Pair) -> str:
    delta = pair.delta()
    parts = [f"{delta['bytes']:+,} bytes"] if delta.get("bytes") else []
    parts += [f"{delta['ms']:+.1f} ms"] if "ms" in delta else []
    return f"  ({', '.join(parts)})" if parts else ""


def change_lines(comparison: Comparison) -> Iterator[str]:
    """A line a change, and one for what was left out."""
    for change in comparison.changes:
        where = printable(change.path) or "/"
        if change.kind == "changed":
            yield f"{where}: {_short(change.before)} → {_short(change.after)}"
        elif change.kind == "reordered":
            yield f"{where}: the same things in another order"
        else:
            yield f"{where}: {change.kind} {_short(change.before if change.kind == 'removed' else change.after)}"
    if comparison.more:
        yield f"… and {comparison.more} more changes"


def _short(value: Any) -> str:
    text = document_text(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def coloured(colour: str | None) -> str | None:
    """The colour, when this terminal shows colours."""
    return colour if colours() else None
