"""Rules about characters that people do not see and models do. Pure; run them in the worker process."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject

_SOURCE: Final = "Unicode UAX #9, UTR #36; tool poisoning reports"
_TAGS: Final = re.compile(r"[\U000e0000-\U000e0fff]")


@rule(
    "characters-bidi",
    "error",
    "A text holds characters that reorder or smuggle text",
    why="Direction overrides and tag characters make people read something else than the model does.",
    remedy="Remove them; in honest English text they have no use. Treat the server with suspicion until explained.",
    spec=_SOURCE,
)
def characters_bidi(subject: Subject) -> Iterator[Hit]:
    for index, path, segment, kind in subject.hidden:
        if kind == "bidi" or _TAGS.search(segment):
            yield Hit(index, path, f"holds {_points(segment)}")


@rule(
    "characters-invisible",
    "caution",
    "A text holds characters without width",
    why="They split words for search and tokenizers, and make two names look alike.",
    remedy="Remove zero-width spaces, soft hyphens and byte order marks from the source of the text.",
    spec=_SOURCE,
)
def characters_invisible(subject: Subject) -> Iterator[Hit]:
    for index, path, segment, kind in subject.hidden:
        if kind == "zero-width" and not _TAGS.search(segment):
            yield Hit(index, path, f"holds {_points(segment)}")


@rule(
    "characters-control",
    "caution",
    "A text holds control characters or terminal escapes",
    why="Terminals obey them, logs break on them, and a person does not see what the model is told.",
    remedy="Strip control characters and colour codes before listing.",
    spec=f"{_SOURCE}; ECMA-48",
)
def characters_control(subject: Subject) -> Iterator[Hit]:
    for index, path, segment, kind in subject.hidden:
        if kind in ("control", "ansi") and segment.strip("\r"):
            yield Hit(index, path, f"holds {_points(segment)}")


def _points(segment: str) -> str:
    shown = " ".join([f"U+{ord(each):04X}" for each in segment[:8]])
    return f"{shown} and {len(segment) - 8} more" if len(segment) > 8 else shown


@rule(
    "keys-repeated",
    "error",
    "A JSON object has the same key twice",
    why="Parsers differ in which one counts: what you review need not be what the model is sent.",
    remedy="Send each key once.",
    spec="RFC 8259 §4 (names SHOULD be unique)",
)
def keys_repeated(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.value is None or _is_plain(entry.raw, entry.value):
            continue
        twice: list[str] = []

        def note(pairs: list[tuple[str, Any]], twice: list[str] = twice) -> None:
            twice += [key for key, times in Counter([key for key, _ in pairs]).items() if times > 1]

        json.loads(entry.raw, object_pairs_hook=note, parse_int=str)
        if twice:
            yield Hit(entry.index, "", f"`{twice[0]}` stands twice in one object")


def _is_plain(raw: str, value: Any) -> bool:
    """Whether writing the value again gives the text, so that nothing can stand twice in it.

    Also True for one nested too deeply to look at; `item-broken` tells of that one.
    """
    try:
        return jsontext.quick_text(value) == raw
    except RecursionError:
        return True
