"""Finds secrets in text that may be JSON, hold percent-encoding, or both, at any depth. Pure, any thread."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from inspector.trace.redact import names, shapes
from inspector.trace.redact.finder import Finder
from inspector.trace.redact.hits import Hit, settled
from inspector.trace.redact.rules import Rules
from inspector.trace.redact.tokens import Walk
from inspector.trace.redact.views import PLAIN_ESCAPE, View, json_string, percent_decoded

DEEPEST: Final = 8
_PERCENT: Final = re.compile("%[0-9A-Fa-f]{2}")
_KEY_BEFORE: Final = re.compile(r'([^"]*)"\s*:\s*$')

Seen = Callable[[list[str], Hit], None]


class Searcher:
    """`search` gives the settled hits of a text; `skipped` is told what could not be looked into.

    screened: JSON text is searched for places first, and only what holds one is looked into; the hits are the same.
    """

    def __init__(
        self, these: Rules, *, optional: bool, skipped: Callable[[str], None], screened: bool = True
    ) -> None:
        self._depth = 0
        self._screened = screened
        self._skipped = skipped
        self.finder = Finder(these, optional=optional, inside=self._inside)

    def search(self, text: str, seen: Seen | None = None) -> list[Hit]:
        """Where `text` holds secrets; of JSON, `seen` is told the steps that lead to each hit."""
        if text[:1] in ("{", "[", '"', " ", "\t", "\n") and text.lstrip()[:1] in ("{", "[", '"'):
            places = self._places(text)
            if places == []:
                return []
            try:
                return self._in_json(text, places, seen)
            except ValueError:
                pass  # it only begins like JSON
            except RecursionError:
                self._skipped("too deeply nested to be read as JSON; searched as text")
        hits = self.finder.find(text)
        if "%" in text and _PERCENT.search(text):
            hits += self._in_view(percent_decoded(text))
        return settled(hits, text) if hits else []

    def _places(self, text: str) -> list[int] | None:
        """Where in JSON text something stands, in order; None when anywhere."""
        if not self._screened or self.finder.always or self.finder.known.always:
            return None
        hidden = "\\" in text and ("\\u00" in text or "\\/" in text)
        plain = _plain_text(text) if hidden else text
        found = [hit.start for hit in self.finder.find(plain, loose=True)]
        if "%" in plain:
            found += [match.start() for match in _PERCENT.finditer(plain)]
        if found and not self._confirmed(plain, sorted(found)):
            return []
        return None if hidden and found else sorted(found)

    def _confirmed(self, text: str, places: list[int]) -> bool:
        """Whether a string or number at one of the places is a hit: a few looks that mostly save the walk."""
        end = -1
        for place in places:
            if place < end:
                continue
            start = _quote_before(text, place)
            end = _quote_after(text, place)
            if start < 0:
                return True  # before the first string there is nothing to find in JSON: it is none
            if (key := _KEY_BEFORE.search(text, max(0, start - 100), start)) and self.finder.key_rule(key[1]):
                return True
            if (key := _KEY_BEFORE.search(text, max(0, place - 100), place)) and self.finder.key_rule(key[1]):
                return True
            inner = text[start + 1 : end]
            if self._deeper(json_string(inner).text if "\\" in inner else inner):
                return True
        return False

    def _in_json(self, text: str, places: list[int] | None, seen: Seen | None) -> list[Hit]:
        """The hits in JSON text; ValueError when it is none, RecursionError when it is too deep."""
        walk, found = Walk(text, places), []
        for kind, start, end in walk:
            key_rule = None
            if kind != "key" and (key := walk.key) is not None and (key_rule := self.finder.key_rule(key)):
                key_rule = None if walk.in_schema() else key_rule
            if key_rule is None and places is not None:
                near = bisect_left(places, start)
                if near == len(places) or places[near] >= end:
                    continue
            if kind == "number":
                hits = [Hit(start, end, key_rule, text[start:end], number=True)] if key_rule else []
            else:
                cursor = kind == "string" and walk.key is not None and names.cursor_name(walk.key)
                hits = self._in_string(text, start + 1, end - 1, key_rule, walk.key or "", cursor)
            found += [(walk.steps() if seen else [], hit) for hit in hits]
        if seen is not None:
            for steps, hit in found:
                seen(steps, hit)
        return [hit for _, hit in found]

    def _in_string(
        self, text: str, start: int, end: int, key_rule: str | None, key: str, cursor: bool
    ) -> list[Hit]:
        inner = text[start:end]
        view = json_string(inner) if "\\" in inner else None
        decoded = view.text if view else inner
        if key_rule:
            parts = names.secret_parts(key, decoded)
            hits = [Hit(a, b, key_rule, decoded[a:b]) for a, b in parts]
            if shapes.PLACEHOLDER.fullmatch(decoded) and decoded.strip("*") == "":
                hits = []
        elif cursor:
            hits = settled(self.finder.known.find(decoded, False), decoded)
        else:
            hits = self._deeper(decoded)
        place = view.place if view else int
        return [hit.moved(start + place(hit.start), start + place(hit.end)) for hit in hits]

    def _in_view(self, view: View) -> list[Hit]:
        return [hit.moved(view.place(hit.start), view.place(hit.end)) for hit in self._deeper(view.text)]

    def _inside(self, decoded: str) -> list[Hit]:
        return self._deeper(decoded)

    def _deeper(self, text: str) -> list[Hit]:
        if self._depth >= DEEPEST:
            self._skipped(f"text inside text more than {DEEPEST} levels deep")
            return []
        self._depth += 1
        try:
            return self.search(text)
        finally:
            self._depth -= 1


def _plain_text(text: str) -> str:
    """`text` without the escapes nobody needs. There are few kinds and many of each: each is worked out once."""
    known: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        escape = match[0]
        return known.get(escape) or known.setdefault(escape, _plain(match))

    return PLAIN_ESCAPE.sub(plain, text)


def _plain(match: re.Match[str]) -> str:
    """An escape nobody needs, undone; a quote stays escaped, so the text stays JSON."""
    char = "/" if match[2] else chr(int(match[1], 16))
    if char == '"':
        return "\\" * (2 * (len(match[0]) - 5) - 1) + char
    return match[0] if char == "\\" else char


def _quote_before(text: str, at: int) -> int:
    """The unescaped quote before `at`, or -1."""
    found = text.rfind('"', 0, at)
    while found > 0 and text[found - 1] == "\\" and _escaped(text, found):
        found = text.rfind('"', 0, found)
    return found


def _quote_after(text: str, at: int) -> int:
    found = text.find('"', at)
    while found > 0 and text[found - 1] == "\\" and _escaped(text, found):
        found = text.find('"', found + 1)
    return len(text) if found < 0 else found


def _escaped(text: str, at: int) -> bool:
    start = at
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


def number_again(lexeme: str, n: int) -> str:
    """A JSON number that stands for the `n`th secret: an integer stays an integer, a fraction a fraction."""
    return f"{n}.0" if set(lexeme) & set(".eE") else str(n)
