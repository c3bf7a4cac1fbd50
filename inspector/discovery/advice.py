"""Which stage of disclosure the measurements speak for, and which measurements those are. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.discovery.access import Access
from inspector.discovery.registry import Registry, Tool

STAGES = {
    1: "list everything and call natively",
    2: "keep a registry, search it, show a few real schemas",
    3: "connect servers on demand, mind list_changed, TTL and scope",
    4: "code mode for big results and loops",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares of the model's window: below `full` list everything, above `progressive` disclose step by step."""

    full: float = 0.01
    progressive: float = 0.05
    many_servers: int = 3


@dataclass(frozen=True, slots=True)
class StageAdvice:
    """stage: 1 to 4 (docs/lab.md). judgement: the share lies between the thresholds. because: measurements, a
    sentence each."""

    stage: int
    share: float
    judgement: bool
    because: tuple[str, ...]

    @property
    def text(self) -> str:
        return STAGES[self.stage]


def advise(
    registry: Registry, access: Access, full_tokens: int, window: int, thresholds: Thresholds | None = None
) -> StageAdvice:
    """From the tokens that full disclosure puts into the window. Stage 4 is never advised from a catalog alone: it
    rests on the size of results, which only calls show."""
    limits = thresholds or Thresholds()
    share = full_tokens / window
    tools = registry.visible(access)
    servers = len(registry.reachable(access))
    because = [
        f"all {len(tools)} tools take {full_tokens:,} tokens, {share * 100:.1f} % of a window of {window:,}",
        _place(share, limits),
        *_about_servers(registry, access, servers),
        _about_outputs(tools),
    ]
    stage = 1 if share < limits.full else 2
    if stage == 2 and servers >= limits.many_servers:
        stage = 3
    return StageAdvice(stage, share, limits.full <= share <= limits.progressive, tuple(because))


def _place(share: float, limits: Thresholds) -> str:
    low, high = f"{limits.full * 100:g} %", f"{limits.progressive * 100:g} %"
    if share < limits.full:
        return f"below {low}, where a full listing is right"
    return (
        f"above {high}" if share > limits.progressive else f"between {low} and {high}: a matter of judgement"
    )


def _about_servers(registry: Registry, access: Access, servers: int) -> list[str]:
    lasting = [
        server.label
        for server in registry.reachable(access)
        if any(page.hints.ttl_ms > 0 for page in server.pages)
    ]
    found = [f"{servers} server{'s' if servers != 1 else ''}"]
    if lasting:
        found.append(f"freshness hints above 0 from {', '.join(lasting)}")
    return found


def _about_outputs(tools: Sequence[Tool]) -> str:
    typed = sum([isinstance(tool.value.get("outputSchema"), dict) for tool in tools])
    return f"{typed} of {len(tools)} tools declare an outputSchema, which code mode rests on"
