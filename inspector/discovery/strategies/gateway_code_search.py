"""`gateway_code_search`: both of a gateway's modes; the search half plays, the script does not. Pure, any thread."""

from __future__ import annotations

from inspector.discovery.play import Answer, Move, State
from inspector.discovery.strategies.gateway_code import LEFT_OUT
from inspector.discovery.strategies.gateway_search import GatewaySearch
from inspector.discovery.strategies.host import refuse


class GatewayCodeSearch(GatewaySearch):
    """`get_tool`, `invoke_tool` and `run_code`."""

    id = "gateway_code_search"
    title = "Gateway: code and search"
    names = ("get_tool", "invoke_tool", "run_code")

    def left_out(self, state: State) -> str:
        return LEFT_OUT.replace("only the entry is", "only entry and search are")

    def answer(self, state: State, move: Move) -> Answer:
        if move.tool == "run_code":
            return refuse(state, "No script is run in this simulation.")
        return super().answer(state, move)
