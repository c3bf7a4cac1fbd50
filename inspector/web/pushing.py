"""What one open page is sent: rows in batches that it can draw, or the newest of what it cannot. WebSocket threads.

A page never gets more than it can draw. What comes between two updates waits here: the newest `Window.most` of it, the
rest as a number. When more came than that, the list begins again with the newest, under a row that says how many were
passed over and leads to them: everything is recorded. The next update is made when the page has said that it drew
the last one. A list that a person has stopped is not touched; it is told how many events are new.
"""

from __future__ import annotations

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from inspector.trace.feed import Feed, Subscription
from inspector.trace.rows import Row
from inspector.web.render import num
from inspector.wire.events import Event

Args = MultiDict[str, str]
Wanted = Callable[[Event], bool]

IDLE_S: Final = 0.1
"""How long a quiet socket sleeps before it looks whether its peer is still there."""
BATCH_S: Final = 0.1
"""How long the first event of an update waits for company: 50 clients at 1,000 events/s cost 0.7 s of CPU in
5 s with batches, 5.4 s without (measured with 0.08)."""
ROW_S: Final = 0.005
"""How long an update may be looked at before the next, for each row of it: five updates a second of forty rows."""
SPARE: Final = 8
"""Rows of an update beyond what the page has room for, so that its first one, which leads on, is out of sight."""
COUNT_S: Final = 0.25
"""How often a stopped list is told how many events are new."""
PATIENCE_S: Final = 5.0
"""After this long without a word a page is sent to again: what it should have said may be lost."""
SPELL_S: Final = 5.0
"""How long after events were passed over the page says so."""
TEXT_BYTES: Final = 60_000
TEXT_ROWS: Final = 40
"""Rows of one text: a page puts each text in by itself, and is not held by a hundred rows at once."""


_FOLLOWING: Final = re.compile(r"following (\d{1,4})")


@dataclass(frozen=True, slots=True)
class Window:
    """Where rows go. rows: selector of the element whose children are rows. keep: pushed rows it holds at most.

    most: rows of one update, where the page has room for so many. more: whether a row above leads to what came before.
    note: selector of what says that events were passed over, or empty; total: of how many events there are, if all.
    """

    rows: str
    keep: int
    most: int
    more: bool = False
    note: str = ""
    total: str = ""


WINDOWS: Final = {
    "mini": Window("#mini-rows", 60, 60),
    "full": Window("#timeline-rows", 300, 100, more=True, note="#list-note", total="#list-total"),
}
"""A page begins with at most 200 rows of its own, so the whole list holds 500 at most."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a page's rows are made.

    row: an announced event as the store gives it. newest: the last of the store that the page wants to see.
    rows: HTML, one row an event. older: HTML of the row above them, for what came before a seq; `passed` of those
    events were not drawn of late. note: a few words on as many. every: whether the page wants every event there is.
    """

    row: Callable[[Event], Row]
    newest: Callable[[Args, int], Sequence[Row]]
    rows: Callable[[Sequence[Row], Args], str]
    older: Callable[[Args, int, int], str]
    note: Callable[[int], str]
    every: Callable[[Args], bool]


