"""What the rules look at: one list as received, weighed, with what is known around it. Pure, any process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar

from inspector.catalog import jsontext
from inspector.catalog.findings.walk import Node, nodes, strings
from inspector.catalog.measure import TOO_DEEP, Measure, measure_item
from inspector.catalog.report import ListingTokens
from inspector.catalog.snapshot import TOOLS, UNREAD, Item, ListedPage, Snapshot, read_page
from inspector.protocol.names import Kind, marks

T = TypeVar("T")

_BLOCK: Final = 32
"""Items parsed at a time while rules look at each by itself."""

# What spells emoji, scripts of Asia and mixed directions honestly; a run of such characters is not left out.
_SPELLING: Final = re.compile(
    r"(?<![\ufe00-\ufe0f])[\ufe00-\ufe0f](?![\ufe00-\ufe0f])"
    r"|(?<=[\u0600-\u06ff\u0900-\u0dff\u2600-\u27bf\U0001f000-\U0001faff\ufe0f])[\u200c\u200d]"
    r"(?=[\u0600-\u06ff\u0900-\u0dff\u2600-\u27bf\U0001f000-\U0001faff])"
    r"|(?<=[\u0590-\u08ff])[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=[\u0590-\u08ff])"
    r"|(?<=\U0001f3f4)[\U000e0020-\U000e007f]{3,7}"
)


@dataclass(frozen=True)
class Entry:
    """One item of the list. index: its place in the list; page: from 0; raw: its JSON text as received."""

    index: int
    page: int
    raw: str
    measure: Measure

    @cached_property
    def value(self) -> Any:
        """Parsed when first asked for, kept as long as this object: hold on to no more of them than needed. None for
        one that is nested too deeply."""
        try:
            return jsontext.raw_decode(self.raw)[0]
        except RecursionError:
            return None


class Tool(Entry):
    """One tool that is an object."""

    value: dict[str, Any]

    @property
    def name(self) -> str:
        """Empty when it has none."""
        return self.measure.name or ""

    @cached_property
    def inputs(self) -> list[Node]:
        """Every subschema of `inputSchema`, the root first; [] when it is no object."""
        return nodes(self.value.get("inputSchema"), "/inputSchema")

    @cached_property
    def outputs(self) -> list[Node]:
        """Every subschema of `outputSchema`, the root first."""
        return nodes(self.value.get("outputSchema"), "/outputSchema")

    @cached_property
    def parameters(self) -> list[Node]:
        """The subschemas of `inputSchema` that describe a property, nested ones too."""
        return [node for node in self.inputs if node.name is not None]

    @property
    def description(self) -> str:
        return text_of(self.value.get("description"))

    @property
    def annotations(self) -> dict[str, Any]:
        return object_of(self.value.get("annotations"))


def _uncounted() -> None:
    return None


@dataclass(frozen=True)
class Subject:
    """One list of a server, or a block of it.

    what: `tools`, `prompts`, `resources` or `templates`. places, raws: of each item, its page from 0 and its JSON
    text as received. era, instructions: None when not known. cursors: what each page was asked with. counted: gives the
    tokens, and may wait for them. again: the names of the same list asked for a second time, None when it was not.
    kept: the entries of a block.

    Parsed, a list takes six times its bytes and the walk through its schemas as much again; so no more than a block
    of it is parsed at a time, and the rules that look at each item by itself are run block by block.
    """

    what: str
    pages: tuple[ListedPage, ...]
    places: tuple[int, ...]
    raws: tuple[str, ...]
    measures: tuple[Measure, ...]
    era: str | None = None
    instructions: str | None = None
    cursors: tuple[str | None, ...] = ()
    counted: Callable[[], ListingTokens | None] = _uncounted
    again: tuple[str | None, ...] | None = None
    kept: tuple[Entry, ...] | None = None

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        *,
        again: Snapshot | None = None,
        counted: Callable[[], ListingTokens | None] = _uncounted,
    ) -> Subject:
        """Read and weigh a snapshot; slow for a large one, so in the worker."""
        pages, found = _read(snapshot, lambda item, _: (item.page, item.raw, measure_item(item)))
        return cls(
            snapshot.what,
            tuple(pages),
            tuple([page for page, _, _ in found]),
            tuple([raw for _, raw, _ in found]),
            tuple([measure for _, _, measure in found]),
            snapshot.era,
            snapshot.instructions,
            tuple([page.cursor for page in snapshot.pages]),
            counted,
            tuple(_read(again, lambda item, _: item.name)[1]) if again else None,
        )

    @property
    def tokens(self) -> ListingTokens | None:
        """None when not counted."""
        return self.counted()

    @property
    def names(self) -> tuple[str | None, ...]:
        return tuple([each.name for each in self.measures])

    @property
    def definition_bytes(self) -> int:
        return sum(each.definition_bytes for each in self.measures)

    def blocks(self) -> Iterator[Subject]:
        """The list a block at a time, each parsed while it is looked at; the last one knows the instructions, and of an
        empty list it is the only one."""
        for start in range(0, len(self.raws) or 1, _BLOCK):
            end = min(start + _BLOCK, len(self.raws))
            said = self.instructions if end == len(self.raws) else None
            yield replace(self, kept=tuple(self._entries(start, end)), instructions=said)

    @property
    def entries(self) -> Iterable[Entry]:
        """Every item; of a whole list each is made, and parsed when looked into, as it is come to."""
        return self._entries(0, len(self.raws)) if self.kept is None else self.kept

    @property
    def tools(self) -> Iterator[Tool]:
        """The tools that are objects, but for those nested too deeply to weigh; none of another list."""
        return (each for each in self.entries if isinstance(each, Tool))

    def _entries(self, start: int, end: int) -> Iterator[Entry]:
        for index in range(start, end):
            raw, measure = self.raws[index], self.measures[index]
            is_tool = self.what == TOOLS and raw.startswith("{") and measure.broken not in (TOO_DEEP, UNREAD)
            yield (Tool if is_tool else Entry)(index, self.places[index], raw, measure)

    @cached_property
    def hidden(self) -> tuple[tuple[int, str, str, Kind], ...]:
        """(index, pointer, characters, kind) of every run of characters in the items that people do not see."""
        return tuple(self._hidden())

    def _hidden(self) -> Iterator[tuple[int, str, str, Kind]]:
        for entry in self.entries:
            # Compact ASCII text can hold such a character only as DEL or as an escape.
            sent = entry.measure.text
            if sent.isascii() and "\\u" not in sent and "\x7f" not in sent:
                continue
            for path, text in strings(entry.value):
                if text.isascii() and text.isprintable():
                    continue
                for segment, kind in marks(_SPELLING.sub("", text)):
                    if kind:
                        yield entry.index, path, segment, kind


def _read(snapshot: Snapshot, take: Callable[[Item, int], T]) -> tuple[list[ListedPage], list[T]]:
    """The pages, and what `take` makes of each item, none of which is kept parsed."""
    pages, found = [], []
    for number, raw in enumerate(snapshot.raws):
        page, taken = read_page(snapshot.what, number, raw, take)
        pages.append(page)
        found += taken
    return pages, found


def text_of(value: Any) -> str:
    """`value` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def object_of(value: Any) -> dict[str, Any]:
    """`value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """`value` when it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def size_of(value: Any) -> int:
    """UTF-8 bytes of a parsed value as compact JSON."""
    return jsontext.size(jsontext.compact_value(value))


def some(names: list[str], most: int = 3) -> str:
    """The first few of `names`, and how many more there are."""
    shown = ", ".join([f"`{name}`" for name in names[:most]])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown
