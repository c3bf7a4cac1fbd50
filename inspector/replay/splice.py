"""Replaces one value inside JSON text and leaves every other byte as it is. Pure, any thread."""

from __future__ import annotations

from inspector.catalog import jsontext


def spliced(raw: bytes, path: tuple[str, ...], new: str) -> bytes:
    """`raw` with the text of the value at `path` (member names) replaced by `new`; unchanged where there is none.

    Of duplicate members the last counts, as for every JSON parser we met. raw must be valid JSON in UTF-8.
    """
    text = raw.decode("utf-8")
    span = _span(jsontext.Reader(text), path)
    return raw if span is None else jsontext.utf8(text[: span[0]] + new + text[span[1] :])


def member(raw: bytes, path: tuple[str, ...]) -> str | None:
    """The exact text of the value at `path`; None where there is none."""
    text = raw.decode("utf-8")
    span = _span(jsontext.Reader(text), path)
    return None if span is None else text[span[0] : span[1]]


def _span(reader: jsontext.Reader, path: tuple[str, ...]) -> tuple[int, int] | None:
    if reader.peek() != "{":
        return None
    found = None
    for key in reader.members():
        start = reader.at
        if key == path[0] and len(path) > 1:
            found = _span(jsontext.Reader(reader.text, start), path[1:])
        reader.value()
        if key == path[0] and len(path) == 1:
            found = (start, reader.at)
    return found
