"""Rules about the list itself: pages, order, cache hints, size. Pure; run them in the worker process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, some
from inspector.catalog.snapshot import ABSENT, PROMPTS, RESOURCES, TEMPLATES, TOOLS, ListedPage
from inspector.protocol.eras import MODERN
from inspector.protocol.freshness import Hints, assess, list_scope

_CACHING: Final = "MCP 2026-07-28 server/utilities/caching"
_PAGING: Final = "MCP 2026-07-28 server/utilities/pagination"
_LARGE_PAGE = 1_000_000
_METHODS: Final = {
    TOOLS: "tools/list",
    PROMPTS: "prompts/list",
    RESOURCES: "resources/list",
    TEMPLATES: "resources/templates/list",
}


def _hints(subject: Subject) -> dict[int, Hints]:
    """The cache hints by page, from 1, of those that hold a list; {} outside the modern era, where they do not count."""
    if subject.era != MODERN:
        return {}
    method = _METHODS[subject.what]
    return {
        number: assess(_result(page), method=method, era=MODERN)
        for number, page in enumerate(subject.pages, 1)
        if not page.fault
    }


def _result(page: ListedPage) -> dict[str, Any]:
    sent = {"resultType": "complete", "ttlMs": page.ttl_ms, "cacheScope": page.cache_scope}
    return {key: value for key, value in sent.items() if value is not ABSENT}


@rule(
    "page-unreadable",
    "error",
    "A page holds no list",
    why="Whatever it should have listed is missing from this catalog.",
    remedy="Look at the raw answer: an error, text that is no JSON, or another result shape.",
    spec="MCP 2026-07-28 schema (ListToolsResult and its kin)",
    across=True,
)
def page_unreadable(subject: Subject) -> Iterator[Hit]:
    for number, page in enumerate(subject.pages, 1):
        if page.fault:
            yield Hit(None, "", f"page {number}: {page.fault}")


@rule(
    "list-empty",
    "caution",
    "The list is empty",
    why="Seen from gateways whose upstream failed: no error, no tools, and the emptiness may be cached.",
    remedy="Read the server's stderr and ask again; a server without tools should not announce them.",
    spec="MCP 2026-07-28 server/tools#capabilities; seen from a FastMCP 4.1 proxy before a handshake upstream",
    across=True,
)
def list_empty(subject: Subject) -> Iterator[Hit]:
    readable = subject.pages and not any(page.fault for page in subject.pages)
    if subject.what == TOOLS and readable and not subject.measures:
        yield Hit(None, "", "no tools, and no error either")


@rule(
    "page-large",
    "note",
    f"One page is larger than {_LARGE_PAGE // 1_000_000} MB",
    why="It comes as one line or one body; clients with a line limit die on it, others wait for all of it.",
    remedy="Split the list with nextCursor, or let clients discover tools step by step.",
    spec=f"{_PAGING}; field reports A6",
    across=True,
)
def page_large(subject: Subject) -> Iterator[Hit]:
    for number, page in enumerate(subject.pages, 1):
        if page.wire_bytes > _LARGE_PAGE:
            yield Hit(None, "", f"page {number} has {page.wire_bytes:,} bytes")


@rule(
    "cursor-repeats",
    "error",
    "A cursor leads in a circle",
    why="A client that follows it never comes to an end.",
    remedy="Leave nextCursor out on the last page, and encode the position in the cursor.",
    spec=f"{_PAGING}; field reports E1",
    across=True,
)
def cursor_repeats(subject: Subject) -> Iterator[Hit]:
    asked: set[str] = set()
    for number, page in enumerate(subject.pages, 1):
        if number <= len(subject.cursors):
            asked.add(jsontext.compact_value(subject.cursors[number - 1]))
        if isinstance(page.next_cursor, str) and jsontext.compact_value(page.next_cursor) in asked:
            yield Hit(
                None, "", f"page {number} names {page.next_cursor[:60]!r}, which was already asked with"
            )


@rule(
    "cursor-ignored",
    "error",
    "A later page lists the same as an earlier one",
    why="The server does not look at the cursor; the list never ends, or items count twice.",
    remedy="Honour the cursor, and answer -32602 to one that is not known.",
    spec=f"{_PAGING}; field reports E3",
    across=True,
)
def cursor_ignored(subject: Subject) -> Iterator[Hit]:
    texts: dict[int, list[str]] = {}
    for place, raw in zip(subject.places, subject.raws, strict=True):
        texts.setdefault(place, []).append(raw)
    first: dict[tuple[str, ...], int] = {}
    for number, page in texts.items():
        same = first.setdefault(tuple(page), number)
        if same != number:
            yield Hit(None, "", f"page {number + 1} is page {same + 1} again, {len(page):,} items")


@rule(
    "cursor-invalid",
    "error",
    "nextCursor is not a string",
    why="Null, a number or an object is neither an end nor a cursor; strict clients refuse the page.",
    remedy="Send a string, or leave nextCursor out on the last page.",
    spec=f"{_PAGING}; schema (Cursor)",
    across=True,
)
def cursor_invalid(subject: Subject) -> Iterator[Hit]:
    for number, page in enumerate(subject.pages, 1):
        if page.next_cursor is not ABSENT and not isinstance(page.next_cursor, str):
            yield Hit(
                None, "", f"page {number} has nextCursor {jsontext.compact_value(page.next_cursor)[:60]}"
            )


@rule(
    "order-changes",
    "caution",
    "Asked twice, the list came in another order",
    why="The list goes first into the prompt; another order makes every prompt cache miss.",
    remedy="Sort the tools before listing them.",
    spec="MCP 2026-07-28 server/tools#capabilities (SHOULD be deterministic)",
    across=True,
)
def order_changes(subject: Subject) -> Iterator[Hit]:
    if subject.again is None:
        return
    before, after = subject.names, subject.again
    if before != after and sorted(map(str, before)) == sorted(map(str, after)):
        moved = [str(name) for name, other in zip(before, after, strict=True) if name != other]
        yield Hit(None, "", f"{len(moved):,} of {len(before):,} stand elsewhere, {some(moved)} among them")


@rule(
    "list-changes",
    "caution",
    "Asked twice, the list held other items",
    why="The set must not depend on the connection or on what was called before.",
    remedy="If tools come up late, list them from the start or announce list_changed.",
    spec="MCP 2026-07-28 server/tools#capabilities (MUST NOT vary by connection)",
    across=True,
)
def list_changes(subject: Subject) -> Iterator[Hit]:
    if subject.again is None:
        return
    before, after = set(map(str, subject.names)), set(map(str, subject.again))
    if before != after:
        lost, new = sorted(before - after), sorted(after - before)
        changes = [f"{word} {some(names)}" for word, names in (("gone:", lost), ("new:", new)) if names]
        yield Hit(None, "", "; ".join(changes))


@rule(
    "hints-missing",
    "error",
    "A page lacks a cache hint it must carry",
    why="Without ttlMs nothing is ever fresh, without cacheScope nothing may be shared; SDK clients refuse the page.",
    remedy="Send ttlMs and cacheScope on every list result; 0 and private when nothing may be kept.",
    spec=_CACHING,
    across=True,
)
def hints_missing(subject: Subject) -> Iterator[Hit]:
    for number, page in _hints(subject).items():
        flags = (("ttlMs", page.ttl_present), ("cacheScope", page.scope_present))
        lost = [key for key, present in flags if not present]
        if lost:
            yield Hit(None, "", f"page {number} has no {' and no '.join(lost)}")


@rule(
    "hints-invalid",
    "error",
    "A cache hint has a value it must not have",
    why="It is read as the careful one: never fresh, never shared. Clients differ in what they do with it.",
    remedy="Send ttlMs as a whole number of milliseconds, 0 or more, and cacheScope as public or private.",
    spec=f"{_CACHING}; field reports E9",
    across=True,
)
def hints_invalid(subject: Subject) -> Iterator[Hit]:
    for number, page in _hints(subject).items():
        for violation in page.violations:
            if "missing" not in violation:
                yield Hit(None, "", f"page {number}: {violation}")


@rule(
    "hints-differ",
    "error",
    "The pages of one list differ in cacheScope",
    why="A list has one scope; what one page may share, another may not.",
    remedy="Send the same cacheScope on every page.",
    spec=f"{_CACHING} (MUST be the same on all pages)",
    across=True,
)
def hints_differ(subject: Subject) -> Iterator[Hit]:
    found = list(_hints(subject).values())
    scopes = [page.scope for page in found]
    if len(set(scopes)) > 1:
        yield Hit(None, "", f"the scopes are {', '.join(scopes[:8])}: {list_scope(found).why}")


@rule(
    "hints-never-fresh",
    "note",
    "Nothing in this list may be kept, not for a second",
    why="A host asks for all of it again at every use.",
    remedy="Send the time the list really stays the same as ttlMs, in milliseconds; list_changed still overrules it.",
    spec=_CACHING,
    across=True,
)
def hints_never_fresh(subject: Subject) -> Iterator[Hit]:
    found = list(_hints(subject).values())
    if found and all(page.ttl_ms == 0 and page.ttl_present and not page.violations for page in found):
        size = sum(page.wire_bytes for page in subject.pages)
        yield Hit(None, "", f"ttlMs is 0: {size:,} bytes at every use")
