"""`search_inject`, design A: found definitions are appended to the array and called natively. Pure, any thread.

Option `inject`: `append` (the array; the default) or `end` (where the provider expands deferred tools).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry
from inspector.discovery.strategies import searching
from inspector.discovery.strategies.host import host_entry, native


class SearchInject:
    """Real schemas and native calls; the array grows at its end."""

    id = "search_inject"
    title = "Search, inject (design A)"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        return host_entry(setting, registry, ("search_tools", "get_tool_details"))

    def answer(self, state: State, move: Move) -> Answer:
        match move.tool:
            case "search_tools":
                return searching.search(state, move.arguments or {})
            case "get_tool_details":
                found = searching.details(state, move, inject=True)
                return replace(found, at_end=state.setting.options.get("inject") == "end")
        return native(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        return searching.next_moves(state, [Move(name) for name in searching.revealed(state)])
