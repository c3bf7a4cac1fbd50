"""One side of a comparison: a catalog as values, wherever it came from. Pure; run `side_of` in the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.measure import measure_items
from inspector.catalog.report import MeasuredListing, measure_listing
from inspector.catalog.snapshot import ABSENT, TOOLS, ListedPage, Listing, Snapshot
from inspector.catalog.tokens import O200K

SERVER: Final = "server"
LINES: Final = "lines"
TRACE: Final = "trace"
LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. text: compact, or canonical when it comes from a lock. tokens: of the definition, None when not
    counted. broken: why it cannot be used as sent, or an empty string."""

    name: str | None
    text: str = field(repr=False)
    value: Any = field(repr=False)
    definition_bytes: int = 0
    tokens: int | None = None
    broken: str = ""

    @property
    def canonical(self) -> str:
        return jsontext.canonical(self.text, self.value)


@dataclass(frozen=True, slots=True)
class Totals:
    """A catalog in numbers; None is unknown. envelope_bytes: of the pages around the tools; spelling_bytes: what
    spaces and needless escapes inside the tools cost. Wire = definitions + spelling + envelope, and the commas
    between the tools are envelope. exact: no token count is an estimate."""

    tools: int
    definition_bytes: int
    wire_bytes: int | None = None
    spelling_bytes: int | None = None
    envelope_bytes: int | None = None
    definition_tokens: int | None = None
    wire_tokens: int | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Hints:
    """What one page said about caching, exactly as sent, or ABSENT."""

    ttl_ms: Any = ABSENT
    cache_scope: Any = ABSENT


@dataclass(frozen=True, slots=True)
class Side:
    """One catalog. source: `server`, `lines`, `trace` or `lock`. hints: a page each. declared: the client
    capabilities it was listed with; instructions: ABSENT when unknown, None when the server has none.
    notes: what could not be read or is not whole, a sentence each."""

    label: str
    source: str
    tools: tuple[Tool, ...] = field(repr=False)
    totals: Totals
    order_sha256: str
    hints: tuple[Hints, ...] = ()
    server_info: dict[str, Any] | None = None
    era: str | None = None
    protocol_version: str | None = None
    declared: tuple[str, ...] | None = None
    instructions: Any = ABSENT
    tokenizer: str = O200K
    notes: tuple[str, ...] = ()


def side_of(
    snapshot: Snapshot, label: str, source: str, *, tokens: bool = True, notes: Sequence[str] = ()
) -> Side:
    """A walked tools list as a side. tokens: count them (about 20 times a json.loads)."""
    if snapshot.what != TOOLS:
        raise ValueError("only lists of tools are compared")
    listing = snapshot.listing()
    measured = measure_listing(TOOLS, snapshot.raws, tokens=True, rendered=False) if tokens else None
    measures = measured.measures if measured else measure_items(listing)
    counted: list[int | None] = [None] * len(measures)
    if measured and measured.tokens:
        counted = [each.definition.value for each in measured.tokens.items]
    tools = tuple(
        [
            Tool(item.name, each.text, item.value, each.definition_bytes, tokens_, each.broken)
            for item, each, tokens_ in zip(listing.items, measures, counted, strict=True)
        ]
    )
    opened = snapshot.era is not None  # raw lines come without the handshake that would tell
    return Side(
        label=label,
        source=source,
        tools=tools,
        totals=_totals(listing, tools, measured),
        order_sha256=listing.order_sha256,
        hints=tuple([Hints(page.ttl_ms, page.cache_scope) for page in listing.pages]),
        server_info=snapshot.server_info,
        era=snapshot.era,
        protocol_version=snapshot.protocol_version,
        declared=snapshot.declared if opened else None,
        instructions=snapshot.instructions if opened else ABSENT,
        notes=(*notes, *_faults(listing.pages)),
    )


def _totals(listing: Listing, tools: tuple[Tool, ...], measured: MeasuredListing | None) -> Totals:
    definition_bytes = sum([tool.definition_bytes for tool in tools])
    raw_bytes = sum([jsontext.size(item.raw) for item in listing.items])
    wire_bytes = sum([page.wire_bytes for page in listing.pages])
    counted = measured.tokens if measured else None
    return Totals(
        tools=len(tools),
        definition_bytes=definition_bytes,
        wire_bytes=wire_bytes,
        spelling_bytes=raw_bytes - definition_bytes,
        envelope_bytes=wire_bytes - raw_bytes,
        definition_tokens=counted.definitions.value if counted else None,
        wire_tokens=counted.wire.value if counted else None,
        exact=counted is None or (counted.wire.exact and counted.definitions.exact),
    )


def _faults(pages: Sequence[ListedPage]) -> list[str]:
    return [
        f"page {number} is unreadable: {page.fault}" for number, page in enumerate(pages, 1) if page.fault
    ]
