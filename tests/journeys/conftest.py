"""A console as a person starts it, and a real Chromium that notes everything a page complains about."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

ROOT = Path(__file__).resolve().parents[2]
WAIT_MS = 60_000
"""How long a page may take on a machine that has other things to do."""
expect.set_options(timeout=WAIT_MS)


@dataclass
class Running:
    """A console process: `url` is its one-time login link."""

    process: subprocess.Popen[str]
    url: str
    data: Path
    home: Path

    @property
    def base(self) -> str:
        return self.url.split("/login")[0]

    def link(self) -> str:
        """A fresh login link, by the command."""
        done = subprocess.run(
            [sys.executable, "-m", "inspector", "url", "--data-dir", str(self.data)],
            capture_output=True, text=True, timeout=30, check=True, env=environment(self.home),
        )  # fmt: skip
        return done.stdout.strip()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "XDG_"))}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)}


def start_console(data: Path, home: Path, *targets: str) -> Running:
    process = subprocess.Popen(
        [sys.executable, "-m", "inspector", "serve", "--json", "--no-open", "--port", "0", "--data-dir", str(data),
         *targets],
        stdout=subprocess.PIPE, text=True, env=environment(home), cwd=home,
    )  # fmt: skip
    assert process.stdout is not None
    return Running(process, json.loads(process.stdout.readline())["url"], data, home)


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Running]:
    running = start_console(tmp_path / "data", tmp_path)
    try:
        yield running
    finally:
        running.stop()


@dataclass
class Complaints:
    """Console errors, page errors, CSP violations and failed requests of every page of a context."""

    heard: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.heard.append(f"page error: {error}"))

    def _console(self, line: ConsoleMessage) -> None:
        if line.type in ("error", "warning"):
            self.heard.append(f"{line.type}: {line.text}")


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def page(browser: Browser, complaints: Complaints) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(WAIT_MS)
    opened = context.new_page()
    complaints.listen(opened)
    yield opened
    context.close()
