"""The heavy half of the Compare screen: read two catalogs, count their tokens, compare. Pure; runs in the worker."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from inspector.catalog.difference.alignment import align
from inspector.catalog.difference.comparing import Difference, difference, distinct
from inspector.catalog.difference.side import SERVER, Side, Tool, side_of
from inspector.catalog.jsontext import utf8
from inspector.catalog.snapshot import ABSENT, Snapshot
from inspector.console.sides import read_content


@dataclass(frozen=True, slots=True)
class Given:
    """A catalog to read. snapshot: a listed one, recorded: read back, so that what the server said of itself is
    unknown; without it `content` is a file, and `part` says which of its catalogs."""

    label: str
    snapshot: Snapshot | None = None
    recorded: bool = False
    content: bytes = field(default=b"", repr=False)
    part: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """A tool as it stands on one side. text: compact JSON, or canonical when it comes from a lock."""

    text: str = field(repr=False)
    bytes: int
    tokens: int | None
    broken: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison without the parsed tools, so that it crosses to the console quickly.

    found: its two sides have no tools; ends: (before, after) of each of its rows. sha256: of the canonical catalogs.
    """

    found: Difference
    ends: tuple[tuple[End | None, End | None], ...] = field(repr=False)
    sha256: tuple[str, str]

    @property
    def identical(self) -> bool:
        return self.sha256[0] == self.sha256[1]


@dataclass(frozen=True, slots=True)
class Part:
    """One catalog of a file, as it is offered to choose from."""

    label: str
    source: str
    tools: int
    era: str | None


def parts(content: bytes, label: str) -> list[Part]:
    """The catalogs in a file. Raises FileError, one sentence, when there is none."""
    sides = read_content(content, label, tokens=False)
    return [Part(side.label, side.source, side.totals.tools, side.era) for side in sides]


def compared(before: Given, after: Given) -> Compared:
    """The comparison of two catalogs. Raises FileError."""
    one, other = distinct([_side(before), _side(after)])
    found = difference(one, other)
    shas = sha256_of(one), sha256_of(other)
    ends = tuple([_ends(pair.before, pair.after) for pair in align(one.tools, other.tools).pairs])
    slim = replace(found, before=replace(one, tools=()), after=replace(other, tools=()))
    return Compared(slim, ends, shas)


def _side(given: Given) -> Side:
    if given.snapshot is None:
        return replace(read_content(given.content, given.label)[given.part], label=given.label)
    side = side_of(given.snapshot, given.label, SERVER, notes=given.notes)
    return replace(side, instructions=ABSENT, server_info=None) if given.recorded else side


def _ends(before: Tool | None, after: Tool | None) -> tuple[End | None, End | None]:
    old = None if before is None else End(before.text, before.definition_bytes, before.tokens, before.broken)
    if before is not None and after is not None and before.text == after.text:
        return old, old  # pickled once
    new = None if after is None else End(after.text, after.definition_bytes, after.tokens, after.broken)
    return old, new


def sha256_of(side: Side) -> str:
    """Of the canonical form of the whole catalog, as in a lock and with a snapshot (`Listing.sha256`)."""
    texts = sorted([(tool.name or "", tool.canonical) for tool in side.tools])
    return hashlib.sha256(utf8("[" + ",".join([text for _, text in texts]) + "]")).hexdigest()
