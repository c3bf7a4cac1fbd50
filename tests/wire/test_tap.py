"""The tap passes every byte on, records what it was, ends as the server does, and never gets in the way."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from bench import ROOT, SERVERS, Bench, sse
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client
from tcp_tee import TcpTee

from inspector.trace.file_reader import read_trace
from inspector.wire import tap_http_record
from inspector.wire.events import Event, Journal
from inspector.wire.http1 import BODY, END, HEAD, OPAQUE, Head, Http1Splitter
from inspector.wire.tap_http_record import HttpRecord
from inspector.wire.tap_record import TapRecord

BOUND = 40
TEE = str(SERVERS / "tee.py")
STREAMS = ("stdin", "stdout", "stderr")


def tap(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "inspector", "tap", "--quiet", *map(str, words)]


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "MCP_LOUPE_DATA": str(folder / "loupe")}


def lines(path: Path) -> list[dict[str, Any]]:
    with read_trace(path) as trace:
        found = list(trace)
    assert trace.problem is None
    assert not trace.incomplete
    return found


def run(command: list[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, input=given, env=environment(folder), cwd=folder, capture_output=True, timeout=BOUND
    )


# --- stdio


ODD = r"""
import sys
given = sys.stdin.buffer.read()
out, err = sys.stdout.buffer, sys.stderr.buffer
out.write(b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2.0}}\r\nListening\xff\n\n  \n{"jsonrpc":"2.0","id":"\xfe"}\n')
out.write(given + b'{"x":"' + b"y" * 3_000_000 + b'"}\n{"jsonrpc":"2.0","method":"cut')
err.write(b"one\r\ntwo\xff\x1b[31m" + b"z" * 200_000)
out.flush(), err.flush()
sys.exit(7)
"""


def test_no_byte_is_changed_either_way(tmp_path: Path) -> None:
    """An independent witness on both sides of the tap, and a server that keeps to no rule."""
    trace = tmp_path / "one.jsonl"
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    given = b'{"jsonrpc":"2.0","id":1,"method":"m"}\r\n\xff\xfe\n' + b" " * 100_000 + b"\nno end"
    tapped = tap("--record", trace, "--no-redact", "--", sys.executable, TEE, inside, "--", *script(ODD))
    done = run([sys.executable, TEE, str(outside), "--", *tapped], tmp_path, given)
    assert done.returncode == 7
    for stream in STREAMS:
        assert (outside / stream).read_bytes() == (inside / stream).read_bytes()
    assert (inside / "stdin").read_bytes() == given
    found = lines(trace)
    raw = [(line["dir"], line["kind"], line["eol"]) for line in found if line["t"] == "rpc"]
    assert raw[:3] == [("c2s", "request", "crlf"), ("c2s", "unparsed", "lf"), ("c2s", "unparsed", "none")]
    assert found[-1]["what"] == "exited"
    assert found[-1]["code"] == 7
    said = [line for line in found if line["t"] == "stderr"]
    assert (said[0]["data"], said[0]["eol"], said[-1]["eol"]) == ("one", "crlf", "none")


def test_a_fastmcp_client_talks_through_it_to_a_real_server(tmp_path: Path) -> None:
    trace, outside, inside = tmp_path / "one.jsonl", tmp_path / "outside", tmp_path / "inside"
    server = str(Path(sys.executable).with_name("mcp-server-time"))
    program, *words = [
        sys.executable, TEE, str(outside), "--", *tap("--record", trace), "--", sys.executable, TEE, str(inside), "--",
        server,
    ]  # fmt: skip
    transport = StdioTransport(program, words, env=environment(tmp_path), keep_alive=False)

    async def use() -> tuple[set[str], Any]:
        with anyio.fail_after(BOUND):
            async with FastClient(transport) as client:
                tools = {tool.name for tool in await client.list_tools()}
                called = await client.call_tool("get_current_time", {"timezone": "Europe/Paris"})
                return tools, called.content[0]

    tools, content = anyio.run(use)
    assert tools == {"get_current_time", "convert_time"}
    assert "Europe/Paris" in content.text
    for stream in STREAMS:
        assert (outside / stream).read_bytes() == (inside / stream).read_bytes()
    found = lines(trace)
    sent, came = (
        b"".join(line["raw"].encode() + b"\n" for line in found if line["t"] == "rpc" and line["dir"] == way)
        for way in ("c2s", "s2c")
    )
    assert (sent, came) == ((inside / "stdin").read_bytes(), (inside / "stdout").read_bytes())
    introduced = [line for line in found if line["t"] == "connection"][-1]
    assert introduced["server_info"]["name"] == "mcp-time"
    (answer,) = [line for line in found if line.get("method") == "tools/call" and line["kind"] == "result"]
    assert answer["ms"] > 0


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_the_servers(tmp_path: Path, code: int) -> None:
    assert run([*tap("--"), *script(f"raise SystemExit({code})")], tmp_path).returncode == code


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_it_ends_by_the_signal_that_ended_the_server(tmp_path: Path, name: str) -> None:
    trace = tmp_path / "one.jsonl"
    number = getattr(signal, name)
    done = run(
        [*tap("--record", trace, "--"), *script(f"import os; os.kill(os.getpid(), {number})")], tmp_path
    )
    assert done.returncode == -number
    assert lines(trace)[-1]["signal"] == name


TRAP = """
import os, signal, sys
came = 0
def on(number, frame):
    os.write(1, b"%d\\n" % number)
    sys.exit(number)
