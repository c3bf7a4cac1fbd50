"""A listing weighed as a whole, and its JSON document for `list --json`. Pure; run `measure_listing` in the worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from inspector.catalog import providers
from inspector.catalog.jsontext import utf8
from inspector.catalog.measure import Measure, measure_item, weigh
from inspector.catalog.snapshot import (
    ABSENT,
    TOOLS,
    Item,
    ListedPage,
    Page,
    Snapshot,
    canonical_key,
    canonical_sha256,
    order_sha256,
    read_page,
)
from inspector.catalog.tokens import (
    AFFORDABLE,
    LITTLE,
    O200K,
    WHATEVER,
    Running,
    TokenCount,
    count,
    is_affordable,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ItemTokens:
    """Tokens of one definition, and of the tool as each provider would be sent it (none for a broken tool)."""

    definition: TokenCount
    rendered: dict[str, TokenCount]


@dataclass(frozen=True, slots=True)
class ListingTokens:
    """Tokens by one tokenizer. wire: of the raw pages; items: in the order of the measures."""

    tokenizer: str
    wire: TokenCount
    items: tuple[ItemTokens, ...] = field(repr=False)

    @property
    def definitions(self) -> TokenCount:
        return self._sum([each.definition for each in self.items])

    @property
    def rendered(self) -> dict[str, TokenCount]:
        """Sums by provider; empty when nothing was rendered (prompts, resources, or not asked for)."""
        if not any(each.rendered for each in self.items):
            return {}
        return {
            provider: self._sum([each.rendered[provider] for each in self.items if each.rendered])
            for provider in providers.PROVIDERS
        }

    def _sum(self, counts: list[TokenCount]) -> TokenCount:
        value = sum(each.value for each in counts)
        return TokenCount(value, all(each.exact for each in counts), self.tokenizer)


@dataclass(frozen=True, slots=True)
class MeasuredListing:
    """A listing in numbers; plain values, so a worker process can hand it back. tokens: None when not counted."""

    what: str
    pages: tuple[ListedPage, ...]
    measures: tuple[Measure, ...] = field(repr=False)
    sha256: str
    order_sha256: str
    tokens: ListingTokens | None

    @property
    def wire_bytes(self) -> int:
        return sum(page.wire_bytes for page in self.pages)

    @property
    def definition_bytes(self) -> int:
        return sum(each.definition_bytes for each in self.measures)

    def definition_text(self, index: int) -> str:
        """The compact definition of the item at `index`."""
        return self.measures[index].text


def measure_listing(
    what: str, raws: list[bytes], *, tokens: bool, rendered: bool, tokenizer: str = O200K
) -> MeasuredListing:
    """Read and weigh one list. tokens: count them (slow: 20 times a json.loads); rendered: for each provider too.

    Item by item: of what was parsed no more than one definition is there at a time. Tokens are counted a page at a
    time behind that: the tables of a tokenizer and those of the JSON reader would push each other out of the
    processor's cache (measured: twice the time of the counting).
    """
    weighed: list[tuple[Measure, tuple[str, bytes]]] = []
    pages: list[ListedPage] = []
    counter = _Counter(raws, rendered and what == TOOLS, tokenizer) if tokens else None

    def take(item: Item, end: int) -> tuple[Measure, tuple[str, bytes], _Span]:
        measure, canonical = weigh(item)
        return measure, canonical_key(item, canonical), _span(item, measure, end)

    for number, raw in enumerate(raws):
        text = counter.page(raw) if counter else None
        page, found = read_page(what, number, raw, take, text)
        if counter:
            counter.turn([(measure, span) for measure, _, span in found])
        pages.append(page)
        weighed += [(measure, key) for measure, key, _ in found]
    measures = tuple([measure for measure, _ in weighed])
    return MeasuredListing(
        what, tuple(pages), measures, canonical_sha256([key for _, key in weighed]),
        order_sha256([each.name for each in measures]), counter.counted() if counter else None,
    )  # fmt: skip


def count_listing(what: str, raws: list[bytes], *, tokenizer: str = O200K) -> ListingTokens:
    """The tokens alone, renderings too, for who has the rest already: a third of the bytes to hand back."""
    counter = _Counter(raws, what == TOOLS, tokenizer)

    def take(item: Item, end: int) -> tuple[Measure, _Span]:
        measure = measure_item(item)
        return measure, _span(item, measure, end)

    for number, raw in enumerate(raws):
        text = counter.page(raw)
        counter.turn(read_page(what, number, raw, take, text)[1])
    return counter.counted()


_Span = tuple[int, int] | None
"""Where a definition begins and ends in the page's text, None when it does not stand there as it is."""


def _span(item: Item, measure: Measure, end: int) -> _Span:
    return (end - len(item.raw), end) if measure.text == item.raw else None


