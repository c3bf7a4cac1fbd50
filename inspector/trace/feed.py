"""Announcing what has been committed to whoever watches. Published on `trace-writer`, read on WebSocket threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from types import TracebackType

from inspector.wire.events import Event


class Feed:
    """Committed events, told to every subscription. Thread-safe; publishing never waits for a reader."""

    def __init__(self) -> None:
        self.last_seq = 0
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()

    def subscribe(self, maxsize: int = 2000) -> Subscription:
        """A queue of at most `maxsize` events, starting with the next commit; close it or use `with`."""
        subscription = Subscription(self, maxsize)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def publish(self, first_seq: int, last_seq: int, events: Sequence[Event]) -> None:
        """Announce events first_seq to last_seq, which are committed."""
        with self._lock:
            self.last_seq = last_seq
            subscriptions = self._subscriptions
        for subscription in subscriptions:
            subscription.push(first_seq, events)

    def drop(self, subscription: Subscription) -> None:
        """Tell it nothing more."""
        with self._lock:
            self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)


class Subscription:
    """One reader's bounded queue.

    When the reader is too slow the queue is emptied and `lost` set. Then: `resync()`, and read what came after
    the last seq seen from the store; what `get` gives from there on may overlap that, but leaves no gap.
    """

    def __init__(self, feed: Feed, maxsize: int) -> None:
        self.lost = False
        self._feed = feed
        self._maxsize = maxsize
        self._events: deque[Event] = deque()
        self._next: int | None = None
        self._changed = threading.Condition()

    def push(self, first_seq: int, events: Sequence[Event]) -> None:
        """Called by the feed. A gap in the seqs counts as lost too."""
        with self._changed:
            if self.lost:
                return
            gap = self._next is not None and first_seq != self._next
            if gap or len(self._events) + len(events) > self._maxsize:
                self.lost = True
                self._events.clear()
            else:
                self._events.extend(events)
                self._next = events[-1].seq + 1
            self._changed.notify_all()

    def get(self, timeout: float) -> list[Event] | None:
        """Everything announced since the last call, in order; `[]` at once when `lost`; None after `timeout` s."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.lost or self._events, timeout):
                return None
            events = list(self._events)
            self._events.clear()
            return events

    def resync(self) -> None:
        """Listen again after a loss. Call it before reading the store, so that nothing falls between."""
        with self._changed:
            self.lost = False
            self._next = None

    def close(self) -> None:
        self._feed.drop(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
