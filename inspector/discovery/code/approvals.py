"""Who lets a call through: a person, once, a tool, a category; approving a script approves no call. Any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, Protocol

from inspector.discovery.code.calls import Call
from inspector.discovery.registry import Tool
from inspector.protocol.names import family

Decision = Literal["call", "tool", "category", "deny"]
DECISIONS: Final[tuple[Decision, ...]] = ("call", "tool", "category", "deny")
WORDS: Final = {
    "call": "this call", "tool": "this tool for this run", "category": "this category for this run", "deny": "deny",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """A call that waits. why: what made it be asked, beyond that nothing has allowed it."""

    call: Call
    why: str = ""


class Approver(Protocol):
    """Asks somebody and waits for the answer; an answer that never comes is `deny`."""

    def decide(self, ask: Ask) -> Decision: ...


class Nobody:
    """There is nobody to ask."""

    def decide(self, ask: Ask) -> Decision:
        return "deny"


@dataclass(slots=True)
class Grants:
    """What is allowed in this run so far. globs: given beforehand, over public names (and a tool's own name)."""

    globs: tuple[str, ...] = ()
    tools: set[str] = field(default_factory=set)
    categories: set[str] = field(default_factory=set)
    flows: dict[str, set[str]] = field(default_factory=dict)

    def cover(self, call: Call, own_name: str) -> str:
        """What lets the call through, in words; empty when nothing does."""
        if any(fnmatchcase(call.tool, glob) or own_name == glob for glob in self.globs):
            return "allowed beforehand"
        if call.tool in self.tools:
            return "this tool, allowed in this run"
        if call.category in self.categories:
            return f"the category {call.category}, allowed in this run"
        return ""

    def cover_flow(self, call: Call) -> bool:
        """Whether a person, asked about data on this way, allowed it for more than that call."""
        known = self.flows.get(call.tool, set()) | self.flows.get(call.category, set())
        return bool(known) and set(call.marks) <= known

    def add(self, decision: Decision, call: Call) -> str:
        """Take a decision in; what it says of this call."""
        if decision == "tool":
            self.tools.add(call.tool)
            self.flows.setdefault(call.tool, set()).update(call.marks)
        elif decision == "category":
            self.categories.add(call.category)
            self.flows.setdefault(call.category, set()).update(call.marks)
        return "" if decision == "deny" else f"allowed: {WORDS[decision]}"


def category_of(tool: Tool) -> str:
    """`server/word`: the tool's own `_meta.category`, else the first word of its name."""
    meta: Any = tool.value.get("_meta")
    said = meta.get("category") if isinstance(meta, dict) else None
    return f"{tool.server}/{said if isinstance(said, str) and said else family(tool.name)}"


def covered_by_nothing(calls: Sequence[Call]) -> list[str]:
    """Tools that were refused for want of permission, once each."""
    return list(dict.fromkeys([each.tool for each in calls if each.outcome == "denied"]))
