"""The provider's cache of a request's beginning: what a turn reads, writes and pays. Pure, any thread.

Facts are the dated rows of data/prompt_cache.json. The prefix is byte-exact: the first changed piece ends it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, compress
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from inspector.errors import UsageError


class Prefixed(Protocol):
    """What the cache needs of a piece of the request."""

    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def breakpoint(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """One provider's prompt cache. minimum: tokens below which nothing is cached. step: cached length is counted in
    such steps from the minimum on. read, write: price of a token against an uncached one (1.0). breakpoints:
    entries end only where the host marked them, else at any piece; look_back: pieces before a mark that are
    looked at. source: a label of the data file."""

    provider: str
    minimum: int
    step: int
    read: float
    write: float
    breakpoints: bool
    look_back: int
    source: str
    note: str


@functools.cache
def facts() -> dict[str, Any]:
    """The dated table; read only."""
    found = json.loads(Path(__file__).with_name("data").joinpath("prompt_cache.json").read_text("utf-8"))
    return dict(found)


def rules_for(provider: str, *, minimum: int | None = None, ttl: str | None = None) -> Rules | None:
    """The rules of a provider, None for `none`. minimum: another model's; ttl: `5m` or `1h` where it has a choice."""
    row = facts()["providers"].get(provider)
    if row is None:
        return None
    kept = row["default_write"] if ttl is None else ttl
    if kept not in row["write"]:
        raise UsageError(
            f"{provider} has no prompt cache of {kept}", f"Choose among {', '.join(row['write'])}"
        )
    return Rules(
        provider, row["minimum"] if minimum is None else minimum, row["step"], row["read"], row["write"][kept],
        row["kind"] == "breakpoints", row["look_back"], row["source"], row["note"],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """What one request did with the cache, in tokens. first_changed: index of the first piece that is not as it was
    (None: the old request is a whole prefix of the new one), and the byte it begins at."""

    read: int = 0
    write: int = 0
    fresh: int = 0
    first_changed: int | None = None
    first_changed_byte: int | None = None

    @property
    def tokens(self) -> int:
        return self.read + self.write + self.fresh

    def billed(self, rules: Rules | None) -> float:
        """The price in units of one uncached input token."""
        if rules is None:
            return float(self.tokens)
        return self.read * rules.read + self.write * rules.write + self.fresh


@dataclass(frozen=True, slots=True)
class _Laid:
    """A request's pieces laid end to end. reach: tokens before each and after the last. marks: after how many pieces
    one is, but for the end of it all.

    A list of thousands of tools goes through here hundreds of times a run, so what is as it was is not walked again.
    """

    pieces: tuple[Prefixed, ...] = ()
    texts: tuple[str, ...] = ()
    reach: tuple[int, ...] = (0,)
    marks: tuple[int, ...] = ()

    def then(self, pieces: tuple[Prefixed, ...]) -> _Laid:
        """The next request's. Of the last one's final piece the mark has moved, as a rule; all before it is the same."""
        same = max(len(self.pieces) - 1, 0)
        if self.pieces[:same] != pieces[:same]:
            same = 0
        rest = pieces[same:]
        reach = accumulate(map(attrgetter("tokens"), rest), initial=self.reach[same])
        marks = compress(range(same + 1, len(pieces)), map(attrgetter("breakpoint"), rest))
        return _Laid(
            pieces,
            (*self.texts[:same], *map(attrgetter("text"), rest)),
            (*self.reach[:same], *reach),
            (*[mark for mark in self.marks if mark <= same], *marks),
        )


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the provider holds: the last request's pieces, and after how many of them an entry ends."""

    pieces: tuple[str, ...] = field(default=(), repr=False)
    ends: frozenset[int] = frozenset()
    _last: _Laid = field(default_factory=_Laid, repr=False, compare=False)

    def expired(self) -> Prefix:
        """The cache's own time ran out."""
        return Prefix()

    def request(self, pieces: Sequence[Prefixed], rules: Rules | None) -> tuple[Use, Prefix]:
        """One request goes out: what it used, and what the provider holds afterwards."""
        laid = self._last.then(tuple(pieces))
        texts, reach = laid.texts, laid.reach
        common = self._common(texts)
        changed = None if common == len(self.pieces) else common
        at = None if changed is None else sum([piece.bytes for piece in pieces[:common]])
        if rules is None:
            return Use(0, 0, reach[-1], changed, at), Prefix(texts, _last=laid)
        marks = [*laid.marks, len(pieces)] if pieces else []
        read = reach[self._hit(common, marks, reach, rules)]
        possible = marks if rules.breakpoints else range(1, len(pieces) + 1)
        ends = frozenset([end for end in possible if reach[end] >= rules.minimum])
        write = max(reach[max(ends, default=0)] - read, 0)
        kept = ends | {end for end in self.ends if end <= common}
        return Use(read, write, reach[-1] - read - write, changed, at), Prefix(texts, frozenset(kept), laid)

    def _common(self, texts: tuple[str, ...]) -> int:
        """How many pieces are byte for byte as they were."""
        if texts[: len(self.pieces)] == self.pieces:
            return len(self.pieces)
        for count, (old, new) in enumerate(zip(self.pieces, texts, strict=False)):
            if old != new:
                return count
        return min(len(self.pieces), len(texts))

    def _hit(self, common: int, marks: Sequence[int], reach: Sequence[int], rules: Rules) -> int:
        """How many pieces are read: an entry within the unchanged beginning, of the minimum or more."""
        if rules.breakpoints:
            near = [end for end in self.ends if any(0 <= mark - end <= rules.look_back for mark in marks)]
            return max([end for end in near if end <= common and reach[end] >= rules.minimum], default=0)
        last = min(common, max(self.ends, default=0))
        counted = rules.minimum + (reach[last] - rules.minimum) // rules.step * rules.step
        while last and reach[last] > counted:
            last -= 1
        return last if reach[last] >= rules.minimum else 0
