"""Replays people start: recorded requests sent again to a live server, one after the other. A thread each.

A replay outlives the page that started it: its id is in the page's URL. What came is in the recording; here is only
which frame answers which, and the verdict.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.catalog import jsontext
from inspector.errors import LoupeError, UsageError
from inspector.replay.aligned import Aligned, Ref, ref_of, verdict_of
from inspector.replay.check import Tool
from inspector.replay.compare import Ignore
from inspector.replay.exchanges import Exchange, with_params
from inspector.replay.player import CANCELLED, FAILED, REFUSED, SAME, Played, Player
from inspector.replay.sessions import exchange_of
from inspector.trace.store import Store
from inspector.wire.connection import Connection

KEPT: Final = 50
MOST: Final = 1_000
"""Exchanges of one replay."""
DRAFTS_BYTES: Final = 16 << 20
WAITING: Final = "waiting"
OP: Final = "replay"


@dataclass(frozen=True, slots=True)
class Planned:
    """An exchange to send again. params: JSON text in place of the recorded ones, None for those."""

    session: int
    seq: int
    params: str | None = None


@dataclass(slots=True)
class Item:
    """One exchange of a replay. pair: old (a) and new (b), as far as it came; why and remedy: of what was not sent."""

    planned: Planned
    pair: Aligned
    why: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """What to replay, and where. key, label: the server. era: "" for the open connection, else one of its own.

    confirmed: what is not read-only may be sent. token: of the page, so that a form sent twice runs once.
    """

    source: str
    key: str
    label: str
    planned: tuple[Planned, ...]
    ignore: tuple[str, ...]
    volatile: bool
    era: str = ""
    confirmed: bool = False
    token: str = ""


@dataclass(slots=True)
class Replay:
    """One run. items: in order, grown before the thread starts. problem: why it could not begin or go on."""

    id: str
    order: Order
    items: list[Item]
    started_at: float
    era: str = ""
    version: str = ""
    problem: LoupeError | None = None
    ended_at: float | None = None
    cancelled: bool = False
    player: Player | None = field(default=None, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def running(self) -> bool:
        return not self.ended.is_set()

    @property
    def done(self) -> int:
        return sum(one.pair.verdict != WAITING for one in self.items)


Opened = Callable[[str, str], AbstractContextManager[Connection]]
Tools = Callable[[str], Tool | None]


class Replays:
    """The replays of one console, the last KEPT of them, and params that were edited for one. Thread-safe.

    opened: a connection to a server (key, era), closed after use when it was opened for that. tools: how to find a
    tool a server (key) lists. session: the one being recorded; flush: waits until what was emitted is in it.
    """

    def __init__(
        self,
        opened: Opened,
        tools: Tools,
        store: Callable[[], Store],
        session: int,
        flush: Callable[[], object],
    ) -> None:
        self._opened, self._tools, self._store = opened, tools, store
        self._session, self._flush = session, flush
        self._replays: OrderedDict[str, Replay] = OrderedDict()
        self._drafts: OrderedDict[str, str] = OrderedDict()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    # --- edited params

    def keep(self, params: str) -> str:
        """Remember edited params; the id they are found by, which is a digest of them."""
        id_ = hashlib.blake2b(jsontext.utf8(params), digest_size=6).hexdigest()
        with self._lock:
            self._drafts.pop(id_, None)
            self._drafts[id_] = params
            while len(self._drafts) > 1 and sum(map(len, self._drafts.values())) > DRAFTS_BYTES:
                self._drafts.popitem(last=False)
        return id_

    def draft(self, id_: str) -> str | None:
        """The params kept under an id; None when they are no longer known."""
        with self._lock:
            return self._drafts.get(id_)

    # --- runs

    def get(self, id_: str) -> Replay:
        with self._lock:
            found = self._replays.get(id_)
        if found is None:
            raise UsageError(
                f"There is no replay {id_} any more.",
                "Its frames are in the timeline, under the cause replay.",
            )
        return found

    def recent(self) -> list[Replay]:
        """Newest first."""
        with self._lock:
            return list(reversed(self._replays.values()))

    def start(self, order: Order) -> Replay:
        """Begin and return at once. Raises UsageError when there is nothing to send, or too much."""
        if not order.planned:
            raise UsageError("Nothing is chosen.", "Tick the exchanges to send again.")
        if len(order.planned) > MOST:
            raise UsageError(
                f"{len(order.planned):,} exchanges are too many for one replay.",
                f"Choose at most {MOST:,}.",
            )
        with self._store() as store:
            items = [_item(store, one) for one in order.planned]
        with self._lock:
            twice = next((one for one in self._replays.values() if one.order.token == order.token), None)
            if order.token and twice is not None:
                return twice
            replay = Replay(f"replay-{next(self._ids)}", order, items, time.time())
            self._replays[replay.id] = replay
            for old in [each for each in self._replays.values() if not each.running][:-KEPT]:
                del self._replays[old.id]
        threading.Thread(target=self._run, args=(replay,), name=replay.id, daemon=True).start()
        return replay

    def cancel(self, id_: str) -> Replay:
        """Send nothing more, and take back the request that waits."""
        replay = self.get(id_)
        replay.cancelled = True
        if replay.player is not None:
            replay.player.cancel()
        return replay

    def close(self) -> None:
        """Cancel what runs and wait for it, each within the bound of one connection."""
        for replay in self.recent():
            if replay.running:
                self.cancel(replay.id)
                replay.ended.wait(10)

    # --- the thread of one replay

    def _run(self, replay: Replay) -> None:
        try:
            with self._opened(replay.order.key, replay.order.era) as connection, self._store() as store:
                self._play(replay, connection, store)
        except LoupeError as problem:
            replay.problem = problem
        except Exception as problem:  # noqa: BLE001 - every end of a replay is shown
            text = f"Loupe itself failed: {type(problem).__name__}: {problem}"
            replay.problem = LoupeError(text, "Please report this as a bug.")
        finally:
            for item in replay.items:
                if item.pair.verdict == WAITING:
                    item.pair = _with(item.pair, CANCELLED if replay.cancelled else FAILED)
                    item.why = "It was not sent"
            replay.ended_at = time.time()
            replay.ended.set()

    def _play(self, replay: Replay, connection: Connection, store: Store) -> None:
        order = replay.order
        if connection.peer is not None:
            replay.era, replay.version = connection.peer.era, connection.peer.protocol_version
        replay.player = player = Player(
            connection, Ignore.of(order.ignore, volatile=order.volatile), source=order.source,
            confirmed=order.confirmed, tool=None if order.era else self._tools(order.key),
        )  # fmt: skip
        if replay.cancelled:
            player.cancel()
        for item in replay.items:
            exchange = _exchange(store, item.planned)
            if exchange is None:
                item.pair = _with(item.pair, REFUSED)
                item.why = "The recording no longer holds this request"
                continue
            op = f"{OP}-{item.planned.session}-{item.planned.seq}"
            for played in player.play([exchange], op):
                item.why, item.remedy = played.why, played.remedy
                item.pair = self._judged(item.pair, played)
        self._flush()
        for item in replay.items:
            item.pair = self._measured(item.pair, store)

    def _measured(self, pair: Aligned, store: Store) -> Aligned:
        """With the size and time of a new answer that was an error, which only the recording knows."""
        ref = pair.b
        if ref is None or ref.answer is None or ref.size is not None:
            return pair
        row = next(iter(store.page(self._session, after=ref.answer - 1, limit=1)), None)
        if row is None:
            return pair
        return replace(pair, b=replace(ref, size=row.bytes, ms=row.ms))

    def _judged(self, pair: Aligned, played: Played) -> Aligned:
        sent = played.request_seq
        if sent is None:
            return _with(pair, played.verdict)
        error, result = played.answer.get("error"), played.answer.get("result")
        now = "unanswered" if not played.answer else "error" if error is not None else "ok"
        if now == "ok" and isinstance(result, dict) and result.get("isError") is True:
            now = "tool_error"
        ref = Ref(self._session, sent, played.reply_seq, played.size, played.ms, now)
        if not played.answer:
            return replace(pair, verdict=played.verdict, b=ref)
        changes = len(played.comparison.changes) + played.comparison.more
        before = pair.a.outcome if pair.a is not None else "unanswered"
        word = verdict_of(before, now, played.verdict == SAME)
        return replace(pair, verdict=word, b=ref, changes=changes)


def _item(store: Store, planned: Planned) -> Item:
    exchange = _exchange(store, planned)
    if exchange is None:
        raise UsageError(
            f"Event {planned.seq} of session {planned.session} is no request of a client.",
            "Choose among the requests listed.",
        )
    ref = ref_of(planned.session, exchange)
    return Item(planned, Aligned(exchange.method, exchange.name, WAITING, ref, None))


def _exchange(store: Store, planned: Planned) -> Exchange | None:
    found = exchange_of(store, planned.session, planned.seq)
    return found if found is None or planned.params is None else with_params(found, planned.params)


def _with(pair: Aligned, verdict: str) -> Aligned:
    return replace(pair, verdict=verdict)


def counted(pairs: Sequence[Aligned]) -> dict[str, int]:
    """How many of each verdict, those that occur, in the order they are met."""
    found: dict[str, int] = {}
    for one in pairs:
        found[one.verdict] = found.get(one.verdict, 0) + 1
    return found
