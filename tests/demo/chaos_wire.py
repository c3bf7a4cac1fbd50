"""A raw client of the chaos server, on pipes and on sockets, and the frames its faults must write."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
CHAOS = [sys.executable, "-m", "inspector.demo.chaos"]
BOUND = 30.0
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CONTENT = b'"content":[{"type":"text","text":"%b"}]'


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def request(method: str, id_: Any = 7, **params: Any) -> bytes:
    return dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def call(name: str, **arguments: Any) -> bytes:
    return request("tools/call", name=name, arguments=arguments)


def result(inside: bytes, id_: bytes = b"7") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":{%b}}' % (id_, inside)


def right(name: str, id_: bytes = b"7") -> bytes:
    return result(CONTENT % name.encode(), id_)


def structured(name: str, inside: bytes) -> bytes:
    return result(CONTENT % name.encode() + b',"structuredContent":' + inside)


class Child:
    """A server on pipes; every read is bounded."""

    def __init__(self, *options: str) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*CHAOS, *options], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )

    def send(self, *frames: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(frame + b"\n" for frame in frames))

    def until(self, end: bytes, stream: str = "stdout") -> bytes:
        """Bytes up to and without `end`."""
        source = getattr(self.process, stream)
        seen, deadline = bytearray(), time.monotonic() + BOUND
        while not seen.endswith(end):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([source], [], [], left)[0], seen[-500:]
            piece = os.read(source.fileno(), 65_536)
            assert piece, seen[-500:]
            seen += piece
        return bytes(seen[: -len(end)])

    def wrote(self, *frames: bytes) -> bytes:
        """All that stdout carried for these frames, known complete by a ping behind them."""
        self.send(*frames, request("ping", "sync"))
        return self.until(result(b"", b'"sync"') + b"\n")

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.stdin = None

    def end(self) -> tuple[bytes, bytes, int]:
        """Close stdin; the rest of stdout and stderr, and the exit code."""
        out, err = self.process.communicate(timeout=BOUND)
        return out, err, self.process.returncode


def run(*frames: bytes, options: tuple[str, ...] = ()) -> tuple[bytes, bytes, int]:
    """stdout, stderr and exit code of a server that got these frames and then EOF."""
    given = b"".join(frame + b"\n" for frame in frames)
    done = subprocess.run([*CHAOS, *options], cwd=ROOT, input=given, capture_output=True, timeout=BOUND)
    return done.stdout, done.stderr, done.returncode


class Web:
    """The server on HTTP and raw sockets to it."""

    def __init__(self, *options: str) -> None:
        self.child = Child("--http", "0", *options)
        self.url = json.loads(self.child.until(b"\n"))["url"]
        self.port = urlsplit(self.url).port
        self.session = b""

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=BOUND)

    def exchange(
        self, body: bytes = b"", *headers: bytes, verb: bytes = b"POST", path: bytes = b"/mcp"
    ) -> bytes:
        """Every byte the server sends until it closes."""
        with self.connect() as wire:
            wire.sendall(self.head(body, *headers, verb=verb, path=path) + body)
            return read_all(wire)

    def head(self, body: bytes, *headers: bytes, verb: bytes = b"POST", path: bytes = b"/mcp") -> bytes:
        session = [b"Mcp-Session-Id: " + self.session] if self.session else []
        accept = b"Accept: application/json, text/event-stream"
        fixed = [verb + b" " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: close", accept]
        return b"\r\n".join([*fixed, *session, *headers, b"Content-Length: %d" % len(body), b"", b""])

    def open_session(self) -> bytes:
        self.session = b""
        answer = self.exchange(request("initialize", protocolVersion="2025-11-25", capabilities={}))
        self.session = answer.split(b"Mcp-Session-Id: ")[1].split(b"\r\n")[0]
        return answer


def read_all(wire: socket.socket) -> bytes:
    seen = bytearray()
    while piece := wire.recv(65_536):
        seen += piece
    return bytes(seen)


NOTE = b'{"jsonrpc":"2.0","method":"notifications/%b"}'
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"%b","progress":%d,"total":3}}'
DUPLICATE = b'"content" :  [{"type":"text","text":"first"}],"content":[{"type":"text","text":"second"}]'

FRAMES: dict[str, list[bytes]] = {
    "wrong_id": [right("wrong_id", b"100007")],
    "id_as_string": [right("id_as_string", b'"7"')],
    "id_as_float": [right("id_as_float", b"7.0")],
    "duplicate_answer": [
        right("duplicate_answer"),
        result(CONTENT % b"duplicate_answer" + b',"_meta":{"again":true}'),
    ],
    "unknown_id": [right("unknown_id", b'"nobody-asked"'), right("unknown_id")],
    "null_id_error": [b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}'],
    "missing_id": [b'{"jsonrpc":"2.0","result":{' + CONTENT % b"missing_id" + b"}}"],
    "result_and_error": [
        right("result_and_error")[:-1] + b',"error":{"code":-32603,"message":"and yet it failed"}}'
    ],
    "neither": [b'{"jsonrpc":"2.0","id":7}'],
    "result_is_list": [b'{"jsonrpc":"2.0","id":7,"result":[{' + CONTENT % b"result_is_list" + b"}]}"],
    "result_is_null": [b'{"jsonrpc":"2.0","id":7,"result":null}'],
    "no_jsonrpc": [b'{"id":7,"result":{' + CONTENT % b"no_jsonrpc" + b"}}"],
    "jsonrpc_one": [right("jsonrpc_one").replace(b'"2.0"', b'"1.0"')],
    "batch_answer": [b"[" + right("batch_answer") + b"]"],
    "error_is_string": [b'{"jsonrpc":"2.0","id":7,"error":"it failed"}'],
    "error_code_string": [b'{"jsonrpc":"2.0","id":7,"error":{"code":"EFAILED","message":"it failed"}}'],
    "sdk_code": [b'{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"Request timed out"}}'],
    "duplicate_keys": [result(DUPLICATE)],
    "server_request": [b'{"jsonrpc":"2.0","id":"chaos-1","method":"ping"}', right("server_request")],
    "unknown_notification": [NOTE[:-1] % b"chaos" + b',"params":{"n":1}}', right("unknown_notification")],
    "list_changed": [NOTE % b"tools/list_changed", right("list_changed")],
    "progress_with_token": [right("progress_with_token")],
    "progress_backwards": [
        *(PROGRESS % each for each in ((b"absent", 2), (b"absent", 1), (b"nobody-gave", 3))),
        right("progress_backwards"),
    ],
    "is_error": [result(CONTENT % b"Chaos refused the call" + b',"isError":true')],
    "big_integer": [
        result(CONTENT % b'{\\"id\\":725653563933458432}' + b',"structuredContent":{"id":725653563933458432}')
    ],
    "odd_numbers": [
        structured("odd_numbers", b'{"odd":[1e999,-0.0,1.0,1E2,0.100000000000000005551115123126]}')
    ],
    "nan_number": [structured("nan_number", b'{"mean":NaN}')],
    "lone_surrogate": [right("half \\ud83c emoji")],
    "control_characters": [right("a\\u0000b \\u001b[31mred \u202egnp.exe \u2028end")],
    "markup": [right("</pre><script>document.title='owned'</script>")],
    "no_structured_content": [right("no_structured_content")],
    "wrong_structured_content": [structured("wrong_structured_content", b'{"sum":"three"}')],
    "error_without_structure": [result(CONTENT % b"error_without_structure" + b',"isError":true')],
    "no_content": [result(b"")],
    "odd_content": [
        result(
            b'"content":[{"type":"hologram","depth":3},'
            b'{"type":"image","data":"not base64!","mimeType":"image/png"},"bare"]'
        )
    ],
    "unknown_result_type": [result(CONTENT % b"unknown_result_type" + b',"resultType":"bogus"')],
    "no_result_type": [right("no_result_type")],
    "empty_input_required": [result(b'"resultType":"input_required"')],
}
