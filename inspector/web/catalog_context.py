"""What the catalog's templates are given, gathered from the console. Flask request threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from flask import abort, current_app, g, url_for

from inspector.catalog import providers
from inspector.catalog.findings.rule import Finding
from inspector.catalog.jsontext import utf8
from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import Catalog
from inspector.console.console import Server
from inspector.console.recorded import HISTORY
from inspector.errors import ConfigError, LoupeError
from inspector.trace.store import Snapshot as Kept
from inspector.web.catalog_change import token_delta
from inspector.web.catalog_detail import Detail, detail, wants_raw
from inspector.web.catalog_empty import empty
from inspector.web.catalog_facts import (
    LABELS,
    NOUNS,
    list_freshness,
    moment,
    outcome,
    page_facts,
    pages_and_items,
)
from inspector.web.catalog_findings import Finds
from inspector.web.catalog_headers import struck
from inspector.web.catalog_history import chart, listings
from inspector.web.catalog_host import announces, counts, host_now, said
from inspector.web.catalog_view import WINDOW, Index, Query, advice, prose
from inspector.web.frame import console, current_label, store
from inspector.web.problems import problem_of
from inspector.web.render import delta
from inspector.wire.listing import offers

PAGES_SHOWN: Final = 50
KEPT: Final = 16
EXTENSION: Final = "catalog-indexes"


@dataclass(slots=True)
class Prepared:
    """An index, what it was made of, and each item's JSON as received once somebody asked for it."""

    index: Index
    found: Sequence[Finding] | None
    off: frozenset[str]
    raws: list[str] = field(default_factory=list)


class Indexes:
    """The prepared listings of one application: the newest of each server and list, KEPT at most. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int], Prepared] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, catalog: Catalog, off: frozenset[str] = frozenset()) -> Index:
        """The index of a catalog as it is now; built anew when it was refreshed, when tokens or findings have
        come, and when a rule was switched. off: the rules that are."""
        return self._entry(catalog, off).index

    def raws(self, catalog: Catalog, off: frozenset[str] = frozenset()) -> list[str]:
        """Each item's JSON as received. Reading the pages again costs 30 ms a megabyte, so only once."""
        raws = self._entry(catalog, off).raws
        if not raws:
            raws += [item.raw for item in catalog.snapshot.listing().items]
        return raws

    def _entry(self, catalog: Catalog, off: frozenset[str]) -> Prepared:
        past = catalog.snapshot_id if catalog.past else None
        key = (catalog.server_key, catalog.snapshot.what, past or 0)
        measured, found = catalog.best, catalog.found
        with self._lock:
            entry = self._kept.pop(key, None)
            if (
                entry is None
                or entry.index.measured is not measured
                or entry.found is not found
                or entry.off != off
            ):
                before = catalog.previous.measured if catalog.previous else None
                finds = None if found is None else Finds(found, off)
                weighed = entry.index.weighed if entry else None
                entry = Prepared(Index(measured, before, finds, weighed), found, off)
            self._kept[key] = entry
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return entry


def indexes() -> Indexes:
    found = current_app.extensions[EXTENSION]
    assert isinstance(found, Indexes)
    return found


def catalog_of(key: str, what: str, query: Query) -> Catalog | None:
    """The catalog an address means: the newest, or one as it was; 404 when that was never recorded."""
    if not query.snapshot:
        return console().catalogs.known(key, what)
    found = console().catalogs.opened(key, what, query.snapshot)
    if found is None:
        abort(
            404,
            f"No listing number {query.snapshot} of the {NOUNS[what][1]} of this server is recorded any more.",
        )
    return found


def rules_off() -> tuple[frozenset[str], str]:
    """The rules that are switched off, and what is wrong with the file that says so; read once a request."""
    if "rules_off" not in g:
        try:
            g.rules_off = (console().rules_off.all(), "")
        except ConfigError as problem:
            g.rules_off = (frozenset(), f"{problem.message} {problem.remedy}")
    found: tuple[frozenset[str], str] = g.rules_off
    return found


def screen(key: str, what: str, query: Query, failure: LoupeError | None = None) -> dict[str, Any]:
    """The whole context of _catalog.html. failure: why a refresh did not work."""
    server = console().shown(key)
    catalog = catalog_of(key, what, query)
    context: dict[str, Any] = {
        "key": key, "what": what, "query": query, "server": server, "catalog": catalog, "label": LABELS[what],
        "tabs": tabs(server, what, query), "seen": stamp(server, what, catalog), "WINDOW": WINDOW,
        "subject": current_label(key), "connected": server.state == "connected",
        "failure": problem_of(failure) if failure else None,
    }  # fmt: skip
    if catalog is None or not catalog.snapshot.pages:
        error = server.error if server.state in ("failed", "lost") and failure is None else None
        return context | {"empty": empty(server, what), "error": problem_of(error) if error else None}
    found = indexes().of(catalog, rules_off()[0])
    return (
        context
        | {"empty": None, "error": None, "nouns": NOUNS[what], "index": found, "marked": marked(found, query)}
        | strip(server, catalog, found, query)
        | table(catalog, query)
        | pane(catalog, found, query)
    )


