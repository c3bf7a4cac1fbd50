"""The Lab's drawings: tokens by request on a log scale, billed by request, lines over turns or sizes. Pure, any thread.

A series has a colour, a dash and a mark of its own, the same on every chart (docs/look.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

from inspector.discovery.prompt_cache import Use

DASH: Final = {"": "", "long": "6 3", "short": "2 3", "mixed": "7 3 2 3"}
STYLE: Final[Mapping[str, tuple[str, str, str]]] = {
    "full": ("text", "", "square"),
    "categories": ("ann", "long", "up"),
    "search_inject": ("meta", "", "diamond"),
    "search_stable": ("desc", "", "dot"),
    "gateway_search": ("out", "", "down"),
    "gateway_code": ("schema", "short", "cross"),
    "gateway_code_search": ("out", "short", "cross"),
    "provider_search": ("name", "long", "dot"),
    "servers_on_demand": ("ann", "short", "square"),
    "server_driven": ("schema", "", "up"),
}
"""Fill, dash and mark of every strategy; one that has no row looks like `full`."""
MARKS: Final = {
    "square": "M-3.500 -3.500h7v7h-7z",
    "up": "M0 -4.500 4.500 3.500h-9z",
    "down": "M0 4.500 4.500 -3.500h-9z",
    "diamond": "M0 -4.500 4.500 0 0 4.500 -4.500 0z",
    "dot": "M-3.500 0a3.500 3.500 0 1 0 7 0a3.500 3.500 0 1 0 -7 0z",
    "cross": "M-3.500 -3.500l7 7m0 -7l-7 7",
}
HEIGHT: Final = 200
TOP: Final = 8
FOOT: Final = 20
LEFT: Final = 7.0
RIGHT: Final = 72.0
"""The plot's edges in per cent of the width; labels stand to the right of it."""
APART: Final = 14


@dataclass(frozen=True, slots=True)
class Series:
    """One line. id: a strategy; values: from the left; on: the one that is looked at."""

    id: str
    values: Sequence[float]
    on: bool = False


def mark(id_: str) -> Markup:
    """The sample of a series for a table row."""
    fill, dash, shape = STYLE.get(id_, STYLE["full"])
    drawn = f'<line class="s-{fill}" x1="0" x2="28" y1="7" y2="7"{_dash(dash)}/>{_mark(shape, fill, "14", 7)}'
    return Markup(f'<svg class="lab__key" viewBox="0 0 28 14" aria-hidden="true">{drawn}</svg>')  # noqa: S704


def lines(
    series: Sequence[Series],
    says: str,
    *,
    log: bool,
    window: int = 0,
    labels: Sequence[str] = (),
    at: int = -1,
) -> Markup:
    """Lines with their last value named at their end. window: a model's, whose 5 % is drawn when in sight; labels: of
    the places on the x axis; at: the place one looks at."""
    shown = [each for each in series if each.values]
    if not shown:
        return Markup("")
    count = max(len(labels), *[len(each.values) for each in shown])
    every = [value for each in shown for value in each.values]
    scale = _Scale.of(every, log)
    parts = [_window(scale, window), _grid(scale), _places(count, labels), _here(at, count)]
    ordered = sorted(shown, key=lambda each: each.on)
    parts += [_line(each, scale, count) for each in ordered]
    parts += _ends(shown, scale)
    return _image(says, "".join(parts), HEIGHT)


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    log: bool

    @classmethod
    def of(cls, values: Sequence[float], log: bool) -> _Scale:
        low, high = min(values), max(values)
        if log:
            return cls(max(low * 0.8, 1.0), max(high * 1.25, 10.0), True)
        return cls(min(0.0, low * 1.1), max(high * 1.1, 1e-9, 0.0), False)

    def y(self, value: float) -> float:
        if self.log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(TOP + (HEIGHT - FOOT - TOP) * (1 - min(max(share, 0.0), 1.0)), 1)

    def ticks(self) -> list[float]:
        if self.log:
            found = [
                factor * 10.0**power
                for power in range(9)
                for factor in (1, 2, 5)
                if self.low <= factor * 10.0**power <= self.high
            ]
            return found if len(found) <= 7 else [tick for tick in found if str(tick)[0] != "2"][:9]
        step = 10 ** math.floor(math.log10((self.high - self.low) or 1.0))
        while (self.high - self.low) / step > 5:
            step *= 2
        first = math.ceil(self.low / step)
        return [step * number for number in range(first, int(self.high / step) + 1)]


def _x(place: int, count: int) -> float:
    return LEFT + 1.5 + (RIGHT - LEFT - 3) * (place / (count - 1) if count > 1 else 0.5)


def _dash(name: str) -> str:
    return f' stroke-dasharray="{DASH[name]}"' if DASH[name] else ""


def _mark(shape: str, fill: str, x: str, y: float) -> str:
    cross = shape == "cross"
    cls = f"s-{fill} lab__x" if cross else f"f-{fill}"
    return f'<svg x="{x}" y="{y}" overflow="visible"><path class="{cls}" d="{MARKS[shape]}"/></svg>'


