"""What the rules look at: one list as received, weighed, with what is known around it. Pure, any process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.findings.walk import Node, nodes, strings
from inspector.catalog.measure import Measure, measure_items
from inspector.catalog.report import ListingTokens
from inspector.catalog.snapshot import TOOLS, Listing, Snapshot
from inspector.protocol.names import Kind, marks

# What spells emoji, scripts of Asia and mixed directions honestly; a run of such characters is not left out.
_SPELLING: Final = re.compile(
    r"(?<![\ufe00-\ufe0f])[\ufe00-\ufe0f](?![\ufe00-\ufe0f])"
    r"|(?<=[\u0600-\u06ff\u0900-\u0dff\u2600-\u27bf\U0001f000-\U0001faff\ufe0f])[\u200c\u200d]"
    r"(?=[\u0600-\u06ff\u0900-\u0dff\u2600-\u27bf\U0001f000-\U0001faff])"
    r"|(?<=[\u0590-\u08ff])[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?=[\u0590-\u08ff])"
    r"|(?<=\U0001f3f4)[\U000e0020-\U000e007f]{3,7}"
)


@dataclass(frozen=True)
class Tool:
    """One tool that is an object. index: its place in the listing; name: empty when it has none."""

    index: int
    name: str
    value: dict[str, Any]
    measure: Measure

    @cached_property
    def inputs(self) -> list[Node]:
        """Every subschema of `inputSchema`, the root first; [] when it is no object."""
        return nodes(self.value.get("inputSchema"), "/inputSchema")

    @cached_property
    def outputs(self) -> list[Node]:
        """Every subschema of `outputSchema`, the root first."""
        return nodes(self.value.get("outputSchema"), "/outputSchema")

    @property
    def parameters(self) -> list[Node]:
        """The subschemas of `inputSchema` that describe a property, nested ones too."""
        return [node for node in self.inputs if node.name is not None]

    @property
    def description(self) -> str:
        return text_of(self.value.get("description"))

    @property
    def annotations(self) -> dict[str, Any]:
        return object_of(self.value.get("annotations"))


@dataclass(frozen=True)
class Subject:
    """One list of a server.

    era, instructions: None when not known. cursors: what each page was asked with. tokens: None when not
    counted. again: the same list asked for a second time, None when it was not.
    """

    listing: Listing
    measures: tuple[Measure, ...]
    era: str | None = None
    instructions: str | None = None
    cursors: tuple[str | None, ...] = ()
    tokens: ListingTokens | None = None
    again: Listing | None = None

    @classmethod
    def of(
        cls, snapshot: Snapshot, *, again: Snapshot | None = None, tokens: ListingTokens | None = None
    ) -> Subject:
        """Read and weigh a snapshot; slow for a large one, so in the worker."""
        listing = snapshot.listing()
        return cls(
            listing,
            tuple(measure_items(listing)),
            snapshot.era,
            snapshot.instructions,
            tuple([page.cursor for page in snapshot.pages]),
            tokens,
            again.listing() if again else None,
        )

    @property
    def what(self) -> str:
        """`tools`, `prompts`, `resources` or `templates`."""
        return self.listing.what

    @property
    def definition_bytes(self) -> int:
        return sum(each.definition_bytes for each in self.measures)

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are objects, but for those nested too deeply to weigh; () for another list."""
        if self.what != TOOLS:
            return ()
        pairs = zip(self.listing.items, self.measures, strict=True)
        return tuple(
            [
                Tool(index, item.name or "", item.value, measure)
                for index, (item, measure) in enumerate(pairs)
                if isinstance(item.value, dict) and measure.broken == item.broken
            ]
        )

    @cached_property
    def hidden(self) -> tuple[tuple[int, str, str, Kind], ...]:
        """(index, pointer, characters, kind) of every run of characters in the items that people do not see."""
        return tuple(self._hidden())

    def _hidden(self) -> Iterator[tuple[int, str, str, Kind]]:
        for index, (item, measure) in enumerate(zip(self.listing.items, self.measures, strict=True)):
            # Compact ASCII text can hold such a character only as DEL or as an escape.
            if measure.text.isascii() and "\\u" not in measure.text and "\x7f" not in measure.text:
                continue
            for path, text in strings(item.value):
                if text.isascii() and text.isprintable():
                    continue
                for segment, kind in marks(_SPELLING.sub("", text)):
                    if kind:
                        yield index, path, segment, kind


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
    return len(jsontext.utf8(jsontext.compact_value(value)))


def some(names: list[str], most: int = 3) -> str:
    """The first few of `names`, and how many more there are."""
    shown = ", ".join([f"`{name}`" for name in names[:most]])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown
