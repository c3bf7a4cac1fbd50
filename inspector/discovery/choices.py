"""What was chosen in a run, one after another: the model's moves, and events between them. Pure, any thread.

As JSON each is an object: `{"tool", "arguments"?, "target"?}`, or `{"event", …}` with the fields of EVENTS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.catalog.jsontext import compact_value
from inspector.discovery import whatif
from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.play import Move, State, Strategy, turn
from inspector.errors import UsageError

EVENTS: Final[Mapping[str, Mapping[str, type]]] = {
    "advance": {"seconds": int},
    "list_changed": {"server": str},
    "revoke": {"tool": str},
    "remove": {"tool": str},
    "switch_user": {"context": str},
    "drop_server": {"server": str},
    "reorder": {},
    "boundary": {},
    "cache_expired": {},
}
"""Every event and what it needs. `remove` is a revocation for security; an empty context is everyone."""
LONGEST_CLOCK_S: Final = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True)
class Happening:
    """An event between two moves. event: a key of EVENTS; facts: its fields."""

    event: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Choice = Move | Happening


def parse_choice(found: Any) -> Choice:
    """One choice from parsed JSON. Raises UsageError."""
    if not isinstance(found, dict):
        raise UsageError("A choice is an object", 'Write {"tool": "NAME", "arguments": {}}')
    if "event" in found:
        return _happening(found)
    arguments, target = found.get("arguments"), found.get("target", "")
    known = isinstance(found.get("tool"), str) and isinstance(target, str)
    if not known or not (arguments is None or isinstance(arguments, dict)):
        raise UsageError("The script is a list of moves", 'Write {"tool": "NAME", "arguments": {}}')
    return Move(found["tool"], arguments, target)


def _happening(found: Mapping[str, Any]) -> Happening:
    wanted = EVENTS.get(found["event"]) if isinstance(found["event"], str) else None
    if wanted is None:
        raise UsageError(f"There is no event {found['event']!r}", f"Choose among {', '.join(EVENTS)}")
    facts = {name: found.get(name) for name in wanted}
    for name, kind in wanted.items():
        if not isinstance(facts[name], kind) or isinstance(facts[name], bool):
            raise UsageError(f"The event {found['event']} needs {name}", f"Write it as {kind.__name__}")
    if not 0 <= (facts.get("seconds") or 0) <= LONGEST_CLOCK_S:
        raise UsageError("The clock moves on, by ten years at most", "Give seconds from 0 to 316,224,000")
    return Happening(found["event"], facts)


def choice_entry(choice: Choice) -> dict[str, Any]:
    """The JSON object of a choice; what is not given is left out."""
    if isinstance(choice, Happening):
        return {"event": choice.event, **choice.facts}
    entry: dict[str, Any] = {"tool": choice.tool}
    if choice.arguments is not None:
        entry["arguments"] = dict(choice.arguments)
    return entry | ({"target": choice.target} if choice.target else {})


def choice_text(choice: Choice) -> str:
    """The same as compact text; equal choices have equal texts."""
    return compact_value(choice_entry(choice))


def follow(
    strategy: Strategy, state: State, choice: Choice, contexts: Mapping[str, Access] | None = None
) -> State:
    """The state after a choice. contexts: those that `switch_user` may name. Raises UsageError for what is not there."""
    if isinstance(choice, Move):
        return turn(strategy, state, choice)
    return happen(state, choice, contexts or {})


def happen(state: State, choice: Happening, contexts: Mapping[str, Access]) -> State:
    """The state after an event. Raises UsageError when it names a server, tool or context there is not."""
    facts = choice.facts
    match choice.event:
        case "advance":
            return whatif.advance(state, facts["seconds"] * 1_000_000)
        case "list_changed":
            return whatif.list_changed(state, _server(state, facts["server"]))
        case "revoke" | "remove":
            if not state.registry.knows(facts["tool"]):
                raise UsageError(f"No server lists {facts['tool']}", "Give a tool as server__name")
            return whatif.revoke(state, facts["tool"], security=choice.event == "remove")
        case "switch_user":
            name = facts["context"]
            if name and name not in contexts:
                raise UsageError(f"There is no authorization context {name}", "Define it in the scenario")
            return whatif.switch_access(state, contexts[name] if name else EVERYONE)
        case "drop_server":
            return whatif.drop_server(state, _server(state, facts["server"]))
        case "reorder":
            return whatif.reorder(state)
        case "boundary":
            return whatif.boundary(state)
    return whatif.cache_expired(state)


def _server(state: State, key: str) -> str:
    if state.registry.server(key) is None:
        known = ", ".join([each.key for each in state.registry.servers])
        raise UsageError(f"There is no server {key} in this registry", f"There are: {known}")
    return key
