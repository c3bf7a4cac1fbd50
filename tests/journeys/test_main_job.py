"""The main job in a browser: add a real server, see its tools, call one, watch the wire, reload."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Complaints, Running

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)


def git_server(folder: Path) -> str:
    """The command of mcp-server-git, a server nobody here wrote, logging to stderr."""
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=20)
    program = shutil.which("mcp-server-git", path=str(Path(sys.executable).parent))
    assert program
    return shlex.join([program, "-vv", "--repository", str(folder)])


def test_a_real_server_is_added_listed_called_watched_and_found_again(
    page: Page, console: Running, complaints: Complaints, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    page.goto(console.url)

    # Add it by its command: what will run is shown before anything is started.
    page.goto(f"{console.base}/servers")
    page.get_by_label("Command or URL").fill(git_server(repository))
    page.get_by_role("button", name="Check what it runs").click()
    expect(page.locator("#add")).to_contain_text("--repository")
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.locator("#status")).to_contain_text("2026-07-28")

    # Its tools, with the bytes of the wire.
    page.get_by_role("link", name="Catalog").first.click()
    expect(page.locator("main")).to_contain_text("6,242")
    row = page.locator("tr", has_text="git_status").first
    row.click()
    expect(page.locator("main")).to_contain_text("git_status")

    # Call one; request, answer and stderr arrive in the pinned timeline by themselves.
    page.get_by_role("link", name="Call", exact=True).first.click()
    page.get_by_role("link", name="git_status").first.click()
    page.get_by_label("repo_path").first.fill(str(repository))
    if page.locator("#app").get_attribute("data-pin") == "off":
        page.keyboard.press("t")
    page.get_by_label("repo_path").first.press("Control+Enter")
    expect(page.locator("#result")).to_contain_text("No commits yet")
    expect(page.locator("#mini-rows")).to_contain_text("tools/call")
    expect(page.locator("#mini-rows")).to_contain_text("git.cmd")

    # The timeline: request and answer joined; a reload finds everything still there.
    page.get_by_role("link", name="Timeline").first.click()
    rows = page.locator("#timeline-rows tr")
    expect(rows.filter(has_text="tools/call").first).to_be_visible()
    before = [row.get_attribute("id") for row in rows.all()]
    assert len(before) >= 8
    page.reload()
    expect(rows.filter(has_text="tools/call").first).to_be_visible()
    assert [row.get_attribute("id") for row in rows.all()][: len(before)] == before
    assert complaints.heard == []


def test_what_was_recorded_is_there_after_the_console_was_started_again(
    page: Page, tmp_path: Path, complaints: Complaints
) -> None:
    from .conftest import start_console

    data = tmp_path / "data"
    first = start_console(data, tmp_path, "demo:flat")
    try:
        page.goto(first.url)
        page.goto(f"{first.base}/servers/demo-flat")  # follows by itself until it is connected
        expect(page.locator("main")).to_contain_text("2026-07-28")
        expect(page.locator("#servers")).to_contain_text("50")
        page.goto(f"{first.base}/catalog/demo-flat/tools")
        expect(page.locator("main")).to_contain_text("20,841")
        page.goto("about:blank")  # a page left open would rightly complain that its socket is gone
    finally:
        first.stop()
    second = start_console(data, tmp_path)
    try:
        page.goto(second.url)
        page.goto(f"{second.base}/catalog/demo-flat/tools")
        expect(page.locator("main")).to_contain_text("20,841")
        expect(page.locator("main")).to_contain_text("not connected")
    finally:
        second.stop()
    assert complaints.heard == []
