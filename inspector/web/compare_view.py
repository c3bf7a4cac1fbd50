"""A comparison as the Compare screen shows it: the address, totals, rows, filters, bars. Pure, any thread."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from inspector.catalog.difference.change import BREAKING, CAUTION, FINE, KINDS, SEVERITIES
from inspector.catalog.difference.comparing import ADDED, CHANGED, REMOVED, RENAMED, SAME, Row
from inspector.catalog.difference.side import Side
from inspector.protocol.clipping import clipped
from inspector.web.compare_sides import LETTERS
from inspector.web.compare_work import Compared, End

WINDOW: Final = 200
"""Rows on a page, and in each further part that scrolling brings."""
STATUSES: Final = (REMOVED, ADDED, CHANGED, RENAMED, SAME)
SORTS: Final = ("severity", "name", "a", "b", "delta", "tokens")
_RANK: Final = {BREAKING: 0, CAUTION: 1, FINE: 2, None: 3}
_ICONS: Final = {REMOVED: "minus", ADDED: "plus", CHANGED: "diff", RENAMED: "swap", SAME: "ok"}


@dataclass(frozen=True, slots=True)
class Query:
    """The whole state of the screen, as in the address.

    a…d: the sides; against: the letter of the side that is held against A. sev: severities shown, all when empty.
    sort: a name of SORTS, `-` before it for descending. tool, copy: the row beside the table; tool None is no row,
    the empty string the nameless one. hold: a comparison that was cancelled is not started by looking.
    """

    a: str = ""
    b: str = ""
    c: str = ""
    d: str = ""
    against: str = "b"
    q: str = ""
    sev: tuple[str, ...] = ()
    status: str = ""
    sort: str = "severity"
    tool: str | None = None
    copy: int = 1
    at: int = 0
    hold: bool = False

    @classmethod
    def read(cls, args: Any) -> Query:
        """What the address asks for; anything it cannot mean is left at its default. args: a MultiDict."""
        said: dict[str, Any] = {name: args[name] for name in (*LETTERS, "q") if args.get(name)}
        named = [letter for letter in LETTERS[1:] if letter in said]
        said["against"] = args["against"] if args.get("against") in named else next(iter(named), "b")
        chosen = tuple([name for name in SEVERITIES if name in args.getlist("sev")])
        if chosen and chosen != SEVERITIES:
            said["sev"] = chosen
        if args.get("status") in STATUSES:
            said["status"] = args["status"]
        sort = args.get("by") or args.get(
            "sort", ""
        )  # a pressed column head says `by`, the form it is in `sort`
        if sort.removeprefix("-") in SORTS:
            said["sort"] = sort
        if "tool" in args and args.get("open") != "no":
            said["tool"] = args["tool"]
        for name in ("copy", "at"):
            text = args.get(name, "")
            if text.isdecimal() and len(text) < 10:
                said[name] = int(text)
        return cls(**said, hold=args.get("hold") == "1")

    @property
    def sides(self) -> dict[str, str]:
        """Letter -> token of the sides that are named."""
        return {letter: getattr(self, letter) for letter in LETTERS if getattr(self, letter)}

    def href(self, **changes: Any) -> str:
        """The query string, from `?`, of this state with `changes`; defaults are left out."""
        state = replace(self, **changes)
        pairs = [(each.name, getattr(state, each.name)) for each in fields(Query)]
        said = [(name, value) for name, value in pairs if value != _DEFAULTS[name]]
        spelled = [(name, "1" if value is True else value) for name, value in said]
        return "?" + urlencode(spelled, doseq=True, safe="@:", errors="backslashreplace")

    def only_sides(self, **changes: str) -> Query:
        """The same catalogs, nothing else of the state."""
        kept: dict[str, Any] = {**self.sides, "against": self.against, **changes}
        return Query(**kept)

    def swapped(self) -> Query:
        """A and the side it is held against, the other way round; the open tool stays open."""
        there = {"a": getattr(self, self.against), self.against: self.a}
        return replace(self.only_sides(**there), tool=self.tool, copy=self.copy)

    def by(self, key: str) -> str:
        """The value of `by` that sorts by a column: turned when it does already, else its usual way."""
        usual = key if key in ("severity", "name") else f"-{key}"
        turned = key if self.sort.startswith("-") else f"-{key}"
        return turned if self.sort.removeprefix("-") == key else usual

    def sorted(self, key: str) -> str:
        if self.sort.removeprefix("-") != key:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"


_DEFAULTS: Final = {each.name: each.default for each in fields(Query)}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table. worst: its severity, None when nothing changed. said: its changes in a few words."""

    index: int
    row: Row
    before: End | None
    after: End | None
    worst: str | None
    said: str
    icon: str
    on: bool = False

    @property
    def key(self) -> str:
        """How an address names the row's tool."""
        return key_of(self.row.name)

    @property
    def name(self) -> str | None:
        """As much of the tool's name as a row has room for."""
        return None if self.row.name is None else clipped(self.row.name, LONGEST)

    @property
    def renamed_to(self) -> str:
        return clipped(self.row.renamed_to or "", LONGEST)


