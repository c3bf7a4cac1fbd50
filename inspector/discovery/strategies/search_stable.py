"""`search_stable`, design B: three tools that never change; the host checks arguments before it routes. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry
from inspector.discovery.strategies import searching
from inspector.discovery.strategies.host import host_entry, native, routed


class SearchStable:
    """The prefix stays whole; the provider sees only a generic object for the arguments."""

    id = "search_stable"
    title = "Search, stable (design B)"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        return host_entry(setting, registry, ("search_tools", "get_tool_details", "call_tool"))

    def answer(self, state: State, move: Move) -> Answer:
        match move.tool:
            case "search_tools":
                return searching.search(state, move.arguments or {})
            case "get_tool_details":
                return searching.details(state, move)
            case "call_tool":
                return routed(state, move)
        return native(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        calls = [Move("call_tool", {"name": name}) for name in searching.revealed(state)]
        return searching.next_moves(state, calls)
