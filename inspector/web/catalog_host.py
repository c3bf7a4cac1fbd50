"""What a host's cache did, or would have done, in the words of the catalog screen. Request threads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from inspector.console.catalogs import Catalog
from inspector.console.console import Server
from inspector.console.hosting import PageLook, told
from inspector.discovery.host_cache import Look
from inspector.web.catalog_facts import PageFacts
from inspector.web.frame import console
from inspector.wire.listing import METHODS

H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True, slots=True)
class HostNow:
    """What a host's cache holds of one list at this moment. pages: a look for each page shown, None when nobody is
    connected to be asked about. context: who asks, by a number. delivery: whether changes would be heard of."""

    context: str
    pages: tuple[Look[Any] | None, ...]
    delivery: str
    row: int


def said(looks: Sequence[PageLook]) -> tuple[str, str]:
    """What the cache said of the last refresh: a word or two, and the whole sentence; empty when it was not asked."""
    if not looks:
        return "", ""
    words = _list([each.look.what for each in looks])
    parts = [f"{_pages(numbers, len(looks))}{what}" for numbers, what in _grouped(looks)]
    served = sum(each.served for each in looks)
    if served == len(looks):
        return f"cache: {words}", f"Served from the cache, nothing was sent: {'; '.join(parts)}."
    if served:
        return f"cache: {words}", f"{served} of {len(looks)} pages served from the cache: {'; '.join(parts)}."
    failed = next((each.failed for each in looks if each.failed), "")
    if failed:
        return f"cache: {words}", f"{failed}. {'; '.join(parts)}."
    return f"cache: {words}", f"Went to the wire; a host cache would have said {'; '.join(parts)}."


def _grouped(looks: Sequence[PageLook]) -> list[tuple[list[int], str]]:
    """Pages of which the same is said, in order of the first."""
    texts: dict[Hashable, str] = {}
    for each in looks:
        texts.setdefault(_kind(each), f"{each.look.what}, because {each.look.because}")
    return [(numbers, texts[kind]) for numbers, kind in _numbered([_kind(each) for each in looks])]


def _kind(each: PageLook) -> Hashable:
    """Equal for pages of which the same is to be said, but for milliseconds."""
    hints = each.look.kept.entry.hints if each.look.kept is not None else None
    ttl = (hints.ttl_ms, hints.scope) if hints is not None else None
    return each.look.what, each.look.row, each.failed, ttl, each.served


def _numbered(kinds: Sequence[H]) -> list[tuple[list[int], H]]:
    found: dict[H, list[int]] = {}
    for number, kind in enumerate(kinds, 1):
        found.setdefault(kind, []).append(number)
    return [(numbers, kind) for kind, numbers in found.items()]


def counts(pages: Sequence[PageFacts]) -> list[tuple[str, str]]:
    """What the hints count as, whatever was sent: `("pages 1–2: ", "60,000 ms, public")`."""
    found = _numbered([page.counts_as for page in pages])
    first = pages[0].number - 1 if pages else 0
    return [(_pages([number + first for number in numbers], len(pages)), text) for numbers, text in found]


def _pages(numbers: Sequence[int], total: int) -> str:
    if total == 1 or len(numbers) == total:
        return ""
    if len(numbers) == 1:
        return f"page {numbers[0]}: "
    run = numbers[-1] - numbers[0] == len(numbers) - 1
    ends = f"{numbers[0]}–{numbers[-1]}" if run else ", ".join(map(str, numbers[:8]))
    return f"pages {ends}{'…' if not run and len(numbers) > 8 else ''}: "


def _list(words: Sequence[str]) -> str:
    """`hit`, or `hit, stale` when the pages differ."""
    return ", ".join(dict.fromkeys(words))


def announces(server: Server, what: str) -> bool:
    """Whether a change of the list would reach us."""
    return server.connection is not None and told(server.connection, METHODS[what]).what == "notified"


def host_now(server: Server, catalog: Catalog, first: int, most: int) -> HostNow | None:
    """What a host would do if it were asked for the pages from `first` on now; None when nobody is connected."""
    connection, hosting = server.connection, console().hosting
    if connection is None or server.state != "connected" or catalog.past:
        return None
    method = METHODS[catalog.snapshot.what]
    asked = [{} if page.cursor is None else {"cursor": page.cursor} for page in catalog.snapshot.pages]
    looks = [hosting.look(connection, server.key, method, params) for params in asked[first : first + most]]
    delivery = told(connection, method)
    return HostNow(hosting.context(connection, server.key), tuple(looks), delivery.why, delivery.row)
