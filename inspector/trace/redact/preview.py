"""What redaction would hide, before anything is written: each rule, how often, and the first places. Any thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.trace.redact.redactor import Redactor
from inspector.trace.redact.rules import WHAT, Rules

FIRST_PLACES: Final = 5


@dataclass(slots=True)
class RulePreview:
    """One rule. hits: places it found. places: the first of them, (seq, path). applied: else it only reports."""

    id: str
    kind: str
    what: str
    applied: bool
    hits: int = 0
    places: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Preview:
    """Every rule in order, optional ones too; the events searched; what could not be searched."""

    rules: list[RulePreview]
    events: int
    skipped: list[Any]
    learned: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """(secret, rule) of what should be hidden wherever it stands; never shown, never written."""

    @property
    def hits(self) -> int:
        """Places that would be replaced."""
        return sum(rule.hits for rule in self.rules if rule.applied)


def preview(events: Iterable[dict[str, Any]], rules: Rules) -> Preview:
    """Search `events` (fields as in the file, not redacted yet) without changing them."""
    found = {rule: RulePreview(rule, kind, what, rules.applies(rule)) for rule, (kind, what) in WHAT.items()}
    for one in rules.described():
        found.setdefault(one["id"], RulePreview(one["id"], one["kind"], one["what"], True))

    def count(rule: str, seq: int, path: str) -> None:
        entry = found[rule]
        entry.hits += 1
        if len(entry.places) < FIRST_PLACES and (seq, path) not in entry.places:
            entry.places.append((seq, path))

    redactor, number = Redactor(rules, optional=True, on_hit=count), 0
    for number, event in enumerate(events, 1):  # noqa: B007 - the last number is how many there were
        redactor.apply(event)
    return Preview(list(found.values()), number, redactor.skipped(), redactor.learned)
