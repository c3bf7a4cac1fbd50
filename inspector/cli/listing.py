"""`mcp-loupe list`: what a server lists, to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from inspector.catalog import jsontext
from inspector.catalog.findings.rule import SEVERITIES, find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.providers import PROVIDERS, Model, models
from inspector.catalog.report import MeasuredListing, list_document, measure_listing
from inspector.catalog.snapshot import Snapshot
from inspector.cli import exact as counted_by
from inspector.cli.options import TargetCommand, connected, spec_of, target_options
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.console.console import offers
from inspector.console.listed import snapshot_of
from inspector.errors import PeerError, UsageError
from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, Era
from inspector.wire.connection import Connection
from inspector.wire.listing import METHODS, walk
from inspector.wire.stdio import StdioTransport

LIST_S = 600.0


@click.command("list", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option("--all", "everything", is_flag=True, help="Prompts, resources and templates too.")
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
    silent: bool,
    off: tuple[str, ...],
    model: str | None,
    exact: str | None,
    exact_model: str | None,
    **options: Any,
) -> None:
    """List and measure a server's catalog."""
    spec = spec_of(words, options)
    if unknown := sorted(set(off) - set(rules())):
        raise UsageError(f"There is no rule {unknown[0]}", "docs/findings.md has them all")
    if exact is not None:
        counted_by.ready(exact)
    with connected(spec, options) as connection:
        snapshots = {"tools": _list(connection, "tools")}
        if everything:
            for what in ("prompts", "resources", "templates"):
                found = _list_if_there(connection, what)
                if found is not None:
                    snapshots[what] = found
    measured = {
        what: measure_listing(what, snapshot.raws, tokens=True, rendered=True)
        for what, snapshot in snapshots.items()
    }
    findings = {} if silent else {what: find_in(snapshots[what], measured[what], off) for what in snapshots}
    document = describe(connection, snapshots, measured, findings, models()[model] if model else None)
    if exact is not None:
        document["exact"] = counted_by.exact(measured["tools"], exact, exact_model)
    if options["as_json"]:
        print_document(document)
    else:
        show(document, list(connection.link.noise_heads))


def _list(connection: Connection, what: str) -> Snapshot:
    found = connection.run(walk, connection, what, "user", timeout=LIST_S)
    if found.problem:
        warn(f"{printable(found.problem)}.")
    if found.error is not None:
        raise found.error
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


def find_in(snapshot: Snapshot, measured: MeasuredListing, off: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What every rule but those in `off` sees in a list, the gravest first; `tool` is null for what concerns the list or
    many items."""
    keys = ("rule", "severity", "tool", "path", "message", "remedy")
    found = find(Subject.of(snapshot, tokens=measured.tokens), off=frozenset(off))
    return [{key: getattr(each, key) for key in keys} for each in found]


def describe(
    connection: Connection,
    snapshots: dict[str, Snapshot],
    measured: dict[str, MeasuredListing],
    findings: dict[str, list[dict[str, Any]]],
    model: Model | None = None,
) -> dict[str, Any]:
    """The document of `list --json` (docs/cli.md). findings: by list, empty when nobody looked. model: whose window."""
    tools = snapshots["tools"]
    transport = connection.transport
    server = transport.server if isinstance(transport, StdioTransport) else None
    document: dict[str, Any] = {
        "schema": "mcp-loupe/list/1",
        "server": tools.server_info,
        "era": tools.era,
        "protocol_version": tools.protocol_version,
        "transport": tools.transport,
        "declared": list(connection.spec.declare),
        **list_document(tools, measured["tools"], model),
        "freshness": freshness_of(tools),
        "noise": connection.link.stats.noise,
        "stderr_lines": connection.link.stats.stderr_lines,
    }
    if server is not None:
        document["exit"] = server.outcome
    if "tools" in findings:
        document["findings"] = findings["tools"]
    others = {
        what: list_document(snapshot, measured[what], model)
        | ({"findings": findings[what]} if findings else {})
        for what, snapshot in snapshots.items()
        if what != "tools"
    }
    if others:
        document["lists"] = others
    return document


def freshness_of(snapshot: Snapshot) -> dict[str, Any]:
    """What the first page's hints mean: until when, for whom, why, and the row of the decision table."""
    era: Era = "modern" if snapshot.era == "modern" else HANDSHAKE
    page = snapshot.pages[0]
    hints = freshness.assess(jsontext.loads(page.raw)["result"], method=METHODS[snapshot.what], era=era)
    return {
        "fresh_until": freshness.fresh_until(hints, page.received_at_us),
        "shareable": hints.shareable,
        "why": hints.why,
        "rule": hints.row,
        "violations": list(hints.violations),
    }


def show(document: dict[str, Any], noise: list[str]) -> None:
    """The same for people: totals first, then the tools by weight. noise: what stdout said first that is no frame."""
    server = document["server"] or {}
    totals = document["totals"]
    name = f"{server.get('name', 'unnamed server')} {server.get('version', '')}".strip()
    say(f"{printable(name)} · {document['era']} {document['protocol_version']} · {document['transport']}")
    pages = document["pages"]
    say(
        f"{many(totals['tools'], 'tool')} in {many(len(pages), 'page')}, {totals['wire_bytes']:,} B on the wire,"
        f" {totals['definition_bytes']:,} B of definitions"
    )
    say(tokens_line(totals["tokens"]["o200k_base"]))
    window = totals["window"]
    share = f"{totals['window_share']:.1%}" if totals["window_share"] >= 0.0005 else "less than 0.1%"
    say(f"{share} of the {window['tokens']:,} tokens that {window['model']} takes")
    if "exact" in document:
        counted_by.show(document["exact"])
    say(f"Hints as sent: {hints_line(pages[0])}: {document['freshness']['why']}")
    if document["noise"]:
        say(
            f"{many(document['noise'], 'line')} on stdout were no JSON-RPC frames, first “{printable(noise[0])}”:"
        )
        say("  print to stderr instead; stdout belongs to the protocol")
    if "findings" in document:
        say(summary(document["findings"]))
    say()
    for tool in sorted(document["tools"], key=lambda tool: -tool["definition_bytes"]):
        count = tool["tokens"]["o200k_base"]["definition"]
        why = f"  cannot be used: {tool['broken']}" if "broken" in tool else ""
        say(f"{tool['definition_bytes']:>9,} B {count:>7,} tok  {printable(tool['name'])}{why}")


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def tokens_line(tokens: dict[str, Any]) -> str:
    """Both counts, each named: the whole definitions, and what a provider is sent of them."""
    sent = tokens.get("rendered", {}).get("anthropic")
    rendered = f"; {sent:,} as Anthropic is sent them" if sent is not None else ""
    return f"{tokens['definitions']:,} tokens (o200k_base) of whole definitions{rendered}"


def hints_line(page: dict[str, Any]) -> str:
    names = {"ttl_ms": "ttlMs", "cache_scope": "cacheScope"}
    return ", ".join(
        f"{name} {printable(_short(page[key]))}" if key in page else f"{name} absent"
        for key, name in names.items()
    )


def _short(value: Any) -> str:
    text = jsontext.compact_value(value)
    return text if len(text) <= 60 else text[:59] + "…"


def summary(findings: list[dict[str, Any]]) -> str:
    """`Findings: 1 error, 4 notes`."""
    counts = [(severity, sum(each["severity"] == severity for each in findings)) for severity in SEVERITIES]
    words = [f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts if count]
    return f"Findings: {', '.join(words)} (--json has them)" if words else "Findings: none"
