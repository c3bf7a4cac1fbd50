"""Walks JSON text leaf by leaf, telling exact places and paths. Pure, any thread; iterative, so depth is no danger."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final

_STRING: Final = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
_TOKEN: Final = re.compile(
    rf"[ \t\n\r]*({_STRING}|[{{}}\[\],:]|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
    r"|true|false|null|NaN|-?Infinity)[ \t\n\r]*"
)
_DECODER: Final = json.JSONDecoder()
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_KEYWORDS: Final = frozenset(("$ref", "anyOf", "oneOf", "allOf", "enum", "const"))
_STEPS: Final = (4096, 65536)
"""How far is read to step over an object or array at once; a longer one is walked through."""
_DEEPEST: Final = 900
_VALUE, _FIRST, _KEY, _FIRST_KEY, _COLON, _REST = range(6)
"""What may come next; _FIRST and _FIRST_KEY: or the end of what has just begun; _REST: a comma or an end."""


class Walk:
    """One pass over JSON text; while it stands on a leaf, `key`, `steps` and `in_schema` tell where.

    A leaf is (kind, start, end): kind `key`, `string` or `number`; keys, strings with their quotes. places: the
    positions of interest, in order: what holds none of them is stepped over at once. Raises ValueError where
    the text turns out to be no JSON, at its end at the latest, and RecursionError where it is nested too deeply.
    """

    def __init__(self, text: str, places: list[int] | None = None) -> None:
        self._text = text
        self._places = places
        self._stack: list[_Level] = []

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        """Each character is judged once: by the tokens here, or by the decoder where no place is."""
        text, stack = self._text, self._stack
        state, at = _VALUE, 0
        while state != _REST or stack or at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"no JSON at {at}")
            (start, end), at = match.span(1), match.end()
            char = text[start]
            if char == '"' and state in (_KEY, _FIRST_KEY):
                stack[-1].step = self._key(match[1])
                state = _COLON
                yield "key", start, end
            elif char in ":,}]":
                state = self._structure(char, state, start)
            elif state not in (_VALUE, _FIRST):
                raise ValueError(f"no JSON at {start}")
            elif char in "{[":
                past = self._past(start)
                if past:
                    state, at = _REST, past
                    continue
                if len(stack) >= _DEEPEST:
                    raise RecursionError
                stack.append(_Level(char == "{", start))
                state = _FIRST_KEY if char == "{" else _FIRST
            else:
                state = _REST
                if char == '"':
                    yield "string", start, end
                elif char in "-0123456789":
                    yield "number", start, end

    def _structure(self, char: str, state: int, start: int) -> int:
        """The state after `:`, `,`, `}` or `]`."""
        level = self._stack[-1] if self._stack else None
        if char == ":" and state == _COLON:
            return _VALUE
        if level is not None and char == "," and state == _REST:
            if level.is_object:
                return _KEY
            level.step = int(level.step) + 1
            return _VALUE
        ends = level is not None and char == ("}" if level.is_object else "]")
        if ends and state in (_REST, _FIRST_KEY if char == "}" else _FIRST):
            self._stack.pop()
            return _REST
        raise ValueError(f"no JSON at {start}")

    def _past(self, start: int) -> int | None:
        """Where the object or array that begins at `start` ends, if it is not too long and holds no place."""
        if self._places is None:
            return None
        following = bisect_left(self._places, start)
        limit = self._places[following] if following < len(self._places) else len(self._text)
        for step in _STEPS:
            stop = min(limit, start + step)
            try:
                return start + _DECODER.raw_decode(self._text[start:stop])[1]
            except ValueError:
                if stop == limit:
                    break
        return None

    @property
    def key(self) -> str | None:
        """The key whose value this leaf is."""
        level = self._stack[-1] if self._stack else None
        return str(level.step) if level is not None and level.is_object else None

    def steps(self) -> list[str]:
        """The keys and indices that lead to the leaf."""
        return [str(level.step) for level in self._stack]

    def in_schema(self) -> bool:
        """Whether it stands inside the `properties` of a JSON Schema."""
        return any(
            outer.is_object and outer.step == "properties" and inner.is_object and self._describes(inner)
            for outer, inner in zip(self._stack, self._stack[1:], strict=False)
        )

    def _describes(self, level: _Level) -> bool:
        """Every property of a schema is a schema, an object or a boolean; a resource's `properties` are not."""
        if level.schema is None:
            try:
                value: Any = _DECODER.raw_decode(self._text, level.start)[0]
            except (ValueError, RecursionError):
                value = {}
            level.schema = all(isinstance(inner, dict | bool) for inner in value.values()) and any(
                _is_schema(inner) for inner in value.values()
            )
        return level.schema

    def _key(self, token: str) -> str:
        return token[1:-1] if "\\" not in token else str(json.loads(token))


def _is_schema(value: Any) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, bool)
    kinds = value.get("type")
    return (isinstance(kinds, list) or kinds in _TYPES) or not _KEYWORDS.isdisjoint(value)


class _Level:
    """An object or array the walk is in; `step` is the key or index it stands at."""

    __slots__ = ("is_object", "schema", "start", "step")

    def __init__(self, is_object: bool, start: int) -> None:
        self.is_object = is_object
        self.start = start
        self.step: str | int = "" if is_object else 0
        self.schema: bool | None = None


def pointer(steps: list[str]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
