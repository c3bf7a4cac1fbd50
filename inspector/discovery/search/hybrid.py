"""Several methods together by reciprocal-rank fusion (k = 60). Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inspector.discovery.registry import Tool
from inspector.discovery.search.method import Found, Index, Method

K = 60
DEPTH = 50


class Hybrid:
    """The sum of 1/(60 + rank) over the methods that found a tool."""

    id = "hybrid"

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = methods

    def build(self, tools: Sequence[Tool]) -> HybridIndex:
        return HybridIndex([method.build(tools) for method in self._methods])


class HybridIndex:
    def __init__(self, indexes: Sequence[Index]) -> None:
        self._indexes = indexes

    def ranked(self, query: str, limit: int) -> list[Found]:
        fused: dict[str, Found] = {}
        for index in self._indexes:
            for rank, found in enumerate(index.ranked(query, max(limit, DEPTH)), 1):
                known = fused.get(found.tool.public, replace(found, score=0.0, ranks={}))
                fused[found.tool.public] = replace(
                    known, score=known.score + 1 / (K + rank), ranks=known.ranks | found.ranks
                )
        return sorted(fused.values(), key=lambda each: -each.score)[:limit]

    def explained(self, query: str, found: Sequence[Found]) -> list[Found]:
        """Of each, what every method that found it says."""
        matched: dict[str, list[str]] = {}
        for index in self._indexes:
            for each in index.explained(query, found):
                matched.setdefault(each.tool.public, []).extend(each.matched)
        return [replace(each, matched=tuple(dict.fromkeys(matched[each.tool.public]))) for each in found]
