"""What a list's screen needs of its bytes alone, made once however often tokens and findings come. Pure, any thread."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from inspector.catalog import jsontext
from inspector.catalog.measure import Measure
from inspector.catalog.report import MeasuredListing
from inspector.protocol import names
from inspector.web import charts
from inspector.web.catalog_change import Change, compare

FEW: Final = (14, 60)
MANY: Final = (10, 16)
"""Families, and cells in each, that a treemap shows at most. A cell weighs 600 B, and nobody hits tiny ones."""
MANY_TOOLS: Final = 400

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_DESCRIPTION: Final = re.compile(
    rf'\{{(?:"(?!description"){_STRING[1:]}:{_STRING},)*+("description":({_STRING}))'
)


@dataclass(frozen=True, slots=True)
class Fold:
    """A family as the treemap shows it. shown: positions with a cell of their own; rest: one cell for the others.

    count: how many items the family has.
    """

    name: str
    shown: Sequence[int]
    rest: charts.Cell | None
    count: int


@dataclass(frozen=True, slots=True)
class Folds:
    """All families: those with a place of their own, the next ones (positions by name), and a cell for the last."""

    families: Sequence[Fold]
    others: Sequence[tuple[str, Sequence[int]]]
    rest: charts.Cell | None
    count: int


class Weighed:
    """The measures of a list, indexed."""

    def __init__(self, measured: MeasuredListing) -> None:
        self.measured = measured
        self.measures = measured.measures
        self.bytes = measured.definition_bytes
        self.most = max((each.definition_bytes for each in self.measures), default=0)
        self.named: dict[str, list[int]] = {}
        for index, each in enumerate(self.measures):
            if each.name is not None:
                self.named.setdefault(each.name, []).append(index)
        self._change: tuple[MeasuredListing, Change] | None = None

    def change(self, before: MeasuredListing) -> Change:
        """What differs from the listing before."""
        if self._change is None or self._change[0] is not before:
            self._change = before, compare(before, self.measured)
        return self._change[1]

    @cached_property
    def parts(self) -> dict[str, int]:
        """Bytes by part, of all items."""
        return summed(self.measures)

    @cached_property
    def texts(self) -> list[str]:
        """What a search looks at: name and description of each item, caseless."""
        return [f"{each.name or ''}\n{description(each)}".casefold() for each in self.measures]

    @cached_property
    def families(self) -> dict[str, list[int]]:
        """The positions of each family, the costliest family first."""
        found: dict[str, list[int]] = {}
        for index, each in enumerate(self.measures):
            found.setdefault(names.family(each.name or ""), []).append(index)
        weight = {name: self._weight(of) for name, of in found.items()}
        return {name: found[name] for name in sorted(found, key=lambda name: -weight[name])}

    @cached_property
    def folds(self) -> Folds:
        """The families as the treemap shows them; those beyond the first ones are cells of a last one."""
        families = list(self.families.items())
        most, cells = FEW if len(self.measures) <= MANY_TOOLS else MANY
        kept = most if len(families) <= most else most - 1
        others = families[kept:]
        shown = others if len(others) <= cells else others[: cells - 1]
        last = [index for _, of in others[len(shown) :] for index in of]
        rest = self._rest(last, f"{len(others) - len(shown):,} more") if last else None
        folded = [self._fold(name, of, cells) for name, of in families[:kept]]
        return Folds(folded, shown, rest, len(others))

    def _fold(self, name: str, of: Sequence[int], most: int) -> Fold:
        if len(of) <= most:
            return Fold(name, of, None, len(of))

        def rank(index: int) -> tuple[int, str]:
            return -self.measures[index].definition_bytes, self.measures[index].name or ""

        shown = heapq.nsmallest(most - 1, of, key=rank)
        left = set(of).difference(shown)
        return Fold(name, shown, self._rest(left, f"{len(left):,} more"), len(of))

    def _rest(self, positions: Iterable[int], said: str) -> charts.Cell:
        parts = summed([self.measures[index] for index in positions])
        return charts.Cell(said, sum(parts.values()), parts, single=False)

    def _weight(self, positions: Iterable[int]) -> int:
        return sum([self.measures[index].definition_bytes for index in positions])


def summed(measures: Iterable[Measure]) -> dict[str, int]:
    """Bytes by part."""
    parts: dict[str, int] = {}
    for each in measures:
        for key, size in each.parts.items():
            parts[key] = parts.get(key, 0) + size
    return parts


def description(measure: Measure) -> str:
    """The description of an item, empty when it has none that is text."""
    weight = measure.parts.get("description")
    if weight is None:
        return ""
    near = _DESCRIPTION.match(measure.text)
    try:
        # Nearly always it stands before anything that is no string; of the same weight, so there is no second one.
        if near and len(jsontext.utf8(near[1])) == weight:
            return str(jsontext.loads(near[2])) if "\\" in near[2] else near[2][1:-1]
        found = jsontext.loads(measure.text).get("description")
    except (ValueError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""
