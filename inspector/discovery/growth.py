"""The same scenario over a catalog of another size: sampled down, or grown with renamed copies. Any thread.

The entry gap widens with the catalog; the net one depends on the task. Every figure of a resized catalog is derived.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from inspector.catalog import jsontext
from inspector.catalog.jsontext import compact_value
from inspector.discovery import meta_tools
from inspector.discovery.play import Setting, Strategy
from inspector.discovery.policies import Policy
from inspector.discovery.registry import SEPARATOR, Registry, Tool, registry_of
from inspector.discovery.running import Run, flat_of, run

SIZES: Final = (50, 500, 5000)


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One strategy on a catalog of `tools` tools. synthetic: some of them are copies."""

    tools: int
    synthetic: bool
    run: Run


def growth(
    strategies: Sequence[Strategy],
    setting: Setting,
    registry: Registry,
    *,
    sizes: Sequence[int] = SIZES,
    policy: Policy = "top1",
    expect: str = "",
) -> list[Point]:
    """Every strategy at every size, dry. expect, when given, is among the tools of each size."""
    dry = replace(setting, call=None)
    points = []
    for size in sizes:
        sized = resized(registry, size, expect)
        flat = flat_of(dry, sized)
        synthetic = size > sum([len(server.tools) for server in registry.servers])
        points += [
            Point(size, synthetic, run(each, dry, sized, flat, policy=policy, expect=expect))
            for each in strategies
        ]
    return points


def resized(registry: Registry, size: int, keep: str = "") -> Registry:
    """Exactly `size` tools: an even sample of those there are, `keep` among them, or all and copies of them."""
    tools = [tool for server in registry.servers for tool in server.tools]
    if not tools or size < 1:
        return registry_of([], registry.now_us)
    chosen = _sampled(tools, size, keep) if size <= len(tools) else _grown(tools, size)
    servers = []
    for server in registry.servers:
        own = tuple([tool for tool in chosen if tool.server == server.key])
        if own:
            size_bytes = jsontext.size(meta_tools.listed([_listed(tool) for tool in own]))
            servers.append(replace(server, tools=own, wire_bytes=size_bytes, measured=False))
    return registry_of(servers, registry.now_us, registry.revoked)


def _sampled(tools: Sequence[Tool], size: int, keep: str) -> list[Tool]:
    chosen = [tools[at * len(tools) // size] for at in range(size)]
    wanted = next((tool for tool in tools if keep and keep in (tool.name, tool.public)), None)
    return chosen if wanted is None or wanted in chosen else [*chosen[:-1], wanted]


def _grown(tools: Sequence[Tool], size: int) -> list[Tool]:
    """The tools, then copies whose names end in a number."""
    grown = list(tools)
    while len(grown) < size:
        number, at = divmod(len(grown), len(tools))
        tool = tools[at]
        name, public = f"{tool.name}_{number + 1}", f"{tool.public}_{number + 1}"
        text = tool.text.replace(compact_value(tool.public), compact_value(public), 1)
        grown.append(Tool(public, tool.server, name, text, {**tool.value, "name": name}, tool.page))
    return grown


def _listed(tool: Tool) -> str:
    """The definition as its server would list it."""
    prefix = f"{tool.server}{SEPARATOR}"
    own = json.dumps(tool.public, ensure_ascii=False)
    return tool.text.replace(own, json.dumps(tool.public.removeprefix(prefix), ensure_ascii=False), 1)
