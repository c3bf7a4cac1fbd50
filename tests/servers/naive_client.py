"""A stdio client written by hand, with one defect: `naive_client.py DEFECT SERVER…`; `none` has none.

It plays the scenarios of `mcp-loupe conformance --stdio`, one call after the other.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from typing import Any

DEFECT, SERVER = sys.argv[1], sys.argv[2:]
CONTEXT = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "naive", "version": "1"}}


class Gone(Exception):
    pass


class Client:
    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(SERVER, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.came: queue.Queue[Any] = queue.Queue()
        self.last, self.modern = 0, True
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.server.stdout
        if DEFECT == "splitlines":
            whole = self.server.stdout.read1(1 << 20)
            while whole:
                for line in whole.decode().splitlines():
                    self.take(line.encode())
                whole = self.server.stdout.read1(1 << 20)
        else:
            for raw in self.server.stdout:
                self.take(raw)
        self.came.put(None)

    def take(self, raw: bytes) -> None:
        try:
            frame = json.loads(raw)
        except ValueError:
            if DEFECT == "strict":
                os._exit(1)
            return
        if isinstance(frame, dict) and "method" in frame and "id" in frame:
            if DEFECT != "deaf" and (not self.modern or DEFECT == "answers"):
                self.write({"jsonrpc": "2.0", "id": frame["id"], "result": {}})
        elif isinstance(frame, dict):
            self.came.put(frame)

    def write(self, frame: dict[str, Any]) -> None:
        assert self.server.stdin
        text = json.dumps(frame, ensure_ascii=False, indent=2 if DEFECT == "pretty" else None)
        try:
            self.server.stdin.write(text.encode() + b"\n")
            self.server.stdin.flush()
        except OSError:
            raise Gone from None

    def ask(self, method: str, params: dict[str, Any], wait: float = 10) -> dict[str, Any]:
        """The answer; {} when none came in time, and then it was cancelled."""
        self.last += 0 if DEFECT == "one-id" and self.last else 1
        extra = {"_meta": META} if self.modern and DEFECT != "no-meta" else {}
        self.write({"jsonrpc": "2.0", "id": self.last, "method": method, "params": {**params, **extra}})
        wait = 0.2 if DEFECT == "pretty" else wait
        while True:
            try:
                frame = self.came.get(timeout=wait)
            except queue.Empty:
                id_ = str(self.last) if DEFECT == "text-id" else self.last
                self.note("notifications/cancelled", {"requestId": id_})
                return {}
            if frame is None:
                raise Gone
            if frame.get("id") == self.last:
                return dict(frame)

    def note(self, method: str, params: dict[str, Any]) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self) -> None:
        found = self.ask("server/discover", {})
        refused = found.get("error", {}).get("code")
        if refused is not None and DEFECT == "one-code" and refused != -32601:
            sys.exit(1)
        if "result" not in found or DEFECT == "initializes":
            self.modern = False
            self.ask("initialize", HELLO)
            if DEFECT != "hasty":
                self.note("notifications/initialized", {})

    def close(self) -> None:
        assert self.server.stdin
        if DEFECT == "kills":
            self.server.kill()
        self.server.stdin.close()
        if DEFECT != "leaves":
            self.server.wait(10)


def main() -> None:
    if DEFECT == "idle":
        return
    client = Client()
    for _ in range(5 if DEFECT == "restarts" else 0):
        client.server.wait(10)
        client = Client()
    if DEFECT == "blind":
        client.ask("tools/call", {"name": "first"}, 0.2)
        return client.close()
    client.open()
    tools = client.ask("tools/list", {}).get("result", {}).get("tools", [])
    given = {one["name"]: one for one in CONTEXT.get("toolCalls", [])}
    for tool in tools:
        token = tool["inputSchema"]["properties"]["token"]["default"]
        token = token.encode("ascii", "ignore").decode() if DEFECT == "ascii" else token
        wait = given.get(tool["name"], {}).get("cancelAfterMs", 10_000) / 1000
        try:
            wait = 0.3 if DEFECT == "deaf" else wait
            client.ask("tools/call", {"name": tool["name"], "arguments": {"token": token}}, wait)
            if DEFECT == "cancels":
                client.note("notifications/cancelled", {"requestId": client.last})
        except Gone:
            if DEFECT == "no-restart":
                break
            client = Client()
            client.open()
    if DEFECT == "odd":
        assert client.server.stdin
        odd = (
            b"[" * 50_000,
            b'{"jsonrpc":"2.0","id":"\\ud800","method":7,"params":[1]}',
            b"\xff",
            b'{"id":NaN}',
        )
        client.server.stdin.write(b"\n".join((*odd, b'{"jsonrpc":"2.0","id":9,')))
    if DEFECT == "hangs":
        threading.Event().wait()
    client.close()


if __name__ == "__main__":
    main()
