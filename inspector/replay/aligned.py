"""Two recorded sessions, or a session and its replay, exchange by exchange, with a verdict each. Runs in the worker.

Nothing here holds the sessions: questions are aligned by digest, answers read in pairs, so that memory stays flat.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.errors import FileError
from inspector.replay.compare import Comparison, Ignore, compare, plain, question_or_depth
from inspector.replay.diff import comparison_json, outcome
from inspector.replay.exchanges import Exchange
from inspector.replay.sessions import RPC, exchange_of, is_answer, is_question, recorded, rows
from inspector.replay.splice import member
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.trace.store import Store

SAME, CHANGED, ERROR_CHANGED, UNANSWERED, MISSING, ADDED = (
    "same",
    "changed",
    "error changed",
    "unanswered",
    "missing",
    "added",
)
ERRORS: Final = ("error", "tool_error")
MOST_EXCHANGES: Final = 200_000
SHOWN_CHARS: Final = 600
LAID_CHARS: Final = 400_000


@dataclass(frozen=True, slots=True)
class Place:
    """Which exchanges: a session, one connection of it or all (c None)."""

    session: int
    c: int | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """One exchange where it was recorded. size: of the answer; outcome: ok, tool_error, error or unanswered."""

    session: int
    seq: int
    answer: int | None
    size: int | None
    ms: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Aligned:
    """One question on both sides (None where it was never asked). changes: how many places differ."""

    method: str
    name: str
    verdict: str
    a: Ref | None
    b: Ref | None
    changes: int = 0

    @property
    def bytes(self) -> int | None:
        """B's answer less A's; None when one of them is not known."""
        if self.a is None or self.b is None or self.a.size is None or self.b.size is None:
            return None
        return self.b.size - self.a.size

    @property
    def ms(self) -> float | None:
        if self.a is None or self.b is None or self.a.ms is None or self.b.ms is None:
            return None
        return round(self.b.ms - self.a.ms, 3)


@dataclass(frozen=True, slots=True)
class _Slim:
    method: str
    name: str
    key: bytes
    ref: Ref
    digest: bytes


def aligned(database: Path, a: Place, b: Place, ignore: Ignore) -> list[Aligned]:
    """All exchanges of A in their order, each with B's, then what only B holds. Raises FileError when too many."""
    with Store(database) as store:
        waiting: dict[bytes, deque[_Slim]] = defaultdict(deque)
        for one in _scan(store, b, ignore):
            waiting[one.key].append(one)
        found = []
        for one in _scan(store, a, ignore):
            others = waiting.get(one.key)
            found.append(_pair(store, one, others.popleft() if others else None, ignore))
        left = sorted((one for others in waiting.values() for one in others), key=lambda one: one.ref.seq)
    return [*found, *(Aligned(one.method, one.name, ADDED, None, one.ref) for one in left)]


def judged(database: Path, pairs: Sequence[Aligned], ignore: Ignore) -> list[Aligned]:
    """The same pairs with the verdicts of other rules; those with one side, or without an answer, stay."""
    with Store(database) as store:
        return [_judged(store, one, ignore) for one in pairs]


def verdict_of(before: str, after: str, same: bool) -> str:
    """The word for two outcomes, and whether nothing that counts differs."""
    if "unanswered" in (before, after):
        return UNANSWERED
    if same:
        return SAME
    return ERROR_CHANGED if before in ERRORS or after in ERRORS else CHANGED


def ref_of(session: int, exchange: Exchange) -> Ref:
    answer = exchange.answer
    return Ref(
        session, exchange.request.seq, answer.seq if answer else None, answer.size if answer else None,
        exchange.ms, outcome(exchange),
    )  # fmt: skip


def _scan(store: Store, place: Place, ignore: Ignore) -> Iterator[_Slim]:
    """Each exchange of a place without its bytes, in the order of the requests."""
    asked: dict[int, tuple[str, str, bytes]] = {}
    ready: dict[int, _Slim] = {}
    for row in rows(store, place.session, Filter(c=None if place.c is None else (place.c,), t=RPC)):
        if is_question(row):
            asked[row.seq] = _question(row, ignore)
            if len(asked) > MOST_EXCHANGES:
                text = f"Session {place.session} holds more than {MOST_EXCHANGES:,} exchanges."
                raise FileError(text, "Choose one connection of it, or a shorter session.")
        elif is_answer(row) and row.pair in asked:
            ready[row.pair] = _answered(place.session, row.pair, asked[row.pair], row)
    for seq, (method, name, key) in asked.items():
        found = ready.pop(seq) if seq in ready else None
        yield found or _Slim(method, name, key, Ref(place.session, seq, None, None, None, "unanswered"), b"")


def _question(row: Row, ignore: Ignore) -> tuple[str, str, bytes]:
    frame = recorded(row)
    value = frame.value if isinstance(frame.value, dict) else {}
    one = Exchange(row.c, str(row.method), value.get("params"), frame)
    return one.method, one.name, _digest(question_or_depth(one.method, one.params, ignore))


