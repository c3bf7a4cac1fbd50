"""A whole conversation through the prompt cache, and where full disclosure turns cheaper. Pure, any thread.

What people and tools say in it is assumed (ASIDE_TOKENS, RESULT_TOKENS) and the same on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from inspector.discovery.context import ModelContext, Piece
from inspector.discovery.play import State
from inspector.discovery.prompt_cache import Prefix, Rules, Use

TURNS = 20
ASIDE_TOKENS = 50
RESULT_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Course:
    """billed: of each turn, in units of one uncached input token; uses: of each provider request."""

    billed: tuple[float, ...]
    uses: tuple[Use, ...]

    @property
    def total(self) -> float:
        return sum(self.billed)

    @property
    def running(self) -> list[float]:
        return list(accumulate(self.billed))


def course(state: State, rules: Rules | None, *, turns: int = TURNS, rediscover: bool = False) -> Course:
    """`turns` turns that begin with the run in `state`: each later one asks something and gets a result. rediscover:
    every turn needs another tool and goes through the same discovery again; else one tool serves them all."""
    prefix, billed, uses = Prefix(), [], []
    context = state.requests[0] if state.requests else state.model
    additions = _additions(state)
    for number in range(turns):
        if number:
            context = context.said(_assumed("user", number, ASIDE_TOKENS))
        steps = additions if number == 0 or rediscover else additions[-1:]
        price = 0.0
        for step, (tools, messages) in enumerate(steps):
            use, prefix = prefix.request(context.pieces(), rules)
            uses.append(use)
            price += use.billed(rules)
            context = _grown(context, tools, messages, number if step < len(steps) - 1 or rediscover else 0)
        context = context.said(_assumed("result", number, RESULT_TOKENS))
        billed.append(price)
    return Course(tuple(billed), tuple(uses))


Step = tuple[tuple[Piece, ...], tuple[Piece, ...]]


def _additions(state: State) -> list[Step]:
    """What each provider request of the run was followed by: (tools appended, messages)."""
    contexts = [*state.requests, state.model]
    found: list[Step] = []
    for before, after in pairwise(contexts):
        found.append((after.tools[len(before.tools) :], after.messages[len(before.messages) :]))
    return found or [((), ())]


def _grown(
    context: ModelContext, tools: Sequence[Piece], messages: Sequence[Piece], number: int
) -> ModelContext:
    """With a step's additions; in a later turn they are other tools of the same size, as one piece."""
    if number and tools:
        text = f"other tools {number}"
        tools = [
            Piece(
                "tool", text, text, sum([each.tokens for each in tools]), sum([each.bytes for each in tools])
            )
        ]
    return context.appended(tools).said(*messages)


def _assumed(kind: str, number: int, tokens: int) -> Piece:
    return Piece("user" if kind == "user" else "result", "assumed", f"{kind} {number}", tokens, tokens * 4)


def cheaper_from(full: Course, other: Course) -> int | None:
    """The first turn (from 1) from which on, to the end, full disclosure has cost no more in all; None when never."""
    first = None
    for number, (mine, theirs) in enumerate(zip(full.running, other.running, strict=True), 1):
        if mine > theirs:
            first = None
        elif first is None:
            first = number
    return first


def discoveries_until_flat(entry_bytes: int, discovery_bytes: int, flat_bytes: int) -> int | None:
    """How many such discoveries cost as much on the wire as the flat list; None when none ever does."""
    if entry_bytes >= flat_bytes:
        return 0
    return -(-(flat_bytes - entry_bytes) // discovery_bytes) if discovery_bytes > 0 else None
