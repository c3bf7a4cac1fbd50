"""`gateway_code_search`: find the definitions one by one, then one script over them. Any thread."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.play import Answer, Move, State
from inspector.discovery.strategies.gateway_code import run_code
from inspector.discovery.strategies.gateway_search import GatewaySearch
from inspector.discovery.strategies.host import likeliest


class GatewayCodeSearch(GatewaySearch):
    """`get_tool`, `invoke_tool` and `run_code`: discovery, and then one script."""

    id = "gateway_code_search"
    title = "Gateway: code and search"
    names = ("get_tool", "invoke_tool", "run_code")

    def answer(self, state: State, move: Move) -> Answer:
        return run_code(state, move) if move.tool == "run_code" else super().answer(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        looks = [move for move in super().offers(state) if move.tool == "get_tool"]
        if state.called:
            return []
        return [*[Move("run_code", target=name) for name in likeliest(state, state.revealed)], *looks]
