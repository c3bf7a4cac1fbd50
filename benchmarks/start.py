"""`start` and `idle-memory`: the console's process, against one that only imports what it is made of."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median
from urllib.request import HTTPCookieProcessor, build_opener

import psutil

from benchmarks.report import Row, compared
from benchmarks.setting import READY_S, ROOT, scratch, serve
from benchmarks.timing import Side, Times, interleaved, ratio_of

IMPORTS = "import flask, mcp, sqlite_utils, jsonschema"
LIGHT = (["--help"], ["demo", "--help"], ["url"], ["list", "--help"], ["serve", "--help"], ["call", "--help"])
HEAVY = ("mcp", "mcp_types", "flask")
ALSO = ("sqlite_utils", "jsonschema", "httpx2")
"""Not barred, but the note says who imports them."""
_SPY = f"""
import atexit, sys
atexit.register(lambda: print("HEAVY", *[name for name in {HEAVY + ALSO} if name in sys.modules], file=sys.stderr))
from inspector.cli import main
main()
"""


@contextmanager
def console(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console of its own with no server configured; its process and its login link."""
    argv = serve(folder)
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(READY_S)


def first_page(link: str) -> None:
    """GET the link and follow it to the first screen; anything but 200 raises."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    with browser.open(link, timeout=READY_S) as page:
        assert page.status == 200 and page.read()


def start() -> list[Row]:
    """Process start to the first page, 7 rounds; and what the light commands import."""
    consoles = Times([], [])
    imports = Times([], [])
    for number in range(8):
        for times, measure in ((imports, _import_time), (consoles, _console_time)):
            wall, cpu = measure()
            if number:  # the first round compiles and warms the page cache
                times.wall.append(wall)
                times.cpu.append(cpu)
    against = 'python -c "import flask, mcp"'
    return [compared("start", consoles, imports, against, bar=1.5), *_light()]


def _console_time() -> tuple[float, float]:
    with scratch() as folder:
        began = time.perf_counter()
        with console(folder) as (process, link):
            first_page(link)
            wall = time.perf_counter() - began
            used = psutil.Process(process.pid).cpu_times()
    return wall, used.user + used.system


def _import_time() -> tuple[float, float]:
    began = time.perf_counter()
    process = psutil.Popen(
        [sys.executable, "-c", "import os, flask, mcp; print(sum(os.times()[:2]))"], stdout=-1
    )
    out, _ = process.communicate(timeout=READY_S)
    return time.perf_counter() - began, float(out)


def _light() -> list[Row]:
    """Commands that must not pay for the SDK or Flask: how many modules of HEAVY they import, all together."""
    found: list[tuple[str, str]] = []
    with scratch() as folder:
        for words in LIGHT:
            extra = ["--data-dir", str(folder)] if words == ["url"] else []
            argv = [sys.executable, "-c", _SPY, *words, *extra]
            said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=READY_S).stderr
            [line] = [line for line in said.splitlines() if line.startswith("HEAVY")]
            found += [(words[0], name) for name in line.split()[1:]]
    heavy = sum(name in HEAVY for _, name in found)
    note = "imported: " + (", ".join(f"{name} by {command}" for command, name in found) or "nothing")
    commands = f"no import of {', '.join(HEAVY)} by {', '.join(' '.join(words) for words in LIGHT)}"
    counted = Row("light-commands", "imports", heavy, None, commands, ceiling=0, note=note)

    def python(*args: str) -> Side:
        return Side(
            lambda: subprocess.run([sys.executable, *args], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        )

    times = interleaved(
        9, {"ours": python("-m", "inspector", "--help"), "click": python("-c", "import click")}
    )
    ratio = ratio_of(times["ours"].wall, times["click"].wall)
    ours, click = (median(times[side].wall) * 1000 for side in ("ours", "click"))
    return [counted, Row("help", "ms", ours, click, 'python -c "import click"', ratio)]


def idle_memory() -> list[Row]:
    """After the first page, before the worker starts; both processes alive when they are looked at."""
    pss: list[tuple[float, float]] = []
    rss: list[tuple[float, float]] = []
    for _ in range(5):
        argv = [sys.executable, "-c", f"{IMPORTS}; print(flush=True); input()"]
        with scratch() as folder, console(folder) as (process, link):
            with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bare:
                assert bare.stdout is not None
                bare.stdout.readline()
                first_page(link)
                pids = (process.pid, bare.pid)
                held = [psutil.Process(pid).memory_full_info() for pid in pids]
                bare.communicate("\n", timeout=READY_S)
        rss.append((held[0].rss, held[1].rss))
        ours, theirs = (getattr(one, "pss", one.rss) for one in held)  # only Linux knows PSS
        pss.append((ours, theirs))
    return [_memory("idle-memory", pss, "PSS", 1.4), _memory("idle-memory, RSS", rss, "RSS", None)]


def _memory(name: str, sizes: list[tuple[float, float]], what: str, bar: float | None) -> Row:
    ours, bare = [[size / 2**20 for size in side] for side in zip(*sizes, strict=True)]
    against = f'python -c "{IMPORTS}"'
    return Row(name, "MiB", median(ours), median(bare), against, ratio_of(ours, bare), bar=bar, note=what)
