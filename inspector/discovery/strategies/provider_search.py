"""`provider_search`: definitions deferred at the provider, found by its own search tool. Pure, any thread.

Anthropic: bm25 or regex search (option `variant`), found tools expanded at the end as tool_reference. OpenAI: name and
description of each function stay in the context, or (option `variant`: `namespaces`) one stub a server. That a search
finds what our own finds is an assumption. Source: reference of the providers' SDK types, 2026-11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspector.catalog import providers
from inspector.catalog.jsontext import compact_value, utf8
from inspector.discovery.context import Piece
from inspector.discovery.ledger import ASSUMED, DERIVED
from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.strategies.host import likeliest, native, refuse, searched
from inspector.errors import UsageError

LIMIT = 5
VARIANTS = {providers.ANTHROPIC: ("bm25", "regex"), providers.OPENAI: ("functions", "namespaces")}


class ProviderSearch:
    """The search happens inside one request of the provider's: no round trip to the host."""

    id = "provider_search"
    title = "Provider's own search"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        stubs = _first(setting, registry)
        size = len(utf8(compact_value(stubs)))
        pieces = [_piece(setting, stub) for stub in stubs]
        always = [tool for tool in registry.visible(setting.access) if tool.public in setting.always]
        pieces += [setting.weigher.tool(tool) for tool in always]
        got = f"{len(registry.visible(setting.access)) - len(always)} definitions deferred"
        return Entry(tuple(pieces), size, "provider", DERIVED, registry.reachable(setting.access), got)

    def answer(self, state: State, move: Move) -> Answer:
        if move.tool != _tool_name(state.setting):
            return native(state, move)
        query = str((move.arguments or {}).get("query", ""))
        if not query.strip():
            return refuse(state, "`query` is empty.")
        tools = self._found(state, query)
        names = tuple([tool.public for tool in tools])
        text = compact_value(_result(state.setting, tools))
        return Answer(
            text, len(utf8(text)), "discovery", "provider", 0, injected=tuple(tools), at_end=True, shown=names,
            revealed=names, got=", ".join(names) or "nothing", turn=False, provenance=ASSUMED,
            memory={"searched": names},
        )  # fmt: skip

    def _found(self, state: State, query: str) -> list[Tool]:
        best = searched(state, query, LIMIT)
        if _variant(state.setting) != "namespaces" or not best:
            return best
        server = best[0].server
        return [tool for tool in state.registry.visible(state.setting.access) if tool.server == server]

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        if "searched" not in state.memory:
            return [Move(_tool_name(state.setting), {"query": state.setting.wanted})]
        return [Move(name) for name in likeliest(state, state.revealed)]


def _variant(setting: Setting) -> str:
    known = VARIANTS.get(setting.weigher.provider)
    if known is None:
        raise UsageError(
            f"No search of its own is known for the provider {setting.weigher.provider}",
            "Choose --provider anthropic or openai",
        )
    chosen = str(setting.options.get("variant", known[0]))
    if chosen not in known:
        raise UsageError(f"There is no variant {chosen} of this search", f"Choose among {', '.join(known)}")
    return chosen


def _tool_name(setting: Setting) -> str:
    variant = _variant(setting)
    return f"tool_search_tool_{variant}" if setting.weigher.provider == providers.ANTHROPIC else "tool_search"


def _first(setting: Setting, registry: Registry) -> list[dict[str, Any]]:
    """What the model has in its context before it searches."""
    name = _tool_name(setting)
    if setting.weigher.provider == providers.ANTHROPIC:
        return [{"type": f"{name}_20251119", "name": name}]
    search = {"type": "tool_search", "execution": "server"}
    if _variant(setting) == "namespaces":
        servers = registry.reachable(setting.access)
        return [
            search,
            *[
                {
                    "type": "namespace",
                    "name": each.key,
                    "description": registry.description(each, setting.access),
                }
                for each in servers
            ],
        ]
    tools = registry.visible(setting.access)
    return [
        search,
        *[{"type": "function", "name": tool.public, "description": tool.description} for tool in tools],
    ]


def _piece(setting: Setting, stub: dict[str, Any]) -> Piece:
    """Stubs carry no tool that could be called natively, so their label is not a tool's name."""
    name = stub.get("name", stub["type"])
    label = f"stub of {name}" if stub["type"] in ("function", "namespace") else str(name)
    return setting.weigher.piece("tool", label, compact_value(stub))


def _result(setting: Setting, tools: Sequence[Tool]) -> dict[str, Any]:
    if setting.weigher.provider == providers.ANTHROPIC:
        references = [{"type": "tool_reference", "tool_name": tool.public} for tool in tools]
        found = {"type": "tool_search_tool_search_result", "tool_references": references}
        return {"type": "tool_search_tool_result", "content": found}
    return {"type": "tool_search_output", "tools": [tool.public for tool in tools]}
