"""`large-results`: answers of 20 MB and of 100,000 rows in a real Chromium, against an answer of one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from benchmarks.report import Row
from benchmarks.setting import ROOT, scratch

sys.path.insert(0, str(ROOT / "tests"))

from browser_path import FLAGS, chromium

ROUNDS = 3
WAIT_MS = 60_000
FRAMES = """() => new Promise(done => { let most = 0, last = performance.now(), n = 0; (function next() {
  const now = performance.now(); most = Math.max(most, now - last); last = now;
  ++n < 60 ? requestAnimationFrame(next) : done(most) })() })"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
STEPS: dict[str, tuple[str, str]] = {
    "rows": ("text=Last", "text=rows 99,900 to 99,999"),
    "nested": (".part__l summary", "text=items 0 to 99 of 40,000"),
}
"""What is pressed to open more of an answer, and what shows that it came."""


def large_results() -> list[Row]:
    """The console as a person starts it; the large answers' server is the tests' own."""
    with scratch() as folder:
        command = [sys.executable, "-m", "inspector", "serve", "--json", "--no-open", "--port", "0"]
        server = f"cmd:{sys.executable} {ROOT / 'tests/servers/large.py'}"
        console = subprocess.Popen(
            [*command, "--data-dir", str(folder / "data"), server],
            stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "HOME": str(folder)},
        )  # fmt: skip
        try:
            assert console.stdout is not None
            url = json.loads(console.stdout.readline())["url"]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.set_default_timeout(WAIT_MS)
                page.goto(url)
                page.goto(url.split("/login")[0] + "/call")
                page.wait_for_selector("#run:not([disabled])")
                return _rows(page, page.url.partition("?")[0])
        finally:
            console.terminate()
            console.wait(30)


def _rows(page: Page, here: str) -> list[Row]:
    small = _painted(page, here, "small")
    found = []
    for tool, what in (("text", "20 MB of text"), ("nested", "20 MB of JSON"), ("rows", "100,000 rows")):
        paints = _painted(page, here, tool)
        name = f"large-results, {what}"
        against = "the first paint of an answer of one line"
        found.append(Row(f"{name}, first paint", "ms", median(paints), median(small), against))
        found.append(Row(f"{name}, longest frame", "ms", page.evaluate(FRAMES), None, "nothing"))
        if tool in STEPS:
            found.append(Row(f"{name}, opening more", "ms", _open(page, *STEPS[tool]), None, "nothing"))
        took, size = _download(page)
        found.append(Row(f"{name}, download", "ms", took, None, "nothing", note=f"{size:,} bytes"))
    return found


def _painted(page: Page, here: str, tool: str) -> list[float]:
    """Milliseconds to the first paint of the page that shows the answer, each time loaded anew."""
    page.goto(f"{here}?tool={tool}")
    page.click("#run")
    page.wait_for_selector("#again")
    found = []
    for _ in range(ROUNDS):
        page.reload()
        page.wait_for_selector("#again")
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        found.append(float(page.evaluate(PAINT)))
    return found


def _open(page: Page, press: str, comes: str) -> float:
    began = time.perf_counter()
    page.click(press)
    page.wait_for_selector(comes)
    return (time.perf_counter() - began) * 1000


def _download(page: Page) -> tuple[float, int]:
    began = time.perf_counter()
    with page.expect_download() as download:
        page.click("text=Download the exact answer")
    size = Path(download.value.path()).stat().st_size
    return (time.perf_counter() - began) * 1000, size
