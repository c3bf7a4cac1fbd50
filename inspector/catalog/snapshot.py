"""What a server listed at one moment, as received: pages in, items and hints out. Pure, any thread or process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeVar

from inspector.catalog import jsontext

T = TypeVar("T")

TOOLS: Final = "tools"
PROMPTS: Final = "prompts"
RESOURCES: Final = "resources"
TEMPLATES: Final = "templates"

# What the result calls its list, and which member names an item (MCP 2026-07-28, server/*).
_LIST_KEY: Final = {
    TOOLS: "tools",
    PROMPTS: "prompts",
    RESOURCES: "resources",
    TEMPLATES: "resourceTemplates",
}
UNREAD: Final = "nested too deeply to read"
_NAME_KEY: Final = {TOOLS: "name", PROMPTS: "name", RESOURCES: "uri", TEMPLATES: "uriTemplate"}


class Absent(Enum):
    """The server sent no such key; not the same as null. One value, so that `is ABSENT` survives pickling."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Page:
    """One list result: the cursor asked with, the JSON-RPC text exactly as received (no terminator), when
    (microseconds since the epoch) and the frame's seq in its journal."""

    cursor: str | None
    raw: bytes
    received_at_us: int
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One walked list. what: `tools`, `prompts`, `resources` or `templates`; declared: our client capabilities."""

    what: str
    pages: tuple[Page, ...]
    era: str | None = None
    protocol_version: str | None = None
    transport: str | None = None
    server_info: dict[str, Any] | None = None
    instructions: str | None = None
    declared: tuple[str, ...] = ()

    @property
    def raws(self) -> list[bytes]:
        return [page.raw for page in self.pages]

    def listing(self) -> Listing:
        return read_pages(self.what, self.raws)


@dataclass(frozen=True, slots=True)
class ListedPage:
    """What one page said. wire_bytes: without the terminator. ttl_ms, cache_scope, next_cursor: exactly as sent,
    of any JSON type, or ABSENT. fault: why the page holds no list, or an empty string."""

    wire_bytes: int
    count: int
    ttl_ms: Any = ABSENT
    cache_scope: Any = ABSENT
    next_cursor: Any = ABSENT
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One tool, prompt, resource or template.

    raw: its JSON text as received. value: the same, parsed (a duplicate key keeps the last). name: `name`, `uri`
    or `uriTemplate`, None when it has none. broken: why it cannot be used as sent, or an empty string; when it is UNREAD,
    value is None. floats: whether it may hold a number that is not written as an integer.
    """

    page: int
    raw: str
    value: Any
    name: str | None
    broken: str = ""
    floats: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """All items of a list in the order received, and what each page said."""

    what: str
    pages: tuple[ListedPage, ...]
    items: tuple[Item, ...] = field(repr=False)

    @property
    def names(self) -> list[str | None]:
        return [item.name for item in self.items]

    @property
    def order_sha256(self) -> str:
        return order_sha256(self.names)

    @property
    def sha256(self) -> str:
        return canonical_sha256([canonical_key(item) for item in self.items])


def order_sha256(names: Iterable[str | None]) -> str:
    """Of the names as received, one a line, each line ended by LF; a nameless item is an empty line."""
    lines = "".join([f"{name or ''}\n" for name in names])
    return hashlib.sha256(jsontext.utf8(lines)).hexdigest()


def canonical_key(item: Item, text: str | None = None) -> tuple[str, bytes]:
    """What an item adds to the hash of its list: name and canonical text (`text`, when that is at hand). Bytes, which
    take the least room."""
    return item.name or "", jsontext.utf8(jsontext.canonical(item.raw, item.value) if text is None else text)


def canonical_sha256(keys: list[tuple[str, bytes]]) -> str:
    """Of the canonical form: a JSON array of the items, sorted by name, ties by their canonical text."""
    found, comma = hashlib.sha256(b"["), b""
    for _, text in sorted(keys):
        found.update(comma + text)
        comma = b","
    found.update(b"]")
    return found.hexdigest()


