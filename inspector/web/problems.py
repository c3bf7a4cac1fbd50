"""What went wrong as the `error_block` macro takes it. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.errors import LoupeError


def evidence(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What was tried, the last lines of stderr, and the facts that are a word. facts: as in LoupeError."""
    return {
        "tried": [
            {"ok": step.ok, "what": step.asked, "evidence": step.outcome} for step in facts.get("tried", [])
        ],
        "stderr": facts.get("stderr", []),
        "facts": [(name, value) for name, value in facts.items() if isinstance(value, str | int)],
    }


def problem_of(error: LoupeError) -> dict[str, Any]:
    """An error, all of it."""
    said = {"message": error.message, "layer": error.layer, "remedy": error.remedy, "code": error.code}
    return said | evidence(error.facts)
