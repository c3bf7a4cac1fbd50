"""Traces of frames a test names, written by the product's own link and writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inspector.protocol import frames
from inspector.trace.file import TraceFileWriter
from inspector.wire.events import Journal
from inspector.wire.link import Link, Outgoing


def ask(id_: Any, method: str, params: Any = None, **members: Any) -> bytes:
    value = {"jsonrpc": "2.0", "id": id_, "method": method, **members}
    return json.dumps(value if params is None else {**value, "params": params}).encode()


def call(id_: Any, name: str, **arguments: Any) -> bytes:
    return ask(id_, "tools/call", {"name": name, "arguments": arguments})


def write_trace(path: Path, *lines: tuple[str, bytes], c: int = 1) -> Path:
    """A trace of these frames: (">", raw) went to the server, ("<", raw) came from it."""
    journal = Journal()
    writer = TraceFileWriter(path, journal, tool_version="0")
    link = Link(journal, c)
    link.emit("connection", label="recorded", transport="stdio")
    for way, raw in lines:
        if way == "<":
            link.received(raw)
        else:
            frame = frames.classify(raw)
            link.sent(Outgoing(raw, frame.kind, frame.id, frame.method))
    writer.close()
    return path
