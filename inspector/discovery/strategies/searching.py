"""`search_tools` and `get_tool_details`, as designs A and B share them. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.discovery import meta_tools
from inspector.discovery.play import Answer, Move, State
from inspector.discovery.registry import Refusal, Tool
from inspector.discovery.strategies.host import argument, likeliest, refuse, reply, searched
from inspector.errors import UsageError

LIMIT = 5
MOST = 20


def search(state: State, arguments: Mapping[str, Any]) -> Answer:
    """Candidates at the level of name and description."""
    query, limit = arguments.get("query"), arguments.get("limit", LIMIT)
    if not isinstance(query, str) or not query.strip():
        return refuse(state, "`query` says what the tool should do.")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        return refuse(state, f"`limit` is an integer from 1 to {MOST}.")
    try:
        tools = searched(state, query, limit)
    except UsageError as problem:
        return refuse(state, problem.message)
    names = tuple([tool.public for tool in tools])
    count = f"{len(tools)} candidate{'' if len(tools) == 1 else 's'}"
    got = count + (f": {', '.join(names)}" if names else "")
    return reply(state, meta_tools.candidates(tools), shown=names, got=got, memory={"searched": names})


def details(state: State, move: Move, *, inject: bool = False) -> Answer:
    """One tool in full; with inject, its definition also enters the array."""
    found = state.registry.resolve(argument(move, "name"), state.setting.access)
    if isinstance(found, Refusal):
        return refuse(state, found.sentence)
    injected: tuple[Tool, ...] = (found,) if inject else ()
    text = meta_tools.details(state.registry, found)
    shown = (found.public,)
    return reply(state, text, shown=shown, revealed=shown, injected=injected, got=found.public)


def next_moves(state: State, calls: Sequence[Move]) -> list[Move]:
    """Search once, then call what is revealed, or look at the next candidate."""
    if state.called:
        return []
    if "searched" not in state.memory:
        return [Move("search_tools", {"query": state.setting.wanted})]
    ahead = [name for name in state.memory["searched"] if name not in state.revealed]
    return [*calls, *[Move("get_tool_details", {"name": name}) for name in ahead]]


def revealed(state: State) -> list[str]:
    """What can be called, the likeliest first."""
    return likeliest(state, state.revealed)
