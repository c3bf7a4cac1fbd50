"""How long a reply may be used again, by whom, and what ends that: one verdict a rule. Pure, any thread.

Source: MCP 2026-07-28 server/utilities/caching and pagination, SEP-2549. `row` is the row of the decision
table the verdict stands for (tests/protocol/test_freshness.py has them all). Where the text is silent the
cautious reading is taken: an odd ttlMs keeps nothing fresh, an odd cacheScope shares nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from inspector.protocol.eras import MODERN, Era
from inspector.protocol.numbers import LongInteger

CACHEABLE: Final = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
PUBLIC: Final = "public"
PRIVATE: Final = "private"
MAX_TTL_MS: Final = 24 * 60 * 60 * 1000
"""We keep nothing longer than 24 h: ttlMs is a hint, and a client may cap it."""

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601

_CHANGES: Final = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
    "notifications/resources/updated": ("resources/read",),
}

State = Literal["fresh", "stale", "never"]


@dataclass(frozen=True, slots=True)
class Hints:
    """The cache hints of one reply, as sent and as they count.

    ttl_raw, scope_raw: the JSON value, None when absent (`*_present` tells null from absent). ttl_ms:
    milliseconds of freshness from receipt; 0 = never fresh. scope: public or private. cacheable: may be
    kept at all, if only to be served stale. shareable: to other authorization contexts; None = moot, there
    is nothing fresh to share. violations: what the server did against the specification, for people.
    """

    ttl_raw: Any
    ttl_present: bool
    ttl_ms: int
    scope_raw: Any
    scope_present: bool
    scope: str
    cacheable: bool
    shareable: bool | None
    violations: tuple[str, ...]
    why: str
    row: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A kept reply, when it arrived by our clock, and when a notification ended it early (None: none did)."""

    hints: Hints
    received_at_us: int
    stale_since_us: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a kept reply. what: a word of the function that says it; row: of the table."""

    what: str
    row: int
    why: str


def retried_with(params: Any) -> str:
    """`inputResponses` or `requestState` when the request is a later round of an exchange, else an empty
    string.
    """
    found = params if isinstance(params, dict) else {}
    return next((key for key in ("inputResponses", "requestState") if key in found), "")


def assess(result: Any, *, method: str, era: Era, error: bool = False, retry: bool | str = False) -> Hints:
    """Read the hints of a raw result (before any model fills in defaults).

    error: the answer was a JSON-RPC error. retry: the request carried answers; `retried_with` says which.
    """
    if error or not isinstance(result, dict):
        return _refused({}, 35, "an error is not a result and is never kept")
    if method not in CACHEABLE:
        return _refused(result, 36, f"{method} is not among the methods whose results may be kept")
    if retry:
        row = 19 if retry == "requestState" else 18
        return _refused(
            result, row, "the request carried inputResponses or requestState: the result is its own only"
        )
    if era != MODERN:
        return _handshake(result)
    kind = result.get("resultType", "complete")
    if kind == "input_required":
        return _refused(result, 16, "input_required is a question, not a result to keep")
    if kind != "complete":
        unknown = f"resultType {_shown(kind)} is not known: the result is invalid"
        return _refused(result, 17, unknown, (unknown,))
    return _modern(result, method)


def _refused(result: dict[str, Any], row: int, why: str, violations: tuple[str, ...] = ()) -> Hints:
    return _hints(result, 0, PRIVATE, False, False, violations, why, row)


def _handshake(result: dict[str, Any]) -> Hints:
    if "ttlMs" not in result and "cacheScope" not in result:
        why = "the handshake era has no hints: keep it until a list_changed says otherwise, never by time"
        return _hints(result, 0, PRIVATE, True, False, (), why, 8)
    scope, _ = _scope(result)
    shareable = None if scope == PUBLIC else False
    return _hints(result, 0, scope, True, shareable, (), "hints do not count in the handshake era", 15)


def _modern(result: dict[str, Any], method: str) -> Hints:
    ttl_ms, ttl_row, why, ttl_fault = _ttl(result)
    scope, scope_fault = _scope(result)
    row = ttl_row or _plain_row(result, method, scope, scope_fault)
    violations = [fault for fault in (ttl_fault, scope_fault) if fault]
    if "resultType" not in result:
        violations.append("resultType is missing; it counts as complete")
    if row == 6 and "cacheScope" not in result:
        row = 7
    shareable: bool | None = scope == PUBLIC and row not in (11, 12)
    if shareable and ttl_ms == 0:
        shareable = None
    return _hints(result, ttl_ms, scope, True, shareable, tuple(violations), f"{why}, {scope}", row)


def _plain_row(result: dict[str, Any], method: str, scope: str, scope_fault: str) -> int:
    """The row of a reply whose ttlMs is plainly positive."""
    if scope_fault:
        return 10 if "cacheScope" in result else 9
    if "resultType" not in result:
        return 15
    if method == "server/discover":
        return 37
    return 1 if scope == PUBLIC else 2


def _ttl(result: dict[str, Any]) -> tuple[int, int, str, str]:
    """(effective ms, row or 0 when plain, why, violation)."""
    if "ttlMs" not in result:
        return 0, 6, "no ttlMs counts as 0: stale at once", "ttlMs is missing"
    raw = result["ttlMs"]
    if isinstance(raw, str):
        return (
            0,
            11,
            "ttlMs is a string: nothing to count on",
            f"ttlMs is the string {_shown(raw)}, not an integer",
        )
    endless = isinstance(raw, LongInteger)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or (not endless and raw % 1 != 0):
        return 0, 12, "ttlMs is no integer: nothing to count on", f"ttlMs is {_shown(raw)}, not an integer"
    ttl = (MAX_TTL_MS + 1 if raw > 0 else -1) if endless else int(raw)
    if ttl < 0:
        return 0, 5, "a negative ttlMs counts as 0: stale at once", f"ttlMs is negative ({_shown(raw)})"
    if ttl == 0:
        return 0, 4, "ttlMs 0: stale at once", ""
    if ttl > MAX_TTL_MS:
        return MAX_TTL_MS, 14, f"ttlMs {_shown(raw)} is cut to our cap of 24 h", ""
    return ttl, 13 if isinstance(raw, float) else 0, f"fresh for {ttl} ms after receipt", ""


def _scope(result: dict[str, Any]) -> tuple[str, str]:
    """(effective scope, violation)."""
    if "cacheScope" not in result:
        return PRIVATE, "cacheScope is missing; treated as private"
    raw = result["cacheScope"]
    if raw in (PUBLIC, PRIVATE):
        return str(raw), ""
    return PRIVATE, f"cacheScope is {_shown(raw)}, neither public nor private; treated as private"


def _hints(
    result: dict[str, Any],
    ttl_ms: int,
    scope: str,
    cacheable: bool,
    shareable: bool | None,
    violations: tuple[str, ...],
    why: str,
    row: int,
) -> Hints:
    return Hints(
        ttl_raw=result.get("ttlMs"),
        ttl_present="ttlMs" in result,
        ttl_ms=ttl_ms,
        scope_raw=result.get("cacheScope"),
        scope_present="cacheScope" in result,
        scope=scope,
        cacheable=cacheable,
        shareable=shareable,
        violations=violations,
        why=why,
        row=row,
    )


def _shown(value: Any) -> str:
    text = value.text if isinstance(value, LongInteger) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"


def fresh_until(hints: Hints, received_at_us: int) -> int | None:
    """The first microsecond at which the reply is stale, None when it never is fresh."""
    return received_at_us + hints.ttl_ms * 1000 if hints.ttl_ms else None


def state(entry: Entry, now_us: int) -> State:
    """`never` when no time makes it fresh, else `fresh` or `stale`; at `fresh_until` itself it is stale
    (row 3).
    """
    until = fresh_until(entry.hints, entry.received_at_us)
    if until is None:
        return "never"
    if entry.stale_since_us is not None and entry.stale_since_us <= now_us:
        return "stale"
    return "fresh" if now_us < until else "stale"


def key(method: str, params: Any) -> str:
    """What tells replies of one server and era apart: the method and every parameter but `_meta` (row 20).

    Declared capabilities live in `_meta` and may change a list: flush when they change.
    """
    found = (
        {name: value for name, value in params.items() if name != "_meta"}
        if isinstance(params, dict)
        else params
    )
    return f"{method} {json.dumps(found or {}, sort_keys=True, separators=(',', ':'))}"


def may_serve(hints: Hints, kept_for: str, asked_by: str) -> Verdict:
    """`hit` or `miss` when an authorization context (a name, or a credential's hash) asks for a kept reply.

    A hit on somebody else's public entry is allowed, not demanded.
    """
    if kept_for == asked_by:
        return Verdict("hit", 1 if hints.scope == PUBLIC else 2, "the same authorization context asks")
    if hints.scope == PUBLIC and hints.shareable is not False:
        return Verdict("hit", 34, "public: may go to anyone, even when it was fetched with a credential")
    return Verdict("miss", 33, "private: another credential is another cache")


def next_cursor(result: Any) -> str | None:
    """The cursor of the next page, None at the end; an empty string is a cursor like any other (row 25)."""
    cursor = result.get("nextCursor") if isinstance(result, dict) else None
    return cursor if isinstance(cursor, str) else None


def list_scope(pages: Sequence[Hints]) -> Verdict:
    """The scope of a whole list: `public` or `private`; pages that differ break a rule and make it private."""
    scopes = {page.scope for page in pages}
    if len(scopes) > 1:
        return Verdict(
            PRIVATE, 22, "the pages of one list must share one cacheScope; the whole list is kept private"
        )
    return Verdict(scopes.pop() if scopes else PRIVATE, 21, "each page has its own time, all have one scope")


def after_failed_refetch(code: int | None, cursor: str | None) -> Verdict:
    """`drop-all` (start the list again without a cursor) or `serve-stale` (allowed, and marked as stale).

    code: the JSON-RPC code the server answered with, None when no answer came.
    """
    if code == INVALID_PARAMS and cursor is not None:
        return Verdict(
            "drop-all", 24, "the server no longer knows the cursor: drop every page, list from the start"
        )
    return Verdict(
        "serve-stale", 31, "the refetch failed: the old reply may still be served, marked stale, as before"
    )


def tells_of_change(notification: str) -> bool:
    """Whether a notification can end anything kept; most come by the thousand (progress, log) and cannot."""
    return notification in _CHANGES


def invalidates(notification: str, params: Any, method: str, uri: str | None = None) -> Verdict:
    """`stale` or `keep` for a kept reply to `method` (resources/read: of `uri`) when a notification arrives.

    It ends all pages of a list at once.
    """
    if method not in _CHANGES.get(notification, ()):
        return Verdict("keep", 27, f"{notification} says nothing about {method}")
    if notification != "notifications/resources/updated":
        return Verdict("stale", 26, f"{notification} ends every page of {method} at once")
    changed = params.get("uri") if isinstance(params, dict) else None
    if changed == uri:
        return Verdict("stale", 28, "this resource was updated")
    return Verdict("keep", 28, "another resource was updated")


def delivery(*, announced: bool, listening: bool) -> Verdict:
    """`notified` or `ttl-only`: whether a change will reach us.

    announced: the server has the capability (listChanged, subscribe). listening: a subscriptions/listen
    naming it was acknowledged; in the handshake era, the connection is open.
    """
    if announced and listening:
        return Verdict("notified", 26, "the server announces changes and a listen is open")
    why = "no acknowledged subscriptions/listen" if announced else "the server does not announce changes"
    return Verdict("ttl-only", 29, f"{why}: nothing will be delivered, only time counts")


def raced(asked_at_us: int, changed_at_us: int | None) -> Verdict:
    """`stale` or `keep` for a reply that arrives now; changed_at_us: the newest notification that concerns
    it.
    """
    if changed_at_us is not None and changed_at_us >= asked_at_us:
        return Verdict(
            "stale", 30, "a change was announced while we waited: the reply may be older than the change"
        )
    return Verdict("keep", 30, "no change was announced since we asked")


def after_call_error(code: int | None) -> Verdict:
    """`refetch` (allowed early) or `keep` for a fresh tools/list when a tools/call fails with `code`."""
    if code in (INVALID_PARAMS, METHOD_NOT_FOUND):
        return Verdict(
            "refetch", 32, f"{code} on a tool we list: the list may be out of date and may be fetched early"
        )
    return Verdict("keep", 32, "the error says nothing about the list")
