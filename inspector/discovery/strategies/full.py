"""`full`: every definition in the array, native calls. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.ledger import DERIVED, MEASURED
from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry
from inspector.discovery.strategies.host import native


class Full:
    """The list as it came, all of it in the model's context."""

    id = "full"
    title = "Full listing"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        tools = registry.visible(setting.access)
        servers = registry.reachable(setting.access)
        measured = all(each.measured for each in servers)
        return Entry(
            tuple([setting.weigher.tool(tool) for tool in tools]),
            sum([each.wire_bytes for each in servers]),
            "server",
            MEASURED if measured else DERIVED,
            servers,
        )

    def answer(self, state: State, move: Move) -> Answer:
        return native(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        every = state.registry.visible(state.setting.access)
        there = state.model.native
        ranked = state.setting.search.order(every, state.setting.wanted)
        return [Move(tool.public) for tool in ranked if tool.public in there]
