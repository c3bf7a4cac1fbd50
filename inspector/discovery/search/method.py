"""What a search method is, and what it finds. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inspector.discovery.registry import Tool


@dataclass(frozen=True, slots=True)
class Found:
    """One candidate, best first. score: the method's own, higher is better. matched: the words (or the text) of the
    tool that matched. ranks: its rank by each method that took part, from 1."""

    tool: Tool
    score: float
    matched: tuple[str, ...] = ()
    ranks: dict[str, int] = field(default_factory=dict)


class Index(Protocol):
    """The tools one authorization context may see, ready to be searched."""

    def ranked(self, query: str, limit: int) -> list[Found]:
        """The best first; what matched may still be missing. Raises UsageError for a query this method cannot take."""

    def explained(self, query: str, found: Sequence[Found]) -> list[Found]:
        """These, with what matched: dearer than ranking, so asked for what is shown only."""


def search(index: Index, query: str, limit: int) -> list[Found]:
    """The best first, each with what matched."""
    return index.explained(query, index.ranked(query, limit))


class Method(Protocol):
    """One way to search. build is called once for each set of visible tools."""

    id: str

    def build(self, tools: Sequence[Tool]) -> Index: ...


class Ranker(Protocol):
    """Puts candidates into another order: a command, or an endpoint of the user's own. Off unless given."""

    def rank(self, query: str, found: Sequence[Found]) -> list[Found]: ...
