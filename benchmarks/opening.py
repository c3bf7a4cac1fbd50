"""`opening`: a trace file of a million events into the console's list, and the first page of it, against ten thousand."""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

from benchmarks.report import Row, compared
from benchmarks.setting import ROOT, console_gc, scratch
from benchmarks.timing import Side, interleaved
from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.trace.file import encode
from inspector.trace.rows import rfc3339
from inspector.web.app import create_app
from inspector.web.guard import Guard

FEW, MANY = 10_000, 1_000_000
MOST_MIB = 300.0
PORT = 6280
BEGAN_US = 1_796_011_101_000_000
WAIT_S = 1800.0


def lines(events: int) -> Iterator[dict[str, Any]]:
    """Calls and their answers over three connections, frames of about 300 bytes."""
    for c in (1, 2, 3):
        target = {"argv": ["server"], "cwd": None, "env_names": []}
        yield _event(c, c, "connection", dir="local", label=f"server {c}", transport="stdio", target=target)
    for seq in range(4, events, 2):
        c = 1 + seq // 2 % 3
        ask = f'{{"jsonrpc":"2.0","id":{seq},"method":"tools/call","params":{{"name":"t{seq % 40}","arguments":{{}}}}}}'
        answer = (
            f'{{"jsonrpc":"2.0","id":{seq},"result":{{"content":[{{"type":"text","text":"{"x" * 200}"}}]}}}}'
        )
        common = {"method": "tools/call", "cause": "user", "id": seq, "eol": "lf"}
        yield _event(seq, c, "rpc", dir="c2s", kind="request", raw=ask, bytes=len(ask), **common)
        yield _event(
            seq + 1,
            c,
            "rpc",
            dir="s2c",
            kind="result",
            raw=answer,
            bytes=len(answer),
            pair=seq,
            ms=0.05,
            **common,
        )


def _event(seq: int, c: int, t: str, **fields: Any) -> dict[str, Any]:
    return {"t": t, "seq": seq, "c": c, "at": rfc3339(BEGAN_US + seq * 100), "dt": seq * 100, **fields}


def write(path: Path, events: int) -> Path:
    """The file, whole."""
    digest, count = hashlib.sha256(), 0
    at = rfc3339(BEGAN_US)
    header = {
        "t": "header", "format": "mcp-trace", "v": 1, "minor": 0, "tool": {"name": "bench", "version": "1"},
        "created": at, "title": "bench", "note": "", "clock": {"wall0": at, "mono_unit": "us"}, "redaction": None,
    }  # fmt: skip
    with path.open("wb") as file:
        file.write(line := encode(header))
        digest.update(line)
        for fields in lines(events):
            file.write(line := encode(fields))
            digest.update(line)
            count += 1
        end = {"t": "end", "events": count, "complete": True, "redaction_counts": {}, "redaction_skipped": []}
        file.write(encode(end | {"sha256": digest.hexdigest()}))
    return path


def opening() -> list[Row]:
    """Memory and speed of reading the large file; then pages of both through the web application."""
    console_gc()
    with scratch() as folder:
        few, many = write(folder / "few.jsonl", FEW), write(folder / "many.jsonl", MANY)
        paths = Paths.locate(folder / "data").ensure()
        took, peak_mib = _opened(paths, many)
        with Console(paths) as console:
            cancelled = _cancelled(console, many)
            small = console.recordings.open(few, "few").future.result(WAIT_S)
            large = next(each.session for each in console.store().opened() if each.name == many.name)
            client = signed_in(console)
            rate, bare = MANY / took, _json_rate(many)
            return [
                Row("opening, memory", "MiB", peak_mib, None, "nothing", ceiling=MOST_MIB, note=cancelled),
                Row("opening, speed", "/s", rate, bare, "json.loads of the same lines, and nothing else"),
                _pages("opened, first page", client, large, small, ""),
                _pages("opened, one server", client, large, small, "&server=~{0}.1"),
                _pages("opened, by method", client, large, small, "&method=tools/call"),
                _pages("opened, in the middle", client, large, small, "&before={1}"),
            ]


def _opened(paths: Paths, file: Path) -> tuple[float, float]:
    """Seconds, and the most memory a process of its own held."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "inspector", "trace", "import", str(file), "--data-dir", str(paths.data)],
        check=True, stdout=subprocess.DEVNULL, cwd=ROOT, timeout=WAIT_S,
    )  # fmt: skip
    took = time.perf_counter() - began
    return took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _cancelled(console: Console, file: Path) -> str:
    """Cancel a reading once it is under way; what is left of it, in words."""
    job = console.recordings.open(file, "cancelled")
    until = time.monotonic() + WAIT_S
    while (seen := console.recordings.progress(job.token)) is None or seen.read_events == 0:
        assert time.monotonic() < until
        time.sleep(0.1)
    console.recordings.cancel(job.token)
    while console.recordings.progress(job.token) is not None or console.store().unfinished():
        assert time.monotonic() < until
        time.sleep(0.1)
    with console.store() as store:
        left = store.last_seq(seen.session)
    return f"cancelled at {seen.read_events:,} events and more: {left} left"


def _json_rate(file: Path) -> float:
    began, count = time.perf_counter(), 0
    with file.open("rb") as opened:
        for line in opened:
            json.loads(line)
            count += 1
    return count / (time.perf_counter() - began)


def signed_in(console: Console) -> FlaskClient:
    guard = Guard(PORT)
    client = create_app(console, guard).test_client()
    client.get(f"/login?token={guard.mint()}", base_url=f"http://127.0.0.1:{PORT}")
    return client


def _pages(name: str, client: FlaskClient, large: int, small: int, more: str, rounds: int = 21) -> Row:
    """The same page of both files, as the browser gets it."""

    def page(session: int, events: int) -> None:
        answer = client.get(
            f"/timeline?session={session}{more.format(session, events // 2)}",
            base_url=f"http://127.0.0.1:{PORT}",
        )
        assert answer.status_code == 200 and answer.text.count('<tr class="frame') == 200

    sides = {"ours": Side(lambda: page(large, MANY)), "few": Side(lambda: page(small, FEW))}
    times = interleaved(rounds, sides)
    return compared(name, times["ours"], times["few"], f"{FEW:,} events", bar=2)
