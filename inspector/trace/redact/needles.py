"""Finds fixed needles in text: in one pass where `ahocorasick_rs` is installed, else one by one. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Any, Final

try:
    import ahocorasick_rs
except ImportError:  # the extra `fast` is not installed
    ONE_PASS = False
else:
    ONE_PASS = True

_WINDOW: Final = 1 << 16
"""What one call searches: its answer is a list, and a line may be nothing but needles."""


class Needles:
    """`find` tells where each of `needles` stands in a text, both in lower case."""

    def __init__(self, needles: Sequence[bytes], *, one_pass: bool = ONE_PASS) -> None:
        self._needles = needles
        self._overlap = max(map(len, needles), default=1) - 1
        self._automaton: Any = None
        if one_pass and needles:
            self._automaton = ahocorasick_rs.BytesAhoCorasick(
                needles, implementation=ahocorasick_rs.Implementation.DFA
            )

    def find(self, text: bytes) -> Iterable[tuple[int, int]]:
        """(position, number of the needle) in order; a needle does not overlap itself."""
        if self._automaton is None:
            return merge(
                *(self._one(text, number) for number, needle in enumerate(self._needles) if needle in text)
            )
        if len(text) > _WINDOW:
            return self._windows(text)
        found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return _in_order(found, 0, len(text), {}) if found else ()

    def _one(self, text: bytes, number: int) -> Iterator[tuple[int, int]]:
        needle = self._needles[number]
        at = text.find(needle)
        while at >= 0:
            yield at, number
            at = text.find(needle, at + len(needle))

    def _windows(self, text: bytes) -> Iterator[tuple[int, int]]:
        ends: dict[int, int] = {}
        for start in range(0, len(text), _WINDOW):
            window = text[start : start + _WINDOW + self._overlap]
            found = self._automaton.find_matches_as_indexes(window, overlapping=True)
            yield from _in_order(found, start, _WINDOW, ends)


def _in_order(
    found: list[tuple[int, int, int]], offset: int, before: int, ends: dict[int, int]
) -> Iterator[tuple[int, int]]:
    """What begins before `before` in a window; `ends` remembers where each needle ended last."""
    for at, number, end in sorted((start, number, end) for number, start, end in found):
        if at < before and offset + at >= ends.get(number, 0):
            ends[number] = offset + end
            yield offset + at, number
