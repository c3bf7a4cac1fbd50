"""`servers_on_demand`: a registry of servers by description; one is connected when it is needed. Pure, any thread.

Option `always_servers`: keys of servers connected from the start. Option `skills`: {skill: [server keys]}; option
`skill` chooses one, and its servers are on from the start too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inspector.catalog.jsontext import compact_value
from inspector.discovery import meta_tools
from inspector.discovery.access import Access
from inspector.discovery.play import Answer, Entry, Move, Setting, State
from inspector.discovery.registry import Registry, Server, Tool
from inspector.discovery.search.words import asked, words
from inspector.discovery.strategies.host import argument, host_entry, likeliest, native, refuse, reply

NAMES = ("search_available_servers", "enable_server", "disable_server")


class ServersOnDemand:
    """Discovery of servers; where it ends, that of tools begins."""

    id = "servers_on_demand"
    title = "Servers on demand"

    def left_out(self, state: State) -> str:
        return ""

    def entry(self, setting: Setting, registry: Registry) -> Entry:
        on = _from_start(setting, registry)
        tools = [tool for tool in registry.visible(setting.access) if tool.server in on]
        names = tuple(dict.fromkeys([*setting.always, *[tool.public for tool in tools]]))
        found = host_entry(replace(setting, always=names), registry, NAMES)
        return replace(found, instructions=tuple([each for each in found.instructions if each.key in on]))

    def answer(self, state: State, move: Move) -> Answer:
        match move.tool:
            case "search_available_servers":
                found = ranked(state, argument(move, "query"))[:5]
                memory = {"searched": tuple([server.key for server in found])}
                got = ", ".join(memory["searched"]) or "nothing"
                return reply(
                    state,
                    meta_tools.servers(_there(state), found, state.setting.access),
                    got=got,
                    memory=memory,
                )
            case "enable_server":
                return self._enable(state, argument(move, "server"))
            case "disable_server":
                return self._disable(state, argument(move, "server"))
        return native(state, move)

    def _enable(self, state: State, key: str) -> Answer:
        """Connect and list. The list crossed the wire: it counts as discovery, as measured, beside our own reply."""
        there = _there(state)
        reachable = {server.key: server for server in there.reachable(state.setting.access)}
        if key not in reachable:
            return refuse(state, f"There is no server {key!r} to enable. Search for one first.")
        server, tools, off = reachable[key], _tools_of(there, state.setting.access, key), _disabled(state)
        names = tuple([tool.public for tool in tools])
        text = compact_value({"server": key, "state": "enabled", "tools": list(names)})
        own = reply(state, text)
        return replace(
            own, reply_bytes=own.reply_bytes + server.wire_bytes, injected=tools, shown=names, revealed=names,
            got=f"{key}: {len(tools)} tools, {server.wire_bytes} B listed",
            memory={"enabled": (*state.memory.get("enabled", ()), key), "disabled": off - {key}},
            registry=state.registry.reconnected(key) if key in off else None,
        )  # fmt: skip

    def _disable(self, state: State, key: str) -> Answer:
        """Out of search and calls at once; the array is tidied at the next conversation boundary."""
        if key not in _enabled(state):
            return refuse(state, f"The server {key!r} is not enabled.")
        text = compact_value({"server": key, "state": "disabled"})
        enabled = tuple([each for each in state.memory.get("enabled", ()) if each != key])
        return replace(
            reply(state, text, got=key, memory={"enabled": enabled, "disabled": _disabled(state) | {key}}),
            registry=state.registry.disconnected(key),
        )

    def offers(self, state: State) -> Sequence[Move]:
        if state.called:
            return []
        if "searched" not in state.memory:
            return [Move("search_available_servers", {"query": state.setting.wanted})]
        calls = [Move(name) for name in likeliest(state, sorted(state.model.native & _publics(state)))]
        ahead = [key for key in state.memory["searched"] if key not in _enabled(state)]
        return [*calls, *[Move("enable_server", {"server": key}) for key in ahead]]


def ranked(state: State, query: str) -> list[Server]:
    """Servers not enabled yet by how many words of the query their description and their tools' names share."""
    terms, there, access = set(asked(query)), _there(state), state.setting.access

    def score(server: Server) -> int:
        named = words(f"{server.key} {there.description(server, access)}")
        own = words(" ".join([tool.name for tool in _tools_of(there, access, server.key)]))
        return 2 * len(terms & set(named)) + len(terms & set(own))

    servers = [each for each in there.reachable(access) if each.key not in _enabled(state)]
    return sorted(servers, key=lambda server: -score(server))


def _there(state: State) -> Registry:
    """The registry of servers: what the model disabled can be enabled again, and is then listed anew."""
    found = state.registry
    for key in _disabled(state):
        found = found.reconnected(key)
    return found


def _tools_of(registry: Registry, access: Access, key: str) -> tuple[Tool, ...]:
    return tuple([tool for tool in registry.visible(access) if tool.server == key])


def _publics(state: State) -> set[str]:
    return {tool.public for tool in state.registry.visible(state.setting.access)}


def _from_start(setting: Setting, registry: Registry) -> set[str]:
    on = set(setting.options.get("always_servers", ()))
    skills = setting.options.get("skills", {})
    on |= set(skills.get(setting.options.get("skill", ""), ()))
    return {server.key for server in registry.servers if server.key in on}


def _enabled(state: State) -> set[str]:
    on = _from_start(state.setting, state.registry) | set(state.memory.get("enabled", ()))
    return on - _disabled(state)


def _disabled(state: State) -> frozenset[str]:
    return frozenset(state.memory.get("disabled", ()))
