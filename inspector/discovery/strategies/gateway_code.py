"""`gateway_code`: one `run_code` (a gateway's Code mode). Only its entry cost is known here. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry
from inspector.discovery.strategies.host import host_entry, refuse, unknown_move

LEFT_OUT = "what a script costs is not simulated: only the entry is counted"


class GatewayCode:
    """The model writes a script; what it would find in the sandbox is code mode's own matter."""

    id = "gateway_code"
    title = "Gateway: code"

    def left_out(self, state: State) -> str:
        return LEFT_OUT

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        return host_entry(setting, registry, ("run_code",))

    def answer(self, state: State, move: Move) -> Answer:
        if move.tool == "run_code":
            return refuse(state, "No script is run in this simulation.")
        return unknown_move(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        return []
