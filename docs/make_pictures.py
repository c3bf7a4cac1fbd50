"""Takes the pictures of the README and docs/: `python docs/make_pictures.py`. Needs the test extra and a Chromium."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser_path import FLAGS, chromium  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1440, "height": 900}


def main() -> None:
    """Start a console with the demo servers, make something happen, photograph each screen."""
    PICTURES.mkdir(exist_ok=True)
    expect.set_options(timeout=60_000)
    with tempfile.TemporaryDirectory() as folder:
        console = subprocess.Popen(
            [sys.executable, "-m", "inspector", "serve", "--json", "--no-open", "--port", "0", "--data-dir", folder,
             "demo:flat", "demo:progressive", "demo:chaos"],
            stdout=subprocess.PIPE, text=True, cwd=folder,
        )  # fmt: skip
        assert console.stdout is not None
        url = json.loads(console.stdout.readline())["url"]
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
                photograph(browser, url, folder)
        finally:
            console.terminate()
            console.wait(30)


def photograph(browser: Browser, url: str, data: str) -> None:
    base = url.split("/login")[0]
    light = page_of(browser, url, "light")
    called = happen(light, base)
    shoot(light, f"{base}/catalog/demo-flat/tools?tool=search_knowledge_base", "catalog-light")
    shoot(light, called, "call-light")
    shoot(light, f"{base}/servers", "servers-light")
    link = subprocess.run(
        [sys.executable, "-m", "inspector", "url", "--data-dir", data],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    dark = page_of(browser, link, "dark")
    dark.goto(f"{base}/timeline?server=demo-chaos")
    dark.locator("tr.frame--err").first.click()
    expect(dark.locator("#explain")).to_contain_text("Whose")
    dark.screenshot(path=PICTURES / "timeline-dark.png")


def page_of(browser: Browser, url: str, theme: str) -> Page:
    page = browser.new_context(color_scheme=theme, viewport=SIZE).new_page()  # type: ignore[arg-type]
    page.goto(url)
    return page


def happen(page: Page, base: str) -> str:
    """Wait for the servers, call a tool that works and some that do not; the address of the first call."""
    for key in ("demo-flat", "demo-progressive", "demo-chaos"):
        page.goto(f"{base}/servers/{key}")
        expect(page.locator("main")).to_contain_text("2026-07-28")
    call(
        page,
        f"{base}/call/demo-flat?tool=search_knowledge_base&mode=json",
        '{"query": "software refund period"}',
    )
    called = page.url
    for tool in ("stdout_banner", "is_error", "custom_error_code", "no_such_tool"):
        call(page, f"{base}/call/demo-chaos?tool={tool}&mode=json", "{}")
    return called


def call(page: Page, url: str, arguments: str) -> None:
    page.goto(url)
    page.locator(".call__args textarea").first.fill(arguments)
    page.locator(".call__args").get_by_role("button", name="Run").first.click()
    expect(page.locator("#result")).not_to_contain_text("Nothing called yet")


def shoot(page: Page, url: str, name: str) -> None:
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
