"""How a progressive server's own tools are used: presets recognised from what it lists, editable. Pure, any thread."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from inspector.discovery.registry import Tool
from inspector.errors import UsageError

Role = Literal["groups", "expand", "search", "details", "call"]
ROLES = ("groups", "expand", "search", "details", "call")


@dataclass(frozen=True, slots=True)
class Stage:
    """One use of one tool. tool: a regular expression over the whole name. arguments: a template with $query, $group,
    $tool, $pattern and $arguments. takes: parameters such a tool has. each: every such tool is a group, by its name."""

    role: Role
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    takes: tuple[str, ...] = ()
    each: bool = False

    def of(self, tools: Sequence[Tool]) -> list[Tool]:
        """The tools it is about."""
        named = [tool for tool in tools if re.fullmatch(self.tool, tool.name)]
        return [tool for tool in named if set(self.takes) <= set(_parameters(tool))]

    def tool_of(self, tools: Sequence[Tool]) -> Tool | None:
        return next(iter(self.of(tools)), None)

    def filled(self, **choices: Any) -> dict[str, Any]:
        """The template with the model's choices; a key whose choice was not made is left out."""
        filled = {key: _filled(value, choices) for key, value in self.arguments.items()}
        return {key: value for key, value in filled.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Preset:
    """The stages of one kind of progressive server. needs: parameters a tool must have to be meant."""

    id: str
    title: str
    stages: tuple[Stage, ...]
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def stage(self, role: Role) -> Stage | None:
        return next((stage for stage in self.stages if stage.role == role), None)

    def fits(self, tools: Sequence[Tool]) -> bool:
        for stage in self.stages:
            tool = stage.tool_of(tools)
            if tool is None or not set(self.needs.get(tool.name, ())) <= set(_parameters(tool)):
                return False
        return True


@functools.cache
def presets() -> tuple[Preset, ...]:
    """Those of data/presets.json, in the order they are tried."""
    found = json.loads(Path(__file__).with_name("data").joinpath("presets.json").read_text("utf-8"))
    return tuple([parse_preset(row) for row in found["presets"]])


def parse_preset(row: Any) -> Preset:
    """A preset as in the data file, or as a person edited it. Raises UsageError."""
    try:
        stages = tuple(
            [
                Stage(
                    each["role"], each["tool"], each.get("arguments", {}), tuple(each.get("takes", ())),
                    each.get("each") is True,
                )
                for each in row["stages"]
            ]
        )  # fmt: skip
        for stage in stages:
            re.compile(stage.tool)
            if stage.role not in ROLES or not isinstance(stage.arguments, dict):
                raise ValueError(f"a stage of role {stage.role!r}")
        return Preset(str(row.get("id", "own")), str(row.get("title", "")), stages, row.get("needs", {}))
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as problem:
        raise UsageError(
            f"This is no preset: {problem}",
            f"Its stages have a role ({', '.join(ROLES)}), a tool and arguments",
        ) from None


def recognise(tools: Sequence[Tool]) -> Preset | None:
    """The first preset that fits what a server lists; None for a flat server."""
    return next((preset for preset in presets() if preset.fits(tools)), None)


def _filled(value: Any, choices: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return choices.get(value[1:])
    if isinstance(value, list):
        return [filled for each in value if (filled := _filled(each, choices)) is not None]
    return value


def _parameters(tool: Tool) -> list[str]:
    schema = tool.value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return list(properties) if isinstance(properties, dict) else []
