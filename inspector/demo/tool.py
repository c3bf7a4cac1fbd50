"""What a demo tool is: its definition as sent on the wire, its handler and an example; pure values."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.demo.company import Company
from inspector.demo.schema import Schema

READS: Mapping[str, bool] = {"readOnlyHint": True}
ADDS: Mapping[str, bool] = {"destructiveHint": False}
REPLACES: Mapping[str, bool] = {"destructiveHint": True, "idempotentHint": True}
DESTROYS: Mapping[str, bool] = {"destructiveHint": True}


@dataclass(frozen=True)
class Step:
    """Progress of a long tool: `done` of `total` pieces of work, and a sentence about the last one."""

    done: int
    total: int
    text: str


Arguments = Mapping[str, Any]
Steps = Generator[Step, None, dict[str, Any]]
Run = Callable[[Company, Arguments], dict[str, Any] | Steps]
"""A handler: arguments already valid, defaults filled in. A long one yields a `Step` for each piece of work."""


@dataclass(frozen=True)
class Tool:
    """One tool. `example` are arguments that work on the built-in data set."""

    name: str
    description: str
    inputs: Schema
    hints: Mapping[str, bool]
    run: Run
    example: Mapping[str, Any]
    outputs: Schema | None = None

    def definition(self) -> dict[str, Any]:
        """The tool object of `tools/list`, keys in the order they are sent."""
        output = {"outputSchema": self.outputs} if self.outputs else {}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.inputs,
            **output,
            "annotations": dict(self.hints),
        }


@dataclass(frozen=True)
class Category:
    name: str
    description: str
    tools: tuple[Tool, ...]
