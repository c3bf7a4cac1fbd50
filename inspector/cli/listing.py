"""`mcp-loupe list`: what a server lists, to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from inspector.catalog.providers import PROVIDERS, models
from inspector.cli.doing import doing
from inspector.cli.options import TargetCommand, connected, spec_of, target_options
from inspector.cli.terminal import print_document, printable, warn
from inspector.errors import PeerError, UsageError
from inspector.wire.connection import Connection
from inspector.wire.listing import METHODS, offers, walk

if TYPE_CHECKING:
    from inspector.catalog.snapshot import Snapshot

LIST_S = 600.0


@click.command("list", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option("--all", "everything", is_flag=True, help="Prompts, resources and templates too.")
@click.option("--no-tokens", "uncounted", is_flag=True, help="Do not count tokens: bytes and findings only.")
@click.option("--no-findings", "silent", is_flag=True, help="Do not run the rules (docs/findings.md).")
@click.option("--without", "off", multiple=True, metavar="RULE", help="Do not run this rule; several times.")
@click.option("--model", type=click.Choice(list(models())), help="Hold the tokens against its window.")
@click.option(
    "--exact", type=click.Choice(PROVIDERS), help="Ask this provider's own counter too, with your key."
)
@click.option("--exact-model", metavar="ID", help="Which model to count for.")
@target_options
def list_(
    words: tuple[str, ...],
    everything: bool,
    uncounted: bool,
    silent: bool,
    off: tuple[str, ...],
    model: str | None,
    exact: str | None,
    exact_model: str | None,
    **options: Any,
) -> None:
    """List and measure a server's catalog."""
    spec = spec_of(words, options)
    if off:
        _must_be_rules(off)
    if exact is not None:
        from inspector.cli.exact import ready

        ready(exact)
    with connected(spec, options, lambda: _get_ready(tokens=not uncounted, silent=silent)) as connection:
        snapshots = {"tools": _list(connection, "tools")}
        if everything:
            for what in ("prompts", "resources", "templates"):
                found = _list_if_there(connection, what)
                if found is not None:
                    snapshots[what] = found
        connection.begin_close()
        from inspector.cli import listing_shown as shown

        with doing("weighing the catalog"):
            weighed = shown.weigh(
                snapshots, connection.portal, tokens=not uncounted, findings=not silent, off=off
            )
    document = shown.describe(connection, snapshots, *weighed, models()[model] if model else None)
    if exact is not None:
        from inspector.cli.exact import exact as counted

        document["exact"] = counted(weighed[0]["tools"], exact, exact_model)
    if options["as_json"]:
        print_document(document)
    else:
        shown.show(document, list(connection.link.noise_heads))


def _must_be_rules(names: tuple[str, ...]) -> None:
    from inspector.catalog.findings.rule import rules

    if unknown := sorted(set(names) - set(rules())):
        raise UsageError(f"There is no rule {unknown[0]}", "docs/findings.md has them all")


def _get_ready(*, tokens: bool, silent: bool) -> None:
    """What needs no answer of the server, while it starts."""
    from inspector.cli import listing_shown

    listing_shown.get_ready(tokens=tokens, findings=not silent)


def _list(connection: Connection, what: str) -> Snapshot:
    with doing(f"listing {what}"):
        found = connection.run(walk, connection, what, "user", timeout=LIST_S)
    if found.problem:
        warn(f"{printable(found.problem)}.")
    if found.error is not None:
        raise found.error
    from inspector.console.listed import snapshot_of

    return snapshot_of(connection, found)


def _list_if_there(connection: Connection, what: str) -> Snapshot | None:
    """A list the server does not have is left out, not invented."""
    if not offers(connection, what):
        return None
    try:
        return _list(connection, what)
    except PeerError as problem:
        warn(f"{METHODS[what]}: {printable(problem.message)}.")
        return None