def read_pages(what: str, raws: list[bytes]) -> Listing:
    """Read the list results of one walk; a page or an item that cannot be read never hides the others."""
    pages: list[ListedPage] = []
    items: list[Item] = []
    for number, raw in enumerate(raws):
        page, found = read_page(what, number, raw, _as_it_is)
        pages.append(page)
        items += found
    return Listing(what, tuple(pages), tuple(items))


def read_page(
    what: str, number: int, raw: bytes, take: Callable[[Item, int], T], text: str | None = None
) -> tuple[ListedPage, list[T]]:
    """One page, and what `take` makes of each item as it is read, so that no more than one need be kept parsed.

    take: is given the item and where it ends in the page's text. text: `raw` decoded, when that is at hand.
    """
    try:
        return _read_page(what, number, raw, take, text)
    except RecursionError:
        return ListedPage(len(raw), 0, fault="JSON nested too deeply to read"), []
    except ValueError as problem:
        return ListedPage(len(raw), 0, fault=f"not JSON: {problem}"), []


def _as_it_is(item: Item, _end: int) -> Item:
    return item


def _read_page(
    what: str, number: int, raw: bytes, take: Callable[[Item, int], T], text: str | None
) -> tuple[ListedPage, list[T]]:
    reader = jsontext.Reader(raw.decode("utf-8") if text is None else text)
    items: list[T] | None = None
    hints: dict[str, Any] = {}
    if reader.peek() != "{":
        return ListedPage(len(raw), 0, fault="the answer is not a JSON object"), []
    for key in reader.members():
        if key == "result" and reader.peek() == "{":
            items, hints = _read_result(reader, what, number, take)
        else:
            reader.value()
    if reader.peek():
        raise ValueError(f"text after the end at character {reader.at}")
    fault = f"the answer has no list called {_LIST_KEY[what]}" if items is None else ""
    found = items or []
    page = ListedPage(
        len(raw),
        len(found),
        hints.get("ttlMs", ABSENT),
        hints.get("cacheScope", ABSENT),
        hints.get("nextCursor", ABSENT),
        fault,
    )
    return page, found


def _read_result(
    reader: jsontext.Reader, what: str, number: int, take: Callable[[Item, int], T]
) -> tuple[list[T] | None, dict[str, Any]]:
    items: list[T] | None = None
    rest: dict[str, Any] = {}
    for key in reader.members():
        if key == _LIST_KEY[what] and reader.peek() == "[":
            decode = jsontext.FloatsNoted()
            items = [take(_read_item(reader, decode, what, number), reader.at) for _ in reader.elements()]
        else:
            rest[key] = reader.value()
    return items, rest


def _read_item(reader: jsontext.Reader, decode: jsontext.FloatsNoted, what: str, number: int) -> Item:
    start, key = reader.at, _NAME_KEY[what]
    try:
        value, reader.at, floats = decode(reader.text, start)
    except RecursionError:
        reader.at = jsontext.end_of(reader.text, start)
        raw = reader.text[start : reader.at]
        return Item(number, raw, None, _shallow_text(raw, key), UNREAD)
    raw = reader.text[start : reader.at]
    if not isinstance(value, dict):
        return Item(number, raw, value, None, "not a JSON object", floats)
    name = value.get(key)
    if not isinstance(name, str):
        broken = f"{key} is missing" if key not in value else f"{key} is not a string"
        return Item(number, raw, value, None, broken, floats)
    return Item(number, raw, value, name, "", floats)


def _shallow_text(raw: str, key: str) -> str | None:
    """The string member `key` of an object that is nested too deeply, as far as it stands before the deep part."""
    reader = jsontext.Reader(raw)
    try:
        for member in reader.members() if reader.peek() == "{" else ():
            value = reader.value()
            if member == key:
                return value if isinstance(value, str) else None
    except RecursionError:
        pass
    return None
