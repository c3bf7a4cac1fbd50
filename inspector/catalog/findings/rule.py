"""The registry of rules, and `find`, which runs them over one list. Pure; run it in the worker process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Literal

from inspector.catalog.findings.subject import Subject, some

Severity = Literal["error", "caution", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "caution", "note")
"""error: breaks the specification, or something will fail. caution: likely to hurt. note: could be better."""

MOST_ROWS: Final = 5
"""A rule that finds something in more items than this gives one finding for all of them."""

_THEMES: Final = (
    *("listing", "names", "schemas", "parameters", "contracts", "wording"),
    *("characters", "sending", "likeness", "weight", "others"),
)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a check yields. index: the item's, None for the list; path: JSON pointer into the item.

    message: what the title leaves open about this place, without a full stop; may be empty. saves_bytes: of
    the definition, None when not counted.
    """

    index: int | None
    path: str
    message: str
    saves_bytes: int | None = None


Check = Callable[[Subject], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for. title: what is so when it fires; spec: section or other source.

    across: it looks at the list as a whole, or holds items against each other; the others are given a block of
    items at a time.
    """

    id: str
    severity: Severity
    title: str
    why: str
    remedy: str
    spec: str
    check: Check
    across: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding holds. tool: the item's name; both None for the list as a whole."""

    tool: str | None
    index: int | None
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation: a row for people. rule: its id.

    tool, index and path stand when it concerns one item; None, None and "" otherwise. places: everywhere it
    holds, one item after the other. saves_bytes: of definitions, were the remedy followed; None = not counted.
    """

    rule: str
    severity: Severity
    tool: str | None
    index: int | None
    path: str
    message: str
    remedy: str
    saves_bytes: int | None
    places: tuple[Place, ...]


def rule(
    id: str, severity: Severity, title: str, *, why: str, remedy: str, spec: str, across: bool = False
) -> Callable[[Check], Rule]:
    """Make a check a `Rule`; `rules` picks up whatever the theme modules hold."""
    return lambda check: Rule(id, severity, title, why, remedy, spec, check, across)


@functools.cache
def rules() -> dict[str, Rule]:
    """Every rule by id, theme by theme, in the order written."""
    modules = [import_module(f"inspector.catalog.findings.{theme}") for theme in _THEMES]
    return {each.id: each for module in modules for each in vars(module).values() if isinstance(each, Rule)}


def find(subject: Subject, *, off: frozenset[str] = frozenset()) -> list[Finding]:
    """What the rules see, gravest first, then by what could be saved and by how much it concerns.

    off: ids of rules not to run. Rules that concern more than `MOST_ROWS` items give one finding.
    """
    chosen = [each for each in rules().values() if each.id not in off]
    hits = _hits_by_item([each for each in chosen if not each.across], subject)
    found = []
    for each in chosen:
        found += _rows(each, subject, each.check(subject) if each.across else hits.pop(each.id))
    return sorted(found, key=_rank)


def _hits_by_item(chosen: list[Rule], subject: Subject) -> dict[str, list[Hit]]:
    """What the rules that look at each item by itself see, by their ids; block by block."""
    hits: dict[str, list[Hit]] = {each.id: [] for each in chosen}
    for block in subject.blocks() if chosen else ():
        for each in chosen:
            hits[each.id] += each.check(block)
    return hits


def _rank(finding: Finding) -> tuple[int, int, int]:
    return SEVERITIES.index(finding.severity), -(finding.saves_bytes or 0), -len(finding.places)


def _rows(rule: Rule, subject: Subject, hits: Iterable[Hit]) -> list[Finding]:
    of_list: list[list[Hit]] = []
    of_items: dict[int, list[Hit]] = {}
    for hit in hits:
        if hit.index is None:
            of_list.append([hit])
        else:
            of_items.setdefault(hit.index, []).append(hit)
    return [*_gathered(rule, subject, of_list), *_gathered(rule, subject, list(of_items.values()))]


def _gathered(rule: Rule, subject: Subject, rows: list[list[Hit]]) -> list[Finding]:
    if len(rows) > MOST_ROWS:
        return [_summed(rule, subject, rows)]
    return [_single(rule, subject, hits) for hits in rows]


def _single(rule: Rule, subject: Subject, hits: list[Hit]) -> Finding:
    first = hits[0]
    message = f"{rule.title}: {first.message}" if first.message else rule.title
    message += "." if len(hits) == 1 else f", and {len(hits) - 1:,} more in the same item."
    return _finding(rule, subject, hits, _name(subject, first.index), first.index, first.path, message)


def _summed(rule: Rule, subject: Subject, rows: list[list[Hit]]) -> Finding:
    if rows[0][0].index is None:
        message = f"{rule.title}, {len(rows):,} times: {rows[0][0].message}."
    else:
        names = [_name(subject, hits[0].index) or f"number {(hits[0].index or 0) + 1}" for hits in rows]
        of_all = f"{len(rows):,} of {len(subject.measures):,} {subject.what}"
        message = f"{rule.title}: {of_all}, such as {some(names)}."
    return _finding(rule, subject, [hit for hits in rows for hit in hits], None, None, "", message)


def _finding(
    rule: Rule,
    subject: Subject,
    hits: list[Hit],
    tool: str | None,
    index: int | None,
    path: str,
    message: str,
) -> Finding:
    saved = [hit.saves_bytes for hit in hits if hit.saves_bytes is not None]
    places = [Place(_name(subject, hit.index), hit.index, hit.path, hit.message) for hit in hits]
    return Finding(
        rule.id,
        rule.severity,
        tool,
        index,
        path,
        message,
        rule.remedy,
        sum(saved) if saved else None,
        tuple(places),
    )


def _name(subject: Subject, index: int | None) -> str | None:
    return None if index is None else subject.measures[index].name
