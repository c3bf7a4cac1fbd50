"""What the rules see in one listing, as the catalog screen shows it: by item, by rule, by severity. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from markupsafe import Markup

from inspector.catalog.findings.rule import SEVERITIES, Finding, Place, rules
from inspector.web.highlight import visible

PLACES: Final = 8
"""Places of one rule that are shown in an item."""
ITEMS: Final = 100
"""Items of one rule that are named in the overview; the table lists them all."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An item in the table: the gravest severity, and by how many rules it is found."""

    severity: str
    count: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What one rule sees in one item. places: (JSON pointer, what the title leaves open); more: how many are not shown.

    saves_bytes: of definitions, were the remedy followed; over `of_items` items, None when not counted.
    """

    rule: str
    severity: str
    title: str
    remedy: str
    places: tuple[tuple[str, str], ...]
    more: int
    saves_bytes: int | None
    of_items: int


@dataclass(frozen=True, slots=True)
class Group:
    """What one rule sees in the whole list. sentences: about the list as such.

    items: (position, JSON pointer, what the title leaves open) of the first place in each; count: of all items.
    """

    rule: str
    severity: str
    title: str
    remedy: str
    saves_bytes: int | None
    sentences: tuple[str, ...]
    items: tuple[tuple[int, str, str], ...] = field(repr=False)
    count: int


class Finds:
    """The findings of a listing, without the rules that are off. Prepared once, then asked for each row."""

    def __init__(self, findings: Sequence[Finding], off: frozenset[str] = frozenset()) -> None:
        self.off = off & {finding.rule for finding in findings}
        """Of the rules that are off, those that would have something to say."""
        self._by_rule: dict[str, list[Finding]] = {}
        self._by_item: dict[int, dict[str, list[Place]]] = {}
        for finding in findings:
            if finding.rule not in off:
                self._by_rule.setdefault(finding.rule, []).append(finding)
                for place in finding.places:
                    if place.index is not None:
                        of_item = self._by_item.setdefault(place.index, {})
                        of_item.setdefault(finding.rule, []).append(place)

    @property
    def counts(self) -> dict[str, int]:
        """How many rules of each severity see something, the gravest first; those that see nothing left out."""
        found = [rules()[rule].severity for rule in self._by_rule]
        return {severity: found.count(severity) for severity in SEVERITIES if severity in found}

    def mark(self, index: int) -> Mark | None:
        """The item in the table; None when no rule sees anything."""
        seen = self._by_item.get(index)
        return Mark(_gravest(seen), len(seen)) if seen else None

    def rank(self, index: int) -> tuple[int, int]:
        """For sorting: more and graver is larger."""
        seen = self._by_item.get(index, {})
        return (len(SEVERITIES) - SEVERITIES.index(_gravest(seen)) if seen else 0, len(seen))

    def concerns(self, index: int, find: str) -> bool:
        """Whether a rule, or any rule of a severity, sees something in an item."""
        seen = self._by_item.get(index, {})
        return find in seen or any(rules()[rule].severity == find for rule in seen)

    def of_item(self, index: int) -> list[Seen]:
        """What the rules see in one item, the gravest first."""
        seen = [self._seen(rule, places) for rule, places in self._by_item.get(index, {}).items()]
        return sorted(seen, key=lambda each: SEVERITIES.index(rules()[each.rule].severity))

    def _seen(self, id: str, places: Sequence[Place]) -> Seen:
        rule = rules()[id]
        index = places[0].index
        mine = [each for each in self._by_rule[id] if any(place.index == index for place in each.places)]
        saves = [each.saves_bytes for each in mine if each.saves_bytes is not None]
        shown = tuple([(place.path, place.message) for place in places[:PLACES]])
        return Seen(
            id, rule.severity, rule.title, rule.remedy, shown, len(places) - len(shown),
            sum(saves) if saves else None, len({place.index for each in mine for place in each.places}),
        )  # fmt: skip

    def groups(self, find: str = "") -> list[tuple[str, list[Group]]]:
        """(severity, its rules) of the whole list, the gravest first; only one rule or severity with `find`."""
        wanted = [
            _group(rule, found)
            for rule, found in self._by_rule.items()
            if find in ("", rule, rules()[rule].severity)
        ]
        wanted.sort(key=lambda group: SEVERITIES.index(rules()[group.rule].severity))
        return [(severity, list(of)) for severity, of in groupby(wanted, key=lambda group: group.severity)]


def _group(id: str, found: Iterable[Finding]) -> Group:
    rule = rules()[id]
    saves = [each.saves_bytes for each in found if each.saves_bytes is not None]
    places = [place for each in found for place in each.places]
    firsts: dict[int, Place] = {}
    for place in places:
        if place.index is not None:
            firsts.setdefault(place.index, place)
    items = [(index, place.path, place.message) for index, place in list(firsts.items())[:ITEMS]]
    sentences = dict.fromkeys(place.message for place in places if place.index is None and place.message)
    return Group(
        id, rule.severity, rule.title, rule.remedy, sum(saves) if saves else None, tuple(sentences), tuple(items),
        len(firsts),
    )  # fmt: skip


def _gravest(seen: Mapping[str, object]) -> str:
    return min((rules()[rule].severity for rule in seen), key=SEVERITIES.index)


def ticked(text: str) -> Markup:
    """Safe text, what stands between backticks as code."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        return visible(text)
    parts = [
        Markup("<code>{}</code>").format(visible(each)) if n % 2 else visible(each)
        for n, each in enumerate(pieces)
    ]
    return Markup("").join(parts)


def known(find: str) -> bool:
    """Whether an address may ask for it: the id of a rule, or a severity."""
    return find in SEVERITIES or find in rules()
