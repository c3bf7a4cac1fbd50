"""A request whose server answers with questions: asked, answered and sent again until it is done. Loop thread.

Source: MCP 2026-07-28 basic/patterns/mrtr: every input is answered, requestState goes back byte for byte and only
when one came, each retry has a new id, and what was answered belongs to the next retry alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog.jsontext import Reader
from inspector.wire.connection import Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.link import RawJson

MOST_ROUNDS: Final = 10
MOST_INPUTS: Final = 20
"""Questions of one round; a server that asks more is not answered."""

Ask = Callable[[str, Mapping[str, Any], str], Awaitable[tuple[str, Any]]]
"""Answers (method, params, key in inputRequests)."""


@dataclass(frozen=True, slots=True)
class Round:
    """One answer that asked. inputs: keys of inputRequests; state_bytes: of requestState's JSON text, None without."""

    request_seq: int
    reply_seq: int
    inputs: tuple[str, ...]
    state_bytes: int | None
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an `input_required` result asks for. state: requestState exactly as it was spelled."""

    inputs: tuple[tuple[str, str, Mapping[str, Any]], ...]
    state: RawJson | None
    problem: str = ""


def asks(result: Mapping[str, Any]) -> bool:
    """Whether this result is a question rather than an outcome."""
    return result.get("resultType") == "input_required"


async def converse(
    send: Callable[[dict[str, Any]], Awaitable[Reply]],
    params: Mapping[str, Any],
    ask: Ask,
    connection: Connection,
    note: Callable[[Round], None],
) -> Reply:
    """Send, answer what is asked, send again; the reply that asks no more, or that was not answered."""
    reply = await send(dict(params))
    for number in range(1, MOST_ROUNDS + 1):
        if not asks(reply.result):
            return reply
        wanted = wanted_of(reply, connection)
        last = number == MOST_ROUNDS
        problem = wanted.problem or (f"The server asked {MOST_ROUNDS} times in a row" if last else "")
        keys = tuple([key for key, _, _ in wanted.inputs])
        size = len(wanted.state.encode("utf-8", "surrogatepass")) if wanted.state is not None else None
        if problem:
            remedy = (
                "Only input that the client declared, at least one input or a requestState, and an end to it"
            )
            connection.link.anomaly(
                "input-required", f"{problem}; Loupe stops here", pair=reply.seq, remedy=remedy
            )
            note(Round(reply.request_seq, reply.seq, keys, size, problem))
            return reply
        note(Round(reply.request_seq, reply.seq, keys, size))
        answers = {}
        for key, method, asked in wanted.inputs:
            kind, body = await ask(method, asked, key)
            if kind == "error":
                return reply  # turned down: the specification's way is not to send again
            answers[key] = body
        again = dict(params)
        if answers:
            again["inputResponses"] = answers
        if wanted.state is not None:
            again["requestState"] = wanted.state
        reply = await send(again)
    return reply


def wanted_of(reply: Reply, connection: Connection) -> Wanted:
    """The questions of a result, and what is wrong with them."""
    return wanted_in(reply.result.get("inputRequests"), raw_state(reply.raw), connection)


def wanted_in(listed: Any, state: RawJson | None, connection: Connection) -> Wanted:
    """`inputRequests` taken apart, checked against what we declared."""
    if listed is None and state is None:
        return Wanted(
            (), None, "The result asks for input and names neither inputRequests nor a requestState"
        )
    if not isinstance(listed if listed is not None else {}, Mapping):
        return Wanted((), state, "inputRequests is not an object")
    inputs: list[tuple[str, str, Mapping[str, Any]]] = []
    for key, entry in (listed or {}).items():
        method = entry.get("method") if isinstance(entry, Mapping) else None
        asked = entry.get("params") if isinstance(entry, Mapping) else None
        asked = asked if isinstance(asked, Mapping) else {}
        if not isinstance(method, str) or not connection.declares(method, asked):
            return Wanted(tuple(inputs), state, f"Input “{key[:80]}” asks for what Loupe did not declare")
        inputs.append((key, method, asked))
    if len(inputs) > MOST_INPUTS:
        return Wanted((), state, f"One round asks for {len(inputs)} inputs; {MOST_INPUTS} are answered")
    return Wanted(tuple(inputs), state)


def raw_state(raw: bytes) -> RawJson | None:
    """The JSON text of `result.requestState` as it stands in the frame; None when there is none."""
    reader = Reader(raw.decode("utf-8", "surrogatepass"))
    found: RawJson | None = None
    try:
        for key in reader.members():
            if key == "result" and reader.peek() == "{":
                for name in reader.members():
                    start = reader.at
                    reader.value()
                    found = RawJson(reader.text[start : reader.at]) if name == "requestState" else found
            else:
                reader.value()
    except (ValueError, RecursionError):
        return None
    return found
