"""Prints the Chromium the browser tests use: the system's, else the one Playwright downloaded."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The path of an executable Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


if __name__ == "__main__":
    path = chromium()
    print(path or "no Chromium found", file=sys.stdout if path else sys.stderr)
    sys.exit(path is None)
