"""A run as the Lab shows it: ledger lines, the three panels, offers, series. Pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from inspector.catalog.jsontext import compact_value
from inspector.console.lab import Bench, Node
from inspector.console.lab_work import Side
from inspector.discovery import whatif
from inspector.discovery.choices import choice_text
from inspector.discovery.context import Piece
from inspector.discovery.ledger import MEASURED, Row, Versus, versus
from inspector.discovery.play import Move, State, Strategy
from inspector.discovery.prompt_cache import Rules, Use
from inspector.discovery.registry import SEPARATOR, Registry
from inspector.discovery.running import Flat
from inspector.web.lab_charts import Series

ICONS: Final = {
    "model": "model", "host": "host", "registry": "search", "server": "servers", "provider": "globe",
    "sandbox": "process",
}  # fmt: skip
PIECES: Final = 60
"""Rows of the context panel; what is beyond them is one row."""
GROUPS: Final = 14
OFFERED: Final = 9


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the ledger. context: tokens in the context after it; extra: what an event adds to the next request;
    frames: (seq, server key); step: the choices made once it stands there; later: beyond where one looks."""

    row: Row
    icon: str
    what: str
    context: int
    extra: float | None
    step: int
    on: bool
    later: bool


def ledger(end: State, here: int, extras: Mapping[int, float]) -> list[Line]:
    """Every row of a run. here: choices made where one looks; extras: of events, by step."""
    running = list(accumulate([row.context_tokens for row in end.ledger.rows]))
    return [
        Line(
            row, ICONS[row.actor], _what(row), running[at], extras.get(at), at, at == here, at > here,
        )
        for at, row in enumerate(end.ledger.rows)
    ]  # fmt: skip


