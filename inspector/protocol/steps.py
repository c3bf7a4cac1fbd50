"""Parsing a large frame in steps, so that one 3 MB list does not hold the loop for 40 ms. Pure, any thread.

The envelope, its result and the list in it are walked here; the items are left to json's own scanner, about a step of
them together: what it parses at once shares its keys, and one by one the 3 MB take a fifth more memory. The frame is
the one `frames.classify` gives: whatever surprises the walk is handed to that, so errors are json's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any, Final

from inspector.protocol import frames
from inspector.protocol.frames import Frame

LARGE: Final = 64 * 1024
"""Bytes up to which a frame is parsed at once (under 1 ms)."""
STEP: Final = 16 * 1024
"""Characters between two pauses: about 0.2 ms."""
_DEPTH: Final = 3
_LISTS: Final = frozenset(("result", name) for name in ("tools", "prompts", "resources", "resourceTemplates"))
"""Where the items of a list stand: one that is nested too deeply to read does not hide the others. It is None here; what
is said of it comes from the raw answer (catalog/snapshot.py)."""
_brackets = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]').finditer

_opening = re.compile(r'\{[ \t\n\r]*"[^"\\]{1,80}"').match
_GUESSES: Final = 3
"""Places between two items that were none, after which the rest of an array is parsed one by one."""
_space = re.compile(r"[ \t\n\r]*").match
Where = tuple[str, ...]
Scan = Callable[[str, int], tuple[Any, int]]
Walk = Generator[int, None, tuple[Any, int]]


def classify_in_steps(raw: bytes) -> Generator[None, None, Frame]:
    """Yields about every STEP characters; the generator's value is the frame. Never raises."""
    try:
        value = yield from _parse(raw.decode("utf-8"))
    except (ValueError, IndexError, RecursionError):
        return frames.classify(raw)
    return frames.classify_value(value)


def classify(raw: bytes) -> Frame:
    """The same without pauses."""
    steps = classify_in_steps(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: Frame = done.value
            return found


def _parse(text: str) -> Generator[None, None, Any]:
    walk = _value(text, _skip(text, 0), (), _decoder.raw_decode)
    rested = 0
    while True:
        try:
            at = next(walk)
        except StopIteration as done:
            value, end = done.value
            break
        if at - rested >= STEP:
            rested = at
            yield
    if _skip(text, end) != len(text):
        raise ValueError
    return value


def _refuse(_constant: str) -> Any:
    raise ValueError


_decoder = json.JSONDecoder(parse_constant=_refuse)
"""Its `raw_decode` is json's own scanner of one value at a place; ValueError where it finds none."""


def _value(text: str, at: int, where: Where, scan: Scan) -> Walk:
    """The value at `at` and where it ends; yields how far it has come. where: the keys that lead to it."""
    if len(where) == _DEPTH or text[at] not in "{[":
        found = scan(text, at)
        yield found[1]
        return found
    if text[at] == "[":
        return (yield from _array(text, at, where, scan))
    held: dict[str, Any] = {}
    at = _after(text, at, "{")
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError
        key, at = scan(text, at)
        held[key], at = yield from _value(text, _after(text, at, ":"), (*where, key), scan)
        at = _next(text, at, "}")
    return held, at + 1


def _array(text: str, at: int, where: Where, scan: Scan) -> Walk:
    held: list[Any] = []
    between, wrong = "", 0
    at = _after(text, at, "[")
    while text[at] != "]":
        several = _several(text, at, between) if between and wrong < _GUESSES else None
        if several:
            held += several[0]
            at = several[1]
            yield at
        else:
            wrong += several is not None
            try:
                value, at = yield from _value(text, at, (*where, ""), scan)
            except RecursionError:
                if where not in _LISTS:
                    raise
                value, at = None, end_of(text, at)
            held.append(value)
        end = at
        at = _next(text, at, "]")
        if not between and (found := _opening(text, at)):
            between = text[end - 1 : found.end()]
    return held, at + 1


def _several(text: str, at: int, between: str) -> tuple[()] | tuple[list[Any], int] | None:
    """About STEP characters of items from `at`, and where they end; () when they do not end there, None: no such place.

    between: from the end of one item to the first key of the next, as it stands between two of this array. It may stand
    within an item too, but then what is before it is no list of whole values.
    """
    end = text.find(between, at + STEP, at + 2 * STEP) + 1
    if not end:
        return None
    try:
        return _decoder.decode(f"[{text[at:end]}]"), end
    except (ValueError, RecursionError):
        return ()


def end_of(text: str, at: int) -> int:
    """Where the object or array at `at` ends, however deeply it is nested; ValueError when it does not.

    Nothing but strings and brackets is looked at: it may be no JSON.
    """
    depth = 0
    for found in _brackets(text, at):
        mark = found[0]
        if mark[0] != '"':
            depth += 1 if mark in "[{" else -1
            if depth == 0:
                return found.end()
    raise ValueError(f"no end of what begins at character {at}")


def _after(text: str, at: int, mark: str) -> int:
    """Past `mark`, which must come next, and the space around it."""
    at = _skip(text, at)
    if text[at] != mark:
        raise ValueError
    return _skip(text, at + 1)


def _next(text: str, at: int, closing: str) -> int:
    """At `closing`, or past the comma; a comma right before `closing` is json's to refuse."""
    at = _skip(text, at)
    if text[at] == closing:
        return at
    at = _after(text, at, ",")
    if text[at] == closing:
        raise ValueError
    return at


def _skip(text: str, at: int) -> int:
    found = _space(text, at)
    assert found is not None
    return found.end()