class _Counter:
    """Tokens of one list: the wire, and each definition and its renderings just behind it."""

    def __init__(self, raws: list[bytes], rendered: bool, tokenizer: str) -> None:
        # Thousands of definitions, each just affordable, would still take an hour.
        self._cheap = [is_affordable(_text(raw)) for raw in raws]
        self._affordable = AFFORDABLE if all(self._cheap) else LITTLE
        self._rendered, self._tokenizer = rendered, tokenizer
        self._wire = Running("", tokenizer)
        self._pages: list[TokenCount] = []
        self._items: list[ItemTokens] = []

    def page(self, raw: bytes) -> str | None:
        """Begin a page; its text, unless that is not UTF-8."""
        text = _text(raw)
        self._wire = Running(text, self._tokenizer, exact=self._cheap[len(self._pages)])
        return None if "\ufffd" in text else text

    def turn(self, items: list[tuple[Measure, _Span]]) -> None:
        """Count a page. items: what it holds, in order."""
        self._items += [self._item(measure, span) for measure, span in items]
        self._pages.append(self._wire.finish())
        self._wire = Running("", self._tokenizer)

    def _item(self, measure: Measure, span: _Span) -> ItemTokens:
        cheap = self._affordable == AFFORDABLE
        shared = self._wire.part(*span) if span is not None and cheap else None
        sent = providers.render_all(measure.text) if self._rendered and not measure.broken else {}
        most = self._affordable if shared is None else WHATEVER
        return ItemTokens(
            shared or self._count(measure.text, most),
            {name: self._count(each.text, most) for name, each in sent.items()},
        )

    def counted(self) -> ListingTokens:
        pages = self._pages
        wire = TokenCount(
            sum(each.value for each in pages), all(each.exact for each in pages), self._tokenizer
        )
        return ListingTokens(self._tokenizer, wire, tuple(self._items))

    def _count(self, text: str, affordable: int) -> TokenCount:
        return count(text, self._tokenizer, affordable=affordable)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def list_document(
    snapshot: Snapshot, measured: MeasuredListing, model: providers.Model | None = None
) -> dict[str, Any]:
    """The catalog's part of `list --json`: `pages`, `totals` and the items under `measured.what` (`tools`…).

    Absent is absent: hint keys the server did not send, `tokens` that were not counted, `rendered` of what no
    provider is sent. What cannot be used as sent has `broken`, why, and `raw`, its JSON made compact.
    `instructions_bytes` and `window_share` are null when unknown. A token object carries
    `"estimate": true` when any of its numbers is one.
    """
    pages = [_page_entry(page, read) for page, read in zip(snapshot.pages, measured.pages, strict=True)]
    counted = measured.tokens.items if measured.tokens else [None] * len(measured.measures)
    items = [_item_entry(each, count_) for each, count_ in zip(measured.measures, counted, strict=True)]
    return {"pages": pages, "totals": _totals(snapshot, measured, model), measured.what: items}


def _totals(snapshot: Snapshot, measured: MeasuredListing, model: providers.Model | None) -> dict[str, Any]:
    instructions = snapshot.instructions
    totals: dict[str, Any] = {
        measured.what: len(measured.measures),
        "wire_bytes": measured.wire_bytes,
        "definition_bytes": measured.definition_bytes,
        "instructions_bytes": None if instructions is None else len(utf8(instructions)),
    }
    if measured.tokens:
        totals["tokens"] = _token_entry(
            measured.tokens.tokenizer,
            {"wire": measured.tokens.wire, "definitions": measured.tokens.definitions},
            measured.tokens.rendered,
        )
    chosen = model or next(iter(providers.models().values()))
    totals["window_share"] = window_share(measured, chosen)
    totals["window"] = {"model": chosen.id, "tokens": chosen.window_tokens}
    return totals


def window_share(measured: MeasuredListing, model: providers.Model) -> float | None:
    """Fraction of the model's window that the definitions take: as its provider would be sent them, or, when
    nothing was rendered, as defined. Unrounded; None when tokens were not counted."""
    if measured.tokens is None:
        return None
    spent = measured.tokens.rendered.get(model.provider, measured.tokens.definitions)
    return spent.value / model.window_tokens


def _page_entry(page: Page, read: ListedPage) -> dict[str, Any]:
    entry: dict[str, Any] = {"cursor": page.cursor, "wire_bytes": read.wire_bytes}
    if read.ttl_ms is not ABSENT:
        entry["ttl_ms"] = read.ttl_ms
    if read.cache_scope is not ABSENT:
        entry["cache_scope"] = read.cache_scope
    entry["received_at"] = rfc3339(page.received_at_us)
    if read.fault:
        entry["fault"] = read.fault
    return entry


def _item_entry(measure: Measure, counted: ItemTokens | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": measure.name, "definition_bytes": measure.definition_bytes}
    if counted:
        tokenizer = counted.definition.tokenizer
        entry["tokens"] = _token_entry(tokenizer, {"definition": counted.definition}, counted.rendered)
    entry["parts"] = measure.parts
    if measure.broken:
        entry |= {"broken": measure.broken, "raw": measure.text}
    return entry


def _token_entry(
    tokenizer: str, counts: dict[str, TokenCount], rendered: dict[str, TokenCount]
) -> dict[str, Any]:
    entry: dict[str, Any] = {key: each.value for key, each in counts.items()}
    if rendered:
        entry["rendered"] = {provider: each.value for provider, each in rendered.items()}
    if not _all_exact([*counts.values(), *rendered.values()]):
        entry["estimate"] = True
    return {tokenizer: entry}


def _all_exact(counts: Iterable[TokenCount]) -> bool:
    return all(each.exact for each in counts)


def rfc3339(at_us: int) -> str:
    """Microseconds since the epoch as RFC 3339 in UTC, six digits of fraction."""
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
