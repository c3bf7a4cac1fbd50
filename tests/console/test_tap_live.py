"""A tap tells a running console what it records: exact bytes, its own times; the console may go and come again."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inspector.cli.serve import ask_for_link
from inspector.console.console import Console as InProcess
from inspector.console.tapped import Taps
from inspector.settings.paths import ConsoleState, Paths, process_started, read_console
from inspector.trace.file_reader import read_trace
from inspector.trace.rows import Row, rfc3339
from inspector.trace.store import Store
from inspector.wire.events import Journal

ROOT = Path(__file__).resolve().parents[2]
BOUND = 40.0
SECRET = "correct-horse-battery-7"
ECHO = r"""
import os, sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0,"t":"%s"}}\n' % os.environb.get(b"MY_TOKEN", b""))
    sys.stdout.buffer.write(b'noise \xff\n')
    sys.stdout.buffer.flush()
    sys.stderr.write("heard\n")
    sys.stderr.flush()
"""
ASK = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0,"t":"%s"}}' % SECRET.encode()


@dataclass
class Console:
    """A console process on a data folder."""

    process: subprocess.Popen[str]
    data: Path

    @property
    def state(self) -> ConsoleState:
        (path,) = self.data.glob("console-*.json")
        found = read_console(path)
        assert found is not None
        return found

    def rows(self) -> list[Row]:
        """Everything in its recording, with the whole of raw."""
        with Store(Paths.locate(self.data).database) as store:
            session = store.sessions()[0].id
            return list(store.events(session))

    def wait(self, enough: Callable[[list[Row]], bool]) -> list[Row]:
        deadline = time.monotonic() + BOUND
        while not enough(rows := self.rows()):
            assert time.monotonic() < deadline, [(row.t, row.kind, row.raw_head) for row in rows]
            threading.Event().wait(0.05)
        return rows

    def page(self, path: str) -> str:
        """A page as a browser that followed the login link gets it."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(ask_for_link(self.state.url, self.state.admin_secret), timeout=BOUND):
            pass
        with opener.open(self.state.url.rstrip("/") + path, timeout=BOUND) as answer:
            return str(answer.read().decode())


def environment(data: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "MCP_LOUPE_DATA": str(data), **more}


@contextmanager
def running(data: Path) -> Iterator[Console]:
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", "serve", "--json", "--no-open", "--port", "0"],
        stdout=subprocess.PIPE, text=True, env=environment(data), cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert json.loads(process.stdout.readline())["url"]
        yield Console(process, data)
    finally:
        process.terminate()
        process.wait(BOUND)
        process.stdout.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with running(tmp_path_factory.mktemp("tap") / "loupe") as found:
        yield found


