"""Pairs of measurements, interleaved, so that a busy machine slows both sides. Runs on the caller's thread."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median, quantiles


def nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Side:
    """One of the things compared. settle: what it leaves to do (a commit), outside the wall time, in the CPU time."""

    run: Callable[[], object]
    settle: Callable[[], object] = nothing


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each round. cpu: of this process, all its threads, without its children."""

    wall: list[float]
    cpu: list[float]


def interleaved(rounds: int, sides: dict[str, Side], *, warm: int = 1) -> dict[str, Times]:
    """Run every side once a round, in turning order, after `warm` rounds that do not count."""
    times = {name: Times([], []) for name in sides}
    for number in range(-warm, rounds):
        order = list(sides) if number % 2 else list(reversed(sides))
        for name in order:
            wall, cpu = _once(sides[name])
            if number >= 0:
                times[name].wall.append(wall)
                times[name].cpu.append(cpu)
    return times


def _once(side: Side) -> tuple[float, float]:
    gc.collect()  # what the other side left behind is not this side's time
    cpu = time.process_time()
    began = time.perf_counter()
    side.run()
    wall = time.perf_counter() - began
    side.settle()
    return wall, time.process_time() - cpu


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two medians; low and high are the quartiles of the ratios within each round."""

    value: float
    low: float
    high: float


def ratio_of(ours: list[float], baseline: list[float]) -> Ratio:
    within = [a / b for a, b in zip(ours, baseline, strict=True)]
    low, _, high = quantiles(within, n=4) if len(within) > 1 else (within[0],) * 3
    return Ratio(median(ours) / median(baseline), low, high)


def p95(values: Iterable[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]
