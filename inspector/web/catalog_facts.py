"""Freshness, pages and what a refresh brought, in the words of the catalog screen. Pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final

from inspector.catalog.jsontext import compact_value
from inspector.catalog.snapshot import ABSENT, ListedPage, Page, Snapshot
from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE, MODERN, Era
from inspector.protocol.freshness import Hints
from inspector.web.catalog_change import Change
from inspector.web.render import delta, duration, ms, size, time_of_day
from inspector.wire.listing import METHODS

NOUNS: Final = {
    "tools": ("tool", "tools"),
    "prompts": ("prompt", "prompts"),
    "resources": ("resource", "resources"),
    "templates": ("template", "templates"),
}
LABELS: Final = {what: plural.capitalize() for what, (_, plural) in NOUNS.items()}


@dataclass(frozen=True, slots=True)
class PageFacts:
    """One page of a walk. cursor, ttl, scope: JSON text as sent, empty when absent. ttl_fault,
    scope_fault: what is wrong with them, empty when nothing is."""

    number: int
    cursor: str
    bytes: int
    count: int
    ttl: str
    scope: str
    ttl_fault: str
    scope_fault: str
    fault: str
    at_us: int
    seq: int | None
    counts_as: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long the list may be used again. state: fresh, stale, never, told (until a list_changed) or unknown.

    until_ms, total_ms: when it ends (since the epoch) and how long it lasted, while that is known. sent: the
    pages' hints as sent. violations: what the server did against the specification, a sentence each.
    """

    state: str
    value: str
    unit: str
    sent: str
    icon: str
    share: str
    violations: tuple[str, ...] = ()
    until_ms: int = 0
    total_ms: int = 0
    left: float = 0.0


def page_facts(snapshot: Snapshot, listed: Sequence[ListedPage], hints: Sequence[Hints]) -> list[PageFacts]:
    """The pages in order. hints: as many as the pages, or none for what was read back from a recording."""
    known = hints or [hints_as_sent(page, snapshot) for page in listed]
    return [
        _page(number, page, read, hint)
        for number, (page, read, hint) in enumerate(zip(snapshot.pages, listed, known, strict=True), 1)
    ]


def _page(number: int, page: Page, read: ListedPage, hints: Hints) -> PageFacts:
    return PageFacts(
        number, "" if page.cursor is None else as_json(page.cursor), read.wire_bytes, read.count,
        as_sent(read.ttl_ms), as_sent(read.cache_scope), _about(hints, "ttlMs"), _about(hints, "cacheScope"), read.fault,
        page.received_at_us, page.seq, counts_as(hints),
    )  # fmt: skip


def counts_as(hints: Hints) -> str:
    """The hints as they count, whatever was sent: `300,000 ms, public`."""
    return f"{hints.ttl_ms:,} ms, {hints.scope}" if hints.cacheable else "not kept"


def _about(hints: Hints, name: str) -> str:
    """What the server did wrong with one hint."""
    return next((text for text in hints.violations if text.startswith(name)), "")


def hints_as_sent(page: ListedPage, snapshot: Snapshot) -> Hints:
    """The verdict on a recorded page. resultType is not kept with it, and is not held against it."""
    result: dict[str, Any] = {"resultType": "complete"}
    if page.ttl_ms is not ABSENT:
        result["ttlMs"] = page.ttl_ms
    if page.cache_scope is not ABSENT:
        result["cacheScope"] = page.cache_scope
    era: Era = MODERN if snapshot.era == MODERN else HANDSHAKE
    return freshness.assess(result, method=METHODS[snapshot.what], era=era)


def as_sent(value: Any) -> str:
    """A hint as JSON text, an empty string when the server sent none."""
    return "" if value is ABSENT else as_json(value)


def as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, float) else compact_value(value)
    return text if len(text) <= 60 else text[:59] + "…"


def said(name: str, text: str) -> str:
    """`ttlMs 300000`, `cacheScope absent`."""
    return f"{name} {text or 'absent'}"


def _different(texts: Sequence[str]) -> str:
    """The value of all pages, or the first ones that differ."""
    found = list(dict.fromkeys(text or "absent" for text in texts))
    return ", ".join(found[:3]) + (", …" if len(found) > 3 else "")


def shared_with(hints: Hints) -> str:
    """Who may be given a kept page, in a phrase."""
    if not hints.cacheable:
        return "nobody: not to be kept"
    if hints.shareable is None:
        return "moot: nothing fresh to share"
    return "anyone" if hints.shareable else "this authorization only"


