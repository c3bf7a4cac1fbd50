"""`gateway_code`: one `run_code` that carries the stubs (a gateway's Code mode). Any thread; live it runs scripts.

Option `stubs`: the level of the functions in the context, `typed` (default), `full`, `described` or `names`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.jsontext import compact_value
from inspector.discovery import meta_tools
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.comparison import model_text
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Result, Run
from inspector.discovery.code.sending import Sent
from inspector.discovery.code.stubs import LEVELS, Level, Stubs, stubs_of
from inspector.discovery.ledger import DERIVED
from inspector.discovery.play import Answer, Caller, Entry, Move, Setting, State
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.strategies.host import argument, refuse, searched, unknown_move
from inspector.errors import LoupeError, UsageError

MOST: Final = 20


class GatewayCode:
    """The model sees functions and writes a script; only what it prints comes back."""

    id = "gateway_code"
    title = "Gateway: code"

    def left_out(self, state: State) -> str:
        return "" if state.called else "no script was written"

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        level = level_of(setting)
        text = with_stubs(stubs_of(registry, setting.access), level)
        piece = setting.weigher.definition("run_code", text)
        size = jsontext.size(meta_tools.listed([text]))
        return Entry((piece,), size, "host", DERIVED, registry.reachable(setting.access))

    def answer(self, state: State, move: Move) -> Answer:
        return run_code(state, move) if move.tool == "run_code" else unknown_move(state, move)

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        found = searched(state, state.setting.wanted, MOST)
        return [Move("run_code", target=tool.public) for tool in found]


def level_of(setting: Setting) -> Level:
    """The option `stubs`. Raises UsageError."""
    word = setting.options.get("stubs", "typed")
    for level in LEVELS:
        if level == word:
            return level
    raise UsageError(f"There are no stubs at the level {word}", f"Choose among {', '.join(LEVELS)}")


def with_stubs(stubs: Stubs, level: Level) -> str:
    """The compact definition of `run_code`, the functions at the end of its description."""
    plain = meta_tools.facts()["tools"]["run_code"]
    told = f"{plain['description']}\n\n{stubs.text('python', level)}"
    return compact_value({**plain, "description": told})


def run_code(state: State, move: Move) -> Answer:
    """A script nobody wrote reaches its target; one that was written is checked, and run when there is a wire."""
    if move.arguments is None:
        tool = state.tool(move.target)
        if tool is None:
            return refuse(state, "`code` is the script.")
        why = "a script of one call; nobody wrote it, and nothing is sent"
        return Answer("", 0, "business", "sandbox", called=tool.public, got=f"{tool.public}: {why}")
    try:
        return _played(state, argument(move, "code"))
    except LoupeError as problem:
        return refuse(state, problem.message)


def _played(state: State, code: str) -> Answer:
    setting, call = state.setting, state.setting.call
    stubs = stubs_of(state.registry, setting.access)
    readable = tuple(
        [stub.tool.public for stub in stubs.functions.values() if meta_tools.read_only(stub.tool.value)]
    )
    rules = Rules(access=setting.access, allow=("*",) if setting.confirmed else readable)
    runtime = MontyRuntime(1)
    try:
        send = None if call is None else _sender(call)
        result = Run(f"lab-{state.moves + 1}", code, state.registry, stubs, runtime, rules, send).play()
    finally:
        runtime.close()
    return _answer(state, result, dry=call is None)


def _answer(state: State, result: Result, *, dry: bool) -> Answer:
    called = next((each.tool for each in result.calls if each.outcome not in ("invalid", "unknown")), None)
    if dry and called is not None:
        return Answer(
            "", 0, "business", "sandbox", called=called, got=f"{called}: nothing is sent in a dry run"
        )
    text = model_text(result)
    if called is None:
        return refuse(state, text or "The script called nothing and printed nothing.")
    stayed = sum([each.reply_bytes for each in result.calls])
    size = jsontext.size(meta_tools.replied(state.moves, text, error=result.error is not None))
    return Answer(
        text, size, "business", "sandbox",
        called=called, ms=result.total_ms, frames=tuple([seq for each in result.calls for seq in each.frames]),
        got=f"{len(result.calls)} calls; {stayed:,} B of answers stayed in the sandbox",
    )  # fmt: skip


def _sender(call: Caller) -> Any:
    def send(tool: Tool, arguments: Mapping[str, Any], _op: str) -> Sent:
        asked = call(tool.server, tool.name, arguments)
        return Sent(asked.result, asked.request_bytes, asked.reply_bytes, asked.ms, asked.frames)

    return send