def _what(row: Row) -> str:
    """What was asked, the likeliest to be recognised first: a tool's own name and its arguments."""
    if row.column == "entry":
        return "Entry list"
    if row.action == "event":
        return ""
    try:
        asked = json.loads(row.asked)
        return call_words(str(asked["name"]), asked["input"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return row.asked


def call_words(tool: str, arguments: Any) -> str:
    """`search_tools “refund”`: one text argument stands alone, more as JSON."""
    own = tool.rsplit(SEPARATOR, 1)[-1]
    if not arguments:
        return own
    texts = list(arguments.values()) if isinstance(arguments, dict) else []
    if len(texts) == 1 and isinstance(texts[0], str):
        return f"{own} “{texts[0]}”"
    return f"{own} {compact_value(arguments)}"


@dataclass(frozen=True, slots=True)
class Offer:
    """What the model could do next. key: the digit that chooses it, or 0; sends: in a live run; text: the choice
    as JSON."""

    move: Move
    words: str
    key: int
    sends: bool
    text: str


def offers(strategy: Strategy, state: State, *, live: bool) -> list[Offer]:
    """All of them, the likeliest first."""
    found = []
    for at, move in enumerate(strategy.offers(state)):
        words = call_words(move.tool, dict(move.arguments or {})) + (
            f" ({move.target})" if move.target else ""
        )
        found.append(Offer(move, words, at + 1 if at < OFFERED else 0, live, choice_text(move)))
    return found


# --- the three panels


@dataclass(frozen=True, slots=True)
class Cached:
    """A row of the host cache. sev: fresh is nothing, stale `warn`, unavailable `err`."""

    name: str
    tools: int
    share: float
    sev: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class HostCache:
    tools: int
    visible: int
    servers: list[Cached]
    groups: list[Cached]
    left: int


def host_cache(state: State) -> HostCache:
    """What the host holds, by server, and by name prefix when one server holds it all."""
    registry, access = state.registry, state.setting.access
    every = sum([len(server.tools) for server in registry.servers])
    servers = [_server(registry, server, every) for server in registry.servers]
    groups: list[Cached] = []
    if len(servers) == 1:
        counts: dict[str, int] = {}
        for tool in registry.servers[0].tools:
            prefix = tool.name.replace("-", "_").split("_")[0]
            counts[prefix] = counts.get(prefix, 0) + 1
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        groups = [Cached(name, count, count / every) for name, count in ranked] if len(ranked) > 1 else []
    shown = groups[:GROUPS]
    return HostCache(every, len(registry.visible(access)), servers, shown, len(groups) - len(shown))


def _server(registry: Registry, server: Any, every: int) -> Cached:
    share = len(server.tools) / every if every else 0.0
    if not server.connected:
        return Cached(server.label, len(server.tools), share, "err", "unavailable")
    usable = [registry.usable(server, page) for page in range(len(server.pages))]
    hints = server.pages[0].hints if server.pages else None
    scope = "" if hints is None else str(hints.scope)
    if not all(usable):
        return Cached(server.label, len(server.tools), share, "warn", "stale")
    return Cached(server.label, len(server.tools), share, "", f"fresh, {scope}" if scope else "fresh")


@dataclass(frozen=True, slots=True)
class Part:
    """A row of context and prefix. mark: read, write or fresh at the next request; broken: the first changed piece;
    number: of the piece, None for a row that stands for several; head: opens a section."""

    label: str
    tokens: int
    share: float
    mark: str
    number: int | None
    head: str = ""
    broken: bool = False
    new: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """The model's context and what the next request would do with the prompt cache. rewritten: tokens that were there
    before and stand behind the first changed piece."""

    parts: list[Part]
    tokens: int
    bytes: int
    use: Use
    billed: float
    rewritten: int
    rules: Rules | None = field(repr=False)


HEADS: Final = {"hidden": "tools array", "tool": "tools array", "system": "system"}


def context(state: State) -> Context:
    """Pieces in order; a long array is cut in the middle."""
    pieces, rules = state.model.pieces(), state.setting.rules
    use = whatif.next_request(state)
    most = max([piece.tokens for piece in pieces], default=1) or 1
    before = {piece.label for piece in state.requests[-1].pieces()} if state.requests else set()
    parts: list[Part] = []
    reach, head = 0, ""
    cut = _cut(pieces)
    first = min(cut, default=-1)
    for at, piece in enumerate(pieces):
        section = HEADS.get(piece.kind, "messages")
        mark = "read" if reach < use.read else "write" if reach < use.read + use.write else "fresh"
        reach += piece.tokens
        if at in cut:
            if at == first:
                tokens = sum([pieces[number].tokens for number in cut])
                label = f"{len(cut):,} more definitions"
                parts.append(Part(label, tokens, 0.0, mark, None, "" if section == head else section))
                head = section
            continue
        broken = use.first_changed is not None and at == use.first_changed
        new = bool(before) and piece.kind == "tool" and piece.label not in before
        parts.append(
            Part(
                piece.label, piece.tokens, piece.tokens / most, mark, at, "" if section == head else section, broken, new,
            )
        )  # fmt: skip
        head = section
    rewritten = _rewritten(state, use)
    return Context(parts, state.model.tokens, state.model.bytes, use, use.billed(rules), rewritten, rules)


def _cut(pieces: Sequence[Piece]) -> set[int]:
    tools = [at for at, piece in enumerate(pieces) if piece.kind == "tool"]
    over = len(pieces) - PIECES
    return set(tools[8 : 8 + over]) if over > 1 and len(tools) > 16 else set()


def _rewritten(state: State, use: Use) -> int:
    """Tokens that the last request carried, too, and that stand behind the first changed piece now."""
    if use.first_changed is None or not state.requests:
        return 0
    old = {piece.text for piece in state.requests[-1].pieces()}
    return sum([piece.tokens for piece in state.model.pieces()[use.first_changed :] if piece.text in old])


def piece_text(state: State, number: int) -> Piece | None:
    pieces = state.model.pieces()
    return pieces[number] if 0 <= number < len(pieces) else None


# --- figures


@dataclass(frozen=True, slots=True)
class Figures:
    """The run so far against the flat list. how: measured or derived, of net saved."""

    state: State
    versus: Versus
    flat_bytes: int
    how: str
    provenance: Mapping[str, str]
    share: float


def figures(state: State, flat: Flat) -> Figures:
    provenance = state.ledger.provenance()
    known = provenance["total_bytes"] == MEASURED and flat.measured
    tokens = state.model.tokens / state.setting.window
    against = versus(state.totals, flat.entry_bytes)
    return Figures(state, against, flat.entry_bytes, "measured" if known else "derived", provenance, tokens)


def token_series(side: Side, chosen: str, own: State | None) -> list[Series]:
    """Context tokens at each provider request of every strategy; the chosen one's as it was stepped, when it was."""
    found = []
    for each in side.runs:
        state = own if own is not None and each.strategy.id == chosen else each.state
        values = [model.tokens for model in state.requests]
        found.append(Series(each.strategy.id, [*values, state.model.tokens], each.strategy.id == chosen))
    return found


def uses(state: State) -> list[tuple[Use, float]]:
    """Each provider request so far: what it did with the prompt cache, and what it is billed."""
    return [(row.use, row.billed) for row in state.ledger.rows if row.turn]


# --- what if


@dataclass(frozen=True, slots=True)
class What:
    """An event on offer. fields: (name, kind, choices); extra: what it adds to the next request, with the first choice
    of each field; None when that cannot be told."""

    event: str
    label: str
    says: str
    fields: list[tuple[str, str, list[str]]]
    extra: float | None


def what_ifs(
    bench: Bench, state: State, contexts: Sequence[str], price: Callable[[dict[str, Any]], float | None]
) -> list[What]:
    """Everything that may happen now. price: of an event's JSON object."""
    servers = [each.key for each in state.registry.servers]
    real = [name for name in state.model.native if state.registry.knows(name)]
    tools = sorted(real) or sorted(state.shown)
    tool = [tools[0]] if tools else [each.public for each in state.registry.visible(state.setting.access)[:1]]
    others = [name for name in ("", *contexts) if name != state.setting.access.name]
    rows: list[tuple[str, str, str, list[tuple[str, str, list[str]]]]] = [
        (
            "advance",
            "Advance the clock",
            "TTLs run out; the model is not told.",
            [("seconds", "int", ["3600"])],
        ),
        (
            "list_changed",
            "list_changed",
            "Beats every TTL: the list is stale at once.",
            [("server", "one", servers)],
        ),
        (
            "revoke",
            "Revoke a tool",
            "Refused and unfindable now; leaves the array at the boundary.",
            [("tool", "tool", tool)],
        ),
        (
            "remove",
            "Remove for security",
            "Out of the array now, whatever the cache costs.",
            [("tool", "tool", tool)],
        ),
        ("switch_user", "Switch user", "Private lists stay behind.", [("context", "one", others)]),
        (
            "drop_server",
            "Drop a server",
            "Its tools are blocked; the model is told.",
            [("server", "one", servers)],
        ),
        ("reorder", "Re-sort the array", "The same tools in another order: the prefix is lost.", []),
        ("boundary", "Conversation boundary", "What cannot be called leaves the array.", []),
        ("cache_expired", "Prompt cache expires", "The provider's own time ran out.", []),
    ]
    found = []
    for event, label, says, wanted in rows:
        if any(kind == "one" and not choices for _, kind, choices in wanted) or (
            event in ("revoke", "remove") and not tool
        ):
            continue
        entry: dict[str, Any] = {"event": event}
        for name, kind, choices in wanted:
            entry[name] = int(choices[0]) if kind == "int" else choices[0]
        found.append(What(event, label, says, wanted, price(entry)))
    return found


def extras(nodes: Sequence[Node]) -> dict[int, float]:
    """What each event added, by step."""
    return {at: node.extra for at, node in enumerate(nodes) if node.extra is not None}
