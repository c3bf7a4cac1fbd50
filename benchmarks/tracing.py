"""`trace-file`: a trace written with redaction on, and read back, against `json` and a bare file on the same lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Row, compared
from benchmarks.setting import CORPUS, catalog_file, console_gc, scratch
from benchmarks.timing import Side, interleaved
from inspector.trace.file import encode, event_fields, event_line
from inspector.trace.file_reader import read_trace
from inspector.trace.redact import Redactor, Rules
from inspector.wire.events import C2S, S2C, Event

CALLS, ROUNDS, MOST = 4000, 9, 1 / 0.3
RULES = Rules.default(["correct-horse-battery", "sk-test-12345678abcd"], user="annabel", home="/home/annabel")


def trace_file() -> list[Row]:
    """Small calls, and the lists of real servers; the bar of 0.3 × the speed is 3.33 × the time."""
    console_gc()
    with scratch() as folder:
        files = sorted(CORPUS.parent.glob("*.jsonl")) if CORPUS.exists() else [catalog_file(folder)]
        lists = [
            _event(number, line, "result", "tools/list")
            for number, line in enumerate(
                [line for file in files for line in file.read_bytes().splitlines()], 1
            )
        ]
        calls = [event for number in range(1, CALLS, 2) for event in _call(number)]
        return [*_rows("small calls", calls, folder), *_rows("lists", lists, folder)]


def _event(seq: int, raw: bytes, kind: str, method: str) -> Event:
    direction = C2S if kind == "request" else S2C
    return Event(
        "rpc", 1, direction, {"eol": "lf"}, raw, kind, method, str(seq), seq=seq, at_us=10**15, dt_us=seq
    )


def _call(seq: int) -> list[Event]:
    asked = {
        "name": "billing_get_invoice",
        "arguments": {"invoice_id": f"INV-{seq:06d}", "expand": ["lines"]},
    }
    text = json.dumps(
        {"invoice": f"INV-{seq:06d}", "total": seq * 13.37, "lines": [{"sku": "A-1", "quantity": 2}]}
    )
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    request = json.dumps({"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": asked})
    answer = json.dumps({"jsonrpc": "2.0", "id": seq, "result": result})
    return [
        _event(seq, request.encode(), "request", "tools/call"),
        _event(seq + 1, answer.encode(), "result", "tools/call"),
    ]


def _rows(what: str, events: list[Event], folder: Path) -> list[Row]:
    fields = [event_fields(event) for event in events]
    target, bare = folder / "ours.jsonl", folder / "bare.jsonl"
    head = {"t": "header", "format": "mcp-trace", "v": 1, "minor": 0}

    def written(redacting: Callable[[], Redactor | None]) -> None:
        redaction = redacting()
        with target.open("wb") as file:
            file.write(encode(head))
            file.writelines(event_line(event, redaction) for event in events)

    def dumped() -> None:
        with bare.open("wb") as file:
            file.writelines(
                json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                for each in fields
            )

    def read() -> None:
        with read_trace(target) as trace:
            assert sum(1 for _ in trace) == len(events)

    def loaded() -> None:
        with bare.open("rb") as file:
            assert sum(1 for line in file if json.loads(line)) == len(events)

    times = interleaved(
        ROUNDS,
        {
            "redacted": Side(lambda: written(lambda: Redactor(RULES))),
            "plain": Side(lambda: written(lambda: None)),
            "dumps": Side(dumped),
            "read": Side(read),
            "loads": Side(loaded),
        },
    )
    dumps, loads = "json.dumps and a bare file", "a bare file and json.loads"
    return [
        compared(f"trace-file, {what}, written redacted", times["redacted"], times["dumps"], dumps, bar=MOST),
        compared(f"trace-file, {what}, written as it is", times["plain"], times["dumps"], dumps, bar=MOST),
        compared(f"trace-file, {what}, read", times["read"], times["loads"], loads, bar=MOST),
    ]
