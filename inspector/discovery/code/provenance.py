"""Where the data of a call's arguments came from: the script, a server, or nobody can tell. Pure, one run's thread.

A script can disguise what it read; so what is neither written in the script nor found in a result counts as derived
from every server read so far.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Policy = Literal["allow", "ask", "block"]
POLICIES: Final[tuple[Policy, ...]] = ("allow", "ask", "block")
_WORD = re.compile(r"\w{4,}")
_LONG: Final = 8
_SHORTEST: Final = 4
_MOST: Final = 500_000
"""Pieces remembered of one server; a run that read more has everything marked as derived."""


@dataclass(slots=True)
class Origins:
    """code: the script, whose constants are its own. What servers returned is remembered piece by piece."""

    code: str
    _own: set[Any] = field(default_factory=set)
    _pieces: dict[str, set[int]] = field(default_factory=dict)
    _read: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            nodes = list(ast.walk(ast.parse(self.code)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = []
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
                self._own.add(node.value)

    def note(self, server: str, value: Any, call: int) -> None:
        """A result of that server reached the script."""
        pieces = self._pieces.setdefault(server, set())
        self._read.setdefault(server, call)
        for leaf in _leaves(value):
            if len(pieces) > _MOST:
                return
            if isinstance(leaf, str):
                pieces.update(_pieces_of(leaf))

    def marks(self, server: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """`billing, read by call 1`, `derived from what was read of billing`: data of other servers in a call to this."""
        others = {each: call for each, call in self._read.items() if each != server}
        if not others:
            return ()
        seen: dict[str, None] = {}
        derived = False
        for leaf in _leaves(list(arguments.values())):  # the names of parameters are the tool's
            if isinstance(leaf, bool) or leaf is None or leaf in self._own or leaf == "":
                continue
            sources = self._seen_in(leaf, others) if isinstance(leaf, str) else []
            seen |= {f"{each}, read by call {others[each]}": None for each in sources}
            if not sources and not (isinstance(leaf, str) and self._seen_in(leaf, {server: 0})):
                derived = True
        return (*seen, *([f"derived, perhaps from {' or '.join(others)}"] if derived else []))

    def _seen_in(self, text: str, servers: Mapping[str, int]) -> list[str]:
        pieces = set(_pieces_of(text))
        return [each for each in servers if pieces & self._pieces.get(each, set())]


def _pieces_of(text: str) -> Iterator[int]:
    """The whole, its long words, and its words two by two."""
    if len(text) >= _SHORTEST:
        yield hash(text)
    words = _WORD.findall(text)
    for at, word in enumerate(words):
        if len(word) >= _LONG:
            yield hash(word)
        if at:
            yield hash((words[at - 1], word))


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each
        else:
            yield each
