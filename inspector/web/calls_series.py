"""The numbers and the plot of a repeated call. Pure, any thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from markupsafe import Markup

from inspector.console import outcome as outcomes
from inspector.console.outcome import Outcome
from inspector.web.headlines import OUTPUT_INVALID, headline

BARS: Final = 100


@dataclass(frozen=True, slots=True)
class Series:
    """The ends of a repeated call. rows: (label, ms) of its times, None before any; counts: ends by word."""

    rows: tuple[tuple[str, float | None], ...]
    counts: tuple[tuple[str, int], ...]
    ended: int
    runs: int
    plot: Markup = field(repr=False)

    @property
    def errors(self) -> int:
        return sum(count for what, count in self.counts if what not in (outcomes.OK, OUTPUT_INVALID))

    @property
    def invalid(self) -> int:
        return dict(self.counts).get(OUTPUT_INVALID, 0)


def series_of(timings: Mapping[str, Any], ended: Sequence[Outcome]) -> Series:
    """The numbers of a series so far; times are of answered calls only."""
    rows = tuple([(name, timings.get(name)) for name in ("p50", "p95", "min", "max")])
    words = Counter(headline(one).word if one.what == outcomes.OK else one.what for one in ended)
    return Series(rows, tuple(sorted(words.items())), timings["ended"], timings["runs"], plot_of(ended))


def plot_of(ended: Sequence[Outcome]) -> Markup:
    """A bar for each call in order, as high as it took long; what did not end well is red and full height.

    More than BARS calls share bars: a bar is the slowest of its calls.
    """
    per = max(1, -(-len(ended) // BARS))
    groups = [ended[at : at + per] for at in range(0, len(ended), per)]
    most = max([one.ms or 0.0 for one in ended], default=0.0) or 1.0
    step = 100 / max(1, len(groups))
    bars = []
    for at, group in enumerate(groups):
        bad = any(one.what != outcomes.OK for one in group)
        height = 32.0 if bad else max(1.0, 32 * max([one.ms or 0.0 for one in group]) / most)
        fill = "err" if bad else "desc"
        bars.append(
            f'<rect class="f-{fill}" x="{at * step:.2f}%" y="{32 - height:.1f}" width="{step * 0.8:.2f}%"'
            f' height="{height:.1f}"/>'
        )
    says = f"Times of {len(ended)} calls in order; the slowest answer took {most:.1f} ms."
    if not ended:
        says = "No call has ended yet."
    return Markup(f'<svg class="call__plot" role="img" aria-label="{says}">{"".join(bars)}</svg>')  # noqa: S704 -- numbers and our own words only
