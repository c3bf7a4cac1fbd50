"""One row a step: who acted, what it cost, what entered the context; and the totals. Pure, any thread."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from inspector.discovery.prompt_cache import Use

MEASURED: Final = "measured"
DERIVED: Final = "derived"
ASSUMED: Final = "assumed"

Actor = Literal["model", "host", "registry", "server", "provider", "sandbox"]
Column = Literal["entry", "discovery", "business", "error", "none"]


@dataclass(frozen=True, slots=True)
class Row:
    """One step. asked, got: a line each. column: which total `reply_bytes` counts in. context_bytes, context_tokens:
    what entered the model's context (negative when something left). ms: measured, None when nothing was sent.
    frames: seqs of the real frames behind it. turn: a model→host round trip. provenance: of reply_bytes."""

    n: int
    actor: Actor
    action: str
    column: Column
    asked: str = ""
    got: str = ""
    request_bytes: int = 0
    reply_bytes: int = 0
    context_bytes: int = 0
    context_tokens: int = 0
    use: Use = field(default_factory=Use)
    billed: float = 0.0
    ms: float | None = None
    frames: tuple[int, ...] = ()
    turn: bool = False
    provenance: str = DERIVED


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a ledger. revealed_tools: whose whole schema the model has seen. billed: input tokens through the
    prompt cache, in units of one uncached token."""

    entry_bytes: int = 0
    entry_tools: int = 0
    discovery_bytes: int = 0
    business_bytes: int = 0
    error_bytes: int = 0
    request_bytes: int = 0
    revealed_tools: int = 0
    context_bytes: int = 0
    context_tokens: int = 0
    model_turns: int = 0
    billed: float = 0.0

    @property
    def total_bytes(self) -> int:
        """Entry and discovery; business replies and errors stand beside it."""
        return self.entry_bytes + self.discovery_bytes


@dataclass(frozen=True, slots=True)
class Ledger:
    """The rows so far."""

    rows: tuple[Row, ...] = ()

    def add(self, row: Row) -> Ledger:
        """With one more row, numbered from 1."""
        return Ledger((*self.rows, replace(row, n=len(self.rows) + 1)))

    def totals(self, *, entry_tools: int = 0, revealed_tools: int = 0) -> Totals:
        def bytes_of(column: Column) -> int:
            return sum([row.reply_bytes for row in self.rows if row.column == column])

        return Totals(
            bytes_of("entry"), entry_tools, bytes_of("discovery"), bytes_of("business"), bytes_of("error"),
            sum([row.request_bytes for row in self.rows]), revealed_tools,
            sum([row.context_bytes for row in self.rows]), sum([row.context_tokens for row in self.rows]),
            sum([row.turn for row in self.rows]), sum([row.billed for row in self.rows]),
        )  # fmt: skip

    def provenance(self) -> dict[str, str]:
        """How each byte figure was got: `measured` only when every row of it was."""
        found: dict[str, str] = {}
        for column in ("entry", "discovery", "business"):
            kinds = {row.provenance for row in self.rows if row.column == column and row.reply_bytes}
            if kinds:
                found[f"{column}_bytes"] = MEASURED if kinds == {MEASURED} else DERIVED
        parts = [found[key] for key in ("entry_bytes", "discovery_bytes") if key in found]
        found["total_bytes"] = MEASURED if set(parts) == {MEASURED} else DERIVED
        found |= {"context_tokens": DERIVED, "prefix": DERIVED, "billed": DERIVED, "model_turns": DERIVED}
        return found


@dataclass(frozen=True, slots=True)
class Versus:
    """Against a flat listing, unrounded and possibly negative; None without a baseline of any bytes."""

    entry_reduction: float | None
    net_saved: float | None
    billed_saved: float | None = None


def versus(totals: Totals, flat_entry_bytes: int | None, flat_billed: float | None = None) -> Versus:
    """Entry reduction 1 − entry/flat, net saved 1 − total/flat, billed saved 1 − billed/flat's billed."""
    if not flat_entry_bytes:
        return Versus(None, None)
    billed = None if not flat_billed else 1 - totals.billed / flat_billed
    return Versus(
        1 - totals.entry_bytes / flat_entry_bytes, 1 - totals.total_bytes / flat_entry_bytes, billed
    )


def percent(fraction: float | None) -> str:
    """One decimal of a per cent for people; a dash where there is no baseline."""
    return "–" if fraction is None else f"{fraction * 100:.1f} %"


def totals_entry(totals: Totals) -> dict[str, Any]:
    """The `totals` object of `simulate --json`."""
    return {
        "entry_bytes": totals.entry_bytes, "entry_tools": totals.entry_tools,
        "discovery_bytes": totals.discovery_bytes, "business_bytes": totals.business_bytes,
        "error_bytes": totals.error_bytes, "request_bytes": totals.request_bytes,
        "total_bytes": totals.total_bytes, "revealed_tools": totals.revealed_tools,
        "context_bytes": totals.context_bytes, "context_tokens": totals.context_tokens,
        "model_turns": totals.model_turns, "billed": totals.billed,
    }  # fmt: skip