def _line(series: Series, scale: _Scale, count: int) -> str:
    fill, dash, shape = STYLE.get(series.id, STYLE["full"])
    places = [(_x(at, count), scale.y(value)) for at, value in enumerate(series.values)]
    points = " ".join([f"{x * 10:.1f},{y}" for x, y in places])
    on = ' class="lab__on"' if series.on else ""
    line = (
        f'<svg width="100%" height="{HEIGHT}" viewBox="0 0 1000 {HEIGHT}" preserveAspectRatio="none">'
        f'<polyline class="s-{fill}" points="{points}"{_dash(dash)}/></svg>'
    )
    marks = "".join([_mark(shape, fill, f"{x:.2f}%", y) for x, y in places]) if len(places) <= 24 else ""
    return f"<g{on}>{line}{marks}</g>"


def _ends(series: Sequence[Series], scale: _Scale) -> list[str]:
    """Names at the end of the lines, pushed apart where they would overlap."""
    placed = sorted([(scale.y(each.values[-1]), each) for each in series], key=lambda pair: pair[0])
    ys: list[float] = []
    for y, _ in placed:
        ys.append(max(y + 4, ys[-1] + APART if ys else TOP + 4))
    over = max(ys[-1] - (HEIGHT - 6), 0.0)
    if over:
        ys = [
            max(y - over, TOP + 4 + number * min(APART, (HEIGHT - 10) / len(ys)))
            for number, y in enumerate(ys)
        ]
    return [
        f'<text class="b{" lab__on" if each.on else ""}" x="{RIGHT + 1}%" y="{y:.1f}">{escape(each.id)}'
        f'<tspan class="lab__v"> {_number(each.values[-1])}</tspan></text>'
        for y, (_, each) in zip(ys, placed, strict=True)
    ]


def _grid(scale: _Scale) -> str:
    return "".join(
        [
            f'<line class="{"base" if tick == 0 else "grid"}" x1="{LEFT}%" x2="{RIGHT}%" y1="{scale.y(tick)}" '
            f'y2="{scale.y(tick)}"/><text x="{LEFT - 0.6}%" y="{scale.y(tick) + 4}" text-anchor="end">'
            f"{_short(tick)}</text>"
            for tick in scale.ticks()
        ]
    )


def _window(scale: _Scale, window: int) -> str:
    limit = window * 0.05
    if not window or not scale.low < limit < scale.high:
        return ""
    y = scale.y(limit)
    return (
        f'<rect class="window" x="{LEFT}%" width="{RIGHT - LEFT}%" y="{TOP}" height="{max(y - TOP, 0)}"/>'
        f'<line class="thresh" x1="{LEFT}%" x2="{RIGHT}%" y1="{y}" y2="{y}"/>'
        f'<text x="{RIGHT - 0.5}%" y="{y - 4 if y > 24 else y + 13}" text-anchor="end" class="lab__w">'
        f"5 % of the {_short(window)} window</text>"
    )


def _places(count: int, labels: Sequence[str]) -> str:
    said = list(labels) or [str(number + 1) for number in range(count)]
    every = max(1, -(-len(said) // 20))
    return "".join(
        [
            f'<text x="{_x(at, count):.2f}%" y="{HEIGHT - 4}" text-anchor="middle">{escape(word)}</text>'
            for at, word in enumerate(said)
            if at % every == 0
        ]
    )


def _here(at: int, count: int) -> str:
    if not 0 <= at < count:
        return ""
    x = _x(at, count)
    return f'<rect class="lab__here" x="{x - 1:.2f}%" width="2%" y="{TOP}" height="{HEIGHT - FOOT - TOP}"/>'


def bars(uses: Sequence[tuple[Use, float]], says: str) -> Markup:
    """Tokens of each provider request: read, written, fresh; what it is billed stands on top."""
    height, most = 120, max([use.tokens for use, _ in uses], default=0)
    if not most:
        return Markup("")
    width = 94.0 / max(len(uses), 6)
    drawn = [f'<line class="base" x1="0" x2="100%" y1="{height - 20}" y2="{height - 20}"/>']
    for at, (use, billed) in enumerate(uses):
        x, y = 3 + at * width, height - 20.0
        for count, cls in ((use.read, "f-ok"), (use.write, "f-desc"), (use.fresh, "lab__hatch")):
            tall = (height - 44) * count / most
            y -= tall
            if count:
                drawn.append(
                    f'<rect class="{cls}" x="{x:.2f}%" width="{width * 0.7:.2f}%" y="{y:.1f}" height="{tall:.1f}"/>'
                )
        middle = f'x="{x + width * 0.35:.2f}%" text-anchor="middle"'
        drawn.append(f'<text class="b" {middle} y="{max(y - 4, 10):.1f}">{_number(billed)}</text>')
        drawn.append(f'<text {middle} y="{height - 5}">{at + 1}</text>')
    return _image(says, "".join(drawn), height)


def _number(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−") if abs(value) >= 100 or value == int(value) else f"{value:,.1f}"


def _short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def _image(says: str, drawn: str, height: int) -> Markup:
    """`drawn` is SVG text made from numbers and escaped words."""
    return Markup('<svg class="chart" role="img" aria-label="{}" height="{}">{}</svg>').format(
        says,
        height,
        Markup(drawn),  # noqa: S704
    )