def list_freshness(
    snapshot: Snapshot,
    listed: Sequence[ListedPage],
    hints: Sequence[Hints],
    *,
    changed_at_us: int | None,
    connected: bool,
    announced: bool,
    now_us: int,
    tz: tzinfo | None = None,
) -> Freshness:
    """The verdict on the whole list: it is fresh while each of its pages is.

    announced: whether a change would reach us (`console.hosting.told`).
    """
    known = hints or [hints_as_sent(page, snapshot) for page in listed]
    violations = tuple(dict.fromkeys(text for each in known for text in each.violations))
    scope = freshness.list_scope(known)
    if scope.row == 22:
        violations += (scope.why,)
    first = listed[0]
    ttls, scopes = ([as_sent(getattr(page, name)) for page in listed] for name in ("ttl_ms", "cache_scope"))
    sent = f"{said('ttlMs', _different(ttls))} · {said('cacheScope', _different(scopes))}"
    ends = [
        freshness.fresh_until(each, page.received_at_us)
        for each, page in zip(known, snapshot.pages, strict=True)
    ]
    icon = "globe" if scope.what == freshness.PUBLIC else "lock"
    base: dict[str, Any] = {
        "sent": sent,
        "icon": icon,
        "share": shared_with(known[0]),
        "violations": violations,
    }
    times = [end for end in ends if end is not None]
    if len(times) == len(ends) and times:
        return _timed(min(times), known[times.index(min(times))], changed_at_us, now_us, tz, base)
    if changed_at_us is not None:
        return Freshness("stale", "stale", f"since {time_of_day(changed_at_us, tz)}", **base)
    if snapshot.era == MODERN:
        why = "" if as_sent(first.ttl_ms) == "0" else "no ttlMs that counts"  # what was sent stands below
        return Freshness("never", "never fresh", why, **base)
    if not connected:
        return Freshness("unknown", "unknown", "not told of changes", **base)
    if not announced:
        return Freshness("unknown", "unknown", "no list_changed either", **base)
    return Freshness("told", "until told", "by list_changed", **base)


def _timed(
    until_us: int,
    hints: Hints,
    changed_at_us: int | None,
    now_us: int,
    tz: tzinfo | None,
    base: dict[str, Any],
) -> Freshness:
    ended = min(until_us, changed_at_us) if changed_at_us is not None else until_us
    if ended <= now_us:
        return Freshness("stale", "stale", f"since {time_of_day(ended, tz)}", **base)
    left = (until_us - now_us) / 1_000_000
    return Freshness(
        "fresh", duration(left), f"of {duration(hints.ttl_ms / 1000)} left", **base,
        until_ms=until_us // 1000, total_ms=hints.ttl_ms, left=min(1.0, left * 1000 / hints.ttl_ms),
    )  # fmt: skip


def outcome(
    change: Change | None, took_ms: float, what: str, *, first: bool = False, served: bool = False
) -> str:
    """What the last refresh did: `wire, 71 ms, no change`, `wire, 71 ms, +2 tools, −31 B`.

    served: every page came from the host cache. first: it is the list after the connect, whose time is the server's
    start as much as its answer.
    """
    words = ["cache" if served else "first list after the start" if first else "wire", f"{ms(took_ms)} ms"]
    if change is None:
        return ", ".join(words)
    if change.nothing:
        return ", ".join([*words, "no change"])
    one, many = NOUNS[what]
    for sign, items in (("+", change.added), ("−", change.removed)):
        if items:
            words.append(f"{sign}{len(items):,} {one if len(items) == 1 else many}")
    if change.altered:
        words.append(f"{len(change.altered):,} altered")
    if change.reordered:
        words.append("other order")
    if change.bytes:
        words.append(f"{delta(change.bytes)} B")
    return ", ".join(words)


def moment(at_us: int, now_us: int, tz: tzinfo | None = None) -> str:
    """A time of day, with its date when that is not today: `09:42`, `2026-11-28 09:42`."""
    at, now = (datetime.fromtimestamp(each // 1_000_000, tz) for each in (at_us, now_us))
    return at.strftime("%H:%M" if at.date() == now.date() else "%Y-%m-%d %H:%M")


def pages_and_items(pages: int, items: int, what: str) -> str:
    """`1 page · 47 tools`."""
    return f"{pages:,} page{'' if pages == 1 else 's'} · {items:,} {NOUNS[what][items != 1]}"


def pages_so_far(pages: int, wire_bytes: int) -> str:
    """`2 pages, 1.2 MB so far`; empty when nothing came yet."""
    return f"{pages:,} page{'' if pages == 1 else 's'}, {size(wire_bytes)} so far" if pages else ""


def raw_text(raw: bytes, most: int) -> tuple[str, str]:
    """The beginning of bytes as received, at most `most` of them, and a word for what was left out."""
    shown = raw[:most].decode("utf-8", "replace")
    return shown, f"{size(len(raw) - most)} more" if len(raw) > most else ""
