"""`mcp-loupe trace replay`: recorded requests sent again to a live server, old and new answers compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from inspector.cli.options import TargetCommand, connected, spec_of, target_options
from inspector.cli.terminal import print_document, printable, say
from inspector.cli.trace_diff import change_lines, coloured

if TYPE_CHECKING:
    from inspector.replay.player import Played

COLOURS = {"changed": "33", "failed": "31", "refused": "35"}


@click.command("replay", cls=TargetCommand)
@click.argument("file", metavar="FILE|session:N")
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option(
    "--only", multiple=True, type=int, metavar="SEQ", help="Only the request (or answer) with this seq."
)
@click.option("--yes", is_flag=True, help="Run calls of tools that are not read-only too.")
@click.option(
    "--ignore",
    multiple=True,
    metavar="PATH",
    help="A part that does not count, such as /result/content/0/text.",
)
@click.option("--strict", is_flag=True, help="Ids (UUIDs), times, cursors and _meta count too.")
@click.option("--exit-code", is_flag=True, help="Leave with 1 unless every answer is the same.")
@target_options
def replay(
    file: str,
    words: tuple[str, ...],
    only: tuple[int, ...],
    yes: bool,
    ignore: tuple[str, ...],
    strict: bool,
    exit_code: bool,
    **options: Any,
) -> int:
    """Send recorded requests again and compare the answers."""
    from inspector.replay.compare import ignoring
    from inspector.replay.player import Player, document_of, pick
    from inspector.replay.sessions import recording_named

    recording = recording_named(file, options["data_dir"])
    exchanges, rules = pick(recording, only), ignoring(ignore, strict=strict)
    spec = spec_of(words, options)
    played = []
    with connected(spec, options) as connection:
        player = Player(
            connection, rules, source=recording.path.name, confirmed=yes, timeout=options["timeout"]
        )
        for one in player.play(exchanges):
            played.append(one)
            if not options["as_json"]:
                show(one)
        document = document_of(recording, connection, played)
    if options["as_json"]:
        print_document(document)
    else:
        say(
            ", ".join(f"{n} {verdict}" for verdict, n in document["summary"].items() if n)
            or "nothing to replay"
        )
    return 1 if exit_code and any(one.verdict != "same" for one in played) else 0


def show(one: Played) -> None:
    """A line an exchange, then why, then its changes."""
    what = f"{one.exchange.request.seq:>6}  {one.exchange.method} {one.exchange.name}".rstrip()
    took = (
        f"  ({one.exchange.ms:.1f} → {one.ms:.1f} ms)"
        if one.ms is not None and one.exchange.ms is not None
        else ""
    )
    say(f"{one.verdict:<8} {printable(what)}{took}", colour=coloured(COLOURS.get(one.verdict)))
    if one.why:
        say(f"    {printable(one.why)}{f'. {printable(one.remedy)}' if one.remedy else ''}")
    for text in change_lines(one.comparison):
        say(f"    {text}")
