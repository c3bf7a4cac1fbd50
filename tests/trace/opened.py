"""Trace files made for a test: a few honest lines, and lines nobody should send."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

HEADER: dict[str, Any] = {
    "t": "header", "format": "mcp-trace", "v": 1, "minor": 0, "tool": {"name": "other", "version": "9"},
    "created": "2026-11-30T00:00:00.000000Z", "title": "made", "note": "", "redaction": None,
    "clock": {"wall0": "2026-11-30T00:00:00.000000Z", "mono_unit": "us"},
}  # fmt: skip


def event(seq: int, t: str = "rpc", **fields: Any) -> dict[str, Any]:
    """An event of connection 1, a second after the one before it."""
    plain = {
        "t": t,
        "seq": seq,
        "c": 1,
        "at": f"2026-11-30T00:00:{seq % 60:02}.000000Z",
        "dt": seq * 1_000_000,
        "dir": "local",
    }
    return plain | fields


def introduced(seq: int = 1, c: int = 1, label: str = "git") -> dict[str, Any]:
    target = {"argv": ["mcp-server-git"], "cwd": None, "env_names": []}
    return event(
        seq, "connection", c=c, label=label, server_key="", transport="stdio", target=target, era="modern"
    )


def request(seq: int, method: str = "tools/call", params: Any = None, **fields: Any) -> dict[str, Any]:
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": seq, "method": method, **({"params": params} if params else {})}
    )
    return (
        event(seq, dir="c2s", kind="request", method=method, id=seq, raw=raw, bytes=len(raw.encode()))
        | fields
    )


def answer(seq: int, pair: int, result: Any, method: str = "tools/call", **fields: Any) -> dict[str, Any]:
    raw = json.dumps({"jsonrpc": "2.0", "id": pair, "result": result})
    return (
        event(
            seq,
            dir="s2c",
            kind="result",
            method=method,
            id=pair,
            pair=pair,
            ms=1.5,
            raw=raw,
            bytes=len(raw.encode()),
        )
        | fields
    )


def exchange() -> list[dict[str, Any]]:
    """A listing of one tool and a call."""
    tool = {"name": "status", "inputSchema": {"type": "object"}}
    return [
        introduced(), request(2, "tools/list"), answer(3, 2, {"tools": [tool]}, "tools/list"),
        request(4, params={"name": "status"}), answer(5, 4, {"content": []}),
    ]  # fmt: skip


def write(path: Path, events: list[Any], header: dict[str, Any] | None = None, *, whole: bool = True) -> Path:
    """The file, with a fitting last line. An event may be a line of its own making (bytes)."""
    lines = [_line(header or HEADER), *[each if isinstance(each, bytes) else _line(each) for each in events]]
    content = b"".join(lines)
    if whole:
        content += _line(
            {"t": "end", "events": len(events), "complete": True, "redaction_counts": {}, "redaction_skipped": [],
             "sha256": hashlib.sha256(content).hexdigest()}
        )  # fmt: skip
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


def _line(fields: dict[str, Any]) -> bytes:
    return (
        json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
    )
