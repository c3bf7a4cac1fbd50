"""A strategy played move by move: each state a value, each move a row of the ledger. Any thread.

The person, or a policy, is the model: a move is the tool call it makes. Going back is taking an earlier state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from inspector.catalog.jsontext import compact_value, utf8
from inspector.discovery import meta_tools
from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.context import ModelContext, Piece, Weigher
from inspector.discovery.ledger import DERIVED, Actor, Column, Ledger, Row, Totals
from inspector.discovery.prompt_cache import Prefix, Rules
from inspector.discovery.registry import Registry, Server, Tool
from inspector.discovery.search.search import Search


@dataclass(frozen=True, slots=True)
class Move:
    """The model's tool call. arguments None: such as a model would write, which nobody simulates here; target: the
    tool that those would name (a script's, say)."""

    tool: str
    arguments: Mapping[str, Any] | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A real tools/call: bytes of request and answer as they crossed, the answer's result, milliseconds, frames."""

    request_bytes: int
    reply_bytes: int
    result: Mapping[str, Any] = field(repr=False)
    ms: float
    frames: tuple[int, ...]
    error: bool = False


Caller = Callable[[str, str, Mapping[str, Any]], Asked]
"""(server key, the server's own tool name, arguments) to what came back; raises LoupeError."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What stays the same during a run. query: what is searched for, the task when empty. always: public names of
    tools that are in the array from the start. call: how a real server is asked, None when dry. confirmed: calls
    that are not read-only were agreed to. options: a strategy's own (see each)."""

    task: str
    weigher: Weigher
    rules: Rules | None
    search: Search
    query: str = ""
    access: Access = EVERYONE
    window: int = 200_000
    always: tuple[str, ...] = ()
    call: Caller | None = None
    confirmed: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        return self.query or self.task


@dataclass(frozen=True, slots=True)
class Entry:
    """What the model sees before its first move. wire_bytes: of the list; system: server instructions."""

    tools: tuple[Piece, ...]
    wire_bytes: int
    actor: Actor = "host"
    provenance: str = DERIVED
    instructions: tuple[Server, ...] = ()
    got: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a move brought. text: what the model is given. injected: definitions that enter the context, appended to
    the array or, at_end, expanded there by the provider. shown: names the model learnt; revealed: whose whole schema
    it has seen; called: the tool that was reached. turn False: no request of its own (a provider's own search)."""

    text: str
    reply_bytes: int
    column: Column = "discovery"
    actor: Actor = "host"
    request_bytes: int | None = None
    injected: tuple[Tool, ...] = ()
    at_end: bool = False
    shown: tuple[str, ...] = ()
    revealed: tuple[str, ...] = ()
    called: str | None = None
    registry: Registry | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    got: str = ""
    ms: float | None = None
    frames: tuple[int, ...] = ()
    turn: bool = True
    provenance: str = DERIVED


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A moment of a run. memory: a strategy's own notes (enabled servers, what a live server said). requests: the
    context of each provider request so far."""

    setting: Setting
    registry: Registry
    model: ModelContext
    prefix: Prefix = field(default_factory=Prefix)
    ledger: Ledger = field(default_factory=Ledger)
    entry_tools: int = 0
    shown: tuple[str, ...] = ()
    revealed: tuple[str, ...] = ()
    called: str | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    requests: tuple[ModelContext, ...] = field(default=(), repr=False)

    @property
    def totals(self) -> Totals:
        return self.ledger.totals(entry_tools=self.entry_tools, revealed_tools=len(self.revealed))

    @property
    def moves(self) -> int:
        return len([row for row in self.ledger.rows if row.action == "tools/call"])

    def tool(self, public: str) -> Tool | None:
        found = self.registry.resolve(public, self.setting.access)
        return found if isinstance(found, Tool) else None


class Strategy(Protocol):
    """One way of disclosing a catalog; see docs/lab.md, "A strategy of your own"."""

    id: str
    title: str

    def left_out(self, state: State) -> str:
        """Why a run cannot go as far as the others, in a sentence; empty when it can."""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        """What the model sees first. Raises UsageError when this strategy cannot be had here."""

    def answer(self, state: State, move: Move) -> Answer:
        """What the move brings; wrong moves get an answer too (column `error`)."""

    def offers(self, state: State) -> Sequence[Move]:
        """What a model could sensibly do next, the likeliest first; empty at the end."""


def begin(strategy: Strategy, setting: Setting, registry: Registry) -> State:
    """List, and put into the model's context what it sees first, with the task."""
    entry = strategy.entry(setting, registry)
    weigher = setting.weigher
    told = [(each, registry.instructions(each, setting.access)) for each in entry.instructions]
    system = tuple(
        [weigher.piece("system", f"instructions of {each.label}", text) for each, text in told if text]
    )
    task = (weigher.piece("user", "task", setting.task),) if setting.task else ()
    model = ModelContext(weigher.hidden(), entry.tools, system, task)
    row = Row(
        0, entry.actor, "tools/list", "entry", got=entry.got or f"{len(entry.tools)} tools",
        reply_bytes=entry.wire_bytes, context_bytes=model.bytes, context_tokens=model.tokens,
        provenance=entry.provenance,
    )  # fmt: skip
    return State(setting, registry, model, ledger=Ledger().add(row), entry_tools=len(entry.tools))


def turn(strategy: Strategy, state: State, move: Move) -> State:
    """The model makes `move`: its request goes through the prompt cache, the answer enters the context."""
    setting, weigher = state.setting, state.setting.weigher
    answer = strategy.answer(state, move)
    use, prefix = (
        state.prefix.request(state.model.pieces(), setting.rules) if answer.turn else (None, state.prefix)
    )
    arguments = move.arguments if move.arguments is not None else {}
    asked = compact_value({"name": move.tool, "input": arguments})
    model = state.model.said(weigher.piece("call", move.tool, asked))
    if answer.text:
        model = model.said(weigher.piece("result", move.tool, answer.text))
    pieces = [weigher.tool(tool) for tool in answer.injected]
    model = model.injected(pieces) if answer.at_end else model.appended(pieces)
    sent = answer.request_bytes
    if sent is None:
        sent = len(utf8(meta_tools.called(state.moves, move.tool, arguments)))
    row = Row(
        0, answer.actor, "tools/call", answer.column, asked=asked, got=answer.got, request_bytes=sent,
        reply_bytes=answer.reply_bytes, context_bytes=model.bytes - state.model.bytes,
        context_tokens=model.tokens - state.model.tokens, ms=answer.ms, frames=answer.frames,
        turn=answer.turn, provenance=answer.provenance,
    )  # fmt: skip
    if use is not None:
        row = replace(row, use=use, billed=use.billed(setting.rules))
    return replace(
        state,
        registry=answer.registry or state.registry,
        model=model,
        prefix=prefix,
        ledger=state.ledger.add(row),
        shown=_more(state.shown, answer.shown),
        revealed=_more(state.revealed, answer.revealed),
        called=answer.called or state.called,
        memory={**state.memory, **answer.memory},
        requests=(*state.requests, state.model) if answer.turn else state.requests,
    )


def _more(known: tuple[str, ...], new: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*known, *new]))
