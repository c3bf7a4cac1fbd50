"""`server_driven`: what a real progressive server lists, each step a real tools/call on it. Any thread but the loop's.

Option `preset`: how its tools are used, as in data/presets.json; without it, recognised from what it lists. Without a
connection only the entry is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.catalog.jsontext import compact_value
from inspector.discovery import reading
from inspector.discovery.ledger import MEASURED
from inspector.discovery.play import Answer, Asked, Move, State
from inspector.discovery.presets import Preset, Role, Stage, recognise
from inspector.discovery.reading import Told
from inspector.discovery.registry import Refusal, Tool
from inspector.discovery.search.words import asked as words_asked
from inspector.discovery.shown import shown_text
from inspector.discovery.strategies.full import Full
from inspector.discovery.strategies.host import execute, native, refuse
from inspector.errors import LoupeError

SERVER, GROUPS, TOLD, GROUP_OF, PLAYED = "server", "groups", "told", "group_of", "played"


class ServerDriven(Full):
    """The server discloses; the host only passes on."""

    id = "server_driven"
    title = "Server-driven"

    def left_out(self, state: State) -> str:
        """Why a run cannot go beyond its entry; empty when it can."""
        if _of(state) is None:
            return "no server here discloses in a way we know: only the entry is counted"
        if state.setting.call is None:
            return "a server's own replies are only known from itself: only the entry is counted; a live run asks it"
        return ""

    def answer(self, state: State, move: Move) -> Answer:
        found = _of(state)
        tool = state.registry.resolve(move.tool, state.setting.access)
        if isinstance(tool, Refusal):
            return native(state, move)
        stage = _stage_of(state, tool, move)
        if found is None or stage is None or stage.role == "call":
            return self._called(state, move, stage)
        if state.setting.call is None:
            return refuse(state, "Nothing is sent in a dry run.")
        try:
            asked = state.setting.call(tool.server, tool.name, move.arguments or {})
        except LoupeError as problem:
            return refuse(state, problem.message)
        return _read(state, stage, move, asked)

    def _called(self, state: State, move: Move, stage: Stage | None) -> Answer:
        """The task's own call: through the server's call tool, or one it lists openly."""
        answer = execute(state, move.tool, _own_arguments(move, stage))
        target = move.target or _target(move, stage)
        if answer.called is None or not target:
            return answer
        return Answer(
            answer.text, answer.reply_bytes, answer.column, answer.actor, answer.request_bytes, called=target,
            got=f"{target} through {answer.got}", ms=answer.ms, frames=answer.frames, provenance=answer.provenance,
        )  # fmt: skip

    def offers(self, state: State) -> Sequence[Move]:
        found = _of(state)
        if state.called or found is None or state.setting.call is None:
            return []
        server, preset = found
        calls = [] if not state.revealed else _calls(state, server, preset)
        return [
            *calls,
            *[move for move in _discovery(state, server, preset) if _key(move) not in _played(state)],
        ]


def _of(state: State) -> tuple[str, Preset] | None:
    """The server that discloses, and how."""
    chosen = state.setting.options.get("preset")
    for server in state.registry.reachable(state.setting.access):
        preset = chosen if isinstance(chosen, Preset) else recognise(server.tools)
        if preset is not None and preset.fits(server.tools):
            return server.key, preset
    return None


def _stage_of(state: State, tool: Tool, move: Move) -> Stage | None:
    """The stage a move plays: of the stages of this tool, the one whose arguments it has the most of."""
    found = _of(state)
    if found is None or found[0] != tool.server:
        return None
    given = set(move.arguments or {})
    fitting = [stage for stage in found[1].stages if stage.of([tool])]
    return max(fitting, key=lambda stage: -len(set(stage.arguments) ^ given), default=None)


def _read(state: State, stage: Stage, move: Move, asked: Asked) -> Answer:
    """What a discovery reply tells, and what it cost on the wire."""
    things = [] if asked.error else reading.told(asked.result)
    memory: dict[str, Any] = {PLAYED: (*_played(state), _key(move))}
    shown, revealed = [each.name for each in things], [each.name for each in things if each.whole]
    if stage.role == "groups":
        memory[GROUPS] = tuple(things)
        shown, revealed = [], []
    elif stage.role == "details":
        revealed = [str(_chosen(stage, move, "tool"))]
    else:
        group = _group(state, stage, move)
        memory[TOLD] = (*state.memory.get(TOLD, ()), *things)
        memory[GROUP_OF] = {**state.memory.get(GROUP_OF, {}), **dict.fromkeys(shown, group)}
        if _of(state) is not None and not revealed and not _has(state, "details"):
            revealed = shown
    return Answer(
        shown_text(asked.result), asked.reply_bytes, "error" if asked.error else "discovery", "server",
        asked.request_bytes, shown=tuple(shown), revealed=tuple(revealed), memory=memory,
        got=_summary(stage.role, things, revealed), ms=asked.ms, frames=asked.frames, provenance=MEASURED,
    )  # fmt: skip


def _summary(role: Role, things: Sequence[Told], revealed: Sequence[str]) -> str:
    if role == "groups":
        return f"{len(things)} groups"
    return f"{len(things)} named, {len(revealed)} in full"


def _discovery(state: State, server: str, preset: Preset) -> list[Move]:
    """What can still be asked, in the order a model would: details of what is known, a search, groups, a group."""
    moves = []
    details, groups = preset.stage("details"), preset.stage("groups")
    if details is not None:
        moves += _each(state, server, details, "tool", _candidates(state, server, details))
    search = preset.stage("search")
    if search is not None:
        moves += _moves(state, server, search)
    if groups is not None and GROUPS not in state.memory:
        return [*moves, *_moves(state, server, groups)]
    expand = preset.stage("expand")
    if expand is not None:
        known = list(state.memory.get(GROUPS, ()))
        if expand.each:
            known = [Told(tool.name, tool.description) for tool in expand.of(_listed(state, server))]
        known = known or [Told(name) for name in _named(state, server, expand, "group")]
        moves += _each(state, server, expand, "group", _ranked(state, known))
    return moves


def _candidates(state: State, server: str, details: Stage) -> list[str]:
    """Names to look at: as the server ranked them after a search, else the likeliest first."""
    known = list(state.memory.get(TOLD, ()))
    preset = _of(state)
    if preset is not None and preset[1].stage("search") is not None:
        return [each.name for each in known]
    return _ranked(state, known or [Told(name) for name in _named(state, server, details, "tool")])


def _calls(state: State, server: str, preset: Preset) -> list[Move]:
    stage = preset.stage("call")
    if stage is None:
        return []
    descriptions = {each.name: each for each in state.memory.get(TOLD, ())}
    known = [descriptions.get(name, Told(name)) for name in state.revealed]
    ranked = [each.name for each in known] if preset.stage("search") else _ranked(state, known)
    if "$code" in stage.arguments.values():
        scripts = _moves(state, server, stage)
        return [Move(script.tool, None, name) for script in scripts for name in ranked]
    return _each(state, server, stage, "tool", ranked)


def _each(state: State, server: str, stage: Stage, what: str, names: Sequence[str]) -> list[Move]:
    group_of = state.memory.get(GROUP_OF, {})
    return [
        move
        for name in names
        for move in _moves(state, server, stage, **{"group": group_of.get(name), what: name})
    ]


def _moves(state: State, server: str, stage: Stage, **choices: Any) -> list[Move]:
    """The move of a stage; of the several servers behind a compressor, the one that names the tool."""
    tools = stage.of(_listed(state, server))
    if stage.each and choices.get("group"):
        tools = [tool for tool in tools if tool.name == choices["group"]]
    name = choices.get("tool")
    naming = [
        tool for tool in tools if name and re.search(rf"<tool>\s*{re.escape(name)}\b", tool.description)
    ]
    prefix = naming[0].name.split("_")[0] if naming else ""
    tool = next((each for each in [*naming, *tools] if each.name.startswith(prefix)), None)
    pattern = "|".join([re.escape(word) for word in words_asked(state.setting.wanted)])
    arguments = stage.filled(query=state.setting.wanted, pattern=pattern, **choices)
    return [] if tool is None else [Move(tool.public, arguments)]


def _ranked(state: State, things: Sequence[Told]) -> list[str]:
    """Names by how their words fit the task."""
    tools = [
        Tool(each.name, "", each.name, compact_value({"name": each.name}), {"description": each.description})
        for each in things
    ]
    return [tool.name for tool in state.setting.search.order(tools, state.setting.wanted)]


def _named(state: State, server: str, stage: Stage, what: str) -> list[str]:
    keys = [key for key, value in stage.arguments.items() if value in (f"${what}", [f"${what}"])]
    return [
        name
        for tool in stage.of(_listed(state, server))
        for key in keys
        for name in reading.named_in(tool, key)
    ]


def _listed(state: State, server: str) -> list[Tool]:
    return [tool for tool in state.registry.visible(state.setting.access) if tool.server == server]


def _has(state: State, role: Role) -> bool:
    found = _of(state)
    return found is not None and found[1].stage(role) is not None


def _chosen(stage: Stage, move: Move, what: str) -> Any:
    """What the move chose for a placeholder of its stage."""
    for key, value in stage.arguments.items():
        given = (move.arguments or {}).get(key)
        if value == f"${what}":
            return given
        if value == [f"${what}"] and isinstance(given, list) and given:
            return given[0]
    return None


def _group(state: State, stage: Stage, move: Move) -> Any:
    """The group a move opens: what it says, or the tool's own name where each tool is one."""
    tool = state.tool(move.tool) if stage.each else None
    return tool.name if tool is not None else _chosen(stage, move, "group")


def _target(move: Move, stage: Stage | None) -> str | None:
    return None if stage is None or stage.role != "call" else _chosen(stage, move, "tool")


def _own_arguments(move: Move, stage: Stage | None) -> Mapping[str, Any] | None:
    """None unless the person wrote the inner arguments: a policy does not make them up."""
    if stage is None or "$arguments" not in stage.arguments.values():
        return move.arguments
    return move.arguments if _chosen(stage, move, "arguments") is not None else None


def _played(state: State) -> tuple[str, ...]:
    found: tuple[str, ...] = state.memory.get(PLAYED, ())
    return found


def _key(move: Move) -> str:
    return compact_value([move.tool, dict(move.arguments or {})])
