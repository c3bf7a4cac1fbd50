"""What is recorded is what crossed: beside an independent witness, at every size, and cut where it must be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench import SERVERS, Bench, call, chaos, http, matches, python, script, text_of

from inspector.errors import ConnectionLost, HttpFailed
from inspector.wire import http_base, sse, stdio
from inspector.wire.dispatcher import RawJson
from inspector.wire.events import Event

EOL = {"lf": b"\n", "crlf": b"\r\n", "none": b""}

ODD = r"""
import os, sys
ask = sys.stdin.buffer.readline
def out(raw): os.write(1, raw)
ask()
out(b'> pkg@1 start\n[dotenv] \xe2\x9c\x93\r\n{"jsonrpc":"2.0", "id":1,"error":{"code":-32601,"message":"no"}}\r\n')
ask()
HELLO
ask()
os.write(2, b"\x1b[31mred\x1b[0m \x00 \x93\r\nplain\n" + b"e" * 70_000 + b"tail without newline")
ask()
out(b'{"jsonrpc":"2.0","id":10,"result":{"a":1,"a" : 2,"n":1.0,"big":725653563933458432,"s":"\\ud83d"}}\n')
out(b'\xff\xfe not utf-8\n{"jsonrpc":"2.0","method":"x"}\r\n{"half":')
"""


def rebuilt(events: list[Event]) -> bytes:
    return b"".join((event.raw or b"") + EOL[event.body.get("eol", "lf")] for event in events)


def wire(bench: Bench, direction: str) -> list[Event]:
    """rpc and noise of one direction, as recorded."""
    return [e for e in bench.events if e.t in ("rpc", "noise") and e.dir == direction]


def test_every_byte_of_three_streams_is_recorded_as_a_witness_saw_it(bench: Bench, tmp_path: Path) -> None:
    hello = b'{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}\n'
    server = tmp_path / "odd.py"
    server.write_text(ODD.replace("HELLO", f"out({hello!r})"))
    seen = tmp_path / "seen"
    connection = bench.open(python(SERVERS / "tee.py", seen, "--", sys.executable, server))
    reply = connection.ask("tools/call", {"name": "ünï", "arguments": RawJson('{"n":1.00, "n":2}')})
    assert reply.result["big"] == 725653563933458432
    assert reply.raw.startswith(b'{"jsonrpc":"2.0","id":10,"result":{"a":1,"a" : 2,"n":1.0,')
    bench.until(lambda event: event.t == "proc" and event.body["what"] == "exited")
    connection.close()
    assert rebuilt(wire(bench, "s2c")) == (seen / "stdout").read_bytes()
    assert rebuilt(wire(bench, "c2s")) == (seen / "stdin").read_bytes()
    assert rebuilt(bench.of("stderr")) == (seen / "stderr").read_bytes()
    assert [event.body["why"] for event in bench.of("noise")] == [
        "not JSON at character 0",
        "not JSON at character 1",
        "invalid UTF-8 at byte 0",
        "unterminated, not JSON at character 8",
    ]


@pytest.mark.parametrize(("era", "spoken"), [("auto", "2026-07-28"), ("handshake", "2025-11-25")])
def test_a_real_sdk_server_is_recorded_as_a_witness_saw_it(
    bench: Bench, tmp_path: Path, era: str, spoken: str
) -> None:
    demo = python("-m", "inspector.demo", "flat").argv
    connection = bench.open(python(SERVERS / "tee.py", tmp_path, "--", *demo, era=era))
    assert connection.peer is not None and connection.peer.protocol_version == spoken
    assert len(connection.ask("tools/list").result["tools"]) == 50
    connection.ask("tools/call", call("list_invoices", customerId=1))
    connection.close()
    assert bench.anomalies() == []
    streams = {"stdout": wire(bench, "s2c"), "stdin": wire(bench, "c2s"), "stderr": bench.of("stderr")}
    assert {name: rebuilt(events) for name, events in streams.items()} == {
        name: (tmp_path / name).read_bytes() for name in streams
    }


@pytest.mark.parametrize("size", [65_536, 65_537, 1_048_576, 20_971_520])
def test_a_long_line_comes_whole_and_the_session_goes_on(shared: Bench, size: int) -> None:
    connection = shared.open(chaos(era="modern"))
    reply = connection.ask("tools/call", call("long_line", bytes=size))
    assert (len(reply.raw), connection.link.stats.noise) == (size, 0)
    assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'
    connection.close()


def test_a_long_server_sent_event_comes_whole(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    assert len(connection.ask("tools/call", call("sse_big_event", bytes=5_000_000)).raw) == 5_000_000


def test_a_line_past_the_cap_is_cut_and_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LINE_CAP", 100_000)
    connection = bench.open(chaos(era="handshake"))
    asked = connection.submit("tools/call", call("long_line", bytes=300_000), timeout=20)
    cut = bench.until(lambda event: event.t == "noise")
    assert (cut.body["cut"], cut.body["full_bytes"], len(cut.raw or b"")) == (True, 300_000, stdio.CUT_KEPT)
    asked.cancel()
    assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'


@pytest.mark.parametrize("name", ["long_line", "sse_big_event"])
def test_an_http_answer_past_the_cap_fails_that_call_alone(
    bench: Bench, chaos_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(http_base, "LINE_CAP", 100_000)
    monkeypatch.setattr(sse, "LINE_CAP", 100_000)
    connection = bench.open(http(chaos_url, era="modern"))
    with pytest.raises(HttpFailed, match="more than 100,000 bytes"):
        connection.ask("tools/call", call(name, bytes=300_000))
    assert bench.anomalies() == ["too-long"]
    assert text_of(connection.ask("tools/call", call("echo", a=1)).result) == '{"a":1}'


@pytest.mark.parametrize("name", ["stderr_flood", "stderr_unbroken"])
def test_a_flood_on_stderr_is_drained_while_the_answer_is_made(bench: Bench, name: str) -> None:
    connection = bench.open(chaos(era="modern"))
    assert text_of(connection.ask("tools/call", call(name, bytes=1_048_576)).result) == name
    connection.close()
    lines = bench.of("stderr")
    terminated = sum(event.body.get("eol", "lf") == "lf" for event in lines)
    assert sum(len(event.raw or b"") for event in lines) + terminated == 1_048_576
    assert max(len(event.raw or b"") for event in lines) < 2 * stdio.STDERR_CHUNK


def test_stderr_on_the_probe_does_not_stall_the_handshake(bench: Bench) -> None:
    bench.open(chaos("stderr_at_start", "stderr_on_probe"))
    assert bench.asked() == ["server/discover", "initialize", "notifications/initialized"]


def test_blank_lines_are_counted_and_nothing_else(bench: Bench) -> None:
    connection = bench.open(chaos(era="modern"))
    connection.ask("tools/call", call("blank_lines"))
    connection.ask("tools/call", call("echo"))
    assert (connection.link.stats.blank_lines, connection.link.stats.noise, bench.of("noise")) == (4, 0, [])


def test_an_answer_is_paired_with_its_request_and_carries_its_eol(bench: Bench) -> None:
    connection = bench.open(chaos(era="modern"))
    reply = connection.ask("tools/call", call("crlf"))
    answer = bench.events[reply.seq - 1]
    assert matches(
        answer, {"kind": "result", "method": "tools/call", "eol": "crlf", "pair": reply.request_seq}
    )
    assert (answer.raw, answer.ms) == (reply.raw, reply.ms)


def test_a_frame_is_recorded_before_it_is_written(bench: Bench) -> None:
    """The server leaves at the first byte: what we sent is recorded all the same."""
    connection = bench.make(script("import os; os.read(0, 1); os._exit(3)", era="handshake"))
    with pytest.raises(ConnectionLost, match="code 3"):
        connection.open()
    assert bench.asked() == ["initialize"]


def test_our_frames_have_a_fixed_form(bench: Bench) -> None:
    connection = bench.open(chaos(era="handshake"))
    connection.ask("ping")
    connection.ask("ping", {"text": "ünï"})
    connection.ask("ping", {"text": "ünï\ud83d", "raw": RawJson("[1.0,  1E2]")})
    sent = [event.raw for event in bench.of("rpc", dir="c2s", kind="request")][1:]
    assert sent == [
        b'{"jsonrpc":"2.0","id":10,"method":"ping"}',
        '{"jsonrpc":"2.0","id":11,"method":"ping","params":{"text":"ünï"}}'.encode(),
        b'{"jsonrpc":"2.0","id":12,"method":"ping","params":{"text":"\\u00fcn\\u00ef\\ud83d","raw":[1.0,  1E2]}}',
    ]


def test_over_http_frames_name_the_exchange_that_carried_them(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    reply = connection.ask("tools/call", call("sse_fields"))
    carried = [bench.events[seq - 1].body["http"] for seq in (reply.request_seq, reply.seq)]
    assert carried[0] == carried[1]
    assert bench.events[reply.seq - 1].body["sse"] == {"event": "message", "id": "7", "retry": 1500}
    phases = [e.body["phase"] for e in bench.of("http") if carried[0] in (e.seq, e.pair)]
    assert phases == ["request", "response", "end"]
    connection.ask("tools/call", call("sse_keepalive_comments"))
    comments = [e.body["sse"] for e in bench.of("http") if "sse" in e.body]
    assert comments == [{"comment": "ping"}, {"comment": ""}, {"comment": "bye"}]


def test_an_http_body_that_is_no_frame_is_kept_with_its_end(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    with pytest.raises(HttpFailed) as caught:
        connection.ask("tools/call", call("html_500"))
    end = bench.of("http", phase="end", pair=caught.value.facts["http_seq"])[0]
    assert end.raw == b"<!doctype html><title>Error</title><h1>The proxy is unwell</h1>\n"
    assert (caught.value.facts["status"], end.body["bytes"]) == (500, len(end.raw))
    with pytest.raises(HttpFailed, match=r"invalid UTF-8 at byte \d+"):
        connection.ask("tools/call", call("bad_utf8_body"))


def test_notifications_behind_an_answer_on_its_stream_are_recorded(bench: Bench, chaos_url: str) -> None:
    connection = bench.open(http(chaos_url, era="modern"))
    reply = connection.ask("tools/call", call("sse_after_response"))
    late = bench.of("rpc", method="notifications/message")[0]
    assert late.seq > reply.seq
