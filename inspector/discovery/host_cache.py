"""What a host would keep of live servers' answers, and what it would do when asked again. Any thread, no own clock.

Beside the registry of the lab, which is a value at a simulated moment, this one follows real connections: answers
come in with `keep`, changes with `notified`, and `look` says hit, miss, stale or invalidated, with the row of the
decision table (`protocol.freshness`) that says so. Times are microseconds and always passed in.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Literal, TypeVar

from inspector.protocol import freshness
from inspector.protocol.eras import HANDSHAKE
from inspector.protocol.freshness import Entry, Hints, Verdict

R = TypeVar("R")
Word = Literal["hit", "miss", "stale", "invalidated"]
MOST: Final = 1024
MOST_BYTES: Final = 128 * 1024 * 1024
"""Answers kept in all; the ones longest unused go first."""
LISTS: Final = tuple(method for method in freshness.CACHEABLE if method.endswith("/list"))
ALL: Final = ""


@dataclass(frozen=True, slots=True)
class Key:
    """What tells answers apart, but for who asked. server: of our list; target: what is started or called; declared:
    our client capabilities; params: without `_meta` (row 20)."""

    server: str
    target: str
    era: str
    declared: str
    method: str
    params: Any = None

    @property
    def text(self) -> str:
        """For people and the trace: `tools/list {"cursor":"a"}`."""
        return freshness.key(self.method, self.params)

    @property
    def family(self) -> tuple[str, ...]:
        """The list that a page belongs to."""
        return (self.server, self.target, self.era, self.declared, self.method)


@dataclass(frozen=True, slots=True)
class Kept(Generic[R]):
    """One answer. ended: what made it stale before its time; kept_for: the authorization context that asked."""

    key: Key
    reply: R
    entry: Entry
    kept_for: str
    size: int
    ended: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Look(Generic[R]):
    """What a host would do at one moment. row: of the decision table, 0 when none speaks of it (nothing was kept)."""

    what: Word
    row: int
    why: str
    kept: Kept[R] | None = None

    @property
    def because(self) -> str:
        return f"{self.why} (row {self.row})" if self.row else self.why


class HostCache(Generic[R]):
    """The answers of all servers, by key and authorization context. Thread-safe."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: OrderedDict[tuple[Any, ...], Kept[R]] = OrderedDict()
        self._refused: OrderedDict[tuple[Any, ...], Verdict] = OrderedDict()
        self._changed: OrderedDict[tuple[str, str, str], tuple[int, Verdict]] = OrderedDict()
        self._doubts: dict[str, Verdict] = {}
        self._lock = threading.Lock()

    # --- asking

    def look(self, key: Key, context: str, now_us: int, *, told: bool = False) -> Look[R]:
        """What a host would do now. told: whether changes of this server would reach it (`freshness.delivery`)."""
        with self._lock:
            own = self._kept.get(_place(key, context))
            if own is not None:
                self._kept.move_to_end(_place(key, context))
                return self._judged(own, now_us, told, None)
            others = [each for each in self._kept.values() if _same(each.key, key)]
            shared = [(each, self._served(each, context)) for each in others]
            hits = [(each, verdict) for each, verdict in shared if verdict.what == "hit"]
            if hits:
                newest, verdict = max(hits, key=lambda pair: pair[0].entry.received_at_us)
                return self._judged(newest, now_us, told, verdict)
            if shared:
                return Look("miss", shared[0][1].row, shared[0][1].why)
            return self._nothing(key, context)

    def _nothing(self, key: Key, context: str) -> Look[R]:
        refused = self._refused.get(_place(key, context))
        if refused is not None:
            return Look("miss", refused.row, f"the answer before was not kept: {refused.why}")
        near = [each.key for each in self._kept.values() if each.key.method == key.method]
        near = [each for each in near if each.server == key.server]
        if any(each.family == key.family for each in near):
            return Look("miss", 20, "kept for other parameters only: they are another answer")
        if near:
            return Look("miss", 20, f"kept for another {_differs(near[-1], key)} only: that is another cache")
        return Look("miss", 0, "nothing of it was kept yet")

    def _judged(self, kept: Kept[R], now_us: int, told: bool, shared: Verdict | None) -> Look[R]:
        hints = kept.entry.hints
        ended = kept.entry.stale_since_us
        if kept.ended is not None and ended is not None and ended <= now_us:
            return Look("invalidated", kept.ended.row, kept.ended.why, kept)
        state = freshness.state(kept.entry, now_us)
        if state == "stale":
            late = now_us - kept.entry.received_at_us - hints.ttl_ms * 1000
            return Look("stale", 3, f"its {_span(hints.ttl_ms)} ended {_span(late // 1000)} ago", kept)
        if state == "never":
            if kept.key.era == HANDSHAKE and told:
                why = "no time ends it, and the server announces changes: kept until a list_changed"
                return Look("hit", hints.row, why, kept)
            return Look("stale", hints.row, hints.why, kept)
        left = kept.entry.received_at_us + hints.ttl_ms * 1000 - now_us
        words = f"fresh for another {_span(-(-left // 1000))} of {_span(hints.ttl_ms)}"
        doubt = self._doubts.get(kept.key.server) if kept.key.method == "tools/list" else None
        if doubt is not None:
            return Look("hit", doubt.row, f"{words}; but {doubt.why}", kept)
        if shared is not None and shared.row == 34:
            return Look("hit", 34, f"{words}; {shared.why}", kept)
        return Look("hit", hints.row, f"{words}, {hints.scope}", kept)

    def _served(self, kept: Kept[R], context: str) -> Verdict:
        """Whether another context may have it: the pages of one list have one scope, or are private (row 22)."""
        family = [each for each in self._kept.values() if each.key.family == kept.key.family]
        pages = [each.entry.hints for each in family if each.kept_for == kept.kept_for]
        scope = freshness.list_scope(pages) if kept.key.method in LISTS else None
        if scope is not None and scope.row == 22:
            return Verdict("miss", 22, scope.why)
        return freshness.may_serve(kept.entry.hints, kept.kept_for, context)

    def pages(self, key: Key, context: str) -> list[Kept[R]]:
        """What is kept of a whole list for one context, the first page first as far as that is known."""
        with self._lock:
            return [
                each
                for each in self._kept.values()
                if each.key.family == key.family and each.kept_for == context
            ]

    # --- answers

    def keep(
        self,
        key: Key,
        context: str,
        reply: R,
        hints: Hints,
        *,
        asked_at_us: int,
        received_at_us: int,
        size: int = 0,
    ) -> Kept[R] | None:
        """An answer came; None when it is not to be kept. One that may predate a change is kept as ended (row 30)."""
        place = _place(key, context)
        with self._lock:
            if not hints.cacheable:
                self._refuse(place, Verdict("miss", hints.row, hints.why))
                return None
            self._refused.pop(place, None)
            entry = Entry(hints, received_at_us)
            kept = Kept(key, reply, entry, context, size)
            changed_at, change = self._last_change(key)
            if change is not None and freshness.raced(asked_at_us, changed_at).what == "stale":
                late = changed_at > received_at_us
                ended = change if late else freshness.raced(asked_at_us, changed_at)
                kept = replace(
                    kept, entry=replace(entry, stale_since_us=max(changed_at, received_at_us)), ended=ended
                )
            if key.method == "tools/list":
                self._doubts.pop(key.server, None)
            self._kept.pop(place, None)
            self._kept[place] = kept
            self._make_room()
            return kept

    def failed(self, key: Key, context: str, code: int | None) -> Verdict:
        """Asking again failed: `drop-all` forgets every page of the list, `serve-stale` leaves them (rows 24, 31, 35).

        code: the server's JSON-RPC code, None when no answer came.
        """
        cursor = key.params.get("cursor") if isinstance(key.params, Mapping) else None
        verdict = freshness.after_failed_refetch(code, cursor)
        with self._lock:
            if verdict.what == "drop-all":
                for place, each in list(self._kept.items()):
                    if each.key.family == key.family and each.kept_for == context:
                        del self._kept[place]
            elif code is not None and _place(key, context) not in self._kept:
                self._refuse(
                    _place(key, context), Verdict("miss", 35, "an error is not a result and is never kept")
                )
        return verdict

    def _refuse(self, place: tuple[Any, ...], verdict: Verdict) -> None:
        self._refused[place] = verdict
        while len(self._refused) > self._most:
            self._refused.popitem(last=False)

    def _make_room(self) -> None:
        total = sum([each.size for each in self._kept.values()])
        while len(self._kept) > 1 and (len(self._kept) > self._most or total > self._most_bytes):
            _, gone = self._kept.popitem(last=False)
            total -= gone.size

    # --- what ends them

    def notified(self, server: str, notification: str, params: Any, now_us: int) -> list[Kept[R]]:
        """A notification arrived; returns what it ended. Also answers still on their way will be ended (row 30)."""
        if not freshness.tells_of_change(
            notification
        ):  # most: progress and log messages come by the thousand
            return []
        uri, ended = _uri(params), []
        verdicts = {
            method: freshness.invalidates(notification, params, method, uri) for method in freshness.CACHEABLE
        }
        stale = {method: verdict for method, verdict in verdicts.items() if verdict.what == "stale"}
        with self._lock:
            for method, verdict in stale.items():
                self._note_change((server, method, _changing(method, uri)), now_us, verdict)
            for place, each in list(self._kept.items()):
                if each.key.server != server or each.ended is not None:
                    continue
                verdict = freshness.invalidates(notification, params, each.key.method, _uri(each.key.params))
                if verdict.what == "stale":
                    self._kept[place] = _ended(each, verdict, now_us)
                    ended.append(self._kept[place])
        return ended

    def _note_change(self, what: tuple[str, str, str], now_us: int, verdict: Verdict) -> None:
        """For answers on their way; the latest ones, for a server may name any number of resources."""
        self._changed[what] = (now_us, verdict)
        self._changed.move_to_end(what)
        while len(self._changed) > self._most:
            self._changed.popitem(last=False)

    def _last_change(self, key: Key) -> tuple[int, Verdict | None]:
        return self._changed.get((key.server, key.method, _changing(key.method, _uri(key.params))), (0, None))

    def disconnected(self, server: str, now_us: int) -> None:
        """Nobody tells of changes any more: what lived until a list_changed ends; what has its own time stays."""
        why = Verdict("stale", 8, "the connection ended, and changes were not told of since")
        with self._lock:
            for place, each in list(self._kept.items()):
                if each.key.server == server and each.key.era == HANDSHAKE and each.ended is None:
                    self._kept[place] = _ended(each, why, now_us)

    def call_failed(self, server: str, code: int | None) -> Verdict:
        """A tools/call was refused: its list may be fetched early (row 32)."""
        verdict = freshness.after_call_error(code)
        with self._lock:
            if verdict.what == "refetch":
                self._doubts[server] = verdict
        return verdict

    def forget(self, server: str) -> None:
        with self._lock:
            for held in (self._kept, self._refused):
                for place in [place for place in held if place[0] == server]:
                    del held[place]
            self._doubts.pop(server, None)


def _uri(params: Any) -> str | None:
    found = params.get("uri") if isinstance(params, Mapping) else None
    return found if isinstance(found, str) else None


def _changing(method: str, uri: str | None) -> str:
    """What of a method's answers a change is about."""
    return uri or ALL if method == "resources/read" else ALL


def _place(key: Key, context: str) -> tuple[Any, ...]:
    return (*key.family, key.text, context)


def _same(one: Key, other: Key) -> bool:
    return one.family == other.family and one.text == other.text


def _ended(kept: Kept[R], verdict: Verdict, now_us: int) -> Kept[R]:
    return replace(kept, entry=replace(kept.entry, stale_since_us=now_us), ended=verdict)


def _differs(one: Key, other: Key) -> str:
    """What tells two keys of one server and method apart."""
    names = {"target": "command or URL", "era": "era", "declared": "set of declared capabilities"}
    return next(
        (words for name, words in names.items() if getattr(one, name) != getattr(other, name)), "request"
    )


def _span(ms: int) -> str:
    """`900 ms`, `4.5 s`, `5 min`: no more than a sentence needs."""
    if ms < 1000:
        return f"{ms:,} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f}".removesuffix(".0") + " s"
    return f"{ms / 60_000:.1f}".removesuffix(".0") + " min"
