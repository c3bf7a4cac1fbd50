"""A place where a secret stands, and how several become replacements. Pure, any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inspector.trace.redact.views import base64_again


@dataclass(frozen=True, slots=True)
class Hit:
    """`text[start:end]` is to be replaced by the marker of `rule` and `secret`.

    inner: hits in what base64 `encoded` there stands for (`decoded`); then that is re-encoded instead.
    goes_on: more base64 follows without a gap. number: a JSON number, which stays one.
    """

    start: int
    end: int
    rule: str
    secret: str
    inner: tuple[Hit, ...] = ()
    decoded: str = ""
    goes_on: bool = False
    number: bool = False

    def moved(self, start: int, end: int) -> Hit:
        return Hit(start, end, self.rule, self.secret, self.inner, self.decoded, self.goes_on, self.number)

    def leaves(self) -> list[Hit]:
        """Itself, or the hits inside."""
        return [leaf for hit in self.inner for leaf in hit.leaves()] if self.inner else [self]


def settled(hits: Iterable[Hit], text: str) -> list[Hit]:
    """The hits in order, without overlaps: the wider one counts, and two that cross become one."""
    found: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
        last = found[-1] if found else None
        if last is None or hit.start >= last.end:
            found.append(hit)
        elif last.inner and hit.start == last.start and hit.end == last.end:
            found[-1] = hit
        elif hit.end > last.end or (last.inner and not hit.inner):
            end = max(hit.end, last.end)
            found[-1] = Hit(last.start, end, last.rule, text[last.start : end])
    return found


def replaced(text: str, hits: Iterable[Hit], marker: Callable[[Hit], str]) -> str:
    """`text` with settled hits replaced; all between them stays as it is."""
    pieces, copied = [], 0
    for hit in hits:
        pieces += [text[copied : hit.start], _replacement(text, hit, marker)]
        copied = hit.end
    return "".join([*pieces, text[copied:]])


def _replacement(text: str, hit: Hit, marker: Callable[[Hit], str]) -> str:
    if not hit.inner:
        return marker(hit)
    inside = replaced(hit.decoded, hit.inner, marker)
    return base64_again(inside, text[hit.start : hit.end], goes_on=hit.goes_on)