LONGEST: Final = 200
"""Characters of a name in a row, and in an address; they stand in a page several times."""


def key_of(name: str | None) -> str:
    """How an address names a tool: by its name, or, when no address can bear that, by its beginning and its digest."""
    said = name or ""
    raw = said.encode("utf-8", "surrogatepass")
    if len(said) <= LONGEST and raw.decode("utf-8", "replace") == said:
        return said
    start = said[:12].encode("utf-8", "replace").decode()
    return f"{start}…{hashlib.sha256(raw).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Group:
    """A heading before the lines of one severity; title is empty when the table is sorted otherwise."""

    severity: str
    title: str
    note: str
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Figure:
    """A total over the sides. values: (letter, value, bar of the largest 0..1); delta: from A to the side beside it."""

    label: str
    unit: str
    delta: int | None
    share: float | None
    values: list[tuple[str, int | None, float]] = field(default_factory=list)
    estimate: bool = False


def figures(sides: Mapping[str, Side], against: str) -> list[Figure]:
    """The strip: tools, bytes on the wire, bytes of definitions, tokens of the definitions. sides: by letter."""
    counters = {side.tokenizer for side in sides.values()}
    wanted = [
        ("Tools", "", "tools"),
        ("Bytes on the wire", "B", "wire_bytes"),
        ("Bytes of definitions", "B", "definition_bytes"),
        (f"Tokens of definitions, {sides['a'].tokenizer.removesuffix('_base')}", "", "definition_tokens"),
    ]
    found = []
    for label, unit, name in wanted:
        known = {letter: getattr(side.totals, name) for letter, side in sides.items()}
        if name == "definition_tokens" and len(counters) > 1:
            known = dict.fromkeys(known)  # other tokenizers, other units
        most = max([value or 0 for value in known.values()]) or 1
        one, other = known["a"], known.get(against)
        delta = None if one is None or other is None else other - one
        values = [(letter.upper(), value, (value or 0) / most) for letter, value in known.items()]
        estimate = name == "definition_tokens" and not all(side.totals.exact for side in sides.values())
        found.append(Figure(label, unit, delta, delta / one if delta and one else None, values, estimate))
    return found


def summary(found: Compared) -> list[tuple[str, int, str]]:
    """(severity, changes, where they are in words), the worst first."""
    return [(each, number, _where(found, each)) for each, number in found.found.summary.items()]


def _where(found: Compared, severity: str) -> str:
    """`in 3 tools and the list`; empty when there is no such change."""
    tools = sum([_has(row, (severity,)) for row in found.found.rows])
    words = [f"{tools:,} tool{'' if tools == 1 else 's'}"] if tools else []
    words += ["the list"] if any(each.severity == severity for each in found.found.listing) else []
    return f"in {' and '.join(words)}" if words else ""


def statuses(found: Compared) -> list[tuple[str, int]]:
    """(status, tools) of the statuses that occur."""
    every = [row.status for row in found.found.rows]
    return [(status, every.count(status)) for status in STATUSES if status in every]


def _has(row: Row, severities: Sequence[str]) -> bool:
    return any(each.severity in severities for each in row.changes)


def table(found: Compared, query: Query) -> tuple[list[Group], int]:
    """One window of the rows, in groups, and how many rows there are in all of them."""
    wanted = [index for index, row in enumerate(found.found.rows) if _shown(row, query)]
    key, turned = query.sort.removeprefix("-"), query.sort.startswith("-")
    wanted.sort(key=lambda index: _order(found, index, key), reverse=turned)
    lines = [_line(found, index, query) for index in wanted[query.at : query.at + WINDOW]]
    if key != "severity":
        return [Group("", "", "", lines)] if lines else [], len(wanted)
    groups: list[Group] = []
    for line in lines:
        name = line.worst or SAME
        if not groups or groups[-1].severity != name:
            groups.append(Group(name, name.capitalize(), _note(found, name, wanted), []))
        groups[-1].lines.append(line)
    return groups, len(wanted)


