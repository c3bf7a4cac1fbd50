"""`tap`: what passing through the tap adds to one question and its answer, recording and redacting on."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from benchmarks.report import Row, machine, print_rows
from benchmarks.setting import READY_S, ROOT, ask, bare_pipe, flat_over_http, replay_spec, scratch
from benchmarks.timing import ratio_of
from inspector.protocol import eras
from inspector.settings.spec import ServerSpec

CALLS, ROUNDS = 100, 15

Work = Callable[[], object]
MOST_MS = 1.0
ECHO = """
import sys, json
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if "id" not in asked: continue
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""
CALL = {"name": "echo", "arguments": {"text": "hello", "n": 1}}


def tap() -> list[Row]:
    """A small call on stdio, the same while a console is told of it, a 3.2 MB list on stdio, a small call over HTTP."""
    with scratch() as folder, console(folder / "loupe"):
        echo = ServerSpec("echo", argv=(sys.executable, "-c", ECHO), cwd=str(ROOT), era="handshake")
        return [
            _stdio("tap, small call", folder, echo, "tools/call", CALL, CALLS, ceiling=MOST_MS),
            _stdio(
                "tap, small call, console running",
                folder,
                echo,
                "tools/call",
                CALL,
                CALLS,
                ceiling=MOST_MS,
                live=folder / "loupe",
            ),
            _stdio("tap, 3.2 MB list", folder, replay_spec(folder), "tools/list", {}, 1),
            _http("tap, HTTP call", folder),
        ]


@contextmanager
def console(data: Path) -> Iterator[None]:
    """A console on this data folder, for the taps that tell one."""
    words = ("serve", "--json", "--no-open", "--port", "0", "--data-dir", str(data))
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            json.loads(child.stdout.readline())
            yield
        finally:
            child.terminate()
            child.wait(READY_S)


def tapped(folder: Path, *words: str, live: Path | None = None) -> tuple[str, ...]:
    number = len(list(folder.iterdir()))
    trace = folder / f"{number}.mcptrace.jsonl"
    told = ("--no-live",) if live is None else ("--data-dir", str(live))
    return (sys.executable, "-m", "inspector", "tap", "--quiet", *told, "--record", str(trace), *words)


def _stdio(
    name: str, folder: Path, spec: ServerSpec, method: str, params: dict[str, object], calls: int,
    *, ceiling: float | None = None, live: Path | None = None,
) -> Row:  # fmt: skip
    through = ServerSpec(
        spec.name, argv=tapped(folder, "--", *spec.argv, live=live), cwd=spec.cwd, era=spec.era
    )
    with bare_pipe(spec) as direct, bare_pipe(through) as there:
        return _row(
            name, lambda: ask(there, method, params), lambda: ask(direct, method, params), calls, ceiling
        )


def _row(name: str, through: Work, direct: Work, calls: int, ceiling: float | None) -> Row:
    """ours: the median call through the tap less the median call without, in ms. The ratio is of whole calls."""
    with_it: list[float] = []
    without: list[float] = []
    for number in range(-1, ROUNDS):
        took, bare = _median_of(through, calls), _median_of(direct, calls)
        if number >= 0:
            with_it.append(took)
            without.append(bare)
    added = median(with_it) - median(without)
    against = "the median call without the tap; ours is what the tap adds to it"
    note = "" if ceiling is None else f"the bar is {ceiling:g} ms added"
    ratio = ratio_of(with_it, without)
    return Row(name, "ms", added * 1000, median(without) * 1000, against, ratio, ceiling=ceiling, note=note)


def _median_of(work: Work, calls: int) -> float:
    took = []
    for _ in range(calls):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return median(took)


@contextmanager
def _http_tap(folder: Path, url: str) -> Iterator[str]:
    argv = tapped(folder, "--url", url, "--listen", "0")
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield json.loads(child.stdout.readline())["url"]
        finally:
            child.terminate()
            child.wait(READY_S)


def _http(name: str, folder: Path) -> Row:
    with ExitStack() as stack:
        url = stack.enter_context(flat_over_http()).url or ""
        there = stack.enter_context(_http_tap(folder, url))
        return _row(name, _posting(there), _posting(url), CALLS, MOST_MS)


def _posting(url: str) -> Work:
    """Asks `server/discover`, which needs no session, over one connection that is kept."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=READY_S)
    meta = eras.modern_meta(eras.LATEST_MODERN, {"name": "bare", "version": "1"}, {})
    body = json.dumps({"jsonrpc": "2.0", "id": 10, "method": "server/discover", "params": {"_meta": meta}})
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": eras.LATEST_MODERN,
        "Mcp-Method": "server/discover",
    }

    def work() -> None:
        connection.request("POST", parts.path, body, headers)
        answer = connection.getresponse()
        assert b'"result"' in answer.read(), answer.status

    return work


def main() -> int:
    facts = machine()
    print(f"load {facts['load']}")
    rows = tap()
    print_rows(rows)
    return 1 if any(row.verdict == "over" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
