"""All scenarios, in the order of docs/conformance.md, and that table; pure, any thread."""

from __future__ import annotations

from typing import Final

from inspector.demo.stdio_suite import endings, eras, framing, talking
from inspector.demo.stdio_suite.scenario import Scenario

SCENARIOS: Final[tuple[Scenario, ...]] = (
    *framing.SCENARIOS,
    *eras.SCENARIOS,
    *endings.SCENARIOS,
    *talking.SCENARIOS,
)


def as_markdown() -> str:
    """The table of docs/conformance.md."""
    rows = ["| scenario | the server | the client | source |", "|---|---|---|---|"]
    for each in SCENARIOS:
        cells = (f"`{each.name}`", each.does, each.asks, each.source)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"
