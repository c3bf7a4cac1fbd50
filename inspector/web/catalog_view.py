"""One listing as the catalog screen shows it: the address, the order, the rows, the treemap. Pure, any thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from markupsafe import Markup

from inspector.catalog import jsontext, providers
from inspector.catalog.measure import Measure
from inspector.catalog.providers import OPENAI, Model
from inspector.catalog.report import MeasuredListing
from inspector.catalog.snapshot import TOOLS
from inspector.catalog.tokens import TokenCount
from inspector.web import charts
from inspector.web.calls_view import has_utf8
from inspector.web.catalog_findings import Finds, Mark, known
from inspector.web.catalog_weighed import Weighed, summed
from inspector.web.highlight import visible

WINDOW: Final = 200
"""Rows on a page, and in each further part that scrolling brings."""
SORTS: Final = ("order", "name", "bytes", "tokens", "share", "prose", "finds")
VIEWS: Final = ("pretty", "raw", *providers.PROVIDERS, "parts")
PANES: Final = ("received", "findings", "history")
TITLES: Final = {"anthropic": "Anthropic", "openai": "OpenAI", "gemini": "Gemini"}
NAME: Final = 300
"""Characters of a name in a row or a cell; a server may send one of megabytes."""
_HOLE: Final = "TOOL"
"""Stands for the tool in a link that is made once for thousands of cells."""


@dataclass(frozen=True, slots=True)
class Query:
    """The whole state of the screen, as in the address. sort: a name of SORTS, `-` before it for descending.

    tool: position in the list, or a name. at: first row shown; pages_at: first page of the walk shown. find: a
    rule's id or a severity. pane: what stands beside the table while no tool does. snapshot: id, 0 for the newest.
    ask: `cache` when a refresh goes through the host cache.
    """

    sort: str = "-bytes"
    q: str = ""
    tool: str = ""
    view: str = "pretty"
    provider: str = ""
    model: str = ""
    at: int = 0
    pages_at: int = 0
    find: str = ""
    pane: str = ""
    snapshot: int = 0
    ask: str = ""

    @classmethod
    def read(cls, args: Mapping[str, str]) -> Query:
        """What the address asks for; anything it cannot mean is left at its default."""
        said: dict[str, Any] = {name: args[name] for name in ("q", "tool") if name in args}
        for name, allowed in (
            ("view", VIEWS),
            ("pane", PANES),
            ("provider", providers.PROVIDERS),
            ("model", providers.models()),
            ("ask", ("cache",)),
        ):
            if args.get(name) in allowed:
                said[name] = args[name]
        if args.get("sort", "").removeprefix("-") in SORTS:
            said["sort"] = args["sort"]
        if known(args.get("find", "")):
            said["find"] = args["find"]
        for name in ("at", "pages_at", "snapshot"):
            text = args.get(name, "")
            if text.isdecimal() and len(text) < 10:
                said[name] = int(text)
        return cls(**said)

    def href(self, **changes: Any) -> str:
        """The query string, from `?`, of this state with `changes`; defaults are left out."""
        pairs = [(name, changes[name] if name in changes else getattr(self, name)) for name in _DEFAULTS]
        said = [(name, value) for name, value in pairs if value != _DEFAULTS[name]]
        return "?" + urlencode(said, errors="backslashreplace")

    def by(self, key: str) -> str:
        """The address that sorts by `key`: the other way round when it does already, else its usual way."""
        usual = key if key in ("order", "name") else f"-{key}"
        turned = key if self.sort.startswith("-") else f"-{key}"
        return self.href(sort=turned if self.sort.removeprefix("-") == key else usual, at=0)

    def sorted(self, key: str) -> str:
        """`ascending`, `descending`, or an empty string when the list is sorted by something else."""
        if self.sort.removeprefix("-") != key:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    @property
    def beside(self) -> str:
        """The pane that stands beside the table while no tool does."""
        return self.pane or ("findings" if self.find else "received")

    @property
    def window(self) -> Model:
        """The model whose window the list is held against."""
        models = providers.models()
        of_provider = (model for model in models.values() if model.provider == self.provider)
        return models.get(self.model) or next(of_provider, next(iter(models.values())))

    @property
    def rendering(self) -> str:
        """The provider whose tokens are shown."""
        return self.provider or self.window.provider


_DEFAULTS: Final = {each.name: each.default for each in fields(Query)}


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a list. each: by position, None for what cannot be sent; total, raw: as sent, and as defined."""

    each: tuple[int | None, ...] = field(repr=False)
    total: TokenCount
    raw: TokenCount
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table. handle: what the address calls it. tokens: None when not counted yet, or not sent."""

    index: int
    handle: str
    name: str | None
    bytes: int
    tokens: int | None
    share: float
    parts: Mapping[str, int]
    broken: str = ""
    twins: int = 1
    writes: bool = False
    destroys: bool = False
    on: bool = False
    mark: Mark | None = None


class Index:
    """A measured listing, prepared once, so that a request touches only the rows it shows.

    before: the listing it replaced, for what changed. finds: None while the rules run. weighed: of an index of the
    same measures, made before the tokens came.
    """

    def __init__(
        self,
        measured: MeasuredListing,
        before: MeasuredListing | None = None,
        finds: Finds | None = None,
        weighed: Weighed | None = None,
    ) -> None:
        self.measured = measured
        self.finds = finds
        self.measures = measured.measures
        same = weighed is not None and weighed.measures is measured.measures
        self.weighed = weighed if weighed is not None and same else Weighed(measured)
        self.bytes, self.most = self.weighed.bytes, self.weighed.most
        self._named = self.weighed.named
        self.change = self.weighed.change(before) if before is not None else None
        self.order = lru_cache(32)(self._order)
        self.listed = lru_cache(32)(self._listed)
        self.tokens = lru_cache(8)(self._tokens)
        self.treemap = lru_cache(16)(self._treemap)
        self.collisions = lru_cache(8)(self._collisions)

    @property
    def parts(self) -> Mapping[str, int]:
        """Bytes by part, of all items."""
        return self.weighed.parts

    # --- finding

    def find(self, tool: str) -> int | None:
        """The position that `?tool=` means: a number is a position, anything else the first of that name.

        An empty text means none: an item of the empty name is reached by its position.
        """
        if not tool:
            return None
        if tool.isdecimal() and tool.isascii():
            return int(tool) if len(tool) < 10 and int(tool) < len(self.measures) else None
        return next(iter(self._named.get(tool, ())), None)

    def handle(self, index: int) -> str:
        """How the address names a position: by name, which outlives a refresh, unless that is ambiguous."""
        name = self.measures[index].name
        plain = (
            bool(name) and name is not None and not name.isdecimal() and len(name) <= 128 and has_utf8(name)
        )
        return str(name) if plain and self.twins(index) == 1 else str(index)

    def twins(self, index: int) -> int:
        """How many items carry the name of this one."""
        name = self.measures[index].name
        return len(self._named[name]) if name is not None else 1

    # --- ordering

    def _order(self, sort: str, provider: str) -> list[int]:
        """All positions in the order of `sort`; ties stay as received."""
        key = self._keys(sort.removeprefix("-"), provider)
        return sorted(range(len(self.measures)), key=key, reverse=sort.startswith("-"))

    def _keys(self, key: str, provider: str) -> Callable[[int], Any]:
        measures, counted = self.measures, self.tokens(provider)
        if key == "name":
            return lambda index: (measures[index].name or "").casefold()
        if key == "order":
            return lambda index: index
        if key == "prose":
            return lambda index: prose(measures[index].parts, measures[index].definition_bytes)
        if key == "finds" and (finds := self.finds) is not None:
            return finds.rank
        if key == "tokens" and counted is not None:
            return lambda index: -1 if (value := counted.each[index]) is None else value
        return lambda index: measures[index].definition_bytes

    def _listed(self, sort: str, provider: str, q: str, find: str = "") -> Sequence[int]:
        """The positions that contain every word of `q` and that `find` concerns, ordered."""
        found, words = self.order(sort, provider), q.casefold().split()
        if find and (finds := self.finds) is not None:
            found = [index for index in found if finds.concerns(index, find)]
        if not words:
            return found
        texts = self.weighed.texts
        return [index for index in found if all(word in texts[index] for word in words)]

    def window(self, query: Query) -> tuple[list[Line], int]:
        """The rows from `query.at` on, and how many there are in all."""
        found = self.listed(query.sort, query.rendering, query.q, query.find)
        chosen, counted = self.find(query.tool), self.tokens(query.rendering)
        shown = found[query.at : query.at + WINDOW]
        return [self._line(index, index == chosen, counted) for index in shown], len(found)

    def sums(self, query: Query) -> tuple[int, int | None]:
        """Bytes and tokens of everything that `window` would show; tokens None while they are not counted."""
        found = self.listed(query.sort, query.rendering, query.q, query.find)
        counted = self.tokens(query.rendering)
        tokens = None if counted is None else sum(counted.each[index] or 0 for index in found)
        return sum(self.measures[index].definition_bytes for index in found), tokens

    def _line(self, index: int, on: bool, counted: Tokens | None) -> Line:
        each = self.measures[index]
        hints = tool_hints(each)
        name = None if each.name is None else _cut(each.name)
        return Line(
            index, self.handle(index), name, each.definition_bytes, counted.each[index] if counted else None,
            each.definition_bytes / self.bytes if self.bytes else 0.0, each.parts, each.broken, self.twins(index),
            hints.get("readOnlyHint") is False,
            hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True, on,
            self.finds.mark(index) if self.finds else None,
        )  # fmt: skip

    # --- costs

    def _tokens(self, provider: str) -> Tokens | None:
        """As `provider` would be sent the list; as defined for lists that no provider is sent. None: not yet."""
        counted = self.measured.tokens
        if counted is None:
            return None
        raw = counted.definitions
        if self.measured.what != TOOLS:
            each: tuple[int | None, ...] = tuple([item.definition.value for item in counted.items])
            return Tokens(each, raw, raw, token_label(OPENAI, raw.exact))
        sent = [item.rendered.get(provider) for item in counted.items]
        exact = all(one.exact for one in sent if one is not None)
        total = TokenCount(sum(one.value for one in sent if one is not None), exact, counted.tokenizer)
        each = tuple([None if one is None else one.value for one in sent])
        return Tokens(each, total, raw, token_label(provider, exact))

    def shares(self) -> list[tuple[str, str, str]]:
        """The legend: (label, fill, share) of each part that is there."""
        rows = [
            (label, fill, sum(self.parts.get(key, 0) for key in keys)) for label, fill, keys in charts.PARTS
        ]
        return [
            (label, fill, f"{weight / self.bytes * 100:.1f}{chr(0xA0)}%")
            for label, fill, weight in rows
            if weight / (self.bytes or 1) >= 0.0005
        ]

    def _collisions(self, provider: str) -> dict[str, list[str]]:
        sent = [each.name for each in self.measures if each.name is not None and not each.broken]
        return providers.collisions(sent, provider)

    def _treemap(self, query: Query) -> Markup:
        """What families, tools and parts cost; `query` marks a tool and holds what a click keeps.

        Families beyond the first ones are cells of a last one: a click on them filters the table.
        """
        chosen, link, folds = self.find(query.tool), query.href(tool=_HOLE), self.weighed.folds
        groups = []
        for fold in folds.families:
            cells = [self._cell(index, fold.name, link, index == chosen) for index in fold.shown]
            groups.append(
                charts.Family(plain(fold.name), [*cells, fold.rest] if fold.rest else cells, fold.count)
            )
        rest = [self._family_cell(name, of, query, chosen) for name, of in folds.others]
        if rest:
            groups.append(
                charts.Family("other families", [*rest, folds.rest] if folds.rest else rest, folds.count)
            )
        return charts.treemap(groups)

    def _cell(self, index: int, family: str, link: str, on: bool) -> charts.Cell:
        each = self.measures[index]
        name = each.name or ("(no name)" if each.name is None else "(empty name)")
        short = plain(name[name.find(family) + len(family) :].lstrip("_.-/"))
        href = link.replace(
            f"tool={_HOLE}", f"tool={quote_plus(self.handle(index))}"
        )  # no other `=` is unquoted
        return charts.Cell(plain(name), each.definition_bytes, each.parts, short, href, on)

    def _family_cell(self, name: str, of: Sequence[int], query: Query, chosen: int | None) -> charts.Cell:
        if len(of) == 1:
            return self._cell(of[0], "", query.href(tool=_HOLE), chosen == of[0])
        parts, said = summed([self.measures[index] for index in of]), f"{plain(name)}, {len(of)} tools"
        href = query.href(q=name, tool="")
        return charts.Cell(said, sum(parts.values()), parts, plain(name), href, single=False)


def prose(parts: Mapping[str, int], total: int) -> float:
    """The share of a definition that is its description."""
    return parts.get("description", 0) / total if total else 0.0


def token_label(provider: str, exact: bool) -> str:
    """What a count is worth: o200k is OpenAI's own tokenizer and a stand-in for the others."""
    if not exact:
        return "o200k, partly estimated"
    return "o200k" if provider == OPENAI else "o200k proxy"


def advice(share: float) -> tuple[str, str]:
    """(severity, words) for the part of a model's window that a list takes before any work begins."""
    if share >= 0.05:
        return "warn", "above 5 %: progressive"
    if share >= 0.01:
        return "note", "above 1 %: watch it grow"
    return "", "below 1 %"


def tool_hints(measure: Measure) -> Mapping[str, Any]:
    """The hints the server gave with a tool; empty when it gave none."""
    if "annotations" not in measure.parts or measure.broken:
        return {}
    found = jsontext.loads(measure.text).get("annotations")
    return found if isinstance(found, dict) else {}


def refused_by_number(provider: str, count: int) -> str:
    """A sentence when the provider does not take so many tools at once, else an empty string."""
    most = providers.facts()["providers"][provider]["most_tools"]["value"]
    if most is None or count <= most:
        return ""
    return f"{TITLES[provider]} takes at most {most:,} tools at once; this list has {count:,}"


def _cut(name: str) -> str:
    return name if len(name) <= NAME else f"{name[:NAME]}…"


def plain(text: str) -> str:
    """A name with its hidden characters spelled out, for places where no mark-up may stand, such as SVG text."""
    text = _cut(text)
    return text if text.isprintable() else str(visible(text).striptags())
