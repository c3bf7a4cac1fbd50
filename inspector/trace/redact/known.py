"""Finds values that are known to be secret, as they are and inside base64 at any offset. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from inspector.trace.redact import rules
from inspector.trace.redact.hits import Hit
from inspector.trace.redact.rules import Rules
from inspector.trace.redact.views import base64_cores

_SAFE: Final = re.compile(r"[A-Za-z0-9_.~-]{4,}")
_SHORT: Final = 16
LEARNED: Final = 64


class Known:
    """The values passed to the server, a person's own texts, and what other rules found to be a secret."""

    def __init__(self, these: Rules) -> None:
        self.always = False
        """Some value has no part that every encoding leaves alone: every string has to be looked at."""
        self._values: list[tuple[str, str, str]] = []
        self._cores: list[tuple[str, str, str]] = []
        self.learned: dict[str, str] = {}
        for n, text in enumerate(these.texts, 1):
            self._add(text, f"T{n}")
        self._passed = set(these.known)
        if these.applies(rules.KNOWN):
            for value in these.known:
                self._add(value, rules.KNOWN)

    def learn(self, secret: str, rule: str) -> bool:
        """Hide `secret` wherever it comes again; False when it is known, or could be an ordinary word."""
        if secret in self.learned or len(self.learned) >= LEARNED or not _unmistakable(secret):
            return False
        self.learned[secret] = rule
        self._add(secret, rule)
        return True

    def needles(self) -> list[bytes]:
        """In lower case: `find` and `in_base64` give nothing where none of these stands."""
        found = [piece for piece, _, _ in self._values] + [core for core, _, _ in self._cores]
        return [piece.encode("latin-1", "replace").lower() for piece in dict.fromkeys(found)]

    def know(self, values: Iterable[str]) -> bool:
        """Hide these too; False when each is known already, or not worth hiding."""
        before = len(self._values)
        for value in values:
            for form in rules.known_forms(value):
                if form not in self._passed:
                    self._passed.add(form)
                    self._add(form, rules.KNOWN)
        return len(self._values) > before

    def find(self, text: str, loose: bool) -> Iterator[Hit]:
        for piece, value, rule in self._values:
            if piece not in text:
                continue
            wanted = piece if loose else value
            at = text.find(wanted)
            while at >= 0:
                yield Hit(at, at + len(wanted), rule, value)
                at = text.find(wanted, at + len(wanted))

    def in_base64(self, text: str, at: int, end: int) -> list[Hit]:
        """Known values in the run of base64 characters that goes from `at` to `end`."""
        hits = []
        for core, value, rule in self._cores:
            found = text.find(core, at, end)
            if found >= 0:
                hits.append(Hit(found, found + len(core), rule, value))
        return hits

    def _add(self, value: str, rule: str) -> None:
        forms = (
            [value] if value.isascii() else [value, value.encode("utf-8", "surrogatepass").decode("latin-1")]
        )
        for form in forms:
            pieces: list[str] = _SAFE.findall(form)
            self.always = self.always or not pieces
            self._values.append((max(pieces, key=len) if pieces else form, form, rule))
        if len(value) >= rules.SHORTEST_KNOWN:
            for core in base64_cores(value):
                self._cores.append((core, value, rule))
                if len(core) < _SHORT:  # its base64 may be too short to be seen as a long word
                    self._values.append((core, core, rule))


def _unmistakable(secret: str) -> bool:
    return (
        len(secret) >= 16
        and not any(map(str.isspace, secret))
        and any(map(str.isdigit, secret))
        and any(map(str.isalpha, secret))
    )
