"""Sessions, the optional stream, redirects, TLS, proxies and closing over HTTP."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from bench import BOUND, SERVERS, Bench, call, chaos_http, http, serving, text_of

from inspector.errors import HttpFailed, NetworkFailed, TlsFailed
from inspector.wire.events import Journal
from inspector.wire.http import HttpTransport
from inspector.wire.http_base import Exchange, is_loopback, refuse_status
from inspector.wire.link import Link

LOST = [("session_lost_400", 400), ("session_lost_401", 401)]


def statuses(bench: Bench, method: str) -> list[int | None]:
    """HTTP statuses of the exchanges of one verb, in the order of their requests."""
    asked = [e.seq for e in bench.of("http", phase="request") if e.body["method"] == method]
    answers = {e.pair: e.body["status"] for e in bench.of("http", phase="response") if "status" in e.body}
    return [answers.get(seq) for seq in asked]


def verb(bench: Bench, name: str) -> list[dict[str, str]]:
    """Headers of the requests of one HTTP verb."""
    found = [e for e in bench.events if e.t == "http" and e.body.get("method") == name]
    return [{key.lower(): value for key, value in e.body["headers"]} for e in found]


def test_a_lost_session_is_opened_again_once_and_said(bench: Bench) -> None:
    with chaos_http() as url:
        connection = bench.open(http(url, era="handshake"))
        assert text_of(connection.ask("tools/call", call("session_lost_404")).result) == "session_lost_404"
        assert bench.anomalies() == ["http-status", "session-lost"]
        assert bench.asked() == [
            "initialize", "notifications/initialized", "tools/call",
            "initialize", "notifications/initialized", "tools/call",
        ]  # fmt: skip
        assert [event.id for event in bench.of("rpc", kind="request", method="tools/call")] == ["10", "12"]
        sessions = [headers.get("mcp-session-id") for headers in verb(bench, "POST")]
        assert sessions == [None, *["chaos-session-1"] * 2, None, *["chaos-session-2"] * 2]


def test_a_session_lost_under_several_calls_is_opened_again_once_for_all(
    bench: Bench, chaos_url: str
) -> None:
    connection = bench.open(http(chaos_url, era="handshake"))
    assert isinstance(connection.transport, HttpTransport)
    connection.transport.session_id = "never-given"  # the server answers 404 to each of them
    asked = [connection.submit("tools/call", call("echo", n=n)) for n in range(6)]
    assert [text_of(each.result(BOUND).result) for each in asked] == [f'{{"n":{n}}}' for n in range(6)]
    assert bench.asked().count("initialize") == 2
    assert bench.anomalies().count("session-lost") == 1
    ids = [event.id for event in bench.of("rpc", kind="request")]
    assert len(ids) == len(set(ids))


def test_a_call_made_while_a_session_is_opened_again_waits_for_its_id(bench: Bench) -> None:
    with serving(SERVERS / "breaks_off.py") as url:
        connection = bench.open(http(url + "?slow", era="handshake"))
        assert isinstance(connection.transport, HttpTransport)
        connection.transport.session_id = "lost"
        after, before = len(bench.events), len(bench.asked())
        first = connection.submit("tools/call", call("anything"))
        bench.until(lambda event: event.t == "rpc" and event.method == "initialize", after)
        assert connection.ask("hang-up").result == {}
        assert text_of(first.result(BOUND).result) == "the rest"
        asked = bench.asked()[before:]
        assert asked[:3] == ["tools/call", "initialize", "notifications/initialized"]
        assert sorted(map(str, asked[3:])) == ["hang-up", "tools/call"]


def test_a_session_that_could_not_be_opened_again_is_tried_once_and_at_the_next_call(bench: Bench) -> None:
    with serving(SERVERS / "breaks_off.py") as url:
        connection = bench.open(http(url + "?refused", era="handshake"))
        assert isinstance(connection.transport, HttpTransport)
        connection.transport.session_id = "lost"
        for each in [connection.submit("tools/call", call("anything")) for _ in range(2)]:
            with pytest.raises(HttpFailed, match="503"):
                each.result(BOUND)
        assert bench.asked().count("initialize") == 2
        assert text_of(connection.ask("tools/call", call("anything")).result) == "the rest"
        assert bench.asked().count("initialize") == 3


def test_what_the_environment_put_into_the_url_is_hidden_in_the_error_after_a_lost_session_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUPE_TEST_KEY", "s3cret-value")
    with serving(SERVERS / "breaks_off.py") as url:
        connection = bench.open(http(url + "?key=${env:LOUPE_TEST_KEY}", era="handshake"))
        assert isinstance(connection.transport, HttpTransport)
        connection.transport.session_id = "lost"
        with pytest.raises(HttpFailed, match="HTTP 200 with an empty body") as caught:
            connection.ask("nothing")
        assert "?key=${env:LOUPE_TEST_KEY} the right path?" in caught.value.remedy


@pytest.mark.parametrize(("fault", "status"), LOST)
def test_a_session_refused_with_another_status_is_a_broken_rule(
    bench: Bench, chaos_url: str, fault: str, status: int
) -> None:
    connection = bench.open(http(chaos_url, era="handshake"))
    with pytest.raises(HttpFailed) as caught:
        connection.ask("tools/call", call(fault))
    assert caught.value.message == (
        f"The server answered HTTP {status} to our session id; a lost session is to be answered with 404"
    )
    assert caught.value.facts["status"] == status
    assert bench.asked().count("initialize") == 1


def test_a_missing_endpoint_under_a_session_is_asked_again_once_only(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="handshake"))
    with pytest.raises(HttpFailed, match="HTTP 404: it no longer knows this session"):
        connection.ask("tools/call", call("bare_404"))
    assert bench.asked().count("initialize") == 2


def test_status_and_code_are_shown_at_once(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="handshake"))
    for name, code, status in (("json_400", -32600, 400), ("json_500", -32603, 500)):
        with pytest.raises(Exception, match="The server answered with error") as caught:
            connection.ask("tools/call", call(name))
        assert (caught.value.code, caught.value.facts["status"]) == (code, status)  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", ["get_refused=404", "get_refused=405", "get_refused=500", "get_hangs"])
def test_an_optional_stream_that_fails_harms_nothing(bench: Bench, fault: str) -> None:
    with chaos_http(fault) as url:
        connection = bench.open(http(url, era="handshake"))
        asked = bench.until(lambda event: event.t == "http" and event.body.get("method") == "GET")
        if fault != "get_hangs":
            bench.until(
                lambda event: event.t == "http" and event.pair == asked.seq and event.body["phase"] == "end"
            )
        assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'
        connection.close()
        assert bench.anomalies() == []


def test_notifications_of_the_optional_stream_arrive(bench: Bench) -> None:
    with chaos_http("get_stream") as url:
        connection = bench.make(http(url, era="handshake"))
        came = threading.Event()
        connection.on_notification = lambda method, _params: came.set() if "list_changed" in method else None
        connection.open()
        assert came.wait(BOUND)
        assert isinstance(connection.transport, HttpTransport) and connection.transport.stream_open
        connection.close()
        assert bench.anomalies() == []


def test_the_modern_era_opens_no_stream_and_no_session(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    connection.ask("tools/call", call("echo", a=1))
    connection.close()
    assert {e.body["method"] for e in bench.of("http", phase="request")} == {"POST"}
    last = verb(bench, "POST")[-1]
    assert (last["mcp-method"], last["mcp-name"]) == ("tools/call", "echo")
    assert (last["mcp-protocol-version"], "mcp-session-id" in last) == ("2026-07-28", False)


def test_a_session_is_ended_politely(bench: Bench, chaos_url: str) -> None:
    bench.open(http(chaos_url, era="handshake")).close()
    assert statuses(bench, "DELETE") == [204]


@pytest.mark.parametrize(("fault", "expected"), [("delete_hangs", [None]), ("delete_405", [405])])
def test_a_session_end_that_is_refused_or_hangs_holds_nothing_up(
    bench: Bench, fault: str, expected: list[int | None]
) -> None:
    with chaos_http(fault) as url:
        bench.open(http(url, era="handshake")).close()
        assert (statuses(bench, "DELETE"), bench.anomalies()) == (expected, [])


@pytest.mark.parametrize(
    ("fault", "place"), [("redirect_loop", "/mcp"), ("redirect_away", "http://elsewhere.invalid/mcp")]
)
def test_redirects_are_shown_and_not_followed(bench: Bench, chaos_url: str, fault: str, place: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    start = len(verb(bench, "POST"))
    with pytest.raises(HttpFailed, match="The server redirects") as caught:
        connection.ask("tools/call", call(fault))
    assert caught.value.message.endswith(f" to {place}")
    assert len(verb(bench, "POST")) == start + 1


def test_a_self_signed_certificate_is_refused_by_name(bench: Bench, pem: Path) -> None:
    with chaos_http(f"self_signed={pem}") as url:
        with pytest.raises(TlsFailed) as caught:
            bench.open(http(url))
        place = url.split("/")[2]
        assert caught.value.message == f"The TLS certificate of {place} was refused: self-signed certificate"
        assert "SSL_CERT_FILE" in caught.value.remedy
        assert bench.anomalies() == ["network", "connect-failed"]


def test_a_private_authority_is_trusted_when_told_so(
    bench: Bench, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    with chaos_http(f"self_signed={pem}") as url:
        assert text_of(bench.open(http(url)).ask("tools/call", call("echo", a=1)).result) == '{"a":1}'


def test_plain_http_asked_for_tls_says_so(bench: Bench, chaos_url: str) -> None:
    with pytest.raises(TlsFailed, match="TLS with 127"):
        bench.open(http(chaos_url.replace("http:", "https:")))


REFUSED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@contextmanager
def proxy(answer: bytes = REFUSED) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy, or server, that notes the first line of each request and answers all alike."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    wire, _ = listener.accept()
                except OSError:
                    return
                with wire:
                    seen.append(wire.recv(65_536).split(b"\r\n")[0])
                    wire.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(BOUND)


def test_a_proxy_of_the_environment_is_for_other_machines_only(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with proxy() as (address, seen), chaos_http() as url:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, address)
        connection = bench.open(http(url))
        assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'
        assert seen == []
        with pytest.raises((HttpFailed, NetworkFailed)):
            bench.open(http("http://server.invalid/mcp"))
        assert seen[0] == b"POST http://server.invalid/mcp HTTP/1.1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("mcp.localhost", True),
        ("0.0.0.0", True), ("example.com", False), ("10.0.0.1", False), ("localhost.example.com", False), ("", False),
    ],
)  # fmt: skip
def test_which_hosts_are_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


@pytest.mark.parametrize(
    ("host", "says"), [("127.0.0.1:80", "try localhost"), ("h.example", "whoever runs it")]
)
def test_a_refusal_blames_the_spelling_of_localhost_only_there(host: str, says: str) -> None:
    found = Exchange(Link(Journal(), 1), httpx2.Response(403), 1)
    assert says in refuse_status(found, b"", f"http://{host}/mcp").remedy


def test_headers_of_the_definition_and_of_a_call_are_sent(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern", headers={"X-Team": "blue"}))
    asked = call("echo", owner="ünï")
    connection.ask("tools/call", asked, headers={"Mcp-Param-Owner": "=?base64?w7xuw68=?="})
    last = verb(bench, "POST")[-1]
    assert (last["x-team"], last["mcp-param-owner"]) == ("blue", "=?base64?w7xuw68=?=")


def test_closing_while_the_optional_stream_hangs_is_no_failure(bench: Bench) -> None:
    with chaos_http("get_stream") as url:
        for _ in range(5):
            connection = bench.open(http(url, era="handshake"))
            bench.until(lambda event: event.method == "notifications/tools/list_changed")
            connection.close()
    assert bench.anomalies() == []


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
def test_an_answer_compressed_twice_is_refused_unpacked_no_further(bench: Bench, media_type: str) -> None:
    body = gzip.compress(gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{}}'))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n"
    whole = f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    with proxy(whole) as (url, _), pytest.raises(HttpFailed, match=r"more than once \(gzip, gzip\)"):
        bench.open(http(f"{url}/mcp"))
    assert [each for each in bench.of("rpc") if each.dir == "s2c"] == []


def test_a_server_that_went_away_fails_each_call_and_not_the_console(bench: Bench) -> None:
    with chaos_http() as url:
        connection = bench.open(http(url, era="modern"))
    for _ in range(2):
        with pytest.raises(NetworkFailed):
            connection.ask("tools/list")


@pytest.mark.parametrize(("tool", "noted"), [("anything", []), ("torn", ["network"])])
def test_a_stream_that_breaks_off_after_an_id_is_taken_up_again(
    bench: Bench, tool: str, noted: list[str]
) -> None:
    with serving(SERVERS / "breaks_off.py") as url:
        connection = bench.open(http(url, era="handshake"))
        assert text_of(connection.ask("tools/call", call(tool)).result) == "the rest"
        again = [e for e in bench.of("http", phase="request") if dict(e.body["headers"]).get("Last-Event-ID")]
        first = bench.of("rpc", dir="c2s", method="tools/call")[0]
        assert [dict(e.body["headers"])["Last-Event-ID"] for e in again] == ["first"]
        assert again[0].dt_us - first.dt_us >= 300_000, "not before the server's retry"
        assert bench.anomalies() == noted


def test_the_servers_own_stream_torn_off_is_taken_up_where_it_was(bench: Bench) -> None:
    with serving(SERVERS / "breaks_off.py") as url:
        bench.open(http(url + "?torn", era="handshake"))
        heard = bench.until(lambda event: event.t == "rpc" and event.method == "notifications/x")
        asked = next(e for e in bench.of("http", phase="request") if e.seq == heard.body["http"])
        assert dict(asked.body["headers"])["Last-Event-ID"] == "own"


def test_the_servers_own_stream_outlives_a_resumed_one_and_what_it_ends_with_is_kept(bench: Bench) -> None:
    with serving(SERVERS / "breaks_off.py") as url:
        connection = bench.open(http(url, era="handshake"))
        bench.until(lambda event: event.body.get("sse") == {"comment": "hello"})
        connection.ask("tools/call", call("anything"))
        assert isinstance(connection.transport, HttpTransport)
        assert connection.transport.stream_open
        connection.ask("hang-up")
        left = bench.until(lambda event: event.t == "noise")
        assert (left.raw, left.body["why"]) == (b"data: half", "unterminated server-sent event")
