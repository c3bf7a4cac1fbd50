"""Which removed tool may live on under another name: proposals with a score, never assertions. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from inspector.catalog.difference.side import Tool
from inspector.catalog.jsontext import compact_value

ENOUGH: Final = 0.6
"""Likeness from which a rename is proposed: over the corpus, below this the pairs are siblings, not renames."""
MOST_LOOKED_AT: Final = 500
"""Removed or added tools above which only equal definitions are proposed: words would cost more than parsing."""
_COMMON: Final = 40
_CANDIDATES: Final = 5
_LONGEST_WORDS: Final = 1_000
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
# A feature counts as much as it tells: two tools with the same parameters are more alike than two with a word in common.
_WEIGHTS: Final = {"n": 2.0, "p": 2.0, "d": 1.0}

Proposal = tuple[Tool, Tool, float]


def propose(removed: Sequence[Tool], added: Sequence[Tool]) -> tuple[list[Proposal], int]:
    """(renames, how many tools were compared for equality only). Each tool is in one proposal at most."""
    if not removed or not added:
        return [], 0
    equal = _equal(removed, added)
    taken = {id(tool) for before, after, _ in equal for tool in (before, after)}
    removed = [tool for tool in removed if id(tool) not in taken]
    added = [tool for tool in added if id(tool) not in taken]
    if len(removed) > MOST_LOOKED_AT or len(added) > MOST_LOOKED_AT:
        return equal, len(removed) + len(added)
    return equal + _alike(removed, added), 0


def _equal(removed: Sequence[Tool], added: Sequence[Tool]) -> list[Proposal]:
    """Equal but for the name."""
    waiting: dict[str, list[Tool]] = {}
    for tool in added:
        waiting.setdefault(_nameless(tool), []).append(tool)
    found = []
    for tool in removed:
        if others := waiting.get(_nameless(tool)):
            found.append((tool, others.pop(0), 1.0))
    return found


def _nameless(tool: Tool) -> str:
    return tool.text.replace(f'"name":{compact_value(tool.name)}', "", 1)


def _alike(removed: Sequence[Tool], added: Sequence[Tool]) -> list[Proposal]:
    """The best-scored pairs first, each tool used once."""
    features = [_features(tool) for tool in added]
    index: dict[str, list[int]] = {}
    for number, each in enumerate(features):
        for feature in each:
            index.setdefault(feature, []).append(number)
    scored = []
    for at, tool in enumerate(removed):
        own = _features(tool)
        for number in _candidates(own, index):
            score = _likeness(own, features[number])
            if score >= ENOUGH:
                scored.append((-score, at, number))
    used_before: set[int] = set()
    used_after: set[int] = set()
    found = []
    for score, at, number in sorted(scored):
        if at not in used_before and number not in used_after:
            used_before.add(at)
            used_after.add(number)
            found.append((removed[at], added[number], round(-score, 3)))
    return found


def _candidates(own: set[str], index: dict[str, list[int]]) -> list[int]:
    """The few added tools that share the most uncommon features."""
    shared: Counter[int] = Counter()
    for feature in own:
        numbers = index.get(feature, ())
        if len(numbers) <= _COMMON:
            shared.update(numbers)
    return [
        number for number, _ in sorted(shared.items(), key=lambda each: (-each[1], each[0]))[:_CANDIDATES]
    ]


def _likeness(one: set[str], other: set[str]) -> float:
    both = sum([_WEIGHTS[feature[0]] for feature in one & other])
    either = sum([_WEIGHTS[feature[0]] for feature in one | other])
    return both / either if either else 0.0


def _features(tool: Tool) -> set[str]:
    """Words of the name and the description, and the parameters' names."""
    value: dict[str, Any] = tool.value
    description = value.get("description")
    words = description[:_LONGEST_WORDS] if isinstance(description, str) else ""
    schema = value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {
        *[f"n{word.lower()}" for word in _WORD.findall(tool.name or "")],
        *[f"d{word.lower()}" for word in _WORD.findall(words)],
        *[f"p{name}" for name in (properties if isinstance(properties, dict) else ())],
    }
