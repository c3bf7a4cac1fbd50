"""Settings of the whole suite: generated examples are never timed; what takes long comes first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("loupe", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loupe")

LATE = (["catalog"], ["protocol"], ["settings"], ["trace"], ["discovery"], ["test_tree.py"])
"""Files of a second or so each: with them last, the workers end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers first, then whatever starts processes, then the rest; within a file the order stays."""

    def turn(item: pytest.Item) -> int:
        if item.get_closest_marker("browser"):
            return 0
        return 2 if item.nodeid.partition("::")[0].split("/")[1:][:1] in LATE else 1

    items.sort(key=turn)


@pytest.fixture(scope="module")
def counters() -> Iterator[str]:
    """The address of `token_counters.py`, which counts as the three providers do."""
    server = Path(__file__).parent / "servers" / "token_counters.py"
    with subprocess.Popen([sys.executable, str(server)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for a file's tests. Playwright keeps an asyncio loop running in this thread, and a thread can hold
    one only: it has to be gone before a test of another file starts a loop of its own."""
    from browser_path import FLAGS, chromium
    from playwright.sync_api import sync_playwright

    path = chromium()
    assert path, "tests/chromium.sh brings a Chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()
