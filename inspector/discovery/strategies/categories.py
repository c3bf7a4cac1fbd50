"""`categories`: a summary of categories, one category's full definitions, then the call. Pure, any thread.

Option `categories`: `server`, `prefix`, `meta`, or a mapping {category: [public names]}. Without it: `_meta.category`
where every tool has one, else the server where there are several, else the first word of the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.discovery import meta_tools
from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.strategies.host import argument, host_entry, likeliest, native, refuse, reply, routed
from inspector.protocol.names import family

OTHERS = "other"


class Categories:
    """Host-made `list_categories`, `expand_category`, `call_tool`."""

    id = "categories"
    title = "Categories"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        return host_entry(setting, registry, ("list_categories", "expand_category", "call_tool"))

    def answer(self, state: State, move: Move) -> Answer:
        match move.tool:
            case "list_categories":
                found = grouped(state)
                return reply(
                    state,
                    meta_tools.categories(found),
                    got=f"{len(found)} categories",
                    memory={"listed": True},
                )
            case "expand_category":
                return self._expand(state, argument(move, "category"))
            case "call_tool":
                return routed(state, move)
        return native(state, move)

    def _expand(self, state: State, category: str) -> Answer:
        found = grouped(state)
        if category not in found:
            return refuse(state, f"There is no category {category!r}. There are: {', '.join(found)}.")
        tools = found[category][1]
        names = tuple([tool.public for tool in tools])
        text = meta_tools.expanded(category, tools)
        return reply(state, text, shown=names, revealed=names, got=f"{category}: {len(tools)} tools")

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        if not state.memory.get("listed"):
            return [Move("list_categories", {})]
        calls = [Move("call_tool", {"name": name}) for name in likeliest(state, state.revealed)]
        return [*calls, *[Move("expand_category", {"category": name}) for name in ordered(state)]]


def ordered(state: State) -> list[str]:
    """The categories not expanded yet, the likeliest first: by their best tool for the task."""
    found = grouped(state)
    owner = {tool.public: name for name, (_, tools) in found.items() for tool in tools}
    every = state.registry.visible(state.setting.access)
    ranked = [owner[tool.public] for tool in state.setting.search.order(every, state.setting.wanted)]
    opened = {owner[name] for name in state.revealed if name in owner}
    return [name for name in dict.fromkeys(ranked) if name not in opened]


def grouped(state: State) -> dict[str, tuple[str, list[Tool]]]:
    """What this context may see, by category: (description, tools)."""
    tools = state.registry.visible(state.setting.access)
    names = _category_of(tools, state.setting.options.get("categories"))
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        groups.setdefault(names[tool.public], []).append(tool)
    return {name: (_described(state, name, each), each) for name, each in groups.items()}


def _category_of(tools: Sequence[Tool], wish: object) -> dict[str, str]:
    if isinstance(wish, Mapping):
        mapped = {public: str(category) for category, names in wish.items() for public in names}
        return {tool.public: mapped.get(tool.public, OTHERS) for tool in tools}
    if wish == "meta" or (wish is None and all(map(_meta_category, tools))):
        return {tool.public: _meta_category(tool) or OTHERS for tool in tools}
    if wish == "server" or (wish is None and len({tool.server for tool in tools}) > 1):
        return {tool.public: tool.server for tool in tools}
    families = {tool.public: family(tool.name) for tool in tools}
    counts: dict[str, int] = {}
    for name in families.values():
        counts[name] = counts.get(name, 0) + 1
    return {public: name if counts[name] > 1 else OTHERS for public, name in families.items()}


def _meta_category(tool: Tool) -> str:
    meta = tool.value.get("_meta")
    found = meta.get("category") if isinstance(meta, dict) else None
    return found if isinstance(found, str) else ""


def _described(state: State, name: str, tools: Sequence[Tool]) -> str:
    server = state.registry.server(name)
    if server is not None:
        return state.registry.description(server, state.setting.access)
    names = ", ".join([tool.name for tool in tools[:5]])
    return names + ("…" if len(tools) > 5 else "")
