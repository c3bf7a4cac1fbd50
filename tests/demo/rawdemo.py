"""Talks to a demo server in raw JSON lines or HTTP bodies, without any SDK; reader threads feed a queue."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

WAIT_S = 30.0
MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
ERAS = (HANDSHAKE, MODERN)
INFO = {"name": "rawdemo", "version": "0"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}

Frame = dict[str, Any]


def start(*args: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    argv = [sys.executable, "-m", "inspector.demo", *args]
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


class Stdio:
    """One connection. `lines` keeps what the server wrote, byte for byte."""

    def __init__(self, *args: str, era: str) -> None:
        self.era = era
        self.process = start(*args)
        self.lines: list[bytes] = []
        self.errors: list[str] = []
        self._frames: queue.Queue[Frame] = queue.Queue()
        self._next = 9
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()
        if era == HANDSHAKE:
            self.opened = self.ask("initialize", INITIALIZE)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            self.opened = self.ask("server/discover")

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            self._frames.put(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors.extend(line.decode().rstrip() for line in self.process.stderr)

    def send(self, frame: Frame) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Frame | None = None, meta: Frame | None = None) -> int:
        self._next += 1
        stamped = {**(META if self.era == MODERN else {}), **(meta or {})}
        asked = {**(params or {}), **({"_meta": stamped} if stamped else {})}
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": asked})
        return self._next

    def next_frame(self) -> Frame:
        return self._frames.get(timeout=WAIT_S)

    def ask(self, method: str, params: Frame | None = None, meta: Frame | None = None) -> Frame:
        """The whole answer; frames before it are dropped."""
        asked = self.request(method, params, meta)
        while (frame := self.next_frame()).get("id") != asked:
            pass
        return frame

    def result(self, method: str, params: Frame | None = None) -> Frame:
        found: Frame = self.ask(method, params)["result"]
        return found

    def call(self, name: str, arguments: Frame) -> Frame:
        return self.result("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> int:
        """Ends stdin; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return code


@contextmanager
def stdio(*args: str, era: str) -> Iterator[Stdio]:
    opened = Stdio(*args, era=era)
    try:
        yield opened
    finally:
        _end(opened.process)


@contextmanager
def http_server(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The process and its port, once it says that it listens."""
    process = start(*args, "--http", "0")
    try:
        assert process.stderr
        said = process.stderr.readline().decode()
        assert said.startswith("listening on http://127.0.0.1:"), said
        yield process, int(said.rstrip().rstrip("/").rpartition(":")[2])
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(WAIT_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe
        with suppress(BrokenPipeError):
            pipe.close()


class Posted:
    """The answer to one POST: a JSON body, or the events of an SSE stream as they come."""

    def __init__(self, port: int, path: str, frame: Frame, headers: dict[str, str]) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        if frame["method"] == "GET":
            self.connection.request("GET", path, headers=sent)
        else:
            self.connection.request("POST", path, json.dumps(frame).encode(), sent)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.session = self.answer.getheader("mcp-session-id")

    def events(self) -> Iterator[Frame]:
        for line in self.answer:
            if line.startswith(b"data:") and line[5:].strip():
                yield json.loads(line[5:])

    def frame(self) -> Frame:
        """The reply, from either kind of body."""
        if "json" in (self.answer.getheader("content-type") or ""):
            found: Frame = json.loads(self.answer.read())
            return found
        return next(event for event in self.events() if "method" not in event)

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def modern(port: int, path: str, method: str, params: Frame | None = None, **headers: str) -> Posted:
    asked = {"jsonrpc": "2.0", "id": 10, "method": method, "params": {**(params or {}), "_meta": META}}
    sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **headers}
    if params and "name" in params:
        sent["Mcp-Name"] = params["name"]
    return Posted(port, path, asked, sent)


class HttpSession:
    """A handshake session over HTTP."""

    def __init__(self, port: int, path: str) -> None:
        self.port, self.path = port, path
        self.headers: dict[str, str] = {}
        posted = self.post("initialize", INITIALIZE)
        assert posted.session
        self.opened = posted.frame()
        posted.close()
        self.headers = {"Mcp-Session-Id": posted.session, "MCP-Protocol-Version": HANDSHAKE}
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        Posted(port, path, note, self.headers).close()

    def post(self, method: str, params: Frame) -> Posted:
        asked = {"jsonrpc": "2.0", "id": 10, "method": method, "params": params}
        return Posted(self.port, self.path, asked, self.headers)

    def listen(self) -> Posted:
        """The session's standing GET stream."""
        return Posted(self.port, self.path, {"method": "GET"}, self.headers)

    def result(self, method: str, params: Frame) -> Frame:
        posted = self.post(method, params)
        found: Frame = posted.frame()["result"]
        posted.close()
        return found
