"""Rounds of one recorded conversation, replayed as one: each echoes the state that came now, not the recorded one.

Pure; the thread of the replay. A server may seal its requestState, or let it be used once: the recorded one tells
another run nothing.
"""

from __future__ import annotations

from typing import Any, Final

from inspector.replay.check import object_of
from inspector.replay.exchanges import Exchange
from inspector.replay.splice import member
from inspector.wire.dispatcher import Reply
from inspector.wire.link import RawJson

ALONE: Final = "Its requestState is the recorded one: the round before it was not replayed"
_STATE: Final = "requestState"
_PATH: Final = ("result", _STATE)


class States:
    """What a recorded requestState has become in this run: the new one's exact text, or that nothing was asked."""

    def __init__(self) -> None:
        self._new: dict[str, tuple[bool, str | None]] = {}

    def note(self, exchange: Exchange, reply: Reply) -> None:
        """An exchange was answered: what stands for the state it was answered with in the recording."""
        old = object_of(exchange.members.get("result")).get(_STATE)
        if isinstance(old, str):
            asks = reply.result.get("resultType") == "input_required"
            self._new[old] = asks, member(reply.raw, _PATH) if _STATE in reply.result else None

    def ended(self, exchange: Exchange) -> bool:
        """Whether this round has nothing to answer, for the round before it asked nothing this time."""
        asks, _ = self._new.get(_state_of(exchange), (True, None))
        return not asks

    def alone(self, exchange: Exchange) -> bool:
        """Whether the exchange is a round whose round before was not replayed."""
        state = _state_of(exchange)
        return bool(state) and state not in self._new

    def put(self, exchange: Exchange, params: dict[str, Any]) -> None:
        """The params with the state of this run in the place of the recorded one."""
        if _state_of(exchange) in self._new:
            _, text = self._new[_state_of(exchange)]
            params.pop(_STATE, None)
            if text is not None:
                params[_STATE] = RawJson(text)


def _state_of(exchange: Exchange) -> str:
    state = object_of(exchange.params).get(_STATE)
    return state if isinstance(state, str) else ""