def _answered(session: int, seq: int, asked: tuple[str, str, bytes], row: Row) -> _Slim:
    method, name, key = asked
    frame = recorded(row)
    one = Exchange(row.c, method, None, frame, frame, row.ms)
    digest = b""
    with suppress(RecursionError):  # then it is compared as it is
        digest = _digest(json.dumps(plain(one.members), sort_keys=True))
    return _Slim(method, name, key, Ref(session, seq, row.seq, row.bytes, row.ms, outcome(one)), digest)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(jsontext.utf8(text), digest_size=16).digest()


def _pair(store: Store, one: _Slim, other: _Slim | None, ignore: Ignore) -> Aligned:
    if other is None:
        return Aligned(one.method, one.name, MISSING, one.ref, None)
    pair = Aligned(one.method, one.name, SAME, one.ref, other.ref)
    if one.digest and one.digest == other.digest:
        return pair
    return _judged(store, pair, ignore)


def _judged(store: Store, pair: Aligned, ignore: Ignore) -> Aligned:
    if pair.a is None or pair.b is None:
        return pair
    found = compare(_members(store, pair.a), _members(store, pair.b), ignore)
    word = verdict_of(pair.a.outcome, pair.b.outcome, found.same)
    return replace(pair, verdict=word, changes=len(found.changes) + found.more)


def _members(store: Store, ref: Ref) -> dict[str, Any]:
    exchange = exchange_of(store, ref.session, ref.seq)
    return exchange.members if exchange is not None else {}


# --- one pair, for reading


@dataclass(frozen=True, slots=True)
class ChangeText:
    """A difference for reading: both values as text, at most SHOWN_CHARS, None where there is none."""

    path: str
    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Half:
    """One side of a pair. params, answer: JSON text (the answer without its envelope), None where there is none;
    too_large: the answer's characters when it is too long to lay out."""

    params: str | None
    answer: str | None
    too_large: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """A pair in full. ignored: places that differ and do not count; more: changes beyond those listed."""

    changes: list[ChangeText]
    ignored: list[str]
    more: int
    a: Half | None
    b: Half | None


def told(database: Path, pair: Aligned, ignore: Ignore) -> Told:
    """What the pane of a pair shows."""
    with Store(database) as store:
        a, b = (_exchange(store, ref) for ref in (pair.a, pair.b))
        found = compare(a.members, b.members, ignore) if a is not None and b is not None else Comparison()
    changes = [
        ChangeText(one.path, one.kind, _value(one.kind != "added", one.before), _value(one.kind != "removed", one.after))
        for one in found.changes
    ]  # fmt: skip
    return Told(changes, found.ignored, found.more, _half(a), _half(b))


def _exchange(store: Store, ref: Ref | None) -> Exchange | None:
    return exchange_of(store, ref.session, ref.seq) if ref is not None else None


def _value(there: bool, value: Any) -> str | None:
    if not there:
        return None
    try:
        text = value if isinstance(value, str) else jsontext.compact_value(value)
    except RecursionError:
        return "nested too deeply to show"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… {len(text) - SHOWN_CHARS:,} more"


def _half(one: Exchange | None) -> Half | None:
    if one is None:
        return None
    params = _member(one.request.raw, "params")
    if one.answer is None:
        return Half(params, None)
    texts = {name: _member(one.answer.raw, name) for name in ("result", "error")}
    text = ",".join(f'"{name}":{text}' for name, text in texts.items() if text is not None)
    if len(text) > LAID_CHARS:
        return Half(params, None, len(text))
    return Half(params, "{" + text + "}")


def _member(raw: bytes, name: str) -> str | None:
    try:
        return member(raw, (name,))
    except (ValueError, RecursionError):  # cut, not UTF-8, or too deep
        return None


def documents(database: Path, pairs: Sequence[Aligned], ignore: Ignore) -> list[dict[str, Any]]:
    """Each pair as the JSON of an export: its two sides, and what differs between the answers."""
    with Store(database) as store:
        return [_document(store, one, ignore) for one in pairs]


def _document(store: Store, pair: Aligned, ignore: Ignore) -> dict[str, Any]:
    a, b = (_exchange(store, ref) for ref in (pair.a, pair.b))
    asked = a or b
    found: dict[str, Any] = {"verdict": pair.verdict, "method": pair.method, "name": pair.name}
    found["params"] = asked.params if asked is not None else None
    for letter, ref in (("a", pair.a), ("b", pair.b)):
        if ref is not None:
            known = {"answer": ref.answer, "bytes": ref.size, "ms": ref.ms}
            side = {"session": ref.session, "seq": ref.seq, "outcome": ref.outcome}
            found[letter] = side | {key: value for key, value in known.items() if value is not None}
    if a is not None and b is not None:
        delta = {"bytes": pair.bytes, "ms": pair.ms}
        found["delta"] = {key: value for key, value in delta.items() if value is not None}
        found |= comparison_json(compare(a.members, b.members, ignore))
    return found


__all__ = ["Aligned", "Place", "Ref", "Told", "aligned", "documents", "judged", "told", "verdict_of"]
