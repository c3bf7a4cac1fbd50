"""RFC 6570 URI templates of servers: a strict grammar and caps of ours, expansion by std-uritemplate. Pure, any thread.

The library expands all of level 4 but takes some malformed templates, and has no bound; what it is given here
has passed both. Grammar: RFC 6570 section 2; the operators: section 3.2 and appendix A.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import stduritemplate

from inspector.errors import UsageError

MOST_CHARS: Final = 8_192
MOST_VARIABLES: Final = 256
MOST_URI: Final = 65_536
"""Characters of an expanded URI."""

Value = str | list[str] | dict[str, str]

OPTIONAL_OPERATORS: Final = frozenset("#./;?&")
"""Expressions whose value brings its own first character: without a value nothing is left, and no hole."""

BY_HAND: Final = "Type the whole URI by hand, or have the server mend its template"
_PIECE = re.compile(r"\{([^{}]*)\}|([^{}]+)|(.)", re.DOTALL)
_LITERAL = re.compile(r"(?:%[0-9A-Fa-f]{2}|[^\x00-\x20\x7f\"'%<>\\^`{|}\ud800-\udfff])*\Z")
_NO_URI = re.compile(r"[^%A-Za-z0-9\-._~:/?#\[\]@!$&()*+,;=']+")
"""What RFC 3986 has no place for."""
_EXPRESSION = re.compile(r"([+#./;?&]?)(.*)\Z", re.DOTALL)
_CHAR = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_SPEC = re.compile(rf"({_CHAR}(?:\.?{_CHAR})*)(?:(\*)|:([1-9][0-9]{{0,3}}))?\Z")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a template, in all places it has there.

    required: some expression leaves a hole without it (`{id}`, `{+path}`); `{?q}`, `{/path}` and the like leave
    nothing. many: it takes a list or pairs (`{list*}`). prefix: the most characters used of it, None for all.
    """

    name: str
    required: bool
    many: bool
    prefix: int | None = None
    operators: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template that holds to RFC 6570. uses: (name, prefix) of each place a variable stands in."""

    text: str
    variables: tuple[Variable, ...]
    uses: tuple[tuple[str, int | None], ...]

    def expand(self, values: Mapping[str, Value]) -> str:
        """The URI for these values; a name that is absent is undefined. Raises UsageError past a cap."""
        for variable in self.variables:
            self._check(variable, values.get(variable.name))
        if sum(_least(values.get(name), prefix) for name, prefix in self.uses) > MOST_URI:
            raise _too_long()
        known = {name: value for name, value in values.items() if name in self._names()}
        uri = str(stduritemplate.StdUriTemplate.expand(self.text, known))
        uri = _NO_URI.sub(
            lambda found: quote(found[0]), uri
        )  # the library leaves control characters as they are
        if len(uri) > MOST_URI:
            raise _too_long()
        return uri

    def _names(self) -> set[str]:
        return {variable.name for variable in self.variables}

    @staticmethod
    def _check(variable: Variable, value: Value | None) -> None:
        if value is None:
            if variable.required:
                raise UsageError(f"The template needs a value for “{variable.name}”", "Fill it in")
            return
        if variable.prefix is not None and not isinstance(value, str):
            text = f"“{variable.name}” is cut to {variable.prefix} characters, so it takes one text"
            raise UsageError(text, "Give it one value")
        texts = (value,) if isinstance(value, str) else [*value, *_values(value)]
        if any("\ud800" <= char <= "\udfff" for text in texts for char in text):
            raise UsageError(f"“{variable.name}” holds half of a surrogate pair", "Type it again")


def parse(text: str) -> Template:
    """Read a template. Raises UsageError: what is wrong with it and where."""
    if len(text) > MOST_CHARS:
        raise UsageError(f"The URI template has {len(text):,} characters; {MOST_CHARS:,} are read", BY_HAND)
    places: list[tuple[str, str, bool, int | None]] = []
    for piece in _PIECE.finditer(text):
        inside, literal, stray = piece.groups()
        if stray is not None:
            raise _malformed(f"“{stray}” at character {piece.start() + 1} has no counterpart")
        if literal is not None:
            if _LITERAL.match(literal) is None:
                raise _malformed(f"the text from character {piece.start() + 1} on holds what no URI may")
            continue
        places += _expression(inside, piece.start())
        if len(places) > MOST_VARIABLES:
            raise UsageError(f"The URI template has more than {MOST_VARIABLES} variables", BY_HAND)
    return Template(text, _variables(places), tuple([(name, prefix) for _, name, _, prefix in places]))


def _expression(inside: str, at: int) -> list[tuple[str, str, bool, int | None]]:
    """(operator, name, many, prefix) of each variable of one expression."""
    found = _EXPRESSION.match(inside)
    assert found is not None
    operator, listed = found.groups()
    places = []
    for spec in listed.split(","):
        match = _SPEC.match(spec)
        if match is None:
            shown = spec if len(spec) <= 40 else f"{spec[:40]}…"
            raise _malformed(f"“{shown}” in the expression at character {at + 1} is no variable")
        name, many, prefix = match.groups()
        places.append((operator, name, bool(many), int(prefix) if prefix else None))
    return places


def _variables(places: list[tuple[str, str, bool, int | None]]) -> tuple[Variable, ...]:
    by_name: dict[str, list[tuple[str, bool, int | None]]] = {}
    for operator, name, many, prefix in places:
        by_name.setdefault(name, []).append((operator, many, prefix))
    return tuple([_variable(name, uses) for name, uses in by_name.items()])


def _variable(name: str, uses: list[tuple[str, bool, int | None]]) -> Variable:
    prefixes = [prefix for _, _, prefix in uses if prefix is not None]
    return Variable(
        name,
        any(operator not in OPTIONAL_OPERATORS for operator, _, _ in uses),
        any(many for _, many, _ in uses) and not prefixes,
        max(prefixes) if prefixes else None,
        "".join(dict.fromkeys(operator for operator, _, _ in uses)),
    )


def _values(value: list[str] | dict[str, str]) -> list[str]:
    return list(value.values()) if isinstance(value, dict) else []


def _least(value: Value | None, prefix: int | None) -> int:
    """Characters a value takes in the URI at the very least."""
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value) if prefix is None else min(prefix, len(value))
    return sum(map(len, [*value, *_values(value)]))


def _malformed(why: str) -> UsageError:
    return UsageError(f"The URI template is malformed: {why}", BY_HAND)


def _too_long() -> UsageError:
    return UsageError(f"The URI would have more than {MOST_URI:,} characters", "Give shorter values")
