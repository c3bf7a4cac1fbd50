"""The doctor on a connection that is up: capabilities, lists, hints, order. Main thread."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.catalog.snapshot import Listing, read_pages
from inspector.doctor.step import Seen, Step, quoted, sentence
from inspector.errors import LoupeError
from inspector.protocol import freshness
from inspector.protocol.eras import MODERN, Era
from inspector.protocol.headers import header_faults
from inspector.wire.connection import Connection
from inspector.wire.http import HttpTransport
from inspector.wire.listing import METHODS, Walk, offers, walk

WALK_S = 120.0
CHANGED = "notifications/tools/list_changed"


def capabilities(connection: Connection) -> Step:
    peer = connection.peer
    assert peer is not None
    if peer.capabilities is None:
        text = "The server declares no capabilities object."
        return Step("capabilities", False, text, "Declare what the server offers, {} when it offers nothing.")
    names = ", ".join(sorted(peer.capabilities)) or "none"
    return Step("capabilities", True, f"It declares: {names}.", facts={"capabilities": peer.capabilities})


def look_at_lists(connection: Connection, seen: Seen) -> Iterator[Step]:
    """Each list the server offers, and what its hints say."""
    peer = connection.peer
    assert peer is not None
    for what in METHODS:
        if not offers(connection, what):
            continue
        try:
            found = connection.run(walk, connection, what, "user", timeout=WALK_S)
        except LoupeError as problem:
            yield _failed(what, problem)
            continue
        listing = read_pages(what, [page.reply.raw for page in found.pages])
        yield _listed(what, found, listing)
        yield from _broken(what, listing)
        if what == "tools" and peer.era == MODERN and isinstance(connection.transport, HttpTransport):
            yield from _headers(listing)
        if peer.era == MODERN:
            yield hints(what, found, peer.era)
        if what == "tools":
            yield from order(connection, listing)
    yield from _early(seen)


def _failed(what: str, problem: LoupeError) -> Step:
    optional = what in ("templates", "resources", "prompts") and getattr(problem, "code", None) == -32601
    remedy = (
        "Implement it, or do not declare the capability."
        if optional
        else problem.remedy or "Look at its stderr."
    )
    return Step(
        f"list {what}", None if optional else False, sentence(f"{METHODS[what]}: {problem.message}"), remedy
    )


def _listed(what: str, found: Walk, listing: Listing) -> Step:
    noun = what.removesuffix("s") if len(listing.items) == 1 else what
    size = sum(page.wire_bytes for page in listing.pages)
    pages = f" in {len(found.pages)} pages" if len(found.pages) > 1 else ""
    text = f"{len(listing.items):,} {noun}{pages}, {size:,} bytes."
    facts = {"count": len(listing.items), "wire_bytes": size, "pages": len(found.pages)}
    if found.problem:
        return Step(
            f"list {what}",
            False,
            sentence(f"{text} {found.problem}"),
            "Return no nextCursor on the last page.",
            facts,
        )
    return Step(f"list {what}", True, text, facts=facts)


def _broken(what: str, listing: Listing) -> Iterator[Step]:
    broken = [
        f"{item.name or f'number {n + 1}'}: {item.broken}"
        for n, item in enumerate(listing.items)
        if item.broken
    ]
    faults = [page.fault for page in listing.pages if page.fault]
    if broken or faults:
        text = f"{len(broken) or len(faults)} cannot be used as sent: {quoted(faults or broken)}."
        yield Step(
            f"{what} usable",
            False,
            text,
            "Correct these definitions; clients may drop them, or the whole list.",
        )


def _headers(listing: Listing) -> Iterator[Step]:
    """Tools whose `x-mcp-header` no HTTP client can honour: each has to leave them out."""
    left_out = [
        f"{item.name}: {faults[0].where}: {faults[0].why}"
        for item in listing.items
        if isinstance(item.value, dict) and (faults := header_faults(item.value.get("inputSchema")))
    ]
    if left_out:
        text = f"{len(left_out)} cannot be called over HTTP, for its x-mcp-header: {quoted(left_out)}."
        yield Step(
            "tool headers", False, text, "Correct the annotation: HTTP clients must leave such a tool out."
        )


def hints(what: str, found: Walk, era: Era) -> Step:
    """ttlMs and cacheScope of every page against the decision table."""
    verdicts = [freshness.assess(page.reply.result, method=METHODS[what], era=era) for page in found.pages]
    violations = [text for verdict in verdicts for text in verdict.violations]
    first = verdicts[0]
    if violations:
        remedy = "Send ttlMs as an integer ≥ 0 and cacheScope as public or private on every page."
        return Step(f"hints of {what}", False, f"{METHODS[what]}: {quoted(violations)}.", remedy)
    if len({verdict.scope for verdict in verdicts}) > 1:
        text = f"{METHODS[what]}: cacheScope differs from page to page."
        return Step(f"hints of {what}", False, text, "Send one cacheScope for all pages of a list.")
    return Step(f"hints of {what}", True, f"{METHODS[what]}: {first.why}.", facts={"row": first.row})


def order(connection: Connection, listing: Listing) -> Iterator[Step]:
    """List twice: an order that changes breaks every prompt cache."""
    try:
        again = connection.run(walk, connection, "tools", "user", timeout=WALK_S)
    except LoupeError as problem:
        text = sentence(f"A second tools/list failed: {problem.message}")
        yield Step("order", False, text, problem.remedy)
        return
    second = read_pages("tools", [page.reply.raw for page in again.pages])
    yield compare_order(listing, second, "listed twice on one connection")


def compare_order(one: Listing, two: Listing, how: str) -> Step:
    if one.order_sha256 == two.order_sha256:
        return Step("order", True, f"The same tools in the same order, {how}.")
    same = sorted(map(str, one.names)) == sorted(map(str, two.names))
    what = "The same tools come in another order" if same else "Not the same tools"
    remedy = "Sort the list: clients cache by order, and a changed order costs them the prompt cache."
    return Step(
        "order", None, f"{what}, {how}.", remedy if same else "Make the list independent of what ran before."
    )


def _early(seen: Seen) -> Iterator[Step]:
    first_list = next(
        (e.seq for e in seen.events if e.t == "rpc" and e.method == "tools/list" and e.kind == "result"), 0
    )
    early = [e for e in seen.events if e.t == "rpc" and e.method == CHANGED and e.seq < first_list]
    if early:
        text = "It sends tools/list_changed before its first list was answered."
        yield Step(
            "list_changed",
            None,
            text,
            "Send it only when the list changes: a client may list again for nothing.",
        )


def nothing_for_modern(modern: Listing, handshake: Listing, stderr: list[str]) -> Step | None:
    """A proxy that lists nothing to a modern client, and says so only on stderr (seen on a FastMCP proxy)."""
    if modern.items or not handshake.items:
        return None
    said = f" Its stderr says {quoted(stderr)}." if stderr else ""
    text = f"It lists no tools to a modern client, but {len(handshake.items)} to a handshake one.{said}"
    remedy = "If it is a proxy, its upstream probably speaks only the handshake era: update it, or pin --era handshake."
    return Step("same in both eras", False, text, remedy)


def listing_of(connection: Connection) -> Listing:
    found = connection.run(walk, connection, "tools", "user", timeout=WALK_S)
    return read_pages("tools", [page.reply.raw for page in found.pages])
