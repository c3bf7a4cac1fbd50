"""Charts as SVG text: x and width in per cent, y in px, colours by class, no style attribute. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final, TypeVar

from markupsafe import Markup, escape

from inspector.web.highlight import visible

T = TypeVar("T")

PARTS: Final = (
    ("description", "desc", ("description",)),
    ("inputSchema", "schema", ("inputSchema",)),
    ("outputSchema", "out", ("outputSchema",)),
    ("annotations", "ann", ("annotations",)),
    ("name + title", "name", ("name", "title")),
    ("_meta", "meta", ("_meta",)),
    ("other", "oth", ("icons", "other")),
)
"""The fixed order of parts: label, fill, keys of `parts` (docs/definitions.md)."""

WIDTHS: Final = (("nar", 640), ("mid", 940), ("wide", 1340))
"""Widths in px a treemap's labels are fitted to; the stylesheet shows the set for the width it has."""
HEIGHT: Final = 184
LABEL: Final = 18
"""Height of a family's label line."""
LETTER: Final = 6.4
"""Width of an average letter of the 11 px chart text, rather too wide than too narrow."""


@dataclass(slots=True, frozen=True)
class Cell:
    """A tool in the treemap: its definition bytes and `parts` (bytes by key). href: where a click leads.

    single: False when it stands for more than one tool.
    """

    name: str
    bytes: int
    parts: Mapping[str, int] = field(default_factory=dict)
    label: str = ""
    href: str = ""
    on: bool = False
    single: bool = True


@dataclass(slots=True, frozen=True)
class Family:
    """Tools that share a prefix, a tag or a server. count: how many there are, when a cell stands for several."""

    name: str
    cells: Sequence[Cell]
    count: int = 0

    @property
    def bytes(self) -> int:
        return sum(cell.bytes for cell in self.cells)


