"""Who plays the model when no person does: the best-ranked, the expected or the worst choice. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from inspector.discovery.play import Move, State, Strategy, turn
from inspector.errors import UsageError

Policy = Literal["top1", "expected", "worst"]
POLICIES: Final[tuple[Policy, ...]] = ("top1", "expected", "worst")
MOST_TURNS = 100


def policy_of(name: str) -> Policy:
    """The policy of that name. Raises UsageError."""
    for policy in POLICIES:
        if policy == name:
            return policy
    raise UsageError(f"There is no policy {name}", f"Choose among {', '.join(POLICIES)}")


def play_out(strategy: Strategy, state: State, policy: Policy, expect: str = "") -> State:
    """Move until a tool is called, nothing is left to try, or MOST_TURNS have passed."""
    if policy == "expected" and not expect:
        raise UsageError("The policy `expected` needs to know the tool", "Add --expect TOOL")
    failed: list[Move] = []
    for _ in range(MOST_TURNS):
        move = choose(strategy, state, policy, expect, failed)
        if move is None:
            break
        state = turn(strategy, state, move)
        if state.ledger.rows[-1].column == "error":
            failed.append(move)
    return state


def choose(
    strategy: Strategy, state: State, policy: Policy, expect: str = "", failed: Sequence[Move] = ()
) -> Move | None:
    """The next move, None at the end; what failed is not tried again."""
    offers = [move for move in strategy.offers(state) if move not in failed]
    if not offers:
        return None
    if policy == "top1":
        return offers[0]
    goal = goal_of(state, expect)
    calls = [move for move in offers if _is_call(state, move)]
    others = [move for move in offers if not _is_call(state, move)]
    right = next((move for move in calls if _names(move) & goal), None) if goal else next(iter(calls), None)
    if policy == "expected":
        return right or _revealing(strategy, state, others, goal) or next(iter(others), None)
    leading = _revealing(strategy, state, others, goal)
    wrong = [move for move in others if move is not leading]
    if wrong:
        return wrong[-1]
    return leading or right


def goal_of(state: State, expect: str) -> set[str]:
    """The names under which the expected tool may be called: as given, and its public ones."""
    if not expect:
        return set()
    tools = state.registry.visible(state.setting.access)
    return {expect} | {tool.public for tool in tools if tool.name == expect}


def _is_call(state: State, move: Move) -> bool:
    """Whether a move calls a tool the model has seen whole (and so needs no more looking)."""
    whole = {*state.revealed, *state.model.native}
    own = _names(move, tool=False) & set(state.revealed)
    native = move.arguments is None and (move.tool in whole or bool(move.target))
    return native or (bool(own) and _last_word(move) in CALLS)


CALLS: Final = frozenset({"call", "invoke", "execute", "command"})


def _last_word(move: Move) -> str:
    """`call` of call_tool, invoke_tool, execute-tool: what the tool's own name begins with."""
    own = move.tool.rsplit("__", 1)[-1].replace("-", "_")
    return next((word for word in own.split("_") if word in CALLS), "")


def _revealing(strategy: Strategy, state: State, moves: Sequence[Move], goal: set[str]) -> Move | None:
    """The move that would show the tool in full, when that can be known without asking a server."""
    if not moves or state.setting.call is not None:
        return None
    for move in moves:
        answer = strategy.answer(state, move)
        if goal & set(answer.revealed) or (not goal and move is moves[0] and answer.revealed):
            return move
    return None


def _names(move: Move, *, tool: bool = True) -> set[str]:
    found = {move.tool, move.target} if tool else {move.target}
    return found | set(_strings(move.arguments or {}))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in _strings(each)]
    return []
