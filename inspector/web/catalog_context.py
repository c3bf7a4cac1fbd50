"""What the catalog's templates are given, gathered from the console. Flask request threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from flask import abort, current_app, url_for

from inspector.catalog import providers
from inspector.catalog.jsontext import utf8
from inspector.catalog.snapshot import TOOLS
from inspector.console.catalogs import Catalog
from inspector.console.console import Server, offers
from inspector.errors import LoupeError
from inspector.web.catalog_detail import Detail, detail, wants_raw
from inspector.web.catalog_facts import (
    LABELS,
    NOUNS,
    list_freshness,
    moment,
    outcome,
    page_facts,
    pages_and_items,
)
from inspector.web.catalog_view import WINDOW, Index, Query, advice, prose
from inspector.web.frame import console, event_link, store

PAGES_SHOWN: Final = 50
KEPT: Final = 16
EXTENSION: Final = "catalog-indexes"


class Indexes:
    """The prepared listings of one application: the newest of each server and list, KEPT at most. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[Index, list[str]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, catalog: Catalog) -> Index:
        """The index of a catalog as it is now; built anew when it was refreshed or its tokens have come."""
        return self._entry(catalog)[0]

    def raws(self, catalog: Catalog) -> list[str]:
        """Each item's JSON as received. Reading the pages again costs 30 ms a megabyte, so only once."""
        raws = self._entry(catalog)[1]
        if not raws:
            raws += [item.raw for item in catalog.snapshot.listing().items]
        return raws

    def _entry(self, catalog: Catalog) -> tuple[Index, list[str]]:
        key, measured = (catalog.server_key, catalog.snapshot.what), catalog.best
        with self._lock:
            entry = self._kept.pop(key, None)
            if entry is None or entry[0].measured is not measured:
                entry = (Index(measured, catalog.previous), [])
            self._kept[key] = entry
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return entry


def indexes() -> Indexes:
    found = current_app.extensions[EXTENSION]
    assert isinstance(found, Indexes)
    return found


@dataclass(frozen=True, slots=True)
class Empty:
    """Why nothing is shown, and the next thing to do: a link, or listing now."""

    sentence: str
    action: str = ""
    href: str = ""
    list_now: bool = False


def screen(key: str, what: str, query: Query, failure: LoupeError | None = None) -> dict[str, Any]:
    """The whole context of _catalog.html. failure: why a refresh did not work."""
    server = console().server(key)
    catalog = console().catalogs.known(key, what)
    context: dict[str, Any] = {
        "key": key, "what": what, "query": query, "server": server, "catalog": catalog, "label": LABELS[what],
        "tabs": tabs(server, what, query), "seen": stamp(server, catalog), "WINDOW": WINDOW,
        "connected": server.state == "connected", "failure": problem_of(failure) if failure else None,
    }  # fmt: skip
    if catalog is None or not catalog.snapshot.pages:
        error = server.error if server.state in ("failed", "lost") and failure is None else None
        return context | {"empty": empty(server, what), "error": problem_of(error) if error else None}
    found = indexes().of(catalog)
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
    connected = server.state == "connected"
    return {
        "wire": measured.wire_bytes, "definitions": index.bytes, "prose": prose(index.parts, index.bytes),
        "counted": counted, "pending": not catalog.tokens.done(), "share": share,
        "advice": advice(share) if share is not None else ("", ""),
        "count_line": pages_and_items(len(snapshot.pages), len(measured.measures), snapshot.what),
        "order": measured.order_sha256, "models": [(each.id, each.title) for each in providers.models().values()],
        "fresh": list_freshness(
            snapshot, measured.pages, catalog.hints, changed_at_us=catalog.changed_at_us,
            connected=connected and catalog.live, now_us=now_us,
        ),
        "outcome": outcome(index.change, catalog.ms, snapshot.what) if catalog.live else "",
        "change": index.change, "listed_at": snapshot.pages[-1].received_at_us,
        "kept_since": "" if connected and catalog.live else kept_since(catalog, now_us),
    }  # fmt: skip


def table(catalog: Catalog, query: Query) -> dict[str, Any]:
    """One window of the table and where the next one begins (None: there is none)."""
    index = indexes().of(catalog)
    lines, total = index.window(query)
    after = query.at + WINDOW
    return {
        "lines": lines, "total": total, "most": index.most, "pending": not catalog.tokens.done(),
        "after": after if after < total else None, "before": max(0, query.at - WINDOW) if query.at else None,
        "is_tools": catalog.snapshot.what == TOOLS,
    }  # fmt: skip