@dataclass(slots=True, frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """Divide `box` among `sizes` (largest first, all > 0) into boxes as square as can be, in the same order.

    Bruls, Huizing, van Wijk: Squarified Treemaps (2000).
    """
    out: list[Box] = []
    scale = box.width * box.height / sum(sizes) if sizes else 0.0
    areas = [size * scale for size in sizes]
    while areas:
        side = min(box.width, box.height)
        row = 1
        while row < len(areas) and _worst(areas[: row + 1], side) <= _worst(areas[:row], side):
            row += 1
        placed, box = _lay(areas[:row], box)
        out += placed
        areas = areas[row:]
    return out


def _worst(areas: Sequence[float], side: float) -> float:
    """The worst aspect ratio of a row of `areas` along `side`."""
    total = sum(areas)
    if not side or not total:
        return float("inf")
    return max(side * side * max(areas) / total**2, total**2 / (side * side * min(areas)))


def _lay(areas: Sequence[float], box: Box) -> tuple[list[Box], Box]:
    """Put one row along the shorter side; returns its boxes and what is left of `box`."""
    total = sum(areas)
    upright = box.width >= box.height
    depth = total / ((box.height if upright else box.width) or 1.0)
    starts = list(accumulate((area / (depth or 1.0) for area in areas), initial=0.0))
    if upright:
        placed = [Box(box.x, box.y + a, depth, b - a) for a, b in pairwise(starts)]
        return placed, Box(box.x + depth, box.y, max(box.width - depth, 0.0), box.height)
    placed = [Box(box.x + a, box.y, b - a, depth) for a, b in pairwise(starts)]
    return placed, Box(box.x, box.y + depth, box.width, max(box.height - depth, 0.0))


def treemap(families: Sequence[Family], *, families_max: int = 14, cells_max: int = 60) -> Markup:
    """Families, tools in them, parts as tints inside each tool; area is definition bytes.

    What is beyond the limits is gathered in one cell that says how many it stands for.
    """
    kept = _few([family for family in families if family.bytes > 0], families_max)
    total = sum(family.bytes for family in kept)
    if not total:
        return Markup("")
    width = dict(WIDTHS)["mid"]
    boxes = squarify([family.bytes for family in kept], Box(0, 0, width + 6, HEIGHT + 4))
    parts = [_family(family, box, width, total, cells_max) for family, box in zip(kept, boxes, strict=True)]
    cells = [cell for family in families for cell in family.cells]
    first = max([cell for cell in cells if cell.single] or cells, key=lambda cell: cell.bytes)
    says = (
        f"Treemap of {total:,} definition bytes: {kept[0].name} takes {kept[0].bytes / total:.0%},"
        f" the largest tool is {first.name} with {first.bytes:,} bytes."
    )
    return _image(says, parts, HEIGHT)


def _few(families: list[Family], most: int) -> list[Family]:
    ranked = sorted(families, key=lambda family: (-family.bytes, family.name))
    if len(ranked) <= most:
        return ranked
    rest = [cell for family in ranked[most - 1 :] for cell in family.cells]
    return [*ranked[: most - 1], Family(f"{len(ranked) - most + 1} more", rest)]


def _family(family: Family, box: Box, width: float, total: int, most: int) -> str:
    cells = sorted(
        (cell for cell in family.cells if cell.bytes > 0), key=lambda cell: (-cell.bytes, cell.name)
    )
    if len(cells) > most:
        rest = cells[most - 1 :]
        parts = {key: sum(cell.parts.get(key, 0) for cell in rest) for _, _, keys in PARTS for key in keys}
        cells = [
            *cells[: most - 1],
            Cell(f"{len(rest)} more", sum(cell.bytes for cell in rest), parts, single=False),
        ]
        cells.sort(key=lambda cell: -cell.bytes)
    inner = Box(box.x, box.y + LABEL, max(box.width - 6, 1), max(box.height - LABEL - 4, 1))
    boxes = squarify([cell.bytes for cell in cells], inner)
    drawn = [_family_label(family, box, width, total)]
    drawn += [_cell(cell, place, width) for cell, place in zip(cells, boxes, strict=True)]
    return "".join(drawn)


def _family_label(family: Family, box: Box, width: float, total: int) -> str:
    said = f" {family.count or len(family.cells):,} · {family.bytes / total * 100:.0f}{chr(0xA0)}%"
    texts = []
    for name, px in WIDTHS:
        room = (box.width - 8) / width * px / LETTER
        tail = said if room >= len(family.name) + len(said) else ""
        texts.append((name, (_cut(family.name, room, 3), tail)))
    out = [
        f'<text class="{classes}" y="12">{visible(label)}<tspan>{tail}</tspan></text>'
        for classes, (label, tail) in _merged("tm__f", texts)
        if label
    ]
    if not out or box.height < LABEL:
        return ""
    across = _across(100 * box.x / width, 100 * (box.width - 8) / width)
    return f"<svg {across} {_down(box.y, 16)}>{''.join(out)}</svg>"


def _cell(cell: Cell, box: Box, width: float) -> str:
    label = cell.label or cell.name
    names, values = [], []
    for name, px in WIDTHS:
        room = (box.width / width * px - 8) / LETTER
        shown = _cut(label, room, 6) if box.height >= 17 else ""
        names.append((name, shown))
        values.append(
            (name, f"{cell.bytes:,}{chr(0xA0)}B" if shown and room >= 8 and box.height >= 34 else "")
        )
    texts = [
        f'<text class="{classes}" x="6" y="14">{visible(text)}</text>'
        for classes, text in _merged("tm__n", names)
        if text
    ] + [
        f'<text class="{classes}" x="6" y="28">{text}</text>'
        for classes, text in _merged("tm__s", values)
        if text
    ]
    target = f' data-to="{escape(cell.href)}"' if cell.href else ""
    across = _across(100 * box.x / width, 100 * box.width / width)
    return (
        f'<svg class="tm__c{" tm__c--on" if cell.on else ""}"{target} {across} {_down(box.y, box.height)}>'
        f"<title>{visible(cell.name)}: {cell.bytes:,} bytes</title>{_fills(cell.parts, cell.bytes, 't')}"
        f'<rect class="tm__e" width="100%" height="100%"/>{"".join(texts)}</svg>'
    )


def _merged(base: str, texts: Iterable[tuple[str, T]]) -> list[tuple[str, T]]:
    """One element for all widths that show the same text: [(classes, text)]."""
    found: dict[T, list[str]] = {}
    for name, text in texts:
        found.setdefault(text, []).append(f"tm__{name}")
    return [
        (base if len(names) == len(WIDTHS) else " ".join([base, *names]), text)
        for text, names in found.items()
    ]


def _cut(label: str, room: float, least: int) -> str:
    """As much of `label` as fits `room` letters, or nothing when not even `least` of them do."""
    if len(label) <= room:
        return label
    return label[: int(room) - 1] + "…" if room >= least else ""


def _fills(parts: Mapping[str, int], total: int, kind: str, share: float = 100.0) -> str:
    """Rects of the parts in fixed order, filling `share` per cent of the width."""
    out, at = [], 0.0
    for _, fill, keys in PARTS:
        width = sum(parts.get(key, 0) for key in keys) / total * share if total else 0.0
        if width >= 0.4:
            out.append(f'<rect class="{kind}-{fill}" {_across(at, width + 0.1, digits=1)} height="100%"/>')
        at += width
    return "".join(out)


def part_bar(parts: Mapping[str, int], total: int, most: int | None = None) -> Markup:
    """A split bar of one definition; `most` (the largest definition of the list) sets its length."""
    share = 100.0 * total / most if most else 100.0
    return _hidden("bar", _fills(parts, total, "f", share))


def share_bar(fraction: float, fill: str = "acc", *, rail: bool = True, right: bool = False) -> Markup:
    """A plain bar, `fraction` of its width, filled with `f-…`; `right` lets it grow from the right edge."""
    width = 100 * min(1.0, max(0.0, fraction))
    x = 100 - width if right else 0.0
    rect = f'<rect class="f-{fill}" {_across(x, width, digits=1)} height="100%"/>'
    return _hidden("bar bar--rail" if rail else "bar", rect)


def meter(fraction: float, *, stale: bool = False) -> Markup:
    """The countdown bar under a freshness figure: what is left of the lifetime."""
    width = 100 * min(1.0, max(0.0, fraction))
    return _hidden("meter meter--stale" if stale else "meter", f'<rect width="{width:.1f}%" height="100%"/>')


def waterfall(x: float | None, width: float = 0.0, cls: str = "") -> Markup:
    """A row's mark: a bar when `width` (per cent) is above zero, a 2 px tick for an instant, none without `x`.

    cls: class of the row (`req`, `http`, `err`…), which sets the colour. What lies outside the axis is not drawn.
    """
    if x is None or x > 100 or x + max(width, 0) < 0:
        return Markup("")
    fill = {"req": "wf__b", "http": "wf__b wf__b--http", "err": "wf__e"}.get(cls, "wf__t")
    if width > 0:
        return _hidden("wf", f'<rect class="{fill}" {_across(x, width, least=0.8)} y="8" height="8"/>')
    return _hidden("wf", f'<rect class="{fill}" x="{x:.2f}%" y="9" width="2" height="6"/>')


def span_of(ms: float) -> float:
    """The shortest axis, in ms, of four round steps that holds `ms`."""
    step = 1.0
    while step * 4 < ms:
        for factor in (2, 5, 10):
            if step * factor * 4 >= ms:
                return step * factor * 4
        step *= 10
    return step * 4


def axis(span_ms: float, offset_ms: float = 0.0) -> Markup:
    """Labels of the waterfall's head: four steps of `span_ms`, the first one named with its unit."""
    size, unit = (1000, "s") if offset_ms + span_ms >= 1000 else (1, "ms")
    times = [(offset_ms + span_ms * n / 4) / size for n in range(4)]
    marks = [
        f'<text x="{25 * n}%" dx="3" y="15">{at:g}{"" if n else f" {unit}"}</text>'
        for n, at in enumerate(times)
    ]
    return _hidden("axis", "".join(marks))


@dataclass(slots=True, frozen=True)
class Mark:
    """Something on the overview: times in ms since its start. cls: class of the row."""

    at_ms: float
    ms: float = 0.0
    cls: str = "note"


def overview(marks: Sequence[Mark], span_ms: float, window: tuple[float, float] | None = None) -> Markup:
    """The whole session in one strip: requests above, HTTP below, instants as ticks, errors as red flags.

    window: the part the list shows, in ms. Marks are thinned to one per 0.2 % of the width and kind.
    """
    lanes = {"req": 4, "http": 13, "err": 0}
    seen: set[tuple[str, int]] = set()
    drawn: list[str] = []
    for mark in sorted(marks, key=lambda mark: (-mark.ms, mark.at_ms)):
        slot = (mark.cls if mark.cls in lanes else "", round(500 * mark.at_ms / (span_ms or 1)))
        if slot not in seen:
            seen.add(slot)
            drawn.append(_overview_mark(mark, span_ms or 1.0, lanes))
    errors = sum(mark.cls == "err" for mark in marks)
    says = f"{len(marks):,} events over {span_ms / 1000:.1f} seconds, {errors:,} of them errors."
    return _image(says, [_grid(span_ms or 1.0), _brush(window, span_ms or 1.0), *drawn], 47)


def _overview_mark(mark: Mark, span: float, lanes: Mapping[str, int]) -> str:
    x = min(100.0, max(0.0, 100 * mark.at_ms / span))
    if mark.cls == "err":
        return (
            f'<svg x="{x:.2f}%" overflow="visible"><path class="f-err" d="M-4 0h9l-4.500 6z"/>'
            '<rect class="f-err" width="1" height="34"/></svg>'
        )
    if mark.cls in lanes:
        fill = "desc" if mark.cls == "req" else "schema"
        across = _across(x, 100 * mark.ms / span, least=0.25)
        return f'<rect class="f-{fill}" {across} y="{lanes[mark.cls]}" height="5"/>'
    return f'<rect class="f-oth" x="{x:.2f}%" y="{22 + 6 * (mark.cls == "note")}" width="2" height="4"/>'


def _grid(span: float) -> str:
    step = span_of(span * 4 / 7) / 4
    ticks = [n * step for n in range(int(span / step) + 1)]
    return "".join(
        f'<line class="over__g" x1="{100 * at / span:.2f}%" x2="{100 * at / span:.2f}%" y2="47"/>'
        + (
            f'<text x="{100 * at / span:.2f}%" dx="3" y="44">{at / 1000:g} s</text>'
            if at < span * 0.97
            else ""
        )
        for at in ticks
    )


def _brush(window: tuple[float, float] | None, span: float) -> str:
    if window is None:
        return ""
    x, width = 100 * window[0] / span, 100 * (window[1] - window[0]) / span
    across, end = _across(x, width), min(100.0, max(0.0, x + width))
    return (
        f'<rect class="over__w" {across} height="34"/>'
        f'<rect class="over__we" {across} y="33" height="2"/>'
        f'<rect class="over__we" x="{end:.2f}%" width="2" height="35"/>'
    )


def _across(x: float, width: float, *, least: float = 0.0, digits: int = 2) -> str:
    """`x` and `width` attributes in per cent: what of the stretch lies inside 0 to 100, `least` wide at least."""
    left, right = min(max(x, 0.0), 100.0), min(max(x + width, 0.0), 100.0)
    wide = max(right - left, least)
    left = round(min(left, 100.0 - wide), digits)
    return f'x="{left:.{digits}f}%" width="{min(wide, 100.0 - left):.{digits}f}%"'


def _down(y: float, height: float) -> str:
    """`y` and `height` attributes in px, inside the height of a treemap."""
    top = round(min(max(y, 0.0), HEIGHT), 1)
    return f'y="{top:.1f}" height="{min(max(height, 0.0), HEIGHT - top):.1f}"'


def _hidden(classes: str, inner: str) -> Markup:
    """A drawing whose facts stand in words beside it; `inner` is SVG text made from numbers."""
    return Markup(f'<svg class="{classes}" aria-hidden="true">{inner}</svg>')  # noqa: S704


def _image(says: str, parts: Iterable[str], height: int) -> Markup:
    """An image with a one-sentence text alternative; `parts` are SVG text, labels escaped."""
    body = Markup("".join(parts))  # noqa: S704
    return Markup('<svg role="img" aria-label="{}" height="{}" width="100%">{}</svg>').format(
        visible(says).striptags(), height, body
    )
