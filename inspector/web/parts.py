"""A large JSON text as the page opens it: one node at a time, a window of its children, or rows of a table. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from inspector.catalog import jsontext
from inspector.catalog.jsontree import Children, Document, Span
from inspector.errors import UsageError
from inspector.protocol.clipping import clipped
from inspector.web.places import read_place
from inspector.web.result_text import DECODER, members_of
from inspector.web.results import TABLE_COLUMNS, Contents, Table, Text, cell_of

WINDOW: Final = 100
"""Children, or rows, shown at once."""
CODE_CHARS: Final = 20_000
"""A node this short is laid out whole."""
LOOKED_AT: Final = 20
"""Elements that tell whether an array is a table."""
PREVIEW: Final = 120
ROOM: Final = 260_000
"""Characters of all texts of one result on a page; then each is cut to LEAST."""
LEAST: Final = 500
PART_COST: Final = 40_000

Opened = Callable[[str], Document]
"""The document of a name; raises UsageError when there is none."""


@dataclass(frozen=True, slots=True)
class Line:
    """One child. name: its key or number; preview: its beginning as spelled; opens: it is a container, or a long text."""

    name: str
    named: bool
    preview: str
    size: int
    at: str
    opens: bool


@dataclass(frozen=True, slots=True)
class Part:
    """One node. kind: `table`, `object`, `array` or `text` (all of it, in `text`). first: the number of the first child
    shown out of `total`; size: its bytes as UTF-8."""

    at: str
    kind: str
    size: int
    total: int = 0
    first: int = 0
    lines: tuple[Line, ...] = ()
    table: Table | None = None
    text: str = ""
    left_out: int = 0

    @property
    def last(self) -> int:
        """The number after the last child shown."""
        return min(self.total, self.first + WINDOW)


def part_of(opened: Opened, at: str, first: int = 0) -> Part:
    """The node at a place. Raises UsageError when there is none."""
    name, path = read_place(at)
    document = opened(name)
    try:
        span = document.find(path)
        return _part(document, span, at, max(0, first))
    except (ValueError, RecursionError):
        raise UsageError("This answer has no such part", "Open the answer and choose a part") from None


def text_of(opened: Opened, at: str) -> str:
    """All of a node, exactly as received. Raises UsageError."""
    name, path = read_place(at)
    document = opened(name)
    try:
        start, end = document.find(path)
    except (ValueError, RecursionError):
        raise UsageError("This answer has no such part", "Open the answer and choose a part") from None
    return document.text[start:end]


def with_parts(contents: Contents, opened: Opened) -> Contents:
    """The contents, their texts that are too long to be laid out as JSON opened at their roots."""
    items = tuple(
        [
            one if one.text is None or one.repeats else replace(one, text=_opened(one.text, opened))
            for one in contents.items
        ]
    )
    rest = tuple([(name, _opened(text, opened)) for name, text in contents.rest])
    structured = contents.structured
    structured = _opened(structured, opened) if structured is not None else None
    return _bounded(replace(contents, items=items, rest=rest, structured=structured))


def _bounded(contents: Contents) -> Contents:
    """The texts of a whole result cut to what one page bears, those that come first at the least cost."""
    room = ROOM

    def cut(text: Text | None) -> Text | None:
        nonlocal room
        if text is None:
            return None
        size = PART_COST if text.part is not None else len(text.text)
        if size <= room:
            room -= size
            return text
        kept = text.text[: max(LEAST, room)]
        room = 0
        return Text(kept, left_out=text.left_out + len(text.text) - len(kept), place=text.place)

    def fact(text: str) -> str:
        nonlocal room
        room -= len(text)
        return text if room > 0 else clipped(text, LEAST)

    items = tuple(
        [
            replace(
                one,
                text=cut(one.text),
                raw=cut(one.raw),
                facts=tuple([(name, fact(text)) for name, text in one.facts]),
                problem=fact(one.problem),
            )
            for one in contents.items
        ]
    )
    structured = cut(contents.structured)
    rest = tuple([(name, cut(text) or text) for name, text in contents.rest])
    return replace(contents, items=items, structured=structured, rest=rest)


def _opened(text: Text, opened: Opened) -> Text:
    if not text.place or text.part is not None:
        return text
    long = text.left_out and text.text.lstrip()[:1] in ("{", "[")
    if not long and (text.table is None or text.table.total <= len(text.table.rows)):
        return text
    try:
        return replace(text, part=part_of(opened, text.place))
    except UsageError:
        return text


def _part(document: Document, span: Span, at: str, first: int) -> Part:
    start, end = span
    text = document.text
    size = len(jsontext.utf8(text[start:end]))
    opens = text[start : start + 1]
    children = document.children(span) if opens in ("{", "[") else None
    if opens == "{" and children is not None and len(children) == 1 and text[children.starts[0]] == "[":
        # An object around one array is the array, as a table has it.
        inner = (children.starts[0], children.ends[0])
        if _is_table(document, document.children(inner)):
            return _table(document, document.children(inner), f"{at}/0", size, first)
    if opens == "[" and children is not None and _is_table(document, children):
        return _table(document, children, at, size, first)
    if children is None or end - start <= CODE_CHARS:
        shown = text[start : min(end, start + CODE_CHARS)]
        return Part(at, "text", size, text=shown, left_out=end - start - len(shown))
    window = range(min(first, len(children)), min(first + WINDOW, len(children)))
    lines = tuple([_line(document, children, number, at) for number in window])
    kind = "object" if opens == "{" else "array"
    return Part(at, kind, size, len(children), window.start, lines)


def _line(document: Document, children: Children, number: int, at: str) -> Line:
    start, end = children.starts[number], children.ends[number]
    text = document.text
    named = children.keys is not None
    return Line(
        children.keys[number] if children.keys is not None else str(number),
        named,
        text[start : min(end, start + PREVIEW)],
        len(jsontext.utf8(text[start:end])),
        f"{at}/{number}",
        end - start > PREVIEW or text[start] in "{[",
    )


def _values(document: Document, children: Children, numbers: range) -> list[str]:
    return [document.text[children.starts[n] : children.ends[n]] for n in numbers]


def _flat(text: str) -> bool:
    """Whether a text is an object of plain values."""
    if not text.startswith("{") or len(text) > CODE_CHARS:
        return False
    value = DECODER.decode(text)
    return not any(isinstance(cell, dict | list) for cell in value.values())


def _is_table(document: Document, children: Children) -> bool:
    found = _values(document, children, range(min(LOOKED_AT, len(children))))
    if len(found) < 2 or not all(_flat(each) for each in found):
        return False
    return 0 < len({name for each in found for name in json.loads(each, parse_int=str)}) <= TABLE_COLUMNS


def _table(document: Document, children: Children, at: str, size: int, first: int) -> Part:
    """A window of rows. A row that is none is shown as it stands in the first column."""
    numbers = range(min(first, len(children)), min(first + WINDOW, len(children)))
    texts = _values(document, children, numbers)
    rows = [dict(members_of(each)) if _flat(each) else each for each in texts]
    columns: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            columns.update(dict.fromkeys(row))
    names = tuple(columns)[:TABLE_COLUMNS] or ("value",)
    cells = tuple(
        [
            tuple([cell_of(row.get(name)) for name in names])
            if isinstance(row, dict)
            else (row[:PREVIEW], *([None] * (len(names) - 1)))
            for row in rows
        ]
    )
    return Part(at, "table", size, len(children), numbers.start, table=Table(names, cells, len(children)))
