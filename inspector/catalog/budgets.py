"""Whether a catalog still is what its lock says and within its budgets: violations for CI. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from inspector.catalog.difference.change import BREAKING, KINDS, SEVERITIES, Change
from inspector.catalog.difference.comparing import Difference, Row, difference
from inspector.catalog.difference.prose import meaning, visible
from inspector.catalog.difference.report import unmeasured
from inspector.catalog.difference.side import Side
from inspector.catalog.snapshot import ABSENT

SCHEMA: Final = "mcp-loupe/check/1"
NONE: Final = "none"
LIST: Final = "the list"
BUDGETS: Final = {
    "budget-tokens": "the definitions have more tokens than allowed",
    "budget-wire-bytes": "the list has more bytes on the wire than allowed",
    "budget-increase": "the catalog grew by more than allowed since it was locked",
}
RULES: Final = {**{name: kind.means for name, kind in KINDS.items()}, **BUDGETS}
"""Every id a violation can have, and what it means."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What must hold. increase: a fraction, for tokens, wire bytes and definition bytes alike. fail_on: severities
    (each with the worse ones) and kinds of change; `none` lets every drift pass."""

    tokens: int | None = None
    wire_bytes: int | None = None
    increase: float | None = None
    fail_on: tuple[str, ...] = ("caution",)

    def fails(self, change: Change) -> bool:
        """Whether this change is one the person wants to hear of."""
        if change.kind in self.fail_on:
            return True
        tolerated = SEVERITIES.index(change.severity)
        return any(tolerated <= SEVERITIES.index(each) for each in self.fail_on if each in SEVERITIES)


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that does not hold. tool: None when it is about the whole catalog."""

    rule: str
    severity: str
    message: str
    tool: str | None = None
    path: str = ""
    before: Any = ABSENT
    after: Any = ABSENT

    def as_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "path": self.path,
        }
        values = {"before": self.before, "after": self.after}
        return (
            entry
            | {"message": self.message}
            | {key: value for key, value in values.items() if value is not ABSENT}
        )


@dataclass(frozen=True, slots=True)
class Checked:
    """A catalog against its lock. checks: names of what was looked at, for reports that count what passed."""

    difference: Difference
    violations: tuple[Violation, ...]
    checks: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """The document of `check --json`."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "violations": [each.as_json() for each in self.violations],
            "summary": self.difference.summary,
            "notes": unmeasured([self.difference]),
        }


def check(locked: Side, now: Side, limits: Limits) -> Checked:
    """Drift first, then budgets."""
    found = difference(locked, now)
    violations = [_drift(None, each) for each in found.listing if limits.fails(each)]
    violations += [_drift(row, each) for row in found.rows for each in row.changes if limits.fails(each)]
    budgets, broken = _budgets(locked, now, limits)
    tools = tuple(dict.fromkeys([row.name for row in found.rows if row.name is not None]))
    return Checked(found, (*violations, *broken), (LIST, *tools, *budgets))


def _drift(row: Row | None, change: Change) -> Violation:
    where = "The list" if row is None else visible(row.name)
    place = f" {visible(change.path)}" if change.path else ""
    return Violation(
        change.kind,
        change.severity,
        f"{where}{place}: {meaning(row, change)}",
        None if row is None else row.name,
        change.path,
        change.before,
        change.after,
    )


def _budgets(locked: Side, now: Side, limits: Limits) -> tuple[list[str], list[Violation]]:
    """(the budgets that were set, what is over)."""
    names, found = [], []
    for rule, most, count in (
        ("budget-tokens", limits.tokens, now.totals.definition_tokens),
        ("budget-wire-bytes", limits.wire_bytes, now.totals.wire_bytes),
    ):
        if most is not None:
            names.append(rule)
            found.append(_over(rule, count, most))
    if limits.increase is not None:
        names.append("budget-increase")
        found += [_grew(*grown, limits.increase) for grown in _grown(locked, now)]
    return names, [each for each in found if each is not None]


def _over(rule: str, count: int | None, most: int) -> Violation | None:
    if count is None:
        return Violation(
            rule, BREAKING, f"{rule}: the number is unknown, so the budget of {most:,} cannot be kept"
        )
    if count <= most:
        return None
    return Violation(rule, BREAKING, f"{BUDGETS[rule]}: {count:,} of {most:,}", before=most, after=count)


def _grown(locked: Side, now: Side) -> Sequence[tuple[str, int | None, int | None]]:
    before, after = locked.totals, now.totals
    counted = locked.tokenizer == now.tokenizer
    return (
        ("tokens of definitions", before.definition_tokens if counted else None, after.definition_tokens),
        ("bytes on the wire", before.wire_bytes, after.wire_bytes),
        ("bytes of definitions", before.definition_bytes, after.definition_bytes),
    )


def _grew(title: str, before: int | None, after: int | None, most: float) -> Violation | None:
    rule = "budget-increase"
    if before is None or after is None:
        return Violation(rule, BREAKING, f"{title}: unknown, so its growth cannot be checked")
    if after - before <= before * Fraction(str(most)):  # floats would refuse 100 → 115 at 15 %
        return None
    share = f"{(after - before) / before:+.1%}" if before else "from nothing"
    said = f"{BUDGETS[rule]}: {title} {before:,} → {after:,} ({share}, allowed {most:+.1%})"
    return Violation(rule, BREAKING, said, before=before, after=after)