class Pushing:
    """One open page: what it looks at, what it has drawn, and what waits for it."""

    def __init__(self, feed: Feed, ws: Any, args: Args, drawing: Drawing, wanted: Wanted) -> None:
        self._feed = feed
        self._ws = ws
        self._args = args
        self._drawing = drawing
        self._wanted = wanted
        self._window = WINDOWS["full" if args.get("view") == "full" else "mini"]
        self._position = min(args.get("after", feed.last_seq, type=int), feed.last_seq)
        self._most = self._window.most
        self._fresh: deque[Event] = deque(maxlen=self._most)
        self._passed = 0  # events that fell out of `_fresh`
        self._stale = False  # only the store knows what came after `_position`
        self._lost = False  # announcements that were not taken up in time
        self._seen = self._position  # the last event the page shows, or knows to be passed over
        self._kept: deque[int] = deque(maxlen=self._window.keep)  # seqs of the pushed rows on the page
        self._following = True
        self._rested = False  # the person had stopped the list: what came meanwhile was not too fast
        self._told = 0  # new events a stopped page was told of
        self._speaks = False
        self._owed = 0  # texts the page has not drawn yet
        self._sent_at = self._ready_at = 0.0
        self._spell, self._spell_at = 0, 0.0  # passed over of late, and when

    def follow(self) -> None:
        """Send until the peer is gone; ends by return or by ConnectionClosed and its kin."""
        with self._feed.subscribe() as subscription:
            self._stale = self._feed.last_seq > self._position  # committed since the page was rendered
            if self._stale:
                self._ready_at = time.monotonic() + BATCH_S  # a stopped page says so at once
            while self._ws.connected:
                self._wait(subscription)
                now = time.monotonic()
                if self._waiting() and now >= self._ready_at and not self._drawing_still(now):
                    self._show(now)

    # --- what comes in

    def _waiting(self) -> bool:
        """Whether there is something to send."""
        return self._stale or bool(self._fresh) if self._following else self._new() != self._told

    def _new(self) -> int:
        return self._passed + len(self._fresh)

    def _drawing_still(self, now: float) -> bool:
        return self._speaks and self._owed > 0 and now < self._sent_at + PATIENCE_S

    def _wait(self, subscription: Subscription) -> None:
        """Until something happens, or the next update may go."""
        if self._waiting():
            left = self._ready_at - time.monotonic()
            self._hear(min(left, IDLE_S) if left > 0 else IDLE_S if self._owed and self._speaks else 0)
            self._take(subscription.get(0), subscription)
        else:
            self._take(subscription.get(IDLE_S), subscription)
            self._hear(0)

    def _take(self, events: list[Event] | None, subscription: Subscription) -> None:
        if subscription.lost:
            subscription.resync()
            self._stale = self._lost = True
            self._fresh.clear()
            self._passed = 0
        fresh = [event for event in events or () if event.seq > self._position]
        if not fresh:
            return
        self._position = fresh[-1].seq
        wanted = [event for event in fresh if self._wanted(event)]
        if wanted and not self._fresh:
            self._ready_at = max(self._ready_at, time.monotonic() + BATCH_S)
        self._passed += max(0, len(self._fresh) + len(wanted) - (self._fresh.maxlen or 0))
        self._fresh.extend(wanted)

    def _hear(self, timeout: float) -> None:
        """What the page says: `drawn` after each text, `paused`, `following` and for how many rows it has room.

        A closed peer raises.
        """
        word = self._ws.receive(timeout=timeout)
        while word is not None:
            if not self._speaks:
                self._speaks, self._owed = True, 0  # what it was sent before it spoke it is not asked about
            if word == "drawn":
                self._owed = max(0, self._owed - 1)
            elif word == "paused":
                self._following, self._told = False, 0
            elif found := _FOLLOWING.fullmatch(str(word)):
                self._rested, self._following = self._rested or not self._following, True
                self._make_room(max(1, min(int(found[1]) + SPARE, self._window.most)))
            word = self._ws.receive(timeout=0)

    def _make_room(self, most: int) -> None:
        """The page has room for so many rows, of what waits for it too."""
        self._most = most
        self._passed += max(0, len(self._fresh) - most)
        self._fresh = deque(self._fresh, maxlen=most)

    # --- what goes out

    def _show(self, now: float) -> None:
        if not self._following:
            self._told = self._new()
            self._ws.send(json.dumps({"new": self._told, "more": self._stale, "total": self._feed.last_seq}))
            self._ready_at = now + COUNT_S
            return
        again, passed = self._stale or self._passed > 0, self._passed
        if self._stale:
            rows = self._caught_up()
            if (
                self._lost and rows and self._drawing.every(self._args)
            ):  # else nobody knows without counting the store
                passed = max(0, rows[0].seq - 1 - self._seen)
        else:
            rows = [self._drawing.row(event) for event in self._fresh]
        self._fresh = deque(maxlen=self._most)
        self._passed, self._stale, self._lost = 0, False, False
        self._seen = self._position
        if not rows:
            return  # nothing that this page wants to see: what it shows stays
        self._owed = 0
        note = self._note(passed, now)
        for text in self._texts(rows, again, note):
            self._ws.send(text)
            self._owed += 1
        self._sent_at = time.monotonic()
        self._ready_at = self._sent_at + max(BATCH_S, len(rows) * ROW_S)

    def _caught_up(self) -> Sequence[Row]:
        """The newest rows of the store; what is announced of them is no news any more."""
        newest = self._feed.last_seq
        rows = self._drawing.newest(self._args, self._most)
        self._position = max(self._position, newest, rows[-1].seq if rows else 0)
        return rows

    def _texts(self, rows: Sequence[Row], again: bool, note: str) -> Iterator[str]:
        """WebSocket texts for one update. again: the list begins anew with these rows."""
        window = self._window
        before, stay = "", 0
        if again:
            self._kept.clear()
        else:
            stay = max(0, window.keep - len(rows))
            if window.more:
                stay = min(stay, len(self._kept))
        trimmed = not again and (not window.more or len(self._kept) + len(rows) > window.keep)
        self._kept.extend(row.seq for row in rows)
        if again or (trimmed and window.more):
            before = self._drawing.older(self._args, self._kept[0], self._spell if again else 0)
        parts = self._parts(rows)
        first = next(parts)
        if again:
            yield partial(window.rows, "innerHTML", before + first) + note
        else:
            drop = partial(f"{window.rows} > :nth-last-child(n+{stay + 1})", "delete") if trimmed else ""
            yield drop + (partial(window.rows, "afterbegin", before) if before else "") + partial(
                window.rows, "beforeend", first
            ) + note  # fmt: skip
        for part in parts:
            yield partial(window.rows, "beforeend", part)

    def _parts(self, rows: Sequence[Row]) -> Iterator[str]:
        """HTML of a few rows at a time, of no more than TEXT_BYTES where they are several."""
        for at in range(0, len(rows), TEXT_ROWS):
            yield from self._halves(rows[at : at + TEXT_ROWS])

    def _halves(self, rows: Sequence[Row]) -> Iterator[str]:
        html = self._drawing.rows(rows, self._args)
        if len(rows) == 1 or len(html.encode()) <= TEXT_BYTES:
            yield html
        else:
            middle = len(rows) // 2
            yield from self._halves(rows[:middle])
            yield from self._halves(rows[middle:])

    def _note(self, passed: int, now: float) -> str:
        """What stands under the list: how many events there are, and for a while that some were passed over."""
        before = self._spell
        if self._rested or (not passed and now > self._spell_at + SPELL_S):
            self._spell = 0
        elif passed:
            self._spell += passed
            self._spell_at = now
        self._rested = False
        if not self._window.note:
            return ""
        total = partial(self._window.total, "innerHTML", num(self._feed.last_seq))
        if self._spell == before:
            return total
        return total + partial(
            self._window.note, "innerHTML", self._drawing.note(self._spell) if self._spell else ""
        )


def partial(target: str, swap: str, html: str = "") -> str:
    """An htmx partial: where, how, what. htmx looks all targets of a text up before it puts anything in."""
    return f'<hx-partial hx-target="{target}" hx-swap="{swap}">{html}</hx-partial>'
