"""A walked list as the catalog room and the recording take it. Pure, any thread; `find_all` in the worker."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Final

from inspector.catalog.findings.rule import Finding, find, rules
from inspector.catalog.findings.subject import Subject
from inspector.catalog.report import ListingTokens, MeasuredListing
from inspector.catalog.snapshot import ABSENT, Page, Snapshot
from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, Era
from inspector.protocol.freshness import Hints
from inspector.wire.connection import Connection
from inspector.wire.listing import METHODS, Walk

ASKED_TWICE: Final = frozenset(("order-changes", "list-changes"))
"""The rules that hold a list against the same one, asked for again."""


def find_all(snapshot: Snapshot, before: Snapshot | None) -> list[Finding]:
    """What every rule sees; `before`, the same list asked for shortly before, shows whether it is stable."""
    found = find(Subject.of(snapshot))
    if before is not None:
        others = frozenset(rules()) - ASKED_TWICE
        found += find(Subject.of(before, again=snapshot), off=others)
    return found


def with_tokens(measured: MeasuredListing, counting: Future[ListingTokens]) -> Future[MeasuredListing]:
    """`measured` with its tokens, once they are counted: the definitions are here once, not a second time."""
    whole: Future[MeasuredListing] = Future()

    def counted(done: Future[ListingTokens]) -> None:
        if done.cancelled():
            whole.cancel()
        elif not whole.set_running_or_notify_cancel():
            return
        elif (problem := done.exception()) is not None:
            whole.set_exception(problem)
        else:
            whole.set_result(replace(measured, tokens=done.result()))

    counting.add_done_callback(counted)
    return whole


def totals_of(measured: MeasuredListing) -> dict[str, Any]:
    """What is kept of a listing beside its pages; `tokens` by tokenizer, as in `list --json`, once counted."""
    totals: dict[str, Any] = {
        "count": len(measured.measures), "wire_bytes": measured.wire_bytes,
        "definition_bytes": measured.definition_bytes,
    }  # fmt: skip
    counted = measured.tokens
    if counted is not None:
        definitions = counted.definitions
        entry: dict[str, Any] = {"definitions": definitions.value}
        if not definitions.exact:
            entry["estimate"] = True
        totals["tokens"] = {counted.tokenizer: entry}
    return totals


def snapshot_of(connection: Connection, found: Walk) -> Snapshot:
    """The walk as a value of the catalog room."""
    peer = connection.peer
    pages = tuple(
        Page(page.cursor, page.reply.raw, page.reply.received_at_us, page.reply.seq) for page in found.pages
    )
    return Snapshot(
        what=found.what,
        pages=pages,
        era=peer.era if peer else None,
        protocol_version=peer.protocol_version if peer else None,
        transport=connection.transport.kind if connection.transport else None,
        server_info=peer.server_info if peer else None,
        instructions=peer.instructions if peer else None,
        declared=connection.spec.declare,
    )


def assess_page(answer: Any, what: str, era: str | None) -> Hints:
    """The cache verdict on one page."""
    known: Era = "modern" if era == "modern" else HANDSHAKE
    result = answer.get("result") if isinstance(answer, dict) else None
    return freshness.assess(result, method=METHODS[what], era=known)


def page_facts(page: Page, read: Any) -> dict[str, Any]:
    """The trace format's page entry; hint keys only when the server sent them."""
    facts: dict[str, Any] = {"cursor": page.cursor, "seq": page.seq, "bytes": read.wire_bytes}
    if read.ttl_ms is not ABSENT:
        facts["ttl_ms"] = read.ttl_ms
    if read.cache_scope is not ABSENT:
        facts["cache_scope"] = read.cache_scope
    facts["received"] = page.received_at_us
    return facts
