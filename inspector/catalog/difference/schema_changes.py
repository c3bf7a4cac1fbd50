"""How one JSON Schema differs from another, and what that means for a caller. Pure; run it in the worker.

An input schema is contravariant: what callers send today must be accepted tomorrow, so accepting less breaks and
accepting more is fine. An output schema is covariant: what callers read today must keep its shape, so promising
less breaks and promising more is fine. Each rule says what changed; `change.KINDS` says how severe that is on
which side.

The walk follows local `$ref`s and never fetches a remote one. It visits a pair of nodes once, so circles end, and
at most `MOST_NODES` pairs; what it had to leave out becomes a `not-compared`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from inspector.catalog import schema as schemas
from inspector.catalog.difference import keyword_rules as rules
from inspector.catalog.difference.change import Change, change
from inspector.catalog.snapshot import ABSENT

MOST_NODES: Final = 5_000

Equal = Callable[[Any, Any], bool]


class Walk:
    """One pair of schemas. `changes` grows as `node` walks; side is `input` or `output`."""

    def __init__(self, before: Any, after: Any, side: str, equal: Equal, *, referring: bool) -> None:
        self.changes: list[Change] = []
        self.side = side
        self.equal = equal
        self.roots = (before, after)
        self.alike: Equal = self._alike_without_references if referring else equal
        """Whether two values are equal and nothing in them can refer to something that is not."""
        self._seen: dict[
            tuple[int, int], tuple[Any, Any]
        ] = {}  # the nodes too: an id lives as long as its node

    def add(self, kind: str, path: str, before: Any = ABSENT, after: Any = ABSENT) -> None:
        self.changes.append(change(kind, path, before, after, self.side))

    def node(self, before: Any, after: Any, path: str) -> None:
        """Compare two subschemas that are not `alike`."""
        pair = (id(before), id(after))
        if pair in self._seen or len(self._seen) > MOST_NODES:
            return
        self._seen[pair] = (before, after)
        if len(self._seen) > MOST_NODES:
            self.add("not-compared", path)
            return
        old, new = self.resolved(before, 0), self.resolved(after, 1)
        if old is None or new is None:
            self._unreadable(before, after, old, new, path)
        else:
            self._keywords(old, new, path)

    def resolved(self, node: Any, which: int) -> dict[str, Any] | None:
        """The node of the first (0) or second (1) schema with its references followed; None when it has none."""
        if node is True:
            return {}
        if node is False:
            return {"not": {}}
        if isinstance(node, dict) and not ("$ref" in node or "allOf" in node):
            return node
        return schemas.resolved(node, self.roots[which])

    def _unreadable(self, before: Any, after: Any, old: Any, new: Any, path: str) -> None:
        if self.equal(before, after):
            return
        if isinstance(before, dict | bool) and isinstance(after, dict | bool):
            self.add("reference-changed", path, before, after)
        elif new is None:
            self.add("schema-unreadable", path, before, after)
        else:
            self.add("constraint-changed", path, before, after)

    def _keywords(self, before: dict[str, Any], after: dict[str, Any], path: str) -> None:
        """Run each rule whose keywords differ, once."""
        unions = rules.is_union(before), rules.is_union(after)
        due: dict[str, str] = {}
        for key in self._different(before, after):
            if unions[0] == unions[1] or key in rules.WORDS:
                due.setdefault(rules.group_of(key, unions=any(unions)), key)
        if unions[0] != unions[1]:
            due["anyOf"] = "anyOf"
        for group, key in due.items():
            rules.rule_for(group)(self, before, after, path, key)

    def _different(self, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        """The keywords to look at: what differs, and what may refer to something that does."""
        alike = self.alike
        found = [key for key, old in before.items() if key not in after or not alike(old, after[key])]
        return found + [key for key in after if key not in before]

    def _alike_without_references(self, before: Any, after: Any) -> bool:
        """An equal `$ref` may point at something that is not equal any more, so equal nodes must be walked too."""
        return not isinstance(before, dict | list) and self.equal(before, after)


def schema_changes(
    before: Any, after: Any, side: str, path: str, equal: Equal, *, referring: bool
) -> list[Change]:
    """The changes between two root schemas, the schema standing at `path` in the tool.

    equal: how JSON values are compared. referring: whether `$ref` occurs in either.
    """
    walk = Walk(before, after, side, equal, referring=referring)
    try:
        walk.node(before, after, path)
    except RecursionError:
        walk.add("not-compared", path)
    return walk.changes