@contextmanager
def tapping(data: Path, name: str, *words: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A tap before ECHO, as a client starts it; its trace is `name` beside the data folder."""
    record = data.parent / f"{name}.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-m", "inspector", "tap", "--quiet", "--record", str(record), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(data, **env), cwd=ROOT,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield child
    finally:
        child.stdin.close()
        assert child.wait(BOUND) == 0
        child.stdout.close()


def exchange(child: subprocess.Popen[bytes]) -> list[bytes]:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(ASK)
    child.stdin.flush()
    return [child.stdout.readline(), child.stdout.readline()]


def command(name: str, data: Path) -> list[str]:
    script = data.parent / f"{name}.py"
    script.write_text(ECHO)
    return ["--", sys.executable, str(script)]


def events(data: Path, name: str) -> list[dict[str, Any]]:
    with read_trace(data.parent / f"{name}.jsonl") as trace:
        return list(trace)


class Answering(BaseHTTPRequestHandler):
    """Refuses every POST, with a body that is no JSON-RPC."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(404, "Nothing here")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def peer() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join(BOUND)


def test_what_a_tap_records_is_in_the_console_as_it_crossed(console: Console) -> None:
    before = len(console.rows())
    with tapping(console.data, "quiet", "--no-live", *command("quiet", console.data)) as child:
        exchange(child)
    assert len(events(console.data, "quiet")) > 4
    with tapping(console.data, "one", *command("one", console.data), MY_TOKEN=SECRET) as child:
        assert exchange(child) == [ANSWER + b"\n", b"noise \xff\n"]
        console.wait(lambda rows: any(row.t == "stderr" for row in rows[before:]))
        assert "tapped, live" in console.page("/timeline")
    filed = events(console.data, "one")
    rows = console.wait(lambda rows: len(rows) - before >= len(filed))[before:]
    assert [(row.t, row.kind, rfc3339(row.at_us), row.ms) for row in rows] == [
        (each["t"], each.get("kind"), each["at"], each.get("ms")) for each in filed
    ]
    (asked,) = [row for row in rows if row.kind == "request"]
    (answer,) = [row for row in rows if row.kind == "result"]
    assert asked.raw_head == ASK.strip()
    (mark,) = re.findall(rb"\[redacted:R9:\d+\]", answer.raw_head or b"")
    assert answer.raw_head == ANSWER.replace(SECRET.encode(), mark), (
        "only what the server was given is hidden"
    )
    assert (answer.pair, answer.bytes, answer.cut) == (asked.seq, len(ANSWER), False)
    assert [row.raw_head for row in rows if row.t == "noise"] == [b"noise \xff"]
    assert SECRET not in (console.data.parent / "one.jsonl").read_text()
    (first, *_) = [row for row in rows if row.t == "connection"]
    named = (first.body["label"], first.body["server_key"], first.body["tapped"])
    assert named == ("one", "tap:one", True)
    page = console.page(f"/timeline?server={first.body['server_key']}")
    assert "tapped, live" not in page
    assert "It is watched only; nothing can be called on it from here." in page
    assert 'href="/servers/tap' not in page


def test_an_http_tap_tells_the_console_too(console: Console, peer: HTTPServer) -> None:
    before = len(console.rows())
    url = f"http://127.0.0.1:{peer.server_port}/mcp"
    tap = subprocess.Popen(
        [sys.executable, "-m", "inspector", "tap", "--quiet", "--url", url, "--listen", "0"],
        stdout=subprocess.PIPE, text=True, env=environment(console.data), cwd=ROOT,
    )  # fmt: skip
    assert tap.stdout is not None
    try:
        local = json.loads(tap.stdout.readline())["url"]
        body = b'{"jsonrpc":"2.0","id":5,"method":"ping"}'
        address = urlsplit(local)
        connection = http.client.HTTPConnection(address.netloc, timeout=BOUND)
        connection.request("POST", address.path, body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()
        rows = console.wait(
            lambda rows: (
                any(row.body.get("phase") == "end" for row in rows[before:])
                and any(b"Nothing here" in (row.raw_head or b"") for row in rows[before:])
            )
        )[before:]
    finally:
        tap.terminate()
        tap.wait(BOUND)
        tap.stdout.close()
    (asked,) = [row for row in rows if row.body.get("phase") == "request"]
    (frame,) = [row for row in rows if row.kind == "request"]
    assert (frame.raw_head, frame.body["http"]) == (body, asked.seq)
    assert {row.pair for row in rows if row.body.get("phase") in ("response", "end")} == {asked.seq}
    assert [row.body["status"] for row in rows if row.body.get("phase") == "response"] == [404]
    assert any(b"Nothing here" in (row.raw_head or b"") for row in rows)


def post(console: Console, body: bytes, secret: str | None = None, **headers: str) -> int:
    state = console.state
    connection = http.client.HTTPConnection("127.0.0.1", state.port, timeout=BOUND)
    shown = state.admin_secret if secret is None else secret
    connection.request("POST", "/_tap", body, {"Authorization": f"Bearer {shown}", **headers})
    status = connection.getresponse().status
    connection.close()
    return status


def test_only_this_users_programs_may_tell_and_only_what_a_tap_records(console: Console) -> None:
    before = len(console.rows())
    head = b'{"tap":"x","name":"n","pid":1,"started":2.5}\n'
    event = {"t": "stderr", "seq": 1, "c": 1, "at": "2026-11-30T01:02:03.000004Z", "data": "x", "enc": "utf8"}
    whole = head + json.dumps(event).encode() + b"\n"
    assert post(console, whole, "wrong") == 403
    assert post(console, whole, Origin="http://evil.example") == 403
    assert post(console, whole, Host="evil.example") == 403
    assert post(console, b'{"tap":"never-introduced","name":"n"}\n') == 409
    bad: list[dict[str, Any]] = [
        {**event, **change}
        for change in (
            {"t": "session"}, {"seq": "1"}, {"c": None}, {"at": 3}, {"at": "soon"}, {"enc": "base64", "data": "%"},
            {"http": [1]},
        )
    ]  # fmt: skip
    for one in bad:
        assert post(console, head + json.dumps(one).encode()) == 422, one
    assert post(console, b"") == post(console, b"[1]\n") == post(console, head + b"not json\n") == 422
    assert len(console.rows()) == before
    assert post(console, whole) == 200
    (row,) = console.wait(lambda rows: len(rows) > before)[before:]
    assert (row.raw_head, rfc3339(row.at_us)) == (b"x", event["at"])


def test_what_a_tapped_server_was_given_is_in_no_export_made_after_a_restart_nor_on_the_disk(
    tmp_path: Path,
) -> None:
    data = tmp_path / "loupe"
    with running(data) as console, tapping(
        data, "raw", "--no-redact", *command("raw", data), MY_TOKEN=SECRET
    ) as child:  # fmt: skip
        exchange(child)
        console.wait(lambda rows: any(row.kind == "result" for row in rows))
    assert SECRET in (data.parent / "raw.jsonl").read_text(), "the file was asked to hold it"
    with InProcess(Paths.locate(data)) as later:
        session = next(each.id for each in later.store().sessions() if each.events)
        plan = later.exports.plan(session, later.secrets)
        assert later.exports.preview(plan, BOUND) is not None
        for kind in ("trace", "html", "otlp"):
            made = later.exports.write(plan, kind, "after")
            assert made.task.result(BOUND) is not None
            text = made.path.read_text()
            assert "tools/list" in text
            assert SECRET not in text
    held = [file for file in data.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]
    assert held == []


def test_a_tap_that_was_killed_is_not_called_live() -> None:
    taps = Taps(Journal())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    started = process_started(ended.pid)
    ended.wait(BOUND)
    for pid, since in ((os.getpid(), process_started(os.getpid())), (ended.pid, started)):
        taps.take(json.dumps({"tap": str(pid), "name": "n", "pid": pid, "started": since}).encode(), [])
    assert [tap.live for tap in taps.all()] == [True, False]
    taps.take(json.dumps({"tap": str(os.getpid()), "name": "n", "end": True}).encode(), [])
    assert [tap.live for tap in taps.all()] == [False, False]


def test_the_console_may_be_killed_and_started_again_while_a_tap_runs(tmp_path: Path) -> None:
    data = tmp_path / "loupe"
    with tapping(data, "long", "--log", str(tmp_path / "tap.log"), *command("long", data)) as child:
        exchange(child)  # nobody is there to be told
        with running(data) as console:
            _until(console, child)
            console.process.kill()
            console.process.wait(BOUND)
            exchange(child)
        with running(data) as console:
            rows = _until(console, child)
            (connection,) = {row.c for row in rows if row.t == "connection"}
            assert {row.c for row in rows} == {connection}
            assert exchange(child)[1] == b"noise \xff\n"
    asked = [each for each in events(data, "long") if each.get("kind") == "request"]
    assert len(asked) >= 5
    assert "is gone" in (tmp_path / "tap.log").read_text()


def _until(console: Console, child: subprocess.Popen[bytes]) -> list[Row]:
    """Ask until the console is told: a tap looks for one every two seconds."""
    deadline = time.monotonic() + BOUND
    while not any(row.kind == "result" for row in console.rows()):
        assert time.monotonic() < deadline
        exchange(child)
        threading.Event().wait(0.1)
    return console.rows()
