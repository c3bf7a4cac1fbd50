"""The application and its server: errors as sentences, the listening socket, shutting down."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from inspector.cli import serve
from inspector.errors import (
    AuthNeeded,
    Cancelled,
    ConfigError,
    LoupeError,
    PeerError,
    SpawnFailed,
    StorageError,
    TimedOut,
    UsageError,
)
from inspector.web.app import MOST_WAITING, WebServer, listen, status_of

if TYPE_CHECKING:
    from tests.web.conftest import Site

WAIT_S = 30.0


def test_one_of_our_errors_is_a_page_with_its_remedy(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/fails/usage")
    assert answer.status == 422
    assert "<title>Error · Loupe</title>" in answer.text
    assert "The port is not a number." in answer.text
    assert "Write --port 8000." in answer.text


def test_one_of_our_errors_is_a_part_when_htmx_asks_for_a_part(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/fails/network", HX_Request_Type="partial")
    assert answer.status == 502
    assert "<html" not in answer.text
    assert "&lt;b&gt;example&lt;/b&gt; refused the connection." in answer.text


def test_a_missing_thing_is_named_when_the_screen_knows_it(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/fails/missing")
    assert (answer.status, "There is no server named weather." in answer.text) == (404, True)


def test_an_unknown_address_is_a_404_page(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/no/such/place")
    assert (answer.status, "There is nothing at this address." in answer.text) == (404, True)
    assert '<h1 tabindex="-1">Not found</h1>' in answer.text and 'id="to-servers"' in answer.text


def test_a_page_that_failed_by_our_own_fault_can_be_asked_for_again(signed_in: Site) -> None:
    answer = signed_in.ask("GET", "/fails/bug?x=1")
    assert 'href="/fails/bug?x=1" id="again"' in answer.text
    assert 'id="again"' not in signed_in.ask("GET", "/no/such/place").text


def test_our_own_fault_is_one_sentence_and_the_details_are_in_the_log(
    signed_in: Site, caplog: pytest.LogCaptureFixture
) -> None:
    answer = signed_in.ask("GET", "/fails/bug")
    assert answer.status == 500
    assert "this is our own fault" in answer.text
    assert "Traceback" not in answer.text
    assert "a secret detail" not in answer.text
    number = caplog.records[-1].args[0]  # type: ignore[index]
    assert f"error {number}" in answer.text
    assert "a secret detail" in caplog.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConfigError("x"), 422),
        (SpawnFailed("x"), 502),
        (PeerError(-32602, "x"), 502),
        (TimedOut("x"), 504),
        (AuthNeeded("x"), 502),
        (Cancelled("x"), 409),
        (StorageError("x"), 500),
        (LoupeError("x"), 500),
    ],
)
def test_each_kind_of_error_has_its_status(error: LoupeError, status: int) -> None:
    assert status_of(error) == status


def test_a_port_in_use_is_one_sentence_that_names_the_option() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            listen("127.0.0.1", port)
    assert caught.value.message == f"Port {port} is in use by another program."
    assert "--port" in caught.value.remedy


def test_another_port_than_the_usual_one_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen("127.0.0.1", 0) as taken:
        usual = taken.getsockname()[1]
        monkeypatch.setattr(serve, "DEFAULT_PORT", usual)
        with serve.listen_somewhere(listen, "127.0.0.1", None) as other:
            port = other.getsockname()[1]
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"Port {usual} is in use by another program. Port {port} was free.\n")


def test_an_address_of_another_machine_cannot_be_listened_on() -> None:
    with pytest.raises(UsageError) as caught:
        listen("192.0.2.1", 0)
    assert "--host" in caught.value.remedy


def test_the_server_says_neither_its_kind_nor_its_version(signed_in: Site) -> None:
    assert signed_in.ask("GET", "/").headers["Server"] == "mcp-loupe"


def test_stopping_frees_the_port_and_ends_idle_connections(site: Site) -> None:
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    server = WebServer(site.app, listening)
    thread = threading.Thread(target=server.run)
    thread.start()
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as idle:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as second:
            second.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert second.recv(12) == b"HTTP/1.1 403"  # so the first one has been accepted, too
        server.stop()
        thread.join(WAIT_S)
        assert not thread.is_alive()
        assert idle.recv(1) == b""
    listen("127.0.0.1", port).close()


def test_connections_that_say_nothing_are_bounded_and_the_console_still_answers(signed_in: Site) -> None:
    silent = [socket.create_connection(("127.0.0.1", signed_in.port)) for _ in range(MOST_WAITING)]
    try:
        silent[0].sendall(b"GET / HTTP/1.1\r\nHost: half a head")
        assert signed_in.ask("GET", "/").text == "home"
        silent[0].settimeout(WAIT_S)
        assert silent[0].recv(1) == b"", "the oldest has ended"
        silent[-1].settimeout(WAIT_S)
        request = f"GET /favicon.ico HTTP/1.1\r\nHost: 127.0.0.1:{signed_in.port}\r\n\r\n"
        silent[-1].sendall(request.encode())
        with silent[-1].makefile("rb") as answer:
            assert answer.read().startswith(b"HTTP/1.1 200"), "the newest has not"
    finally:
        for each in silent:
            each.close()


def test_a_head_that_never_ends_is_not_waited_for(signed_in: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.web.app._Handler.timeout", 0.1)
    with socket.create_connection(("127.0.0.1", signed_in.port), WAIT_S) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: half a head")
        assert slow.recv(1) == b""
