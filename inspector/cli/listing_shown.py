"""What `mcp-loupe list` makes of a list that came: its document, and the same for people. Pure.

Imported while the server starts: of what a command needs, this is the half that needs no answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from anyio.from_thread import BlockingPortal

from inspector.catalog import jsontext
from inspector.catalog.findings.rule import SEVERITIES, find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.providers import Model
from inspector.catalog.report import (
    ListingTokens,
    MeasuredListing,
    count_listing,
    list_document,
    measure_listing,
)
from inspector.catalog.snapshot import Snapshot
from inspector.catalog.tokens import load
from inspector.cli.terminal import briefly, printable, say
from inspector.console.worker import Worker
from inspector.protocol import freshness, steps
from inspector.protocol.eras import HANDSHAKE, Era
from inspector.wire.connection import Connection
from inspector.wire.listing import METHODS
from inspector.wire.stdio import StdioTransport

LARGE: Final = 500_000
"""Bytes of a list from which a process of its own is worth its start, a third of a second."""


def get_ready(*, tokens: bool, findings: bool) -> None:
    """Read the vocabulary and the rules, unless they are not wanted."""
    if findings:
        rules()
    if tokens:
        load()


def weigh(
    snapshots: dict[str, Snapshot],
    portal: BlockingPortal,
    *,
    tokens: bool,
    findings: bool,
    off: Sequence[str],
) -> tuple[dict[str, MeasuredListing], dict[str, list[dict[str, Any]]]]:
    """Each list measured, and what the rules but those in `off` see in it. Of a large list the tokens are counted in a
    process beside this one, while the rules run in it."""
    worker = Worker(portal)
    try:
        measured, found = dict[str, MeasuredListing](), dict[str, list[dict[str, Any]]]()
        for what, snapshot in snapshots.items():
            raws = snapshot.raws
            if tokens and findings and sum(map(len, raws)) > LARGE and (os.cpu_count() or 1) > 1:
                counting = worker.submit(count_listing, what, raws)
                bare = measure_listing(what, raws, tokens=False, rendered=False)
                found[what] = find_in(snapshot, counting.result, off)
                measured[what] = replace(bare, tokens=counting.result())
            else:
                measured[what] = measure_listing(what, raws, tokens=tokens, rendered=True)
                if findings:
                    found[what] = find_in(snapshot, partial(getattr, measured[what], "tokens"), off)
        return measured, found
    finally:
        worker.close()


def find_in(
    snapshot: Snapshot, counted: Callable[[], ListingTokens | None], off: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """What every rule but those in `off` sees in a list, the gravest first; `tool` is null for what concerns the list or
    many items. counted: its tokens, waited for where a rule wants them."""
    keys = ("rule", "severity", "tool", "path", "message", "remedy")
    found = find(Subject.of(snapshot, counted=counted), off=frozenset(off))
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
    hints = freshness.assess(steps.classify(page.raw).value["result"], method=METHODS[snapshot.what], era=era)
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
    say(f"{briefly(name)} · {document['era']} {document['protocol_version']} · {document['transport']}")
    pages = document["pages"]
    say(
        f"{many(totals['tools'], 'tool')} in {many(len(pages), 'page')}, {totals['wire_bytes']:,} B on the wire,"
        f" {totals['definition_bytes']:,} B of definitions"
    )
    say(tokens_line(totals["tokens"]["o200k_base"]) if "tokens" in totals else "Tokens were not counted")
    if totals["window_share"] is not None:
        window = totals["window"]
        share = f"{totals['window_share']:.1%}" if totals["window_share"] >= 0.0005 else "less than 0.1%"
        say(f"{share} of the {window['tokens']:,} tokens that {window['model']} takes")
    if "exact" in document:
        from inspector.cli.exact import show as show_exact

        show_exact(document["exact"])
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
        count = f"{tool['tokens']['o200k_base']['definition']:>7,}" if "tokens" in tool else f"{'?':>7}"
        why = f"  cannot be used: {tool['broken']}" if "broken" in tool else ""
        say(f"{tool['definition_bytes']:>9,} B {count} tok  {briefly(tool['name'])}{why}")


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
