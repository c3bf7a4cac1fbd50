"""Results read as JSON text: members and elements as received, integers of any length. Pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.jsontree import Document


def _integer(digits: str) -> int | float:
    """Integers past Python's digit limit are valid JSON: only their text is shown, as a value they are infinite."""
    return int(digits) if len(digits) < 4000 else float(digits)


DECODER: Final = json.JSONDecoder(parse_int=_integer)


LONG_CHARS: Final = 250_000
"""A longer text is not laid out as JSON: laying out costs 2 s a megabyte."""

_QUICK: Final = json.JSONDecoder()
"""Much faster over many integers, and refuses one that is past Python's digit limit."""


class _Reader(jsontext.Reader):
    """Reads integers of any length."""

    def value(self) -> Any:
        self.peek()
        try:
            value, self.at = _QUICK.raw_decode(self.text, self.at)
        except ValueError:
            value, self.at = DECODER.raw_decode(self.text, self.at)
        return value


def members_of_result(raw: bytes | None) -> list[tuple[str, str]]:
    """The members of `result`, its last one when there are several; 20 MB are read once, not once a level."""
    reader = _Reader((raw or b"").decode("utf-8", "backslashreplace"))
    found: list[tuple[str, str]] = []
    for key in reader.members():
        if key == "result":
            found = _taken(reader)
        else:
            reader.value()
    return found


def members_in(document: Document) -> list[tuple[str, str]]:
    """The same out of a large answer, long members as received instead of compact: they are opened bit by bit."""
    children = document.children(document.find(("result",)))
    spans = zip(children.keys or (), children.starts, children.ends, strict=True)
    texts = [(key, document.text[start:end]) for key, start, end in spans]
    return [(key, text if len(text) > LONG_CHARS else jsontext.compact(text)) for key, text in texts]


def members_of(text: str) -> list[tuple[str, str]]:
    """As jsontext.members_of, with integers of any length."""
    return _taken(_Reader(text))


def _taken(reader: _Reader) -> list[tuple[str, str]]:
    text, found = reader.text, []
    for key in reader.members():
        start = reader.at
        value = reader.value()
        found.append((key, jsontext.compact_as_received(text[start : reader.at], value)))
    return found


def elements_of(text: str) -> Iterator[tuple[str, Any]]:
    """(text, parsed value) of each element of a JSON array."""
    reader = _Reader(text)
    for _ in reader.elements():
        start = reader.at
        value = reader.value()
        yield reader.text[start : reader.at], value
