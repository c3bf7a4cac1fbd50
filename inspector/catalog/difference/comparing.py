"""Any number of catalogs against the first: rows, list-level changes, differences in bytes and tokens. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from inspector.catalog.difference.alignment import Pair, align
from inspector.catalog.difference.change import SEVERITIES, Change, change, worst
from inspector.catalog.difference.side import Side
from inspector.catalog.difference.tool_changes import tool_changes
from inspector.catalog.snapshot import ABSENT

ADDED: Final = "added"
REMOVED: Final = "removed"
CHANGED: Final = "changed"
SAME: Final = "same"
RENAMED: Final = "renamed?"


@dataclass(frozen=True, slots=True)
class Row:
    """One tool. name: as before, or as after when it was added. renamed_to, likeness: of a proposed rename, which
    still counts as a removal and an addition. copy: which of several tools of that name, from 1."""

    name: str | None
    status: str
    changes: tuple[Change, ...] = ()
    definition_bytes: int = 0
    tokens: int | None = None
    renamed_to: str | None = None
    likeness: float | None = None
    copy: int = 1

    @property
    def severity(self) -> str | None:
        return worst(self.changes)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first side against another. listing: changes of the list as a whole. unproposed: removed and added
    tools that were too many to look for renames by likeness."""

    before: Side
    after: Side
    rows: tuple[Row, ...] = field(repr=False)
    listing: tuple[Change, ...] = ()
    unproposed: int = 0

    @property
    def summary(self) -> dict[str, int]:
        """How many changes there are of each severity."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for each in [*self.listing, *[each for row in self.rows for each in row.changes]]:
            counts[each.severity] += 1
        return counts


def compare(sides: Sequence[Side]) -> list[Difference]:
    """Each further side against the first. Linear in the number of tools."""
    baseline, *others = sides
    return [difference(baseline, other) for other in others]


def difference(before: Side, after: Side) -> Difference:
    """What is different in `after`."""
    aligned = align(before.tools, after.tools)
    counted = before.tokenizer == after.tokenizer
    rows = tuple([_row(pair, counted=counted) for pair in aligned.pairs])
    same_tools = not any(row.status in (ADDED, REMOVED, RENAMED) for row in rows)
    return Difference(before, after, rows, tuple(_listing(before, after, same_tools)), aligned.unproposed)


def _row(pair: Pair, *, counted: bool) -> Row:
    before, after = pair.before, pair.after
    if before is None or after is None:
        return _single(pair)
    bytes_ = after.definition_bytes - before.definition_bytes
    tokens = None
    if counted and before.tokens is not None and after.tokens is not None:
        tokens = after.tokens - before.tokens
    if pair.likeness is not None:
        changes = (change("tool-removed", ""), change("tool-added", ""))
        return Row(before.name, RENAMED, changes, bytes_, tokens, after.name, pair.likeness)
    if before.text == after.text:
        return Row(before.name, SAME, (), 0, tokens, copy=pair.copy)
    found = tuple(tool_changes(before, after))
    return Row(before.name, CHANGED if found else SAME, found, bytes_, tokens, copy=pair.copy)


def _single(pair: Pair) -> Row:
    if pair.after is None:
        assert pair.before is not None
        tool, sign, status, kind = pair.before, -1, REMOVED, "tool-removed"
    else:
        tool, sign, status = pair.after, 1, ADDED
        kind = "tool-duplicated" if pair.copy > 1 and tool.name is not None else "tool-added"
    tokens = None if tool.tokens is None else sign * tool.tokens
    return Row(tool.name, status, (change(kind, ""),), sign * tool.definition_bytes, tokens, copy=pair.copy)


def _listing(before: Side, after: Side, same_tools: bool) -> list[Change]:
    """Order, pages, hints, instructions and version; only what both sides know."""
    found = []
    if same_tools and before.order_sha256 != after.order_sha256:
        found.append(change("order-changed", ""))
    if before.hints and after.hints:
        if len(before.hints) != len(after.hints):
            found.append(change("paging-changed", "", len(before.hints), len(after.hints)))
        found += _hints(before, after)
    texts = before.instructions, after.instructions
    if ABSENT not in texts and texts[0] != texts[1]:
        found.append(change("instructions-changed", "", *texts))
    old, new = _version(before), _version(after)
    if old and new and old != new:
        found.append(change("version-changed", "", old, new))
    return found


def _version(side: Side) -> dict[str, Any]:
    return {key: side.server_info.get(key) for key in ("name", "version")} if side.server_info else {}


def _hints(before: Side, after: Side) -> list[Change]:
    """The first page's hints; a list whose pages differ among themselves is a finding, not a change."""
    old, new = before.hints[0], after.hints[0]
    found = []
    if repr(old.ttl_ms) != repr(new.ttl_ms):
        found.append(change("ttl-changed", "", old.ttl_ms, new.ttl_ms))
    if repr(old.cache_scope) != repr(new.cache_scope):
        kind = "scope-shared" if new.cache_scope == "public" else "scope-changed"
        found.append(change(kind, "", old.cache_scope, new.cache_scope))
    return found


def distinct(sides: Sequence[Side]) -> list[Side]:
    """The sides with labels that tell them apart."""
    seen: dict[str, int] = {}
    found = []
    for side in sides:
        count = seen[side.label] = seen.get(side.label, 0) + 1
        found.append(side if count == 1 else replace(side, label=f"{side.label} #{count}"))
    return found