def pane(catalog: Catalog, index: Index, query: Query) -> dict[str, Any]:
    """What stands beside the table: one item, or without one the list as it was received."""
    pages = page_facts(catalog.snapshot, index.measured.pages, catalog.hints)
    instructions = catalog.snapshot.instructions
    first = query.pages_at if query.pages_at < len(pages) else 0
    return {
        "detail": detail_of(catalog, index, query), "pages": pages[first : first + PAGES_SHOWN],
        "pages_first": first, "pages_total": len(pages), "PAGES_SHOWN": PAGES_SHOWN,
        "instructions": instructions, "instructions_bytes": len(utf8(instructions or "")), "live": catalog.live,
    }  # fmt: skip


def detail_of(catalog: Catalog, index: Index, query: Query) -> Detail | None:
    raw = None
    if wants_raw(index, query):
        position = index.find(query.tool)
        raw = indexes().raws(catalog)[position] if position is not None else None
    return detail(index, query, raw)


def marked(index: Index, query: Query) -> Query:
    """The address of the treemap: what a click keeps, and the tool that is marked."""
    position = index.find(query.tool)
    return replace(query_kept(query), tool="" if position is None else index.handle(position))


def query_kept(query: Query) -> Query:
    """What a click on the treemap or another tab keeps: whose tokens, whose window."""
    return Query(provider=query.provider, model=query.model)


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
    at_us = catalog.snapshot.pages[-1].received_at_us
    kept = None if catalog.live else store().latest_snapshot(catalog.server_key, catalog.snapshot.what)
    if kept is None:
        return f"Listed {moment(at_us, now_us)}; not connected any more."
    connected = console().server(catalog.server_key).state == "connected"
    tail = "not listed since the last connect" if connected else "not connected"
    return f"Recorded {moment(at_us, now_us)}, session {kept.session}; {tail}."


def empty(server: Server, what: str) -> Empty:
    """The sentence of a list that is not there, and the next action."""
    name, plural = server.spec.name, NOUNS[what][1]
    if server.state == "connecting":
        return Empty(f"Connecting to {name}…")
    if server.state != "connected" or server.connection is None:
        sentence = f"{name} is not connected, and no list of its {plural} was recorded."
        return Empty(sentence, "Connect it on the Servers screen", url_for("servers.show", key=server.key))
    peer = server.connection.peer
    if peer is None or offers(server.connection, what):
        return Empty(f"The {plural} of {name} are not listed yet.", list_now=True)
    hello = "server/discover" if peer.era == "modern" else "initialize"
    sentence = f"No {plural} listed. The server declares no {'resources' if what == 'templates' else what} capability."
    href = event_link(server, peer.hello_seq) if peer.hello_seq is not None else ""
    return Empty(sentence, f"View {hello}", href, list_now=True)


def problem_of(error: LoupeError) -> dict[str, Any]:
    """An error as the `error_block` macro takes it."""
    tried = [
        {"ok": step.ok, "what": step.asked, "evidence": step.outcome} for step in error.facts.get("tried", [])
    ]
    facts = [(name, value) for name, value in error.facts.items() if isinstance(value, str | int)]
    return {
        "message": error.message, "layer": error.layer, "remedy": error.remedy, "code": error.code,
        "tried": tried, "stderr": error.facts.get("stderr", []), "facts": facts,
    }  # fmt: skip


def stamp(server: Server, catalog: Catalog | None) -> str:
    """What a page has seen: connection state, which listing, tokens, list_changed; joined by dots."""
    if catalog is None or not catalog.snapshot.pages:
        return f"{server.state}.0.0.0"
    at_us = catalog.snapshot.pages[-1].received_at_us
    return f"{server.state}.{at_us}.{int(catalog.tokens.done())}.{catalog.changed_at_us or 0}"


def listed(key: str, what: str) -> Catalog:
    """A catalog that is there; 404 when the list never was."""
    console().server(key)
    found = console().catalogs.known(key, what)
    if found is None or not found.snapshot.pages:
        abort(404, f"The {NOUNS[what][1]} of this server are not listed.")
    return found


def address(key: str, what: str, query: Query) -> str:
    """The page that shows `query`."""
    return url_for("catalog.show", key=key, what=what) + query.href().removesuffix("?")
