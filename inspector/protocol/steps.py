"""Parsing a large frame in steps, so that one 3 MB list does not hold the loop for 40 ms. Pure, any thread.

The envelope, its result and the list in it are walked here; each item is left to json's own scanner. The frame is
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

_space = re.compile(r"[ \t\n\r]*").match
Scan = Callable[[str, int], tuple[Any, int]]
Walk = Generator[int, None, tuple[Any, int]]


def classify_in_steps(raw: bytes) -> Generator[None, None, Frame]:
    """Yields about every STEP characters; the generator's value is the frame. Never raises."""
    try:
        value = yield from _parse(raw.decode("utf-8"))
    except (ValueError, IndexError, RecursionError):
        return frames.classify(raw)
    return frames.classify_value(value)


def _parse(text: str) -> Generator[None, None, Any]:
    walk = _value(text, _skip(text, 0), 0, _scanner())
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


def _scanner() -> Scan:
    """json's own scanner of one value at a place; ValueError where it finds none."""
    return json.JSONDecoder(parse_constant=_refuse).raw_decode


def _refuse(_constant: str) -> Any:
    raise ValueError


def _value(text: str, at: int, depth: int, scan: Scan) -> Walk:
    """The value at `at` and where it ends; yields how far it has come."""
    if depth == _DEPTH or text[at] not in "{[":
        found = scan(text, at)
        yield found[1]
        return found
    if text[at] == "[":
        return (yield from _array(text, at, depth, scan))
    held: dict[str, Any] = {}
    at = _after(text, at, "{")
    while text[at] != "}":
        if text[at] != '"':
            raise ValueError
        key, at = scan(text, at)
        held[key], at = yield from _value(text, _after(text, at, ":"), depth + 1, scan)
        at = _next(text, at, "}")
    return held, at + 1


def _array(text: str, at: int, depth: int, scan: Scan) -> Walk:
    held: list[Any] = []
    at = _after(text, at, "[")
    while text[at] != "]":
        value, at = yield from _value(text, at, depth + 1, scan)
        held.append(value)
        at = _next(text, at, "]")
    return held, at + 1


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
