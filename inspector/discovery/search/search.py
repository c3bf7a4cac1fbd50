"""The search a host offers: one method over what a context may see, rebuilt when that changes. One thread at a time."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.access import Access
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.search.hybrid import Hybrid
from inspector.discovery.search.keyword import Keyword
from inspector.discovery.search.method import Found, Index, Method, Ranker, search
from inspector.discovery.search.regex import Regex
from inspector.discovery.search.semantic import Semantic, available
from inspector.errors import UsageError

KEPT = 4
ORDERED = 100
FEW = 200
"""Tools that get an index of their own when they are to be ordered."""
METHODS = ("keyword", "regex", "semantic", "hybrid")


def method_of(name: str) -> Method:
    """The method of that name. Raises UsageError for one there is not."""
    match name:
        case "keyword":
            return Keyword()
        case "regex":
            return Regex()
        case "semantic":
            return Semantic()
        case "hybrid":
            return Hybrid([Keyword(), Semantic()])
    raise UsageError(f"There is no search method {name}", f"Choose among {', '.join(METHODS)}")


def usable_methods() -> tuple[str, ...]:
    """Those that work in this installation."""
    return METHODS if available() else ("keyword", "regex")


class Search:
    """Permission first: only what `registry.visible(access)` yields is ever indexed, so nothing else can be found,
    ranked or counted. An index is kept while the visible tools stay the same ones."""

    def __init__(self, method: Method, ranker: Ranker | None = None) -> None:
        self.method = method
        self.ranker = ranker
        self._built: list[tuple[tuple[Tool, ...], Index]] = []

    def index(self, tools: Sequence[Tool]) -> Index:
        """An index over exactly these tools; the latest few are kept."""
        wanted = tuple(tools)
        for at, (indexed, index) in enumerate(self._built):
            if indexed == wanted:
                self._built.insert(0, self._built.pop(at))
                return index
        self._built = [(wanted, self.method.build(wanted)), *self._built[: KEPT - 1]]
        return self._built[0][1]

    def find(self, registry: Registry, access: Access, query: str, limit: int = 5) -> list[Found]:
        """The best candidates this context may see, best first."""
        found = search(self.index(registry.visible(access)), query, limit)
        return self.ranker.rank(query, found) if self.ranker is not None else found

    def order(self, tools: Sequence[Tool], query: str, among: Sequence[Tool] = ()) -> list[Tool]:
        """These tools, the likeliest first; those not found (or not among the first ORDERED) keep their order.
        among: what is indexed anyway and holds them; many tools are ranked within it, few by an index of their own."""
        if not among or len(tools) <= FEW:
            found = [each.tool for each in self.index(tools).ranked(query, ORDERED)]
        else:
            found = self._ranked_among(frozenset(tools), query, among)
        known = {tool.public for tool in found}
        return [*found, *[tool for tool in tools if tool.public not in known]]

    def _ranked_among(self, wanted: frozenset[Tool], query: str, among: Sequence[Tool]) -> list[Tool]:
        """The first ORDERED of the wanted ones; what is ranked between them is passed over."""
        index, limit = self.index(among), ORDERED
        while True:
            ranked = [each.tool for each in index.ranked(query, limit)]
            found = [tool for tool in ranked if tool in wanted]
            if len(found) >= ORDERED or len(ranked) < limit:
                return found[:ORDERED]
            limit *= 8
