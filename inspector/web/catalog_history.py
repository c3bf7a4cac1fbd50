"""The listings of one server over time: a row each, and a chart of what they cost. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup

from inspector.trace.store import Snapshot
from inspector.web.catalog_facts import NOUNS
from inspector.web.render import delta

WIDTH: Final = 1000
HEIGHT: Final = 36
PAD: Final = 4


@dataclass(frozen=True, slots=True)
class Listing:
    """One recorded listing. when: local date and time.

    changed: whether it differs from the one before, None for the first that is known; deltas: in what, in words.
    tokens: None when never counted; estimate: they are no count.
    """

    id: int
    session: int
    when: str
    count: int
    wire_bytes: int
    definition_bytes: int
    tokens: int | None
    estimate: bool
    sha256: str
    changed: bool | None
    deltas: str
    on: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the chart. span: its least and largest value in words."""

    label: str
    span: str
    last: int | None
    drawing: Markup


def listings(kept: Sequence[Snapshot], shown: int | None) -> list[Listing]:
    """The rows, newest first. kept: newest first; shown: the id of the one on the screen."""
    older: list[Snapshot | None] = [*kept[1:], None]
    return [_listing(row, before, row.id == shown) for row, before in zip(kept, older, strict=False)]


def _listing(row: Snapshot, before: Snapshot | None, on: bool) -> Listing:
    totals = row.totals
    tokens, estimate = tokens_of(totals)
    when = datetime.fromtimestamp(row.at_us // 1_000_000).strftime("%Y-%m-%d %H:%M:%S")
    changed = None if before is None else _differs(row, before)
    return Listing(
        row.id, row.session, when, totals["count"], totals["wire_bytes"], totals["definition_bytes"], tokens,
        estimate, row.sha256, changed, _deltas(row, before) if before is not None and changed else "", on,
    )  # fmt: skip


def _differs(row: Snapshot, before: Snapshot) -> bool:
    return (row.sha256, row.order_sha256) != (before.sha256, before.order_sha256)


def _deltas(row: Snapshot, before: Snapshot) -> str:
    """`+2 tools, +1,363 B, +240 tokens`; `other order` or `same size` when no figure differs."""
    one, many = NOUNS[row.what]
    count = row.totals["count"] - before.totals["count"]
    size = row.totals["definition_bytes"] - before.totals["definition_bytes"]
    words = [f"{delta(count)} {one if abs(count) == 1 else many}"] if count else []
    words += [f"{delta(size)} B"] if size else []
    now, then = tokens_of(row.totals)[0], tokens_of(before.totals)[0]
    if now is not None and then is not None and now != then:
        words.append(f"{delta(now - then)} tokens")
    return ", ".join(words) or ("other order" if row.sha256 == before.sha256 else "same size")


def tokens_of(totals: dict[str, Any]) -> tuple[int | None, bool]:
    """(tokens of the definitions, whether they are an estimate); None when they were not counted."""
    entry = next(iter(totals.get("tokens", {}).values()), None)
    return (None, False) if entry is None else (entry["definitions"], "estimate" in entry)


def chart(rows: Sequence[Listing], what: str) -> list[Line]:
    """Items, bytes and tokens over the listings, oldest on the left; nothing to draw for fewer than two."""
    if len(rows) < 2:
        return []
    series: list[tuple[str, str, list[int | None]]] = [
        (NOUNS[what][1].capitalize(), "desc", [row.count for row in rows]),
        ("Definitions, B", "schema", [row.definition_bytes for row in rows]),
        ("Tokens, o200k", "out", [row.tokens for row in rows]),
    ]
    return [_line(label, fill, values[::-1]) for label, fill, values in series]


def _line(label: str, fill: str, values: Sequence[int | None]) -> Line:
    known = [value for value in values if value is not None]
    if not known:
        return Line(label, "not counted", None, Markup(""))
    low, high = min(known), max(known)
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    says = f"{label} over {len(values):,} listings: {span}, {known[-1]:,} in the last one counted."
    drawing = Markup(
        '<svg class="hist__c" role="img" aria-label="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">'
        '<path class="hist__l hist__l--{}" d="{}"/></svg>'
    ).format(says, WIDTH, HEIGHT, fill, path(values))
    return Line(label, span, values[-1], drawing)


def path(values: Sequence[int | None]) -> str:
    """An SVG path in steps through `values`; a value that is not known leaves a gap."""
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    step = (WIDTH - 2 * PAD) / max(1, len(values) - 1)

    def y(value: int) -> float:
        return HEIGHT / 2 if high == low else HEIGHT - PAD - (HEIGHT - 2 * PAD) * (value - low) / (high - low)

    parts = []
    numbered = [(PAD + step * at, value) for at, value in enumerate(values)]
    for there, run in groupby(numbered, key=lambda point: point[1] is not None):
        if there:
            points = [f"{x:.0f} {y(value):.1f}" for x, value in run if value is not None]
            # A line of no length still shows its round ends: the only point of a run.
            parts.append("M" + "L".join(points if len(points) > 1 else points * 2))
    return "".join(parts)
