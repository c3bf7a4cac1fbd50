"""Finds secrets that are one long word: keys with a prefix, tokens, base64, what looks random. Any thread, one at a time.

Texts are full of long words that are none of these, and the same ones come again and again: what was found to be
ordinary once is stepped over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from inspector.trace.redact import rules, shapes
from inspector.trace.redact.hits import Hit
from inspector.trace.redact.known import Known
from inspector.trace.redact.views import BASE64_GROUP, BASE64_TEXT, base64_text

_LONG: Final = b"a" * 16
_RUNS: Final = bytes(97 if chr(n) in "+/_-" or (n < 128 and chr(n).isalnum()) else 32 for n in range(256))
_WRAPPED: Final = re.compile(r"[A-Za-z0-9+/_-]{60,}(?:\r?\n[A-Za-z0-9+/_-]+)+={0,2}")
_WHOLE_LINE: Final = 44
_LETTERS_ONLY: Final = re.compile(b"[a-z+/_-]*").fullmatch
_PREFIX: Final = re.compile(shapes.PREFIX.pattern.encode()).search
"""A key's prefix may stand before the word only when a dot is between them (SG., ya29.)."""
_FOUR_GROUPS: Final = re.compile(BASE64_GROUP.encode() + b"{4}").search
_ONE_LINE: Final = 60
"""A word shorter than this is not wrapped base64."""
_DOTTED: Final = ("SG.", "ya29.")
_REMEMBERED: Final = 80
_REMEMBERED_MOST: Final = 32768


class LongWords:
    """`find` gives the hits in runs of 16 and more characters of base64, either alphabet."""

    def __init__(self, known: Known, applies: Mapping[str, bool], inside: Callable[[str], list[Hit]]) -> None:
        self._known = known
        self._inside = inside
        self._jwt, self._shape = applies[rules.JWT], applies[rules.SHAPE]
        self._entropy = applies[rules.ENTROPY]
        self._ordinary: set[bytes] = set()

    def forget(self) -> None:
        """More is known now: what was ordinary is looked at anew."""
        self._ordinary = set()

    def find(self, text: str, content: bytes, loose: bool, known: bool) -> list[Hit]:
        """content: `text`, a byte a character. known: whether a value that is known may stand in it."""
        flat = content.translate(_RUNS)
        at = flat.find(_LONG)
        if at < 0:
            return []
        hits: list[Hit] = []
        ordinary, find = self._ordinary, flat.find
        look = known or self._entropy
        while at >= 0:
            end = find(b" ", at)
            word = content[at : (end := len(flat) if end < 0 else end)]
            if word not in ordinary:
                dotted = content[at - 1 : at] == b"."
                suspect = not _LETTERS_ONLY(word) and (
                    look
                    or end - at >= _ONE_LINE
                    or _PREFIX(content, max(0, at - 5) if dotted else at, end)
                    or _FOUR_GROUPS(word)
                )
                found = self._word(text, at, end, loose, known) if suspect else []
                hits += found
                short = len(word) <= _REMEMBERED and len(ordinary) < _REMEMBERED_MOST
                if not found and short and not (dotted and text[max(0, at - 5) : at].endswith(_DOTTED)):
                    ordinary.add(word)
            at = find(_LONG, end)
        return hits

    def _word(self, text: str, at: int, end: int, loose: bool, known: bool) -> list[Hit]:
        if end - at >= _ONE_LINE and (wrapped := _WRAPPED.match(text, at)):
            end = wrapped.end()
        hits = self._shapes(text, at, end)
        hits += self._base64(text, at, end, loose) or (self._known.in_base64(text, at, end) if known else [])
        if self._entropy and end - at >= 24 and shapes.looks_random(text[at:end]):
            hits.append(Hit(at, end, rules.ENTROPY, text[at:end]))
        return hits

    def _shapes(self, text: str, at: int, end: int) -> list[Hit]:
        hits = []
        for prefix in shapes.PREFIX.finditer(text, max(0, at - 5), end):
            if self._jwt and (token := shapes.JWT_SHAPE.match(text, prefix.start())):
                hits.append(Hit(*token.span(), rules.JWT, token[0]))
            elif self._shape and (key := shapes.SHAPE.match(text, prefix.start())):
                hits.append(Hit(*key.span(), rules.SHAPE, key[0]))
        return hits

    def _base64(self, text: str, at: int, end: int, loose: bool) -> list[Hit]:
        hits = []
        for match in BASE64_TEXT.finditer(text, at, min(len(text), end + 2)):
            decoded = base64_text(match[0])
            if decoded is None:
                continue
            inner = tuple(self._inside(decoded))
            if inner:
                goes_on = "=" not in match[0] and _is_base64(text[match.end() : match.end() + 1])
                hits.append(Hit(*match.span(), inner[0].rule, "", inner, decoded, goes_on))
            elif loose and len(match[0]) >= _WHOLE_LINE:
                hits.append(Hit(*match.span(), rules.KEY, match[0]))
        return hits


def _is_base64(char: str) -> bool:
    return char != "" and char.isascii() and (char.isalnum() or char in "+/_-")
