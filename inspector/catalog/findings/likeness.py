"""Rules about tools a model would confuse. Pure; run them in the worker process.

Cheap by construction: only tools that share a rare word are compared, and of each such group at most the
first few, so the work grows with the number of tools, not with its square.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, Tool, object_of

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LIKE: Final = 0.85
_RARE_WORDS = 3
_MOST_NEIGHBOURS = 8
_FEWEST_WORDS = 4


@dataclass(frozen=True, slots=True)
class _Profile:
    """What is compared of a tool, so that its definition need not be kept parsed."""

    index: int
    name: str
    words: frozenset[str]
    parameters: frozenset[str]


@rule(
    "description-same",
    "caution",
    "Two tools have the same description",
    why="The model has only the names to tell them apart, and a search ranks them alike.",
    remedy="Say in each what it does that the other does not.",
    spec="ours",
    across=True,
)
def description_same(subject: Subject) -> Iterator[Hit]:
    first: dict[str, str] = {}
    for tool in subject.tools:
        said = " ".join(tool.description.lower().split())
        if not said:
            continue
        other = first.setdefault(said, tool.name)
        if other != tool.name:
            yield Hit(tool.index, "/description", f"the same words as `{other}`")


@rule(
    "tools-alike",
    "note",
    "Two tools are so alike that a model would confuse them",
    why="Names, descriptions and parameters share nearly all their words; the choice becomes a guess.",
    remedy="Make them one tool with a parameter, or open each description with what sets it apart.",
    spec=f"ours: {_LIKE:.0%} of all words shared, rare words counting more, and the same parameters",
    across=True,
)
def tools_alike(subject: Subject) -> Iterator[Hit]:
    profiles = [_profile(tool) for tool in subject.tools]
    profiles = [each for each in profiles if len(each.words) >= _FEWEST_WORDS]
    how_often = Counter(word for each in profiles for word in each.words)
    weights = {word: log(1 + len(profiles) / often) for word, often in how_often.items()}
    for one, other in _candidates(profiles, how_often):
        if one.parameters == other.parameters and one.name != other.name:
            likeness = _weight(one.words & other.words, weights) / _weight(one.words | other.words, weights)
            if likeness >= _LIKE:
                yield Hit(one.index, "", f"shares {likeness:.0%} of its words with `{other.name}`")


def _profile(tool: Tool) -> _Profile:
    properties = object_of(object_of(tool.value.get("inputSchema")).get("properties"))
    return _Profile(tool.index, tool.name, _words(f"{tool.name} {tool.description}"), frozenset(properties))


def _words(text: str) -> frozenset[str]:
    # Interned: thousands of tools say the same few thousand words.
    return frozenset([sys.intern(word.lower()) for word in set(_WORD.findall(text))])


def _weight(words: frozenset[str], weights: dict[str, float]) -> float:
    return sum([weights[word] for word in words])


def _candidates(profiles: list[_Profile], how_often: Counter[str]) -> Iterator[tuple[_Profile, _Profile]]:
    """Pairs worth comparing, each tool at most once as the first: those that share one of their rarest words."""
    groups: dict[str, list[_Profile]] = {}
    for each in profiles:
        shared = sorted(
            [word for word in each.words if how_often[word] > 1], key=lambda word: (how_often[word], word)
        )
        seen: dict[int, _Profile] = {}
        for word in shared[:_RARE_WORDS]:
            group = groups.setdefault(word, [])
            seen |= {other.index: other for other in group[-_MOST_NEIGHBOURS:]}
            group.append(each)
        if seen:
            best = max(
                seen.values(), key=lambda other: len(each.words & other.words) / len(each.words | other.words)
            )
            yield each, best
