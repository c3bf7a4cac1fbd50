"""Rows over real WebSockets: order, gaps, windows, batches, slow and vanished peers."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest
from simple_websocket import Client, ConnectionClosed

from inspector.web.live import TEXT_BYTES, WINDOWS, push
from inspector.wire.events import LOCAL, Event

if TYPE_CHECKING:
    from tests.web.conftest import Site

    Start = Callable[..., AbstractContextManager[Site]]

WAIT_S = 10.0


def note(c: int = 1, pad: str = "") -> Event:
    return Event("note", c, LOCAL, {"pad": pad})


def text(client: Client) -> str:
    found = client.receive(timeout=WAIT_S)
    assert isinstance(found, str)
    return found


def seqs(texts: str) -> list[int]:
    return [int(seq) for seq in re.findall(r"<li>(\d+)", texts)]


def gaps(texts: str) -> list[str]:
    return re.findall(r"data-gap='([^']*)'", texts)


def test_events_become_rows_appended_to_the_window(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    signed_in.publish(note(), note())
    assert text(client) == (
        '<hx-partial hx-target="#timeline-rows > :nth-last-child(n+499)" hx-swap="delete"></hx-partial>'
        '<hx-partial hx-target="#timeline-rows" hx-swap="beforeend"><li>2</li><li>3</li></hx-partial>'
    )


def test_the_pinned_timeline_is_the_default_view(signed_in: Site) -> None:
    client = signed_in.follow()
    signed_in.publish(note())
    assert 'hx-target="#mini-rows" hx-swap="beforeend"' in text(client)


def test_only_the_asked_connections_are_shown(signed_in: Site) -> None:
    client = signed_in.follow("c=2&c=3")
    signed_in.publish(note(1), note(2), note(3), note(4))
    assert seqs(text(client)) == [3, 4]


def test_what_was_committed_before_the_socket_opened_is_asked_for(signed_in: Site) -> None:
    signed_in.publish(*[note() for _ in range(5)])
    client = signed_in.socket("?c=1&view=full&after=2")
    assert gaps(text(client)) == ["/timeline/rows?c=1&view=full&after=2&until=5"]
    signed_in.publish(note())
    assert seqs(text(client)) == [6]


def test_without_after_a_socket_begins_with_the_next_event(signed_in: Site) -> None:
    signed_in.publish(note())
    other = signed_in.follow()
    client = signed_in.socket()
    signed_in.publish(note())
    assert seqs(text(other)) == [2]
    client.close()


def test_an_overflow_leaves_one_row_for_what_was_missed_and_goes_on_behind_it(signed_in: Site) -> None:
    client = signed_in.follow()
    signed_in.publish(*[note() for _ in range(2001)])
    assert gaps(text(client)) == ["/timeline/rows?after=1&until=2002"]
    signed_in.publish(note())
    assert seqs(text(client)) == [2003]


def test_more_events_than_the_window_holds_are_cut_to_the_newest(signed_in: Site) -> None:
    client = signed_in.follow()
    keep = WINDOWS["mini"].keep
    signed_in.publish(*[note() for _ in range(keep + 10)])
    found = text(client)
    assert seqs(found) == list(range(12, keep + 12))
    assert "#mini-rows > :nth-last-child(n+1)" in found


def test_a_large_batch_comes_in_several_texts_in_order(signed_in: Site) -> None:
    client = signed_in.follow("view=full")
    signed_in.publish(*[note(pad="x" * 9000) for _ in range(20)])
    found: list[str] = []
    while len(seqs("".join(found))) < 20:
        found.append(text(client))
    assert seqs("".join(found)) == list(range(2, 22))
    assert max(len(one.encode()) for one in found) < 65536


def test_a_row_too_large_for_a_socket_is_left_to_http(signed_in: Site) -> None:
    client = signed_in.follow()
    signed_in.publish(note(pad="é" * (TEXT_BYTES // 2)))
    assert gaps(text(client)) == ["/timeline/rows?after=1&until=2"]


def test_a_push_as_large_as_the_window_removes_every_old_row() -> None:
    assert ":nth-last-child(n+1)" in push(WINDOWS["mini"], "", 60)
    assert ":nth-last-child(n+60)" in push(WINDOWS["mini"], "", 1)


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
                assert gaps(text(client)) == ["/timeline/rows?after=0&until=1"]
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
    while b"data-gap" not in seen:
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
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [AttributeError]