def strip(server: Server, catalog: Catalog, index: Index, query: Query) -> dict[str, Any]:
    """The totals, and what is to be said of the list as a whole."""
    snapshot, measured, now_us = catalog.snapshot, index.measured, console().journal.now_us()
    counted, window = index.tokens(query.rendering), query.window
    for_window = index.tokens(window.provider)
    share = for_window.total.value / window.window_tokens if for_window else None
    host, served = said(catalog.looks), bool(catalog.looks) and all(each.served for each in catalog.looks)
    told = server.state == "connected" and catalog.live and not catalog.past
    return {
        "wire": measured.wire_bytes, "definitions": index.bytes, "prose": prose(index.parts, index.bytes),
        "counted": counted, "counting": not catalog.tokens.done(), "share": share,
        "advice": advice(share) if share is not None else ("", ""),
        "count_line": pages_and_items(len(snapshot.pages), len(measured.measures), snapshot.what),
        "order": measured.order_sha256, "order_word": order_word(catalog),
        "models": [(each.id, each.title) for each in providers.models().values()],
        "fresh": list_freshness(
            snapshot, measured.pages, catalog.hints, changed_at_us=catalog.changed_at_us, connected=told,
            announced=announces(server, snapshot.what), now_us=now_us,
        ),
        "outcome": outcome(
            index.change, catalog.ms, snapshot.what, first=at_start(catalog), served=served
        ) if catalog.live else "",
        "exact": exact_of(catalog, query), "host_word": host[0], "host_said": host[1],
        "change": index.change, "listed_at": catalog.listed_at_us, "since": since(catalog, query, now_us),
        "kept_since": "" if told else kept_since(catalog, now_us),
    }  # fmt: skip


def exact_of(catalog: Catalog, query: Query) -> int | bool:
    """What the provider itself counted for the tools in this run; True when it could be asked, False when not."""
    if catalog.snapshot.what != TOOLS or catalog.past:
        return False
    found = console().counting.newest(catalog.measured.sha256, query.rendering)
    return True if found is None else found.tools


def at_start(catalog: Catalog) -> bool:
    """Whether Loupe asked for this list by itself, right after the connect: its time holds the server's start."""
    seq = catalog.snapshot.pages[0].seq
    asked = store().pair_of(console().recorder.session, seq) if seq is not None else None
    return asked is not None and asked.cause == "housekeeping"


def order_word(catalog: Catalog) -> str:
    """Whether the names came in the order of the listing before; `as sent` when there is none to compare."""
    if catalog.order_before is None:
        return "as sent"
    return "stable" if catalog.order_before == catalog.measured.order_sha256 else "changed"


def since(catalog: Catalog, query: Query, now_us: int) -> tuple[str, str]:
    """When the listing before came, and by how much this one is heavier: `+31 B on the wire, …`."""
    before = catalog.previous
    if before is None:
        return "", ""
    now, then = catalog.best, before.best
    wire, definitions = now.wire_bytes - then.wire_bytes, now.definition_bytes - then.definition_bytes
    tokens = token_delta(then, now, query.rendering)
    words = [f"{delta(wire)} B on the wire", f"{delta(definitions)} B of definitions"]
    if tokens is not None:
        words.append(f"{delta(tokens)} tokens")
    return moment(before.at_us, now_us), ", ".join(words)


def table(catalog: Catalog, query: Query) -> dict[str, Any]:
    """One window of the table and where the next one begins (None: there is none)."""
    index = indexes().of(catalog, rules_off()[0])
    lines, total = index.window(query)
    after = query.at + WINDOW
    filtered = index.sums(query) if query.q or query.find else None
    return {
        "lines": lines, "total": total, "filtered": filtered, "most": index.most, "pending": waiting(catalog),
        "after": after if after < total else None, "before": max(0, query.at - WINDOW) if query.at else None,
        "is_tools": catalog.snapshot.what == TOOLS,
        "struck": struck(catalog.snapshot, catalog.server_key, index, [line.index for line in lines]),
    }  # fmt: skip


def waiting(catalog: Catalog) -> bool:
    """Whether the worker still has something to say of this catalog."""
    return not (catalog.tokens.done() and catalog.findings.done())


def pane(catalog: Catalog, index: Index, query: Query) -> dict[str, Any]:
    """What stands beside the table: one item, or without one the list as received, its findings or its history."""
    pages = page_facts(catalog.snapshot, index.measured.pages, catalog.hints)
    instructions = catalog.snapshot.instructions
    first = query.pages_at if query.pages_at < len(pages) else 0
    alone = index.find(query.tool) is not None
    kept = [] if alone else store().snapshots(catalog.server_key, catalog.snapshot.what, HISTORY)
    found = detail_of(catalog, index, query)
    return {
        "left_out": struck(catalog.snapshot, catalog.server_key, index, [found.index] if found else []),
        "detail": found, "pages": pages[first : first + PAGES_SHOWN],
        "pages_first": first, "pages_total": len(pages), "PAGES_SHOWN": PAGES_SHOWN, "PAST": query.snapshot or None,
        "instructions": instructions, "instructions_bytes": len(utf8(instructions or "")),
        "host": host_now(console().shown(catalog.server_key), catalog, first, PAGES_SHOWN),
        "counts": counts(pages[first : first + PAGES_SHOWN]), "live": catalog.live, "kept_count": len(kept),
    } | findings_of(catalog, index, query) | history_of(catalog, query, kept)  # fmt: skip


