"""Rows over real WebSockets: order, gaps, windows, batches, slow and vanished peers."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from simple_websocket import Client, ConnectionClosed

from inspector.web.pushing import TEXT_BYTES, WINDOWS
from inspector.wire.events import LOCAL, Event

if TYPE_CHECKING:
    from tests.web.conftest import Site

    Start = Callable[..., AbstractContextManager[Site]]

WAIT_S = 30.0


def note(c: int = 1, pad: str = "") -> Event:
    return Event("note", c, LOCAL, {"pad": pad})


def text(client: Client) -> str:
    found = client.receive(timeout=WAIT_S)
    assert isinstance(found, str)
    return found


def seqs(texts: str) -> list[int]:
    return [int(seq) for seq in re.findall(r"<li>(\d+)", texts)]


def above(texts: str) -> list[tuple[str, str]]:
    """The rows above that lead to what came before: (before which seq, how many were not drawn)."""
    return re.findall(r"data-before='(\d+)' data-passed='(\d+)'", texts)


def several(client: Client, last: int) -> list[str]:
    """Texts until one ends with row `last`."""
    found = [text(client)]
    while (seqs(found[-1]) or [0])[-1] != last:
        found.append(text(client))
    return found


def test_events_become_rows_appended_to_the_list(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    signed_in.publish(note(), note())
    assert text(client) == (
        '<hx-partial hx-target="#timeline-rows" hx-swap="beforeend"><li>2</li><li>3</li></hx-partial>'
        '<hx-partial hx-target="#list-total" hx-swap="innerHTML">3</hx-partial>'
    )


def test_the_pinned_timeline_is_the_default_view_and_keeps_sixty(signed_in: Site) -> None:
    client = signed_in.follow()
    signed_in.publish(note())
    assert text(client) == (
        '<hx-partial hx-target="#mini-rows > :nth-last-child(n+60)" hx-swap="delete"></hx-partial>'
        '<hx-partial hx-target="#mini-rows" hx-swap="beforeend"><li>2</li></hx-partial>'
    )


def test_only_the_asked_connections_are_shown(signed_in: Site) -> None:
    client = signed_in.follow("c=2&c=3")
    signed_in.publish(note(1), note(2), note(3), note(4))
    assert seqs(text(client)) == [3, 4]


def test_what_was_committed_before_the_socket_opened_is_read_from_the_store(signed_in: Site) -> None:
    signed_in.publish(*[note() for _ in range(5)])
    client = signed_in.socket("?c=1&view=full&after=2")
    found = text(client)
    assert found.startswith('<hx-partial hx-target="#timeline-rows" hx-swap="innerHTML">')
    assert (seqs(found), above(found)) == ([1, 2, 3, 4, 5], [("1", "0")])
    signed_in.publish(note())
    assert seqs(text(client)) == [6]


def test_without_after_a_socket_begins_with_the_next_event(signed_in: Site) -> None:
    signed_in.publish(note())
    other = signed_in.follow()
    client = signed_in.socket()
    signed_in.publish(note())
    assert seqs(text(other)) == [2]
    client.close()


@pytest.mark.parametrize(("wanted", "passed"), [("view=full", 1901), ("view=full&c=1", 0)])
def test_what_a_socket_was_too_slow_to_be_told_is_read_from_the_store(
    signed_in: Site, wanted: str, passed: int
) -> None:
    client = signed_in.follow(wanted)
    signed_in.publish(*[note() for _ in range(2001)])
    found = "".join(several(client, 2002))
    assert seqs(found) == list(range(1903, 2003))
    assert above(found) == [("1903", str(passed))]  # with a filter nobody has counted them
    signed_in.publish(note())
    assert seqs(text(client)) == [2003]


def test_more_than_an_update_draws_begins_the_list_anew_and_says_how_many_were_not_drawn(
    signed_in: Site,
) -> None:
    client = signed_in.follow("view=full")
    most = WINDOWS["full"].most
    signed_in.publish(*[note() for _ in range(most + 340)])
    last = most + 341
    found = several(client, last)
    assert 'hx-target="#timeline-rows" hx-swap="innerHTML"' in found[0]
    assert seqs("".join(found)) == list(range(last - most + 1, last + 1))
    assert above("".join(found)) == [(str(last - most + 1), "340")]
    assert '<hx-partial hx-target="#list-note" hx-swap="innerHTML"><i>340</i></hx-partial>' in found[0]
    signed_in.publish(*[note() for _ in range(most + 2)])
    assert above("".join(several(client, last + most + 2))) == [
        (str(last + 3), "342")
    ]  # in all, since it began


def test_only_what_the_page_wants_to_see_is_counted(signed_in: Site) -> None:
    client = signed_in.follow("view=full&c=2")
    signed_in.publish(*[note(1 + n % 2) for n in range(300)])
    found = "".join(several(client, 301))
    assert seqs(found) == list(range(103, 302, 2))
    assert above(found) == [("103", "50")]


def test_the_list_is_bounded_and_its_first_row_always_leads_on(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    keep, most = WINDOWS["full"].keep, WINDOWS["full"].most
    for n in range(3):
        signed_in.publish(*[note() for _ in range(most)])
        found = several(client, 1 + most * (n + 1))
    assert seqs("".join(found)) == list(range(2 * most + 2, 3 * most + 2))
    assert 'hx-target="#timeline-rows > :nth-last-child(n+201)" hx-swap="delete"' in found[0]
    assert above("".join(found)) == [("2", "0")]
    assert keep == 300


def test_a_page_has_no_more_drawn_than_it_has_room_for(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    client.say("following 22")
    signed_in.publish(note())
    assert seqs(text(client)) == [2]
    signed_in.publish(*[note() for _ in range(100)])
    client.send("drawn")
    found = text(client)
    assert (seqs(found), above(found)) == (list(range(73, 103)), [("73", "70")])


def test_a_page_that_grew_small_is_sent_no_more_of_what_waits_than_it_has_room_for(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    client.say("following 92")
    signed_in.publish(note())
    assert seqs(text(client)) == [2]
    signed_in.publish(*[note() for _ in range(100)])
    client.say("following 22")
    client.send("drawn")
    found = text(client)
    assert (seqs(found), above(found)) == (list(range(73, 103)), [("73", "70")])


def test_the_next_update_waits_until_the_page_has_drawn_the_last(signed_in: Site) -> None:
    client, other = signed_in.follow("view=full"), signed_in.follow("view=full")
    client.say("following 92")
    signed_in.publish(note())
    assert seqs(text(client)) == seqs(text(other)) == [2]
    for seq in (3, 4, 5):
        signed_in.publish(note())
        assert seqs(text(other)) == [seq]  # it says nothing, so it is not waited for
    assert client.receive(timeout=0) is None
    client.send("drawn")
    assert seqs(text(client)) == [3, 4, 5]


def test_a_stopped_list_is_only_told_how_many_are_new_until_it_follows_again(signed_in: Site) -> None:
    client, other = signed_in.follow("view=full"), signed_in.follow("view=full")
    client.say("paused")
    client.say("drawn")
    for most in (3, 2):
        signed_in.publish(*[note() for _ in range(most)])
        text(other)
    told = json.loads(text(client))
    while told["new"] < 5:
        told = json.loads(text(client))
    assert told == {"new": 5, "more": False, "total": 6}
    client.send("following 30")
    assert seqs(text(client)) == [2, 3, 4, 5, 6]


def test_what_came_while_a_list_was_stopped_did_not_come_too_fast(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    client.say("paused")
    client.say("drawn")
    signed_in.publish(*[note() for _ in range(150)])
    assert json.loads(text(client)) == {"new": 150, "more": False, "total": 151}
    client.send("following 92")
    found = several(client, 151)
    assert (seqs("".join(found)), above("".join(found))) == (list(range(52, 152)), [("52", "0")])
    assert "list-note" not in "".join(found)


def test_a_large_batch_comes_in_several_texts_in_order(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    signed_in.publish(*[note(pad="x" * 9000) for _ in range(20)])
    found = several(client, 21)
    assert seqs("".join(found)) == list(range(2, 22))
    assert max(len(one.encode()) for one in found) < 65536


def test_a_row_beyond_that_size_comes_alone(signed_in: Site) -> None:
    client = signed_in.follow()
    signed_in.publish(note(), note(pad="é" * (TEXT_BYTES // 2)), note())
    assert [seqs(one) for one in several(client, 4)] == [[2], [3], [4]]


def test_a_closed_peer_is_noticed(signed_in: Site) -> None:
    signed_in.follow().close()
    assert signed_in.feed.left.acquire(timeout=WAIT_S)


def test_a_vanished_peer_is_noticed(signed_in: Site) -> None:
    signed_in.follow().sock.shutdown(socket.SHUT_RDWR)
    assert signed_in.feed.left.acquire(timeout=WAIT_S)


def test_sockets_beyond_the_limit_are_told_to_try_later(start: Start) -> None:
    with start(most=1) as site:
        site.sign_in()
        first = site.follow()
        with pytest.raises(ConnectionClosed) as caught:
            site.socket().receive(timeout=WAIT_S)
        assert caught.value.reason == 1013
        site.publish(note())
        assert seqs(text(first)) == [2]


def test_a_place_becomes_free_when_a_socket_closes(start: Start) -> None:
    with start(most=1) as site:
        site.sign_in()
        site.follow().close()
        assert site.feed.left.acquire(timeout=WAIT_S)
        client = site.socket("?after=0")
        for _ in range(100):
            try:
                assert seqs(text(client)) == [1]
                return
            except ConnectionClosed:
                client = site.socket("?after=0")
        raise AssertionError("the place was never given free")


def unread(site: Site) -> socket.socket:
    """A peer that opens a socket and then reads nothing."""
    peer = socket.create_connection(("127.0.0.1", site.port), timeout=WAIT_S)
    peer.sendall(
        f"GET /live?view=full&after=0 HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nOrigin: {site.origin}\r\n"
        f"Cookie: {site.cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
    )
    seen = b""
    while b"<li>" not in seen:
        seen += peer.recv(4096)
    return peer


def test_a_peer_that_does_not_read_blocks_nobody_else(start: Start) -> None:
    with start(stall_s=60.0) as site:
        site.sign_in()
        client = site.follow("c=2")
        with unread(site):
            for _ in range(4):
                site.publish(*[note(pad="x" * 50_000) for _ in range(100)], note(2))
                assert len(seqs(text(client))) == 1
            assert site.ask("GET", "/").text == "home"
            assert site.live.open_sockets == 2


def test_a_peer_that_does_not_read_is_cut_off(start: Start) -> None:
    with start(stall_s=0.2) as site:
        site.sign_in()
        client = site.follow("c=2")
        with unread(site):
            for _ in range(4):
                site.publish(*[note(pad="x" * 50_000) for _ in range(100)], note(2))
                assert len(seqs(text(client))) == 1
            assert site.feed.left.acquire(timeout=WAIT_S)
        site.publish(note(2))
        assert len(seqs(text(client))) == 1


def test_a_fault_while_rendering_ends_the_socket_and_nothing_else(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    with start() as site:
        site.sign_in()
        client = site.follow()
        site.publish(Event("note", 1, LOCAL, None))  # type: ignore[arg-type]
        with pytest.raises(ConnectionClosed) as caught:
            client.receive(timeout=WAIT_S)
        assert caught.value.reason == 1012
        assert site.ask("GET", "/").text == "home"
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [TypeError]