def _shown(row: Row, query: Query) -> bool:
    if query.status and row.status != query.status:
        return False
    if query.sev and not _has(row, query.sev):
        return False
    text = f"{row.name or ''} {row.renamed_to or ''} {' '.join([each.kind for each in row.changes])}".lower()
    return all(word in text for word in query.q.lower().split())


def _order(found: Compared, index: int, key: str) -> tuple[Any, ...]:
    row, (before, after) = found.found.rows[index], found.ends[index]
    name = row.name or ""
    if key == "severity":
        return _RANK[row.severity], -abs(row.definition_bytes), name
    if key == "name":
        return (name,)
    sizes = {
        "a": before.bytes if before else -1,
        "b": after.bytes if after else -1,
        "delta": abs(row.definition_bytes),
        "tokens": abs(row.tokens or 0),
    }
    return sizes[key], name


def _line(found: Compared, index: int, query: Query) -> Line:
    row, (before, after) = found.found.rows[index], found.ends[index]
    on = query.tool is not None and row.copy == query.copy and key_of(row.name) == query.tool
    return Line(index, row, before, after, row.severity, said(row), _ICONS[row.status], on)


def said(row: Row) -> str:
    """The kinds of change in a tool, the worst first: `2 × property-removed, description-changed`."""
    if row.status in (ADDED, REMOVED):
        kind = row.changes[0].kind
        return "" if kind in ("tool-added", "tool-removed") else KINDS[kind].name
    if row.status == RENAMED:
        return f"proposed, likeness {row.likeness:.2f}"
    counts: dict[str, int] = {}
    for each in sorted(row.changes, key=lambda change: _RANK[change.severity]):
        counts[each.kind] = counts.get(each.kind, 0) + 1
    return ", ".join([f"{number} × {kind}" if number > 1 else kind for kind, number in counts.items()])


def _note(found: Compared, severity: str, wanted: Sequence[int]) -> str:
    """What is in a group: how many tools, and of which status."""
    counts: dict[str, int] = {}
    for index in wanted:
        row = found.found.rows[index]
        if (row.severity or SAME) == severity:
            counts[row.status] = counts.get(row.status, 0) + 1
    total = sum(counts.values())
    words = [f"{number:,} {status}" for status, number in counts.items()]
    return f"{total:,} tool{'' if total == 1 else 's'}" + (
        f" · {', '.join(words)}" if severity != SAME else ""
    )


def find(found: Compared, query: Query) -> Line | None:
    """The row beside the table; a proposed rename is found under both of its names."""
    if query.tool is None:
        return None
    for index, row in enumerate(found.found.rows):
        if row.copy == query.copy and query.tool in (
            key_of(row.name),
            row.renamed_to and key_of(row.renamed_to),
        ):
            return _line(found, index, query)
    return None


@dataclass(frozen=True, slots=True)
class Bars:
    """The scale of the column of bars. low, high: the least and the largest delta, in bytes."""

    low: int
    high: int

    @classmethod
    def of(cls, found: Compared) -> Bars:
        deltas = [row.definition_bytes for row in found.found.rows]
        return cls(min([0, *deltas]), max([0, *deltas]))

    def bar(self, delta: int) -> Markup:
        """Bytes more or fewer: to the left of a common line what went, to the right what came."""
        span = (self.high - self.low) or 1
        zero = 100 * -self.low / span
        width = 100 * abs(delta) / span
        x, fill = (zero - width, "schema") if delta < 0 else (zero, "ann")
        rect = (
            f'<rect class="f-{fill}" x="{x:.2f}%" width="{max(width, 0.8):.2f}%" y="3" height="8"/>'
            if delta
            else ""
        )
        line = f'<rect class="f-line" x="{min(zero, 99.2):.2f}%" width="1" height="14"/>'
        return Markup(f'<svg class="cmp__bar" aria-hidden="true">{line}{rect}</svg>')  # noqa: S704 -- numbers only