def findings_of(catalog: Catalog, index: Index, query: Query) -> dict[str, Any]:
    """What the rules see in the item that is shown, or in the whole list."""
    finds, position = index.finds, index.find(query.tool)
    shown = finds is not None and position is None and query.beside == "findings"
    off, off_problem = rules_off()
    return {
        "finds": finds, "finding": not catalog.findings.done(), "rules_off": sorted(off), "off_problem": off_problem,
        "observed": finds.of_item(position) if finds is not None and position is not None else [],
        "groups": finds.groups(query.find) if finds is not None and shown else [],
    }  # fmt: skip


def history_of(catalog: Catalog, query: Query, kept: Sequence[Kept]) -> dict[str, Any]:
    """The listings so far, when they are what is looked at."""
    if query.beside != "history":
        return {"history": [], "chart": []}
    history = listings(kept, catalog.snapshot_id)
    return {"history": history, "chart": chart(history, catalog.snapshot.what)}


def detail_of(catalog: Catalog, index: Index, query: Query) -> Detail | None:
    raw = None
    if wants_raw(index, query):
        position = index.find(query.tool)
        raw = indexes().raws(catalog, rules_off()[0])[position] if position is not None else None
    return detail(index, query, raw)


def marked(index: Index, query: Query) -> Query:
    """The address of the treemap: what a click keeps, and the tool that is marked."""
    position = index.find(query.tool)
    handle = "" if position is None else index.handle(position)
    return replace(query_kept(query), tool=handle, snapshot=query.snapshot)


def query_kept(query: Query) -> Query:
    """What a click on the treemap or another tab keeps: whose tokens, whose window."""
    return Query(provider=query.provider, model=query.model, ask=query.ask)


def tabs(server: Server, what: str, query: Query) -> list[dict[str, Any]]:
    """The lists that the server declares, or that were listed at some time."""
    counts = {each: count(server.key, each) for each in NOUNS}
    declared = {
        each for each in NOUNS if server.connection is not None and server.connection.peer is not None
        and offers(server.connection, each)
    }  # fmt: skip
    return [
        {"id": each, "label": LABELS[each], "count": counts[each],
         "href": address(server.key, each, query_kept(query))}
        for each in NOUNS
        if each == what or each in declared or counts[each] is not None
    ]  # fmt: skip


def count(key: str, what: str) -> int | None:
    """Items of a list as last listed or recorded; None when it never was."""
    known = console().catalogs.count(key, what)
    if known is not None:
        return known
    kept = store().latest_snapshot(key, what)
    return kept.totals.get("count") if kept is not None else None


def kept_since(catalog: Catalog, now_us: int) -> str:
    """Where a list that no connection stands behind comes from."""
    at_us, id = catalog.listed_at_us, catalog.snapshot_id
    kept = None if catalog.live or id is None else store().snapshot(id)
    if kept is not None and catalog.past:
        return f"Listing of {moment(at_us, now_us)}, session {kept.session}, as it was then."
    if kept is None:
        return f"Listed {moment(at_us, now_us)}; not connected any more."
    server = console().shown(catalog.server_key)
    if server.session is not None:
        return f"Recorded {moment(at_us, now_us)}, read from the file {server.spec.source}. {redacted(server.session)}"
    connected = server.state == "connected"
    tail = "not listed since the last connect" if connected else "not connected"
    return f"Recorded {moment(at_us, now_us)}, session {kept.session}; {tail}."


def redacted(session: int) -> str:
    """What to know of the sizes when the file was redacted."""
    opened = store().opened(session)
    hidden = bool(opened) and opened[0].header.get("redaction") is not None
    return "It was redacted: sizes and tokens are of what the file holds." if hidden else ""


def stamp(server: Server, what: str, catalog: Catalog | None) -> str:
    """What a page has seen: connection state, which listing, tokens and findings, list_changed; joined by dots."""
    if catalog is None or not catalog.snapshot.pages:
        underway = console().catalogs.underway(server.key, what)
        return f"{server.state}.{f'p{underway.pages}' if underway else 0}.00.0"
    done = f"{int(catalog.tokens.done())}{int(catalog.findings.done())}"
    return f"{server.state}.{catalog.listed_at_us}.{done}.{catalog.changed_at_us or 0}"


def listed(key: str, what: str, query: Query) -> Catalog:
    """A catalog that is there; 404 when the list never was."""
    console().shown(key)
    found = catalog_of(key, what, query)
    if found is None or not found.snapshot.pages:
        abort(404, f"The {NOUNS[what][1]} of this server are not listed.")
    return found


def address(key: str, what: str, query: Query) -> str:
    """The page that shows `query`."""
    return url_for("catalog.show", key=key, what=what) + query.href().removesuffix("?")
