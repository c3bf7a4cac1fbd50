"""`make scale`: 1,000,000 events, 200 sessions, 10,000 tools, 24 connections, 5,000 frames/s for a minute, watched.

Not a test: it takes minutes and reports what it saw (docs/performance.md). That nothing is missing is asserted: each
frame carries its number, and the timeline open in Chromium ends with the last one recorded, without a gap between its
rows. The floor is the same servers read by `cat`: what they take of the machine before anybody looks at a frame.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.recording import emit_pairs
from benchmarks.report import describe, machine
from benchmarks.setting import READY_S, ROOT, console_gc, scratch, serve
from inspector.trace.recorder import Recorder
from inspector.wire.events import Journal

sys.path.insert(0, str(ROOT / "tests"))
from browser_path import FLAGS, chromium

SERVER = ROOT / "benchmarks" / "scale_server.py"
PATIENCE_S = 240
FLOOR_READY_S = 3
MOST_ROWS = 500
ENDS_S = 600
"""How long the frames may take on a machine that has other things to do; the pace is what is reported."""
WATCH = """
window.gaps = []; window.long = [];
let last = performance.now();
const tick = now => { gaps.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick);
new PerformanceObserver(list => long.push(...list.getEntries().map(e => e.duration))).observe({type: "longtask"});
"""
LOOK = """() => ({
  gap: Math.max(0, ...gaps.splice(0)), long: Math.max(0, ...long.splice(0)),
  heap: performance.memory ? performance.memory.usedJSHeapSize / 2**20 : 0,
  rows: document.querySelectorAll("tr.frame").length,
})"""
LIVE = "session = (SELECT max(id) FROM session)"


@dataclass(frozen=True)
class Size:
    events: int = 1_000_000
    sessions: int = 200
    tools: int = 10_000
    connections: int = 24
    rate: int = 5_000
    seconds: int = 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    for name, usual in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    size = Size(**vars(parser.parse_args()))
    print(describe(machine()))
    with scratch() as folder:
        data = folder / "data"
        data.mkdir(mode=0o700)
        began = time.perf_counter()
        fill(data / "loupe.db", size)
        print(
            f"{size.events:,} events in {size.sessions - 1} sessions recorded in {time.perf_counter() - began:.0f} s"
        )
        floor(folder, size)
        with console(folder, size) as (process, link), sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium(), args=[*FLAGS, "--enable-precise-memory-info"]
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(PATIENCE_S * 1000)
            run(page, process, link, folder, size)
            browser.close()
    print(f"load after {' '.join(map(str, machine()['load']))}")
    return 0


def fill(path: Path, size: Size) -> None:
    """Every session but the live one."""
    console_gc()
    for _ in range(size.sessions - 1):
        journal = Journal()
        recorder = Recorder(path, journal, tool_version="benchmark")
        emit_pairs(journal, recorder, size.events // (size.sessions - 1) + 1)
        recorder.close(READY_S)


def words(folder: Path, size: Size) -> Iterator[list[str]]:
    """The command of each server; the first one lists `tools` tools."""
    for number in range(size.connections):
        rate = size.rate // size.connections + (number < size.rate % size.connections)
        tools = size.tools if number == 0 else 1
        argv = [sys.executable, SERVER, number, rate, size.seconds, folder / "go", tools]
        yield [str(word) for word in argv]


def floor(folder: Path, size: Size) -> None:
    """The same servers into one `cat`, for up to ten seconds: their CPU time a frame, and the pace that leaves."""
    apart = folder / "floor"
    apart.mkdir()
    short = replace(size, seconds=min(size.seconds, 10))
    servers = [
        psutil.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for argv in words(apart, short)
    ]
    readers = [psutil.Popen(["cat"], stdin=one.stdout, stdout=subprocess.DEVNULL) for one in servers]
    try:
        time.sleep(FLOOR_READY_S)
        before = sum(map(spent, [*servers, *readers]))
        (apart / "go").touch()
        began = time.monotonic()
        until(lambda: len(list(apart.glob("done*"))) == size.connections)
        took, cpu = time.monotonic() - began, sum(map(spent, [*servers, *readers])) - before
    finally:
        for one in servers:
            one.kill()
        for one in [*servers, *readers]:
            one.wait(READY_S)
    frames = size.rate * short.seconds
    print(f"floor: {frames / took:,.0f}/s into cat, {cpu / frames * 1e6:.0f} µs of CPU a frame")


def spent(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def consumers(process: psutil.Process) -> dict[str, float]:
    """CPU seconds so far: of the console with its worker, of the servers, of the browser."""
    used = {"console": spent(process), "servers": 0.0, "browser": 0.0}
    for one in process.children():
        used["servers" if SERVER.name in " ".join(one.cmdline()) else "console"] += spent(one)
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "--headless" in (argv := " ".join(one.cmdline())) or "--type=" in argv:
                used["browser"] += spent(one)
    return used


@contextmanager
def console(folder: Path, size: Size) -> Iterator[tuple[psutil.Popen, str]]:
    """The console with its servers."""
    targets = [f"cmd:{shlex.join(argv)}" for argv in words(folder, size)]
    argv = serve(folder / "data")
    with psutil.Popen([*argv, *targets], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def run(page: Page, process: psutil.Popen, link: str, folder: Path, size: Size) -> None:
    base = link.split("/login")[0]
    page.goto(link)
    cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
    ask = Asking(base, cookie)
    until(
        lambda: (
            len(re.findall(r"state--|connected", ask("/servers")[1])) > 0
            and connected(ask) == size.connections
        )
    )
    print(f"{size.connections} connected")
    for path in ("/traces", "/timeline", "/timeline?session=1", catalog(ask)):
        took = sorted(ask(path)[0] for _ in range(5))
        print(
            f"{path}: {took[2] * 1000:.0f} ms (worst of 5: {took[-1] * 1000:.0f} ms), {len(ask(path)[1]) / 1000:.0f} kB"
        )
    page.add_init_script(WATCH)
    page.goto(f"{base}/timeline")
    page.locator("tr.frame").first.wait_for()
    curve = list[dict[str, float]]()
    before = consumers(process)
    try:
        flooded(curve, page, process, ask, folder, size)
    finally:
        print_curve(curve)
    after, frames = consumers(process), size.rate * size.seconds
    parts = (f"{name} {(after[name] - before[name]) / frames * 1e6:.0f}" for name in before)
    print(f"CPU, µs a frame: {', '.join(parts)}")
    complete(folder / "data" / "loupe.db", size)
    caught_up(page, folder / "data" / "loupe.db")


class Asking:
    """A page over HTTP, as this browser: (seconds, text)."""

    def __init__(self, base: str, cookie: str) -> None:
        self.base, self.cookie = base, cookie

    def __call__(self, path: str) -> tuple[float, str]:
        began = time.perf_counter()
        with urlopen(
            Request(self.base + path, headers={"Cookie": self.cookie}), timeout=PATIENCE_S
        ) as answer:
            text = answer.read().decode()
        return time.perf_counter() - began, text


def connected(ask: Asking) -> int:
    found = re.search(r"(\d+) configured · (\d+) connected", ask("/servers")[1])
    return int(found[2]) if found else 0


def catalog(ask: Asking) -> str:
    """The page of the server with many tools, which was added first, once it has been listed and weighed."""
    weighing = re.compile(r'id="watch"[^>]*hx-trigger="every')
    until(lambda: not weighing.search(ask("/catalog/scale-server/tools")[1]))
    return "/catalog/scale-server/tools"


def until(holds: Any, seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.3)


def flooded(
    curve: list[dict[str, float]], page: Page, process: psutil.Popen, ask: Asking, folder: Path, size: Size
) -> None:
    """A look each second while the frames come, and until the last is recorded."""
    before = recorded(folder / "data" / "loupe.db")
    page.evaluate(LOOK)
    (folder / "go").touch()
    began = time.monotonic()
    wanted = (size.rate // size.connections) * size.connections * size.seconds
    while True:
        at = time.monotonic()
        asked, _ = ask("/timeline?session=1")
        looked = page.evaluate(LOOK)
        count = recorded(folder / "data" / "loupe.db") - before
        curve.append(
            {"s": at - began, "recorded": count, "page_ms": asked * 1000, "rss_mb": memory(process), **looked}
        )
        done = len(list(folder.glob("done*"))) == size.connections
        if done and count >= wanted:
            return
        assert at - began < ENDS_S, "the frames do not end"
        time.sleep(max(0.0, 1 - (time.monotonic() - at)))


def memory(process: psutil.Popen) -> float:
    """MiB of the console and its worker, without the servers."""
    own = [process, *[one for one in process.children() if SERVER.name not in " ".join(one.cmdline())]]
    return sum(one.memory_info().rss for one in own) / 2**20


def recorded(path: Path) -> int:
    with reading(path) as db:
        return int(db.execute(f"SELECT sum(n) FROM tally WHERE {LIVE}").fetchone()[0] or 0)


HEADS = (
    "s",
    "recorded",
    "/s",
    "page ms",
    "RSS MiB",
    "longest frame ms",
    "longest task ms",
    "heap MiB",
    "rows",
)


def print_curve(curve: list[dict[str, float]]) -> None:
    print(" | ".join(HEADS))
    step = max(1, len(curve) // 12)
    for at in range(0, len(curve), step):
        part = curve[at : at + step]
        last, first = part[-1], curve[at - 1] if at else {"s": 0.0, "recorded": 0}
        pace = (last["recorded"] - first["recorded"]) / max(last["s"] - first["s"], 0.001)
        page_ms, gap, long = (
            median(each["page_ms"] for each in part),
            *(max(each[name] for each in part) for name in ("gap", "long")),
        )
        figures = (
            last["s"],
            last["recorded"],
            pace,
            page_ms,
            last["rss_mb"],
            gap,
            long,
            last["heap"],
            last["rows"],
        )
        print(" | ".join(f"{figure:,.0f}" for figure in figures))


def complete(path: Path, size: Size) -> None:
    """Each server's frames, all of them, in their order."""
    query = f"SELECT raw FROM event WHERE {LIVE} AND method = 'notifications/message' ORDER BY seq"
    seen = dict[int, int]()
    with reading(path) as db:
        for (raw,) in db.execute(query):
            data = json.loads(raw)["params"]["data"]
            wanted = seen.get(data["from"], 0)
            assert data["n"] == wanted, f"frame {wanted} of server {data['from']} is missing"
            seen[data["from"]] = wanted + 1
    assert sum(seen.values()) == size.rate * size.seconds, seen
    print(f"{sum(seen.values()):,} frames of {len(seen)} servers are recorded, each in its order")


def caught_up(page: Page, path: Path) -> None:
    """The open timeline ends with the last event, and between its first and last row none is missing."""
    with reading(path) as db:
        last = db.execute(f"SELECT max(seq) FROM event WHERE {LIVE}").fetchone()[0]
    began = time.monotonic()
    page.wait_for_function(
        "last => [...document.querySelectorAll('tr.frame')].at(-1)?.id === `e${last}`", arg=last
    )
    shown = page.evaluate("[...document.querySelectorAll('tr.frame')].map(row => Number(row.id.slice(1)))")
    assert shown == list(range(shown[0], last + 1)), "a row is missing on the page"
    assert len(shown) <= MOST_ROWS, f"{len(shown)} rows on the page"
    print(f"under the list: {page.locator('#list-note').inner_text().strip() or 'nothing was passed over'}")
    print(
        f"the open timeline ends with the last of them, {len(shown)} rows without a gap, "
        f"{time.monotonic() - began:.1f} s later"
    )


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        yield db


if __name__ == "__main__":
    sys.exit(main())
