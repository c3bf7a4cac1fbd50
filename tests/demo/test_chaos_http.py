"""The chaos server on streamable HTTP, byte by byte, through raw sockets: no SDK, no HTTP library."""

from __future__ import annotations

import gzip
import json
import select
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_wire import BOUND, CONTENT, FRAMES, META, Web, call, dumps, read_all, request, result, right

HTML = b"<!doctype html><title>Error</title><h1>The proxy is unwell</h1>\n"
JSON = b"Content-Type: application/json\r\n"
LATE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"late"}}'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    served = Web()
    served.open_session()
    yield served
    assert served.child.end()[2] == 0


@pytest.mark.parametrize("name", FRAMES)
def test_a_fault_of_a_frame_is_a_json_body_or_a_stream_of_events_on_http(web: Web, name: str) -> None:
    head, _, body = web.exchange(call(name)).partition(b"\r\n\r\n")
    frames = FRAMES[name]
    if len(frames) == 1:
        assert (head.split(b"\r\n")[1], body) == (b"Content-Type: application/json", frames[0])
    else:
        events = (b"event: message\ndata: %b\n\n" % frame for frame in frames)
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in events)
        assert body == chunks + b"0\r\n\r\n"


def sized(status: bytes, body: bytes, kind: bytes = JSON, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n%b\r\n%b" % (status, kind, len(body), extra, body)


def typed(kind: bytes) -> bytes:
    return b"Content-Type: %b\r\n" % kind


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + end


def event(frame: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % frame


def half(name: str) -> bytes:
    return right(name)[: len(right(name)) // 2]


OK = b"HTTP/1.1 200 OK\r\n" + JSON
ERROR_0 = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid Request"}}'
MISMATCH = (
    b"""{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"Mcp-Name: header 'foo', body 'bar'"}}"""
)
REFUSED = (
    b'{"jsonrpc":"2.0","id":"server-error",'
    b'"error":{"code":-32600,"message":"Not Acceptable: Client must accept text/event-stream"}}'
)
SCOPE = b'WWW-Authenticate: Bearer error="insufficient_scope", scope="chaos:write"\r\n'
PARTY = event(right("party \U0001f389")).replace(b"\n", b"\r\n")
FIELDS = b"\xef\xbb\xbfid: 7\rretry: 1500\rcolor: red\revent: message\rdata: %b\r\r" % right("sse_fields")

BYTES: dict[str, bytes] = {
    "html_500": sized(b"500 Internal Server Error", HTML, typed(b"text/html; charset=utf-8")),
    "json_500": sized(
        b"500 Internal Server Error",
        b'{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Chaos inside"}}',
    ),
    "json_400": sized(b"400 Bad Request", ERROR_0),
    "bare_404": sized(b"404 Not Found", b"", b""),
    "text_409": sized(b"409 Conflict", b"another request is running\n", typed(b"text/plain")),
    "rate_limited": sized(
        b"429 Too Many Requests", b"slow down\n", typed(b"text/plain"), b"Retry-After: 7\r\n"
    ),
    "empty_202": sized(b"202 Accepted", b"", b""),
    "body_202": sized(b"202 Accepted", right("body_202")),
    "empty_200": sized(b"200 OK", b"", b"", JSON),
    "wrong_content_type": sized(b"200 OK", right("wrong_content_type"), typed(b"text/plain")),
    "no_content_type": sized(b"200 OK", right("no_content_type"), b""),
    "bad_json": sized(b"200 OK", half("bad_json")),
    "bad_utf8_body": sized(b"200 OK", result(CONTENT % b"\x93")),
    "redirect_loop": sized(b"307 Temporary Redirect", b"", b"", b"Location: /mcp\r\n"),
    "redirect_away": sized(b"302 Found", b"", b"", b"Location: http://elsewhere.invalid/mcp\r\n"),
    "drop_body": OK + b"Content-Length: %d\r\n\r\n" % len(right("drop_body")) + half("drop_body"),
    "drop_before_headers": b"",
    "cut_chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(half("cut_chunks"), end=b""),
    "byte_chunks": OK
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + chunked(*(bytes([byte]) for byte in right("byte_chunks"))),
    "no_http": right("no_http") + b"\n",
    "header_mismatch": sized(b"400 Bad Request", MISMATCH),
    "needs_scope": sized(b"403 Forbidden", b"", b"", SCOPE),
    "sse_after_response": STREAM + chunked(event(right("sse_after_response")), event(LATE)),
    "sse_keepalive_comments": STREAM
    + chunked(b": ping\n\n", b":\n\n", event(right("sse_keepalive_comments")), b": bye\n\n"),
    "sse_drop": STREAM + chunked(event(LATE), end=b""),
    "sse_no_answer": STREAM + chunked(event(LATE)),
    "sse_unfinished": STREAM + chunked(event(right("sse_unfinished"))[:-2]),
    "sse_not_json": STREAM + chunked(b"data: hello from the proxy\n\n", event(right("sse_not_json"))),
    "sse_many_data_lines": STREAM
    + chunked(b"data:" + right("sse_many_data_lines").replace(b',"', b',\ndata:"') + b"\n\n"),
    "sse_fields": STREAM + chunked(FIELDS),
    "sse_other_event": STREAM + chunked(b"event: answer\ndata: " + right("sse_other_event") + b"\n\n"),
}


@pytest.mark.parametrize("name", BYTES)
def test_an_http_fault_writes_these_bytes_and_the_next_call_works(web: Web, name: str) -> None:
    assert web.exchange(call(name)) == BYTES[name]
    assert web.exchange(request("ping")) == sized(b"200 OK", result(b""))


def test_an_event_is_cut_inside_a_character_and_inside_a_line_end(web: Web) -> None:
    body = web.exchange(call("sse_split")).removeprefix(STREAM)
    pieces = []
    while body:
        size, _, body = body.partition(b"\r\n")
        pieces.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]
    assert b"".join(pieces) == PARTY
    assert (pieces[0][-1:], pieces[1][:1], pieces[1][-2:], pieces[3]) == (b"\r", b"\n", b"\xf0\x9f", b"\n")


def test_a_big_event_is_exactly_as_big_as_asked(web: Web) -> None:
    body = web.exchange(call("sse_big_event", bytes=2_097_152)).removeprefix(STREAM)
    assert len(body.split(b"data: ")[1].split(b"\n")[0]) == 2_097_152


def test_a_gzipped_answer_is_the_answer(web: Web) -> None:
    head, _, body = web.exchange(call("gzip_anyway")).partition(b"\r\n\r\n")
    assert head.endswith(b"Content-Encoding: gzip")
    assert gzip.decompress(body) == right("gzip_anyway")


def test_a_reset_is_a_reset(web: Web) -> None:
    with pytest.raises(ConnectionResetError):
        web.exchange(call("reset_connection"))


def test_a_stream_stays_open_after_its_answer_until_the_client_goes(web: Web) -> None:
    expected = STREAM + chunked(event(right("sse_never_ends")), end=b"")
    with web.connect() as wire:
        wire.sendall(web.head(call("sse_never_ends")) + call("sse_never_ends"))
        assert read_exactly(wire, len(expected)) == expected
        assert is_silent(wire)


def test_a_call_that_is_never_answered_gets_no_byte(web: Web) -> None:
    with web.connect() as wire:
        wire.sendall(web.head(call("never_answer")) + call("never_answer"))
        assert is_silent(wire)


def test_an_answer_comes_on_the_stream_once_the_call_is_cancelled(web: Web) -> None:
    asked = call("late_answer_after_cancel")
    with web.connect() as wire:
        wire.sendall(web.head(asked) + asked)
        assert read_exactly(wire, len(STREAM)) == STREAM
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert web.exchange(dumps(cancel)) == sized(b"202 Accepted", b"", b"")
        assert read_all(wire) == chunked(event(right("late_answer_after_cancel")))


def read_exactly(wire: socket.socket, size: int) -> bytes:
    seen = b""
    while len(seen) < size:
        piece = wire.recv(size - len(seen))
        assert piece, seen
        seen += piece
    return seen


def is_silent(wire: socket.socket) -> bool:
    return not select.select([wire], [], [], 0.05)[0]


@pytest.mark.parametrize("status", [404, 400, 401])
def test_a_session_is_lost_once_and_a_new_one_works(web: Web, status: int) -> None:
    name, old = (
        {404: "session_lost_404", 400: "session_lost_400", 401: "session_lost_401"}[status],
        web.session,
    )
    assert web.exchange(call(name)).split()[1] == b"%d" % status
    assert web.exchange(request("ping")).split()[1] == b"%d" % status
    web.open_session()
    assert web.session != old
    assert web.exchange(call(name)) == sized(b"200 OK", right(name))


def test_a_healthy_server_checks_accept_session_origin_and_the_modern_headers(web: Web) -> None:
    listing = request("tools/list", _meta=META)
    version, method = b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: tools/list"
    assert web.exchange(listing, version, method).split()[1] == b"200"
    refused = web.exchange(listing, version)
    assert (refused.split()[1], json.loads(refused.split(b"\r\n\r\n")[1])["error"]) == (
        b"400",
        {"code": -32020, "message": "Mcp-Method: header None, body 'tools/list'"},
    )
    echo = request("tools/call", name="echo", arguments={"owner": "é"}, _meta=META)
    named = (version, b"Mcp-Method: tools/call", b"Mcp-Name: echo")
    assert b"Mcp-Param-Owner: header None, body '\xc3\xa9'" in web.exchange(echo, *named)
    assert web.exchange(echo, *named, b"Mcp-Param-Owner: =?base64?w6k=?=").split()[1] == b"200"
    assert web.exchange(request("ping"), b"Origin: http://evil.example").split()[1] == b"403"
    assert web.exchange(request("none", _meta=META), version, b"Mcp-Method: none").split()[1] == b"404"
    session, web.session = web.session, b""
    assert web.exchange(request("ping")).split()[1] == b"400"
    web.session = session


def test_a_server_can_refuse_whatever_is_accepted() -> None:
    odd = Web("--fault", "not_acceptable")
    assert odd.exchange(request("initialize")) == sized(b"406 Not Acceptable", REFUSED)
    odd.child.end()


def test_the_other_verbs_are_refused_or_answered_as_chosen(web: Web) -> None:
    assert web.exchange(verb=b"GET").split()[1] == b"405"
    assert b"Mcp-Session-Id" in web.exchange(verb=b"OPTIONS")
    chosen = ("get_refused=500", "delete_405", "cors_missing_headers")
    odd = Web(*(part for each in chosen for part in ("--fault", each)))
    assert odd.exchange(verb=b"GET").split()[1] == b"500"
    assert odd.exchange(verb=b"DELETE").split()[1] == b"405"
    assert odd.exchange(verb=b"OPTIONS").endswith(b"Access-Control-Allow-Headers: Content-Type\r\n\r\n")
    odd.child.end()


def test_a_get_or_delete_can_hang_and_a_preflight_ask_for_a_login() -> None:
    odd = Web(
        "--fault", "get_hangs", "--fault", "delete_hangs", "--fault", "cors_401", "--fault", "handshake_500"
    )
    for verb in (b"GET", b"DELETE"):
        with odd.connect() as wire:
            wire.sendall(odd.head(b"", verb=verb))
            assert is_silent(wire)
    assert odd.exchange(verb=b"OPTIONS").split()[1] == b"401"
    assert odd.exchange(request("initialize")).endswith(HTML)
    odd.child.end()


def test_a_get_stream_carries_a_notification_and_stays_open() -> None:
    odd = Web("--fault", "get_stream")
    note = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    expected = STREAM + chunked(event(note), end=b"")
    with odd.connect() as wire:
        wire.sendall(odd.head(b"", verb=b"GET"))
        assert read_exactly(wire, len(expected)) == expected
        assert is_silent(wire)
    odd.child.end()


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("header", b"/login/about"),
        ("root", b"/.well-known/oauth-protected-resource"),
        ("suffixed", b"/.well-known/oauth-protected-resource/mcp"),
        ("none", b""),
    ],
)
def test_auth_metadata_is_in_one_place_only(place: str, path: bytes) -> None:
    odd = Web("--fault", f"needs_auth={place}")
    challenge = b'www-authenticate: bearer resource_metadata="http://localhost/login/about"\r\n'
    assert odd.exchange(request("ping")) == sized(
        b"401 Unauthorized", b"", b"", challenge if place == "header" else b""
    )
    tried = (b"/login/about", *(b"/.well-known/oauth-protected-resource" + tail for tail in (b"", b"/mcp")))
    found = [each for each in tried if odd.exchange(verb=b"GET", path=each).split()[1] == b"200"]
    assert found == [path] * bool(path)
    odd.child.end()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_certificate_of_nobody_is_served(tmp_path: Path) -> None:
    pem = tmp_path / "both.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*make, "-subj", "/CN=chaos", "-days", "2", "-keyout", pem, "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
        timeout=BOUND,
    )
    pem.write_bytes(pem.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    odd = Web("--fault", f"self_signed={pem}")
    assert odd.url.startswith("https://")
    with odd.connect() as wire, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(wire, server_hostname="127.0.0.1")
    trusting = ssl.create_default_context(cafile=tmp_path / "cert.pem")
    trusting.check_hostname = False
    with trusting.wrap_socket(odd.connect()) as wire:
        wire.sendall(odd.head(request("ping")) + request("ping"))
        assert read_all(wire).split()[1] == b"400"
    odd.child.end()
