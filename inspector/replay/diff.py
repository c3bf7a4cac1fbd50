"""Two traces side by side: which questions both hold, and how the answers differ. Pure; any thread.

Exchanges are aligned by method and params, the first with the first and so on, whichever connection they crossed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from inspector.replay.compare import Comparison, Ignore, compare, question_or_depth
from inspector.replay.exchanges import Exchange, Recording

SAME, CHANGED, MISSING, ADDED = "same", "changed", "missing", "added"
STATUSES: Final = (SAME, CHANGED, MISSING, ADDED)


@dataclass(frozen=True, slots=True)
class Pair:
    """One question, with its exchange in either trace (None where it was never asked there)."""

    a: Exchange | None
    b: Exchange | None
    comparison: Comparison

    @property
    def status(self) -> str:
        """same, changed (both asked, different answers), missing (only in A) or added (only in B)."""
        if self.a is None or self.b is None:
            return ADDED if self.a is None else MISSING
        return SAME if self.comparison.same else CHANGED

    @property
    def either(self) -> Exchange:
        found = self.a or self.b
        assert found is not None
        return found

    def delta(self) -> dict[str, Any]:
        """B less A: `ms` and answer `bytes`, each only where both are known."""
        if self.a is None or self.b is None:
            return {}
        found: dict[str, Any] = {}
        if self.a.ms is not None and self.b.ms is not None:
            found["ms"] = round(self.b.ms - self.a.ms, 3)
        if self.a.answer is not None and self.b.answer is not None:
            found["bytes"] = self.b.answer.size - self.a.answer.size
        return found

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "status": self.status,
            "method": self.either.method,
            "name": self.either.name,
            "params": self.either.params,
        }
        found |= {side: _side(one) for side, one in (("a", self.a), ("b", self.b)) if one is not None}
        if self.a is not None and self.b is not None:
            found |= {"delta": self.delta(), **comparison_json(self.comparison)}
        return found


def _side(one: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = {"seq": one.request.seq, "outcome": outcome(one)}
    if one.answer is not None:
        found |= {"answer": one.answer.seq, "bytes": one.answer.size}
    if one.ms is not None:
        found["ms"] = one.ms
    return found


def outcome(one: Exchange) -> str:
    """`ok`, `tool_error`, `error` (a protocol error) or `unanswered`."""
    if not one.members:
        return "unanswered"
    result = one.members.get("result")
    if result is None:
        return "error"
    return "tool_error" if isinstance(result, dict) and result.get("isError") is True else "ok"


def comparison_json(found: Comparison) -> dict[str, Any]:
    """`changes`, `ignored` (pointers to what differs and does not count) and, past the cap, `more`."""
    document: dict[str, Any] = {
        "changes": [change.as_json() for change in found.changes],
        "ignored": found.ignored,
    }
    return document | ({"more": found.more} if found.more else {})


@dataclass(frozen=True, slots=True)
class Difference:
    """Two recordings, aligned; `pairs` in A's order, then what only B holds."""

    a: Recording
    b: Recording
    pairs: list[Pair]

    @property
    def same(self) -> bool:
        return all(pair.status == SAME for pair in self.pairs)

    def as_json(self) -> dict[str, Any]:
        """The document of `trace diff --json`."""
        counts = dict.fromkeys(STATUSES, 0)
        for pair in self.pairs:
            counts[pair.status] += 1
        both = [pair.delta() for pair in self.pairs]
        times = [delta["ms"] for delta in both if "ms" in delta]
        return {
            "schema": "mcp-loupe/trace-diff/1",
            "a": _recording_json(self.a),
            "b": _recording_json(self.b),
            "summary": counts,
            "delta": {
                "bytes": sum(delta.get("bytes", 0) for delta in both),
                "ms_median": round(median(times), 3) if times else None,
            },
            "exchanges": [pair.as_json() for pair in self.pairs],
        }


def _recording_json(one: Recording) -> dict[str, Any]:
    answers = [exchange.answer.size for exchange in one.exchanges if exchange.answer is not None]
    return {
        "file": str(one.path),
        "label": one.label,
        "created": one.header.get("created"),
        "exchanges": len(one.exchanges),
        "answer_bytes": sum(answers),
        "incomplete": one.incomplete,
        "problem": one.problem,
    }


def diff(a: Recording, b: Recording, ignore: Ignore) -> Difference:
    """Align and compare."""
    waiting = _by_question(b.exchanges, ignore)
    pairs = []
    for one in a.exchanges:
        others = waiting.get(_question(one, ignore))
        other = others.popleft() if others else None
        found = compare(one.members, other.members, ignore) if other is not None else Comparison()
        pairs.append(Pair(one, other, found))
    left = sorted((one for others in waiting.values() for one in others), key=lambda one: one.request.seq)
    pairs += [Pair(None, one, Comparison()) for one in left]
    return Difference(a, b, pairs)


def _by_question(exchanges: Iterable[Exchange], ignore: Ignore) -> dict[str, deque[Exchange]]:
    found: dict[str, deque[Exchange]] = defaultdict(deque)
    for one in exchanges:
        found[_question(one, ignore)].append(one)
    return found


def _question(one: Exchange, ignore: Ignore) -> str:
    return question_or_depth(one.method, one.params, ignore)
