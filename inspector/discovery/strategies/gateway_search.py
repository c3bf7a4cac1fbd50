"""`gateway_search`: `get_tool` shows one tool at a time, `invoke_tool` calls it (a gateway's Search mode). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.strategies.host import (
    argument,
    host_entry,
    native,
    refuse,
    reply,
    routed,
    searched,
)
from inspector.discovery.strategies.searching import MOST, revealed


class GatewaySearch:
    """One definition a step."""

    id = "gateway_search"
    title = "Gateway: search"
    names: tuple[str, ...] = ("get_tool", "invoke_tool")

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        return host_entry(setting, registry, self.names)

    def answer(self, state: State, move: Move) -> Answer:
        match move.tool:
            case "get_tool":
                return self._get(state, argument(move, "query"))
            case "invoke_tool":
                return routed(state, move)
        return native(state, move)

    def _get(self, state: State, query: str) -> Answer:
        """By exact name, else the best match."""
        if not query.strip():
            return refuse(state, "`query` is a tool's exact name or what it should do.")
        exact = state.registry.resolve(query, state.setting.access)
        found = [exact] if isinstance(exact, Tool) else searched(state, query, 1)
        if not found:
            return refuse(state, "No tool matches. Ask in other words.")
        public = found[0].public
        return reply(state, found[0].text, shown=(public,), revealed=(public,), got=public)

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        calls = [Move("invoke_tool", {"name": name}) for name in revealed(state)]
        ahead = [tool.public for tool in searched(state, state.setting.wanted, MOST)]
        queries = ahead if state.revealed else [state.setting.wanted]
        looks = [Move("get_tool", {"query": query}) for query in queries if query not in state.revealed]
        return [*calls, *looks]
