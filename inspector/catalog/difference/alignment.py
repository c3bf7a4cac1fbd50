"""Which tool of one catalog is which of the other: by name, collisions and nameless tools included. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.catalog.difference.likeness import propose
from inspector.catalog.difference.side import Tool


@dataclass(frozen=True, slots=True)
class Pair:
    """A tool before and after; one of them is None when it was added or removed. likeness: 0..1 when the two have
    different names and are only proposed to be the same. copy: which of several tools of that name, from 1."""

    before: Tool | None
    after: Tool | None
    likeness: float | None = None
    copy: int = 1


@dataclass(frozen=True, slots=True)
class Aligned:
    """Pairs in the order of the first catalog, then what was added in the order of the second.

    unproposed: how many removed and added tools were looked at only for equality, because they were too many.
    """

    pairs: tuple[Pair, ...]
    unproposed: int = 0


def align(before: Sequence[Tool], after: Sequence[Tool]) -> Aligned:
    """Pair by name, then propose renames among what is left. Linear in the number of tools."""
    old, new = _by_name(before), _by_name(after)
    pairs: list[Pair] = []
    for name, tools in old.items():
        others = new.get(name, [])
        if len(tools) == len(others) == 1:
            pairs.append(Pair(tools[0], others[0]))
        elif not others:
            pairs += [Pair(tool, None, copy=copy) for copy, tool in enumerate(tools, 1)]
        else:
            pairs += _collided(tools, others)
    for name, tools in new.items():
        if name not in old:
            pairs += [Pair(None, tool, copy=copy) for copy, tool in enumerate(tools, 1)]
    return _with_renames(pairs)


def _by_name(tools: Sequence[Tool]) -> dict[str | None, list[Tool]]:
    groups: dict[str | None, list[Tool]] = {}
    for tool in tools:
        groups.setdefault(tool.name, []).append(tool)
    return groups


def _collided(before: list[Tool], after: list[Tool]) -> list[Pair]:
    """Tools that share a name: equal ones first (by canonical form, as a lock holds them), the rest in order."""
    texts: dict[str, list[Tool]] = {}
    for tool in after:
        texts.setdefault(tool.canonical, []).append(tool)
    partner: dict[int, Tool] = {}
    for tool in before:
        if equals := texts.get(tool.canonical):
            partner[id(tool)] = equals.pop(0)
    taken = {id(tool) for tool in partner.values()}
    rest = iter([tool for tool in after if id(tool) not in taken])
    matched = [(tool, partner.get(id(tool)) or next(rest, None)) for tool in before]
    ends = [*matched, *[(None, tool) for tool in rest]]
    return [Pair(old, new, copy=copy) for copy, (old, new) in enumerate(ends, 1)]


def _with_renames(pairs: list[Pair]) -> Aligned:
    """Replace a removed and an added tool that are alike by one pair, where the removed one stood."""
    removed = [pair.before for pair in pairs if pair.after is None and pair.before and not pair.before.broken]
    added = [pair.after for pair in pairs if pair.before is None and pair.after and not pair.after.broken]
    proposals, unproposed = propose(removed, added)
    if not proposals:
        return Aligned(tuple(pairs), unproposed)
    renamed = {id(before): Pair(before, after, score) for before, after, score in proposals}
    gone = {id(after) for _, after, _ in proposals}
    kept = [
        renamed.get(id(pair.before), pair) if pair.after is None else pair
        for pair in pairs
        if pair.before is not None or id(pair.after) not in gone
    ]
    return Aligned(tuple(kept), unproposed)
