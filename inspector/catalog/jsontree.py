"""A JSON text opened bit by bit: where the children of a node stand, found when asked for and kept. Pure, any thread."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from inspector.catalog import jsontext

MOST_KEPT: Final = 64
"""Nodes whose children are remembered."""
STEPPED: Final = 3
"""Levels that are walked in Python, where other threads get their turn; below them the C scanner steps over a node."""
NOTED: Final = 32
"""The children of a container are noted on the way when it is more than this part of the text."""
_SPACES: Final = frozenset(" \t\n\r")

Path = tuple[str | int, ...]
"""From the root: a name is the last member so called, a number the child at that place, of objects too."""

Span = tuple[int, int]
"""Where a node begins and ends in the text."""


@dataclass(slots=True)
class Children:
    """The children of one container, in order. keys: where an object's keys stand, None for an array."""

    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    keys: list[str] | None = None

    def __len__(self) -> int:
        return len(self.starts)


class Document:
    """One text. Raises ValueError where it is no JSON, or a path leads nowhere; RecursionError when too deep."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._children: OrderedDict[Span, Children] = OrderedDict()

    def root(self) -> Span:
        return _after_space(self.text, 0), len(self.text.rstrip())

    def find(self, path: Sequence[str | int]) -> Span:
        """Where the node at `path` stands."""
        span = self.root()
        for step in path:
            children = self.children(span)
            span = self._step(children, step)
        return span

    @staticmethod
    def _step(children: Children, step: str | int) -> Span:
        if isinstance(step, str):
            keys = children.keys or []
            at = len(keys) - 1 - keys[::-1].index(step) if step in keys else -1
        else:
            at = step
        if not 0 <= at < len(children):
            raise ValueError(f"there is no {step!r} here")
        return children.starts[at], children.ends[at]

    def children(self, span: Span) -> Children:
        """Of the object or array at `span`; ValueError for anything else."""
        known = self._children.get(span)
        if known is None:
            known, end = self._walk(span[0], STEPPED)
            self._keep((span[0], end), known)
        return known

    def _keep(self, span: Span, children: Children) -> None:
        self._children[span] = children
        while len(self._children) > MOST_KEPT:
            self._children.popitem(last=False)

    def _walk(self, start: int, levels: int) -> tuple[Children, int]:
        """The children of the container at `start`, and where it ends. Large containers within are noted on the way."""
        text = self.text
        closes = {"{": "}", "[": "]"}.get(text[start : start + 1], "")
        if not closes:
            raise ValueError("this is no container")
        found = Children(keys=[] if closes == "}" else None)
        at = _after_space(text, start + 1)
        while text[at : at + 1] != closes or found.starts:
            if found.keys is not None:
                at = self._key(at, found.keys)
            found.starts.append(at)
            if levels and text[at : at + 1] in ("{", "["):
                inner, end = self._walk(at, levels - 1)
                if end - at > len(text) // NOTED:
                    self._keep((at, end), inner)
            else:
                _, end = jsontext.raw_decode(text, at)
            found.ends.append(end)
            at = _after_space(text, end)
            if text[at : at + 1] == closes:
                break
            if text[at : at + 1] != ",":
                raise ValueError(f"a comma was expected at character {at}")
            at = _after_space(text, at + 1)
        return found, at + 1

    def _key(self, at: int, keys: list[str]) -> int:
        """Take a key; where its value begins."""
        key, at = jsontext.raw_decode(self.text, at)
        at = _after_space(self.text, at)
        if not isinstance(key, str) or self.text[at : at + 1] != ":":
            raise ValueError(f"a key was expected at character {at}")
        keys.append(key)
        return _after_space(self.text, at + 1)


def _after_space(text: str, at: int) -> int:
    while text[at : at + 1] in _SPACES:
        at += 1
    return at
