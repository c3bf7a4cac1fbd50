r"""Exact bytes of each listed definition, whole and by part. Pure; run it in the worker process.

A definition's text is its JSON as received, made compact: key order, duplicate keys and number spellings (`1.0`,
`1e5`, `-0`, integers of any length) unchanged, non-ASCII raw, escapes minimal (`\u00e9` -> é, `\/` -> /). A lone
surrogate keeps its escape `\udXXX` in bytes, because UTF-8 has none for it, and counts as U+FFFD in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.snapshot import Item, Listing

PARTS: Final = (
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "icons",
    "_meta",
    "other",
)
"""Where a definition's bytes go; `other` is braces, commas and every key not named here."""
TOO_DEEP: Final = "nested too deeply to weigh by part"


@dataclass(frozen=True, slots=True)
class Measure:
    """One definition, weighed.

    name: as in `Item`, None when it has none. parts: bytes by `PARTS`, summing to `definition_bytes`; the parts
    a definition lacks are absent. text: the compact definition. broken: as in `Item`.
    """

    name: str | None
    definition_bytes: int
    parts: dict[str, int]
    text: str = field(repr=False)
    broken: str = ""


def measure_items(listing: Listing) -> list[Measure]:
    """Weigh every item, broken ones too."""
    return [measure_item(item) for item in listing.items]


def measure_item(item: Item) -> Measure:
    """Weigh one item."""
    if not isinstance(item.value, dict):
        text = jsontext.compact_as_received(item.raw, item.value)
        return Measure(item.name, jsontext.size(text), {"other": jsontext.size(text)}, text, item.broken)
    try:
        members, plain = _members(item.raw, item.value)
    except RecursionError:
        text = jsontext.compact(item.raw)
        return Measure(item.name, jsontext.size(text), {"other": jsontext.size(text)}, text, TOO_DEEP)
    text = item.raw if plain else "{" + ",".join([member for _, member in members]) + "}"
    size = jsontext.size(text)
    return Measure(item.name, size, _parts(members, size), text, item.broken)


def weigh(item: Item) -> tuple[Measure, str]:
    """`measure_item`, and the item's canonical form."""
    members = _sorted_inside(item)
    if members is not None:
        canonical = "{" + ",".join([member for _, member in sorted(members)]) + "}"
        if jsontext.is_as_written(item.raw, item.value, canonical, item.floats):
            size = jsontext.size(item.raw)
            return Measure(item.name, size, _parts(members, size), item.raw, item.broken), canonical
    return measure_item(item), jsontext.canonical(item.raw, item.value)


def _sorted_inside(item: Item) -> list[tuple[str, str]] | None:
    """(key, `"key":value`) in received order, each value with its keys sorted; None when there are no such members."""
    if not isinstance(item.value, dict):
        return None
    try:
        return [
            (key, f"{jsontext.quick_text(key)}:{jsontext.quick_sorted(each)}")
            for key, each in item.value.items()
        ]
    except RecursionError:
        return None


def _members(raw: str, value: dict[str, Any]) -> tuple[list[tuple[str, str]], bool]:
    """(key, compact `"key":value`) in received order, duplicates included; whether they are `raw` as it stands."""
    quick = [(key, f"{jsontext.quick_text(key)}:{jsontext.quick_text(each)}") for key, each in value.items()]
    if "{" + ",".join([member for _, member in quick]) + "}" == raw:
        return quick, True
    return [(key, f"{jsontext.compact_value(key)}:{text}") for key, text in jsontext.members_of(raw)], False


def _parts(members: list[tuple[str, str]], size: int) -> dict[str, int]:
    parts: dict[str, int] = {}
    for key, member in members:
        if key in PARTS and key != "other":
            parts[key] = parts.get(key, 0) + jsontext.size(member)
    parts["other"] = size - sum(parts.values())
    return parts
