"""Walks JSON text leaf by leaf, telling exact places and paths. Pure, any thread; iterative, so depth is no danger."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DECODER: Final = json.JSONDecoder()
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_KEYWORDS: Final = frozenset(("$ref", "anyOf", "oneOf", "allOf", "enum", "const"))


class Walk:
    """One pass over valid JSON text; while it stands on a leaf, `key`, `pointer` and `in_schema` tell where.

    A leaf is (kind, start, end): kind `key`, `string` or `number`; keys, strings with their quotes.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._stack: list[_Level] = []

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        stack, expect_key = self._stack, False
        for match in _TOKEN.finditer(self._text):
            char = self._text[match.start()]
            if char == '"':
                if expect_key:
                    stack[-1].step = self._key(match)
                    expect_key = False
                    yield "key", match.start(), match.end()
                else:
                    yield "string", match.start(), match.end()
            elif char in "{[":
                stack.append(_Level(char == "{", match.start()))
                expect_key = char == "{"
            elif char in "}]":
                stack.pop()
                expect_key = False
            elif char == ",":
                level = stack[-1]
                expect_key = level.is_object
                if not level.is_object:
                    level.step = int(level.step) + 1
            elif char in "-0123456789":
                yield "number", match.start(), match.end()

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

    def _key(self, match: re.Match[str]) -> str:
        token = match[0]
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
