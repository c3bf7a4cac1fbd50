"""What every host does alike: its own lists and replies, and reaching the one tool that was named. Any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.catalog import jsontext
from inspector.catalog.validation import validate
from inspector.discovery import meta_tools
from inspector.discovery.context import Piece
from inspector.discovery.ledger import DERIVED, MEASURED
from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Refusal, Registry, Tool
from inspector.discovery.shown import shown_text
from inspector.errors import LoupeError


def host_entry(
    setting: Setting, registry: Registry, names: Sequence[str], *, code: Sequence[Piece] = ()
) -> Entry:
    """A list of host-made tools and the always-on ones, with the instructions of every reachable server."""
    texts = [meta_tools.definition(name) for name in names]
    always = [tool for tool in registry.visible(setting.access) if tool.public in setting.always]
    pieces = [setting.weigher.definition(name, text) for name, text in zip(names, texts, strict=True)]
    pieces += [setting.weigher.tool(tool) for tool in always]
    size = jsontext.size(meta_tools.listed([*texts, *[tool.text for tool in always]]))
    return Entry(tuple(pieces), size, "host", DERIVED, registry.reachable(setting.access))


def reply(state: State, text: str, **what: Any) -> Answer:
    """A discovery reply the host made."""
    size = jsontext.size(meta_tools.replied(state.moves, text))
    return Answer(text, size, **what)


def refuse(state: State, sentence: str) -> Answer:
    """An error the model can act on. It costs its bytes and a turn, in a column of its own."""
    text = meta_tools.refusal(sentence)
    size = jsontext.size(meta_tools.replied(state.moves, text, error=True))
    return Answer(text, size, "error", got=sentence)


def argument(move: Move, name: str) -> str:
    found = (move.arguments or {}).get(name)
    return found if isinstance(found, str) else ""


def unknown_move(state: State, move: Move) -> Answer:
    """A call of something that is not in this request."""
    names = ", ".join(sorted(state.model.native)[:12])
    return refuse(state, f"There is no tool named {move.tool!r} in this request. There are: {names}.")


def native(state: State, move: Move) -> Answer:
    """A call of a real tool that is in the array. That it is there does not mean it may still be called."""
    if move.tool not in state.model.native:
        return unknown_move(state, move)
    return execute(state, move.tool, move.arguments)


def routed(state: State, move: Move) -> Answer:
    """`call_tool` and `invoke_tool`: an exact name, never a search."""
    arguments = move.arguments or {}
    given = arguments.get("arguments")
    if given is not None and not isinstance(given, dict):
        return refuse(state, "`arguments` is an object with the tool's own arguments.")
    return execute(state, argument(move, "name"), given)


def execute(state: State, name: str, arguments: Mapping[str, Any] | None) -> Answer:
    """Reach the tool of exactly that name: permission, freshness and schema first, then the wire if there is one."""
    found = state.registry.resolve(name, state.setting.access)
    if isinstance(found, Refusal):
        return refuse(state, found.sentence)
    if arguments is not None:
        wrong = validate(found.value.get("inputSchema"), arguments)
        if wrong:
            said = "; ".join([f"{each.path or 'arguments'}: {each.message}" for each in wrong[:5]])
            return refuse(state, f"{name} was not called: {said}.{_signature(found)}")
    return _sent(state, found, arguments)


def _sent(state: State, tool: Tool, arguments: Mapping[str, Any] | None) -> Answer:
    call = state.setting.call
    if call is None or arguments is None:
        why = "nothing is sent in a dry run" if call is None else "not sent: nobody wrote the arguments"
        return Answer("", 0, "business", "server", called=tool.public, got=f"{tool.public}: {why}")
    if not meta_tools.read_only(tool.value) and not state.setting.confirmed:
        why = "not sent: the server does not say it is read-only, and it was not confirmed"
        return Answer("", 0, "business", "host", called=tool.public, got=f"{tool.public}: {why}")
    try:
        asked = call(tool.server, tool.name, arguments)
    except LoupeError as problem:
        return refuse(state, f"{tool.public}: {problem.message}")
    return Answer(
        shown_text(asked.result), asked.reply_bytes, "business", "server", asked.request_bytes,
        called=tool.public, ms=asked.ms, frames=asked.frames, provenance=MEASURED,
        got=f"{tool.public}: {'an error' if asked.error else 'a result'}",
    )  # fmt: skip


def _signature(tool: Tool) -> str:
    """` It takes (a, b?).` from the real schema."""
    schema = tool.value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return f" It takes ({', '.join([name if name in needed else f'{name}?' for name in properties])})."


def searched(state: State, query: str, limit: int = 5) -> list[Tool]:
    """The candidates of the setting's search, best first; permission came before."""
    found = state.setting.search.find(state.registry, state.setting.access, query, limit)
    return [each.tool for each in found]


def likeliest(state: State, publics: Sequence[str]) -> list[str]:
    """These tools, the likeliest for the task first."""
    tools = [tool for name in publics if (tool := state.tool(name)) is not None]
    among = state.registry.visible(state.setting.access)
    return [tool.public for tool in state.setting.search.order(tools, state.setting.wanted, among)]
