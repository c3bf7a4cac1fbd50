from __future__ import annotations

import threading

from inspector.trace.feed import Feed
from inspector.wire.events import LOCAL, Event


def events(first: int, last: int) -> list[Event]:
    return [Event("note", 0, LOCAL, seq=seq) for seq in range(first, last + 1)]


def seqs(got: list[Event] | None) -> list[int]:
    assert got is not None
    return [event.seq for event in got]


def test_a_subscription_gets_what_is_announced_after_it_began() -> None:
    feed = Feed()
    feed.publish(1, 2, events(1, 2))
    with feed.subscribe() as subscription:
        feed.publish(3, 4, events(3, 4))
        feed.publish(5, 5, events(5, 5))
        assert seqs(subscription.get(0)) == [3, 4, 5]
    assert feed.last_seq == 5


def test_waiting_in_vain_gives_none() -> None:
    with Feed().subscribe() as subscription:
        assert subscription.get(0) is None


def test_an_announcement_wakes_a_waiting_reader() -> None:
    feed = Feed()
    got: list[list[Event] | None] = []
    with feed.subscribe() as subscription:
        reader = threading.Thread(target=lambda: got.append(subscription.get(20)))
        reader.start()
        feed.publish(1, 1, events(1, 1))
        reader.join(20)
    assert seqs(got[0]) == [1]


def test_a_slow_reader_is_marked_lost_and_its_queue_is_emptied() -> None:
    feed = Feed()
    with feed.subscribe(maxsize=3) as slow, feed.subscribe() as quick:
        feed.publish(1, 3, events(1, 3))
        feed.publish(4, 4, events(4, 4))
        feed.publish(5, 5, events(5, 5))
        assert (slow.lost, slow.get(0)) == (True, [])
        slow.resync()
        assert (slow.lost, slow.get(0)) == (False, None)
        feed.publish(6, 6, events(6, 6))
        assert seqs(slow.get(0)) == [6]
        assert seqs(quick.get(0)) == [1, 2, 3, 4, 5, 6]


def test_a_gap_in_the_announcements_counts_as_lost() -> None:
    feed = Feed()
    with feed.subscribe() as subscription:
        feed.publish(1, 1, events(1, 1))
        feed.publish(3, 3, events(3, 3))
        assert (subscription.lost, subscription.get(0)) == (True, [])


def test_a_closed_subscription_gets_nothing_more() -> None:
    feed = Feed()
    with feed.subscribe() as subscription:
        pass
    feed.publish(1, 1, events(1, 1))
    assert subscription.get(0) is None
