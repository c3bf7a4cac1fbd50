"""The documents and tables of lab runs. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from inspector.discovery import meta_tools
from inspector.discovery.ledger import DERIVED, MEASURED, Row, percent, totals_entry
from inspector.discovery.prompt_cache import facts as cache_facts
from inspector.discovery.running import BreakEven, Flat, Run
from inspector.discovery.scenario import Scenario

SCHEMA: Final = "mcp-loupe/simulate/1"
COLUMNS: Final = (
    "strategy", "net saved", "entry B", "discovery B", "total B", "entry reduction", "tokens", "turns", "billed",
    "outcome",
    "tool",
)  # fmt: skip


def document(
    scenario: Scenario, runs: Sequence[Run], not_run: Sequence[tuple[str, str]], flat: Flat, *, live: bool
) -> dict[str, Any]:
    """The document of `simulate --json` (docs/cli.md)."""
    entries = [run_entry(run, flat) for run in runs]
    state = flat.state
    first = runs[0].state if runs else state
    problems = [problem for server in first.registry.servers for problem in server.problems]
    return {
        "schema": SCHEMA,
        "task": scenario.task,
        "provider": scenario.provider,
        "window": scenario.window,
        "tokenizer": {"name": first.setting.weigher.tokenizer, "exact": first.setting.weigher.exact,
                      "role": role_of(scenario.provider)},
        "search": first.setting.search.method.id,
        "context": scenario.context or None,
        "policy": scenario.auto,
        "expect": scenario.expect or None,
        "mode": "live" if live else "dry",
        "meta_tools_version": meta_tools.facts()["version"],
        "prompt_cache_facts": cache_facts()["date"],
        "servers": [
            {"key": server.key, "label": server.label, "tools": len(server.tools), "wire_bytes": server.wire_bytes}
            for server in first.registry.servers
        ],
        "collisions": first.registry.collisions,
        "problems": problems,
        "baseline": {
            "entry_bytes": flat.entry_bytes, "tools": state.entry_tools, "context_tokens": state.totals.context_tokens,
            "billed": state.totals.billed, "provenance": MEASURED if flat.measured else DERIVED,
        },
        "runs": entries,
        "not_run": [{"strategy": strategy, "why": why} for strategy, why in not_run],
        "table": {"columns": list(COLUMNS), "rows": table(runs)},
    }  # fmt: skip


def role_of(provider: str) -> str:
    """What the token figures are worth for this provider."""
    if provider == "openai":
        return "the provider's own tokenizer; what it makes of tool definitions is not published"
    return "none" if provider == "none" else "proxy: this provider's tokenizer is not public"


def run_entry(run: Run, flat: Flat) -> dict[str, Any]:
    """One of `runs[]`."""
    provenance = run.state.ledger.provenance()
    known = provenance["total_bytes"] == MEASURED and flat.measured
    provenance["entry_reduction"] = (
        MEASURED if provenance["entry_bytes"] == MEASURED and flat.measured else DERIVED
    )
    provenance["net_saved"] = MEASURED if known else DERIVED
    provenance["break_even"] = "assumed"
    entry: dict[str, Any] = {
        "strategy": run.strategy.id,
        "title": run.strategy.title,
        "outcome": run.outcome,
        "called": run.state.called,
        "steps": steps_of(run.state.ledger.rows),
        "totals": totals_entry(run.state.totals),
        "versus_full": {
            "net_saved": run.versus.net_saved,
            "entry_reduction": run.versus.entry_reduction,
            "billed_saved": run.versus.billed_saved,
        },
        "provenance": provenance,
        "stage_advice": {
            "stage": run.advice.stage, "advice": run.advice.text, "share": run.advice.share,
            "judgement": run.advice.judgement, "because": list(run.advice.because),
        },
    }  # fmt: skip
    if run.left_out:
        entry["left_out"] = run.left_out
    if run.break_even is not None:
        entry["break_even"] = _break_even(run.break_even)
    return entry


def _break_even(found: BreakEven) -> dict[str, Any]:
    return {
        "discoveries_until_flat": found.discoveries, "turns": found.turns,
        "full_cheaper_from_turn": {
            "one_discovery": found.once, "discovery_each_turn": found.each, "without_prompt_cache": found.cold,
        },
        "billed": {
            "one_discovery": found.billed_once, "discovery_each_turn": found.billed_each, "full": found.billed_full,
        },
    }  # fmt: skip


def steps_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """`steps[]` of a run, with running totals."""
    steps, total, tokens = [], 0, 0
    for row in rows:
        total += row.reply_bytes if row.column in ("entry", "discovery") else 0
        tokens += row.context_tokens
        step: dict[str, Any] = {
            "n": row.n, "actor": row.actor, "action": row.action, "counts_as": row.column,
            "asked": row.asked, "got": row.got,
            "request_bytes": row.request_bytes, "reply_bytes": row.reply_bytes, "provenance": row.provenance,
            "context_bytes": row.context_bytes, "context_tokens": row.context_tokens,
            "prefix": {"read": row.use.read, "write": row.use.write, "fresh": row.use.fresh},
            "billed": row.billed, "ms": row.ms, "frames": list(row.frames),
            "running": {"total_bytes": total, "context_tokens": tokens},
        }  # fmt: skip
        if row.use.first_changed is not None:
            step["prefix"] |= {"first_changed_byte": row.use.first_changed_byte}
        steps.append(step)
    return steps


def table(runs: Sequence[Run]) -> list[list[Any]]:
    """A row a strategy: the net figure first; fractions unrounded, None where unknown."""
    rows: list[list[Any]] = []
    for run in runs:
        totals = run.state.totals
        rows.append([
            run.strategy.id, run.versus.net_saved, totals.entry_bytes, totals.discovery_bytes,
            totals.total_bytes, run.versus.entry_reduction, totals.context_tokens, totals.model_turns,
            totals.billed, run.outcome, run.state.called,
        ])  # fmt: skip
    return rows


def lines(runs: Sequence[Run]) -> list[str]:
    """The table for people."""
    cells = [list(COLUMNS)]
    for row in table(runs):
        shown = [percent(each) if at in (1, 5) else _number(each) for at, each in enumerate(row)]
        cells.append(shown)
    widths = [max([len(row[at]) for row in cells]) for at in range(len(COLUMNS))]
    return [
        "  ".join(
            [
                cell.ljust(width) if at in (0, len(row) - 2, len(row) - 1) else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
        ).rstrip()
        for row in cells
    ]


def _number(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
