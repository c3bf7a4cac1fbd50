"""One tool, prompt, resource or template in full, in the view that is asked for. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog import jsontext, providers
from inspector.catalog.jsontext import utf8
from inspector.catalog.measure import PARTS
from inspector.catalog.providers import PROVIDERS, Rendering
from inspector.catalog.snapshot import TOOLS
from inspector.web import charts
from inspector.web.calls_view import has_utf8
from inspector.web.catalog_facts import as_json
from inspector.web.catalog_view import TITLES, Index, Query, refused_by_number, tool_hints

LAID_OUT: Final = 40_000
"""Characters of JSON that are laid out with colours; a longer text is shown as it is, up to RAW_SHOWN."""
RAW_SHOWN: Final = 60_000

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the definition: its key, bytes, share and colour."""

    key: str
    bytes: int
    share: float
    fill: str


@dataclass(frozen=True, slots=True)
class Sent:
    """What a provider would be sent: its rendering, its tokens (None: not counted yet), what stays behind."""

    title: str
    rendering: Rendering
    tokens: int | None
    label: str
    kept_bytes: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Detail:
    """The pane beside the table. text: JSON to lay out, or, with `plain`, text to show as it is.

    hints: the server's own words on a tool, as sent; `no_hints` when it gave none.
    """

    index: int
    name: str | None
    title: str
    twins: int
    bytes: int
    view: str
    views: tuple[tuple[str, str], ...]
    broken: str
    text: str = field(repr=False)
    plain: bool
    left_out: int
    parts: tuple[Part, ...]
    sent: Sent | None
    hints: tuple[tuple[str, str, str], ...]
    callable: bool


def detail(index: Index, query: Query, raw: str | None) -> Detail | None:
    """The item `query.tool` names, None when there is none. raw: its JSON as received, for the raw view."""
    position = index.find(query.tool)
    if position is None:
        return None
    measure = index.measures[position]
    tool = index.measured.what == TOOLS
    views = _views(tool, bool(measure.broken))
    view = query.view if query.view in dict(views) else views[0][0]
    sent = _sent(index, position, view) if view in PROVIDERS else None
    text = sent.rendering.text if sent else raw if view == "raw" and raw is not None else measure.text
    plain = view == "raw" or len(text) > LAID_OUT
    hints = tool_hints(measure) if tool else {}
    return Detail(
        position, measure.name, _title(index, position), index.twins(position), measure.definition_bytes, view, views,
        measure.broken, text[:RAW_SHOWN] if plain else text, plain, max(0, len(text) - RAW_SHOWN) if plain else 0,
        _parts(measure.parts, measure.definition_bytes), sent, _hints(hints),
        tool and not measure.broken and bool(measure.name) and has_utf8(measure.name or ""),
    )  # fmt: skip


def wants_raw(index: Index, query: Query) -> bool:
    """Whether the view shows the item exactly as received, which needs its page read again."""
    position = index.find(query.tool)
    return position is not None and (query.view == "raw" or bool(index.measures[position].broken))


def _views(tool: bool, broken: bool) -> tuple[tuple[str, str], ...]:
    if broken:
        return (("raw", "Raw"), ("parts", "Parts"))
    sent = tuple((name, TITLES[name]) for name in PROVIDERS) if tool else ()
    return (("pretty", "Pretty"), ("raw", "Raw"), *sent, ("parts", "Parts"))


def _title(index: Index, position: int) -> str:
    measure = index.measures[position]
    if measure.broken or "title" not in measure.parts:
        return ""
    found = dict(jsontext.members_of(measure.text)).get("title", "")
    return str(jsontext.Reader(found).value()) if found.startswith('"') else ""


def _parts(parts: Mapping[str, int], total: int) -> tuple[Part, ...]:
    fills = {key: fill for _, fill, keys in charts.PARTS for key in keys}
    return tuple(
        Part(key, parts[key], parts[key] / total if total else 0.0, fills.get(key, "oth"))
        for key in PARTS
        if parts.get(key)
    )


def _sent(index: Index, position: int, provider: str) -> Sent:
    measure = index.measures[position]
    rendering = providers.render(measure.text, provider)
    counted = index.tokens(provider)
    members = jsontext.members_of(measure.text)
    kept = sum(
        len(utf8(f"{jsontext.compact_value(key)}:{text}"))
        for key, text in members
        if key in rendering.dropped
    )
    notes = [f"Refused: {sentence}" for sentence in rendering.refused]
    same = index.collisions(provider).get(rendering.name, [])
    if rendering.renamed:
        notes.append(f"Sent as {rendering.name}: the API does not take this name as it is")
    if len(same) > 1:
        notes.append(f"{len(same):,} tools would be sent under this name")
    if crowd := refused_by_number(provider, len(index.measures)):
        notes.append(crowd)
    tokens = counted.each[position] if counted else None
    return Sent(TITLES[provider], rendering, tokens, counted.label if counted else "", kept, tuple(notes))


def _hints(found: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """(name, JSON as sent, fault) of each hint the server gave."""
    return tuple(
        (name, as_json(found[name]), "" if isinstance(found[name], bool) else "not a boolean")
        for name in _HINTS
        if name in found
    )