signal.signal(signal.{name}, on)
os.write(1, b"ready\\n")
while True: signal.pause()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_reaches_the_server(tmp_path: Path, name: str) -> None:
    trace = tmp_path / "one.jsonl"
    child = subprocess.Popen(
        [*tap("--record", trace, "--"), *script(TRAP.format(name=name))],
        env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),  # a job in the background ignores some
    )  # fmt: skip
    assert child.stdin and child.stdout
    assert child.stdout.readline() == b"ready\n"
    number = getattr(signal, name)
    child.send_signal(number)
    assert child.stdout.read() == b"%d\n" % number
    assert child.wait(BOUND) == number
    child.stdin.close()
    child.stdout.close()
    (told,) = [line for line in lines(trace) if line.get("what") == "term"]
    assert told["signal"] == name


def test_what_a_client_does_to_the_group_reaches_the_server(tmp_path: Path) -> None:
    """SIGKILL cannot be forwarded: the server must be in the tap's own group."""
    child = subprocess.Popen(
        [*tap("--"), *script("import os; os.write(1, b'%d\\n' % os.getpgrp()); input()")],
        env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdin and child.stdout
    assert int(child.stdout.readline()) == child.pid
    os.killpg(child.pid, signal.SIGKILL)
    assert child.stdout.read() == b""
    assert child.wait(BOUND) == -signal.SIGKILL
    child.stdin.close()
    child.stdout.close()


def test_a_server_that_closes_its_stdout_is_seen_to(tmp_path: Path) -> None:
    text = "import os, sys; os.write(1, b'x'); os.close(1); sys.stdin.read(); sys.exit(4)"
    child = subprocess.Popen(
        [*tap("--"), *script(text)], env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin and child.stdout
    assert child.stdout.read() == b"x"  # EOF while the server still runs
    assert child.poll() is None
    child.stdin.close()
    assert child.wait(BOUND) == 4
    child.stdout.close()


def test_a_client_that_closes_its_end_is_felt_by_the_server(tmp_path: Path) -> None:
    text = "import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: os.write(1, b'x' * 4096)"
    child = subprocess.Popen(
        [*tap("--"), *script(text)], env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin and child.stdout
    assert child.stdout.read(1) == b"x"
    child.stdout.close()
    assert child.wait(BOUND) == -signal.SIGPIPE
    child.stdin.close()


def test_it_says_where_the_trace_is_and_hides_secrets_there_only(tmp_path: Path) -> None:
    secret = "correct-horse-battery-staple"
    answer = '{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}'
    server = script(f"import os; print('{answer}' % os.environ['SOME_API_KEY'])")
    done = subprocess.run(
        [sys.executable, "-m", "inspector", "tap", "--", *server],
        env={**environment(tmp_path), "SOME_API_KEY": secret}, capture_output=True, timeout=BOUND, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == answer % secret + "\n"
    said = done.stderr.decode()
    assert said.startswith("mcp-loupe tap: recording to ")
    (trace,) = (tmp_path / "loupe" / "taps").iterdir()
    assert str(trace) in said
    assert secret not in trace.read_text()
    assert "[redacted:" in trace.read_text()


def test_traffic_flows_when_nothing_can_be_recorded_and_the_log_says_so(tmp_path: Path) -> None:
    taken = tmp_path / "taken.jsonl"
    taken.write_text("precious")
    log = tmp_path / "tap.log"
    done = run([*tap("--record", taken, "--log", log, "--"), *script("print(input())")], tmp_path, b"hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello\n", b"")
    assert "Nothing is recorded" in log.read_text()
    assert "exists already" in log.read_text()
    assert taken.read_text() == "precious"


def test_traffic_flows_when_the_disk_fills_up_and_the_log_says_so(tmp_path: Path) -> None:
    log = tmp_path / "tap.log"
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
        "sys.argv[0] = 'x'; runpy.run_module('inspector', run_name='__main__')"
    )
    words = tap("--record", tmp_path / "one.jsonl", "--log", log)[3:]
    size = 3_000_000
    server = script(f"import sys\nfor line in sys.stdin: sys.stdout.write(line)\nprint('x' * {size})")
    done = run([sys.executable, "-c", limited, *words, "--", *server], tmp_path, b"y" * 30_000 + b"\n")
    assert (done.returncode, len(done.stdout)) == (0, 30_001 + size + 1)
    assert "File too large" in log.read_text()


def test_an_error_inside_the_recording_never_reaches_the_traffic() -> None:
    told: list[str] = []

    def full(_event: Event) -> None:
        raise RuntimeError("full")

    record = TapRecord(Journal(full), {"label": "x"}, told.append)
    for _ in range(2):
        record.safely(record.sent, record.link, b"{}")
        record.flush()
    assert told == ["The recording ended, the traffic flows on: RuntimeError: full"]


def test_a_command_that_does_not_exist_is_told_on_stderr_and_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "tap.log"
    done = run([*tap("--log", log, "--"), "no-such-command-here"], tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"no-such-command-here was not found" in done.stderr
    assert "was not found" in log.read_text()


# --- HTTP


def test_the_splitter_gives_every_byte_back_however_it_is_cut() -> None:
    stream = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: x\r\n\r\n"
        b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nX: y\r\n\r\nuntil the end"
    )

    def bodiless(head: Any) -> bool:
        return head.status in (100, 204)

    for size in (1, 2, 7, len(stream)):
        splitter = Http1Splitter(requests=False, bodiless=bodiless)
        pieces = [
            piece for at in range(0, len(stream), size) for piece in splitter.feed(stream[at : at + size])
        ]
        pieces += splitter.finish()
        assert b"".join(piece.raw for piece in pieces) == stream
        assert b"".join(piece.payload for piece in pieces) == b"helloabc0123456789until the end"
        kinds = [piece.kind for piece in pieces if piece.kind != BODY]
        assert kinds == [HEAD, END] * 5
    splitter = Http1Splitter(requests=True)
    (piece,) = splitter.feed(b"\x16\x03\x01 this is TLS\r\n\r\n")
    assert (piece.kind, piece.raw) == (OPAQUE, b"\x16\x03\x01 this is TLS\r\n\r\n")


@pytest.mark.parametrize(
    "body",
    [b"-5\r\nabc", b"+5\r\nhello\r\n", b"0x5\r\nhello\r\n", b"1_0\r\n", b"\r\n", b"9" * 17 + b"\r\n",
     b"5\r\nhello world\r\n", b"1" * 70_000, b"1\r\na" + b"b" * 70_000, b"0\r\n" + b"T" * 70_000],
)  # fmt: skip
def test_a_chunk_that_is_none_makes_the_rest_opaque_and_ends(body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    pieces = list(itertools.islice(Http1Splitter(requests=False).feed(head + body), 10))
    assert b"".join(piece.raw for piece in pieces) == head + body
    assert (pieces[0].kind, pieces[-1].kind) == (HEAD, OPAQUE)


@contextmanager
def http_tap(folder: Path, url: str, *words: str) -> Iterator[str]:
    command = tap("--url", url, "--listen", "0", "--record", folder / "http.jsonl", *words)
    child = subprocess.Popen(
        command, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        yield json.loads(child.stdout.readline())["url"]
    finally:
        child.terminate()
        child.stdout.close()
        assert child.wait(BOUND) == 0


@contextmanager
def demo_flat() -> Iterator[str]:
    child = subprocess.Popen(
        [sys.executable, "-m", "inspector.demo", "flat", "--http", "0"],
        cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stderr is not None
    try:
        url = (
            next(line for line in child.stderr if "listening on " in line)
            .split("listening on ")[1]
            .split()[0]
        )
        yield url
    finally:
        child.terminate()
        child.stderr.close()
        child.wait(BOUND)


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_sdks_client_talks_through_it_to_a_demo(tmp_path: Path, mode: str, version: str) -> None:
    async def use(url: str) -> tuple[str, int, str]:
        with anyio.fail_after(BOUND):
            async with Client(url, mode=mode) as client:
                tools = (await client.list_tools()).tools
                called = await client.call_tool("list_team", {})
                assert isinstance(called.content[0], types.TextContent)
                return client.protocol_version, len(tools), called.content[0].text

    with demo_flat() as url, http_tap(tmp_path, url) as tapped:
        through, direct = anyio.run(use, tapped), anyio.run(use, url)
    assert through == direct
    assert through[0] == version
    found = lines(tmp_path / "http.jsonl")
    answers = {line["method"]: line for line in found if line["t"] == "rpc" and line["kind"] == "result"}
    assert {"tools/list", "tools/call"} <= answers.keys()
    by_seq = {line["seq"]: line for line in found}
    asked = by_seq[answers["tools/call"]["pair"]]
    assert by_seq[asked["http"]]["phase"] == "request"
    assert [line for line in found if line["t"] == "connection"][-1]["protocol_version"] == version


@contextmanager
def fastmcp_over_http() -> Iterator[str]:
    child = subprocess.Popen(
        [sys.executable, SERVERS / "fastmcp_http.py"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        yield child.stdout.readline().strip()
    finally:
        child.terminate()
        child.stdout.close()
        child.wait(BOUND)


def test_a_fastmcp_client_talks_through_it_to_a_real_server_over_http(tmp_path: Path) -> None:
    """A witness before the tap and one behind it: nothing differs but the name in `Host`."""

    async def use(url: str) -> tuple[set[str], str]:
        with anyio.fail_after(BOUND):
            async with FastClient(url) as client:
                tools = {tool.name for tool in await client.list_tools()}
                called = await client.call_tool("get_current_time", {"timezone": "Europe/Paris"})
                return tools, called.content[0].text

    with (
        fastmcp_over_http() as url,
        TcpTee(url) as inside,
        http_tap(tmp_path, inside.url) as tapped,
        TcpTee(tapped) as outside,
    ):
        tools, text = anyio.run(use, outside.url)
    assert tools == {"get_current_time", "convert_time"}
    assert "Europe/Paris" in text
    before, behind = outside.streams("h"), inside.streams("h")
    assert before == behind
    assert b"".join(up for up, _ in behind).count(b"\r\nHost: h\r\n") >= 3
    carried = b"".join(down for _, down in behind)
    assert b"Europe/Paris" in carried
    found = [line for line in lines(tmp_path / "http.jsonl") if line["t"] == "rpc" and line["dir"] == "s2c"]
    assert found
    assert all(line["raw"].encode() in carried for line in found)


class Peer:
    """A server that answers with these bytes, whatever comes, and keeps what came: a witness of its own.

    ends: it closes then, whatever else it announced.
    """

    def __init__(self, answer: bytes, *, then: bytes = b"", until: bytes = b"}", ends: bool = False) -> None:
        self.answer, self.then, self.until, self.ends = answer, then, until, ends
        self.go = threading.Event()
        self.came = b""
        self.left = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/mcp?k=v"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self.socket.accept()
        except OSError:  # nobody came before the end
            return
        with connection:
            connection.settimeout(BOUND)
            while not self.came.endswith(self.until):
                piece = connection.recv(65_536)
                if not piece:  # nothing whole was asked
                    return
                self.came += piece
            connection.sendall(self.answer)
            if self.ends:
                return
            if self.then:
                assert self.go.wait(BOUND)
                connection.sendall(self.then)
            while piece := connection.recv(65_536):
                self.came += piece
            self.left.set()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # closing alone leaves an accept waiting
        self.socket.close()
        self.thread.join(BOUND)
        assert not self.thread.is_alive()


def connect(url: str) -> socket.socket:
    host, port = url.split("/")[2].split(":")
    return socket.create_connection((host, int(port)), timeout=BOUND)


def receive(client: socket.socket, size: int) -> bytes:
    came = b""
    while len(came) < size:
        came += client.recv(65_536) or pytest.fail(f"the connection ended after {came!r}")
    return came


def test_over_http_only_the_host_is_rewritten(tmp_path: Path) -> None:
    request = b"\r\n".join(
        (
            b"POST /mcp?k=v HTTP/1.1", b"hOsT:   127.0.0.1:1", b"X-Odd:  two  spaces", b"x-odd: again",
            b"Transfer-Encoding: chunked", b"", b"5;ext", b'{"jso', b"2A", b'nrpc":"2.0","id":1,"method":"tools/list"} ',
            b"0", b"Trailer: x", b"", b"",
        )
    )  # fmt: skip
    answer = b'HTTP/1.1 200 Fine\r\nX-B: 1\r\nx-a:2\r\nContent-Length: 39\r\n\r\n{"id":1,"result":{},"jsonrpc" : "2.0"}\n'
    with (
        Peer(answer, until=b"x\r\n\r\n") as peer,
        http_tap(tmp_path, peer.url) as url,
        connect(url) as client,
    ):
        assert url.endswith("/mcp?k=v")
        client.sendall(request)
        assert receive(client, len(answer)) == answer
        client.shutdown(socket.SHUT_WR)
        assert peer.left.wait(BOUND)
        host = peer.url.split("/")[2].encode()
        assert peer.came == request.replace(b"127.0.0.1:1\r", host + b"\r", 1)
    kinds = [(line["t"], line.get("phase") or line.get("kind")) for line in lines(tmp_path / "http.jsonl")]
    assert ("rpc", "request") in kinds
    assert ("rpc", "result") in kinds


@pytest.mark.parametrize("last", [b"5\r\nab", b"1", b"HTTP/1.1 200"])
def test_what_breaks_off_comes_through_once(tmp_path: Path, last: bytes) -> None:
    """Half a head, half a length, half a chunk: the last bytes of either side."""
    asked = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = last if last.startswith(b"HTTP") else head + b"2\r\n{}\r\n" + last
    with Peer(answer, until=b"GET /half", ends=True) as peer:
        with http_tap(tmp_path, peer.url) as url, connect(url) as client:
            client.sendall(asked + b"GET /half")
            client.shutdown(socket.SHUT_WR)
            assert b"".join(iter(lambda: client.recv(65_536), b"")) == answer
        assert peer.came == asked.replace(b"localhost", peer.url.split("/")[2].encode()) + b"GET /half"
    (end,) = [line for line in lines(tmp_path / "http.jsonl") if line.get("phase") == "end"]
    assert end["aborted"] is True


def test_a_client_that_does_not_read_yet_gets_every_byte_and_so_does_a_server(tmp_path: Path) -> None:
    large = b"x" * 3_000_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(large)
    with Peer(answer, then=large) as peer:
        peer.go.set()
        with http_tap(tmp_path, peer.url) as url, connect(url) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n" + b"y" * 2_999_999 + b"}")
            assert receive(client, len(answer) + len(large)) == answer + large
    assert peer.came.count(b"y") == 2_999_999


def test_a_stream_comes_through_as_it_is_sent(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    first = b': hi\n\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
    last = b'id: 7\nevent: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
    with Peer(head + first, then=last) as peer, http_tap(tmp_path, peer.url) as url, connect(url) as client:
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
        client.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        assert receive(client, len(head + first)) == head + first  # before the server said the rest
        peer.go.set()
        assert receive(client, len(last)) == last
    found = [line for line in lines(tmp_path / "http.jsonl") if line["t"] == "rpc"]
    assert [line["kind"] for line in found] == ["request", "notification", "result"]
    assert found[2]["sse"] == {"event": "message", "id": "7"}
    assert found[2]["pair"] == found[0]["seq"]


def test_hanging_up_reaches_the_server_while_it_is_silent(tmp_path: Path) -> None:
    """In the modern era that is how a request is cancelled."""
    with Peer(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n") as peer:
        with http_tap(tmp_path, peer.url) as url:
            with connect(url) as client:
                client.sendall(b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
                receive(client, 10)
            assert peer.left.wait(BOUND)
    (end,) = [line for line in lines(tmp_path / "http.jsonl") if line.get("phase") == "end"]
    assert end["aborted"] is True


def test_two_clients_that_use_one_id_at_once_are_recorded_apart() -> None:
    """Answers are paired by id, and every client counts from 1."""
    kept: list[Event] = []
    record = TapRecord(Journal(kept.append), {"label": "x"})
    http = HttpRecord(record, "http://h")
    head = Head(("POST", "/mcp", "HTTP/1.1"), [])
    answer = Head(("HTTP/1.1", "200", "OK"), [["Content-Type", "application/json"]])
    clients = [http.connection(), http.connection()]
    for client in clients:
        client.asked(head)
        client.sent(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        client.asked_whole()
    for client in reversed(clients):
        client.answering(answer)
        client.came(b'{"jsonrpc":"2.0","id":1,"result":{}}')
        client.answered()
    clients[0].asked(head)
    clients[0].sent(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    clients[0].asked_whole()
    record.flush()
    asked = [event for event in kept if event.kind == "request"]
    answers = [event for event in kept if event.kind == "result"]
    assert [event.c for event in asked] == [1, 2, 1]
    assert [(event.c, event.pair) for event in answers] == [(2, asked[1].seq), (1, asked[0].seq)]


def test_an_answer_that_unpacks_beyond_the_cap_is_said_not_to_be_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tap_http_record, "LINE_CAP", 1000)
    kept: list[Event] = []
    record = TapRecord(Journal(kept.append), {"label": "x"})
    client = HttpRecord(record, "http://h").connection()
    client.asked(Head(("GET", "/mcp", "HTTP/1.1"), []))
    client.asked_whole()
    packed = [["Content-Type", "application/json"], ["Content-Encoding", "gzip"]]
    client.answering(Head(("HTTP/1.1", "200", "OK"), packed))
    client.came(gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{"a":"' + b"x" * 5000 + b'"}}'))
    client.answered()
    record.flush()
    (said,) = [event.body["message"] for event in kept if event.t == "error"]
    assert said.endswith("passed on but not recorded: it unpacks to more than 1,000 bytes")
    assert [event.raw for event in kept if event.dir == "s2c"] == [None, None]


def test_bodies_that_are_not_whole_are_held_up_to_a_bound_and_what_was_not_recorded_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tap_http_record, "LINE_CAP", 100)
    monkeypatch.setattr(tap_http_record, "HELD_CAP", 150)
    kept: list[Event] = []
    record = TapRecord(Journal(kept.append), {"label": "x"})
    http = HttpRecord(record, "http://h")
    whole = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"%s"}}' % (b"x" * 20)
    assert len(whole) == 78
    long, first, second = (http.connection() for _ in range(3))
    for client in (long, first, second):
        client.asked(Head(("POST", "/mcp", "HTTP/1.1"), []))
    long.sent(b"y" * 90)
    long.sent(b"y" * 90)
    long.sent(b"y")
    first.sent(whole)
    second.sent(whole)
    assert http.held == 78
    for client in (long, first, second):
        client.asked_whole()
    record.flush()
    assert http.held == 0
    said = [event.body["message"].partition("recorded: ")[2] for event in kept if event.t == "error"]
    assert said == ["it has more than 100 bytes", "bodies that are not whole yet hold 150 bytes already"]
    assert [event.raw for event in kept if event.t == "rpc"] == [whole]
    assert [event.body["bytes"] for event in kept if event.t == "http"] == [181, 78, 78]


def test_what_is_sent_after_an_early_answer_takes_no_room_from_the_bodies_of_others() -> None:
    """The request was recorded with what had come; the rest was held for ever, its room lost to every later body."""
    kept: list[Event] = []
    record = TapRecord(Journal(kept.append), {"label": "x"})
    http = HttpRecord(record, "http://h")
    client = http.connection()
    client.asked(Head(("POST", "/mcp", "HTTP/1.1"), []))
    client.sent(b"begun")
    client.answering(Head(("HTTP/1.1", "413", "Too Large"), []))
    client.sent(b"and never read")
    client.asked_whole()
    client.answered()
    client.close()
    record.flush()
    assert http.held == 0
    assert [event.raw for event in kept if event.raw] == [b"begun"]


def test_the_old_http_and_sse_transport_comes_through(tmp_path: Path, bench: Bench) -> None:
    server = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "sse_server.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin and server.stdout
    try:
        said = json.loads(server.stdout.readline())
        with http_tap(tmp_path, said["url"] + "/sse") as tapped:
            connection = bench.open(sse(tapped))
            assert connection.ask("tools/list").result == {"tools": []}
            connection.close()
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(BOUND)
    found = lines(tmp_path / "http.jsonl")
    (answer,) = [
        line for line in found if line.get("method") == "tools/list" and line.get("kind") == "result"
    ]
    assert answer["sse"] == {"event": "message"}
    (endpoint,) = [line for line in found if (line.get("sse") or {}).get("event") == "endpoint"]
    assert endpoint["body"] == "/post?session=1"


def test_a_name_that_is_not_this_machine_is_refused(tmp_path: Path) -> None:
    """The server cannot see a rebound DNS name any more once Host is rewritten."""
    with Peer(b"", until=b"") as peer, http_tap(tmp_path, peer.url) as url, connect(url) as client:
        client.sendall(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}")
        assert receive(client, 12).startswith(b"HTTP/1.1 421")
    assert peer.came == b""


@pytest.mark.parametrize("host", ["127.0.0.1", "a" * 64 + ".example"])
def test_a_server_that_is_not_there_is_a_bad_gateway(tmp_path: Path, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://{host}:{taken.getsockname()[1]}/mcp"
    with http_tap(tmp_path, url) as tapped, connect(tapped) as client:
        client.sendall(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert receive(client, 12).startswith(b"HTTP/1.1 502")
    (error,) = [line for line in lines(tmp_path / "http.jsonl") if line["t"] == "error"]
    assert "could not be reached" in error["message"]
