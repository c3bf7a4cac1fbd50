"""One row a figure, the machine it was measured on, and both as text and as JSON."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import median
from typing import Any

import psutil

from benchmarks.timing import Ratio, Times, ratio_of

HEADS = ("name", "ours", "baseline", "ratio", "quartiles", "cpu", "bar", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ours and baseline are medians in `unit`; cpu is the ratio of CPU times, None where not measured.

    bar: what the ratio may be at most; floor, ceiling: what `ours` must and may be. Without one the row is for reading.
    """

    name: str
    unit: str
    ours: float
    baseline: float | None
    against: str
    ratio: Ratio | None = None
    cpu: float | None = None
    bar: float | None = None
    floor: float | None = None
    ceiling: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.bar is not None and self.ratio is not None:
            return "ok" if self.ratio.value <= self.bar else "over"
        if self.floor is not None:
            return "ok" if self.ours >= self.floor else "under"
        if self.ceiling is not None:
            return "ok" if self.ours <= self.ceiling else "over"
        return ""

    @property
    def limit(self) -> str:
        if self.bar is not None:
            return f"≤ {self.bar:g}"
        if self.floor is not None:
            return f"≥ {self.floor:,.0f}"
        return "" if self.ceiling is None else f"≤ {self.ceiling:g} {self.unit}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}

    def cells(self) -> tuple[str, ...]:
        spread = f"{self.ratio.low:.2f}–{self.ratio.high:.2f}" if self.ratio else ""
        return (
            self.name,
            quantity(self.ours, self.unit),
            "" if self.baseline is None else quantity(self.baseline, self.unit),
            f"{self.ratio.value:.2f}" if self.ratio else "",
            spread,
            "" if self.cpu is None else f"{self.cpu:.2f}",
            self.limit,
            self.verdict,
        )


def compared(
    name: str,
    ours: Times,
    baseline: Times,
    against: str,
    *,
    bar: float | None = None,
    per: int = 1,
    note: str = "",
) -> Row:
    """The row of two interleaved sides, in milliseconds. per: how many things one round did."""
    return Row(
        name,
        "ms",
        median(ours.wall) * 1000 / per,
        median(baseline.wall) * 1000 / per,
        against,
        ratio_of(ours.wall, baseline.wall),
        median(ours.cpu) / median(baseline.cpu),
        bar,
        note=note,
    )


def quantity(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def machine() -> dict[str, Any]:
    """What the figures were measured on. load: runnable processes over the last 1, 5 and 15 minutes."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "mcp": version("mcp"),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def describe(facts: dict[str, Any]) -> str:
    load = " ".join(map(str, facts["load"]))
    return (
        f"{facts['at']}  {facts['system']}  {facts['cores']} cores  {facts['memory_gib']} GiB  "
        f"Python {facts['python']}  mcp {facts['mcp']}  load {load}"
    )


def print_rows(rows: Iterable[Row]) -> None:
    """As soon as they are measured: the widths are fixed."""
    for row in rows:
        print_cells(row.cells())
        print(f"{'':22} against {row.against}{'. ' + row.note if row.note else ''}")
        sys.stdout.flush()


def print_cells(cells: tuple[str, ...]) -> None:
    name, *numbers, verdict = cells
    widths = (14, 14, 7, 16, 6, 14)
    print(
        f"{name:26}" + "".join(f"{text:>{width}}" for text, width in zip(numbers, widths, strict=True)),
        "",
        verdict,
    )
