"""The lab in a browser: a live progressive server step by step, then a catalog of 2,720 tools; the command agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .conftest import Complaints, Running, environment, start_console

pytestmark = pytest.mark.browser
expect.set_options(timeout=30_000)
BIG = 2720


def simulated(home: Path, *argv: str) -> dict[str, Any]:
    """The only run of `simulate --json`."""
    command = [
        sys.executable,
        "-m",
        "inspector",
        "simulate",
        *argv,
        "--json",
        "--data-dir",
        str(home / "other"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, env=environment(home), cwd=home
    )
    found: dict[str, Any] = json.loads(done.stdout)["runs"][0]
    return found


def big_catalog(path: Path) -> Path:
    """2,720 tools of 68 services: as many as the largest public list there is."""
    verbs = ("list", "get", "create", "update", "delete", "search", "export", "archive")
    tools = [
        {
            "name": f"{verb}_{thing}_{service}",
            "description": f"{verb.capitalize()} a {thing} of service {service}.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        }
        for service in range(68)
        for thing in ("order", "ticket", "report", "backup", "user")
        for verb in verbs
    ]
    assert len(tools) == BIG
    path.write_text(
        json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}, separators=(",", ":")) + "\n"
    )
    return path


def totals(page: Page) -> dict[str, int]:
    """The line under the ledger."""
    names = ("total-bytes", "entry-bytes", "discovery-bytes", "context-tokens", "turns", "billed")
    return {name: int(page.locator(f"#{name}").inner_text().replace(",", "")) for name in names}


def wanted(run: dict[str, Any]) -> dict[str, int]:
    found = run["totals"]
    return {
        "total-bytes": found["total_bytes"], "entry-bytes": found["entry_bytes"],
        "discovery-bytes": found["discovery_bytes"], "context-tokens": found["context_tokens"],
        "turns": found["model_turns"], "billed": round(found["billed"]),
    }  # fmt: skip


def step(page: Page, number: int) -> None:
    """Choose the likeliest offer by its key, and see that the ledger is one row longer."""
    page.keyboard.press("1")
    expect(page.locator("#ledger tbody tr")).to_have_count(number + 1)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("lab")
    running = start_console(home / "data", home, "demo:flat", "demo:progressive")
    try:
        yield running
    finally:
        running.stop()


def test_the_lab_steps_through_a_live_server_as_the_command_does(
    page: Page, lab: Running, complaints: Complaints
) -> None:
    page.goto(lab.link())
    for tools in ("50", "3"):
        expect(page.locator("#servers .srv__n").get_by_text(tools, exact=True)).to_be_visible()
    page.get_by_role("link", name="Lab", exact=True).click()
    page.locator("#catalog-0").select_option("demo-progressive")
    page.locator("#baseline").select_option("demo-flat")
    page.locator("#task").fill("a billing question")
    page.get_by_role("button", name="Simulate").click()
    page.locator("#s-server_driven a").click()
    expect(page.locator("#ledger tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Live").click()
    expect(page.locator("#live-run")).to_have_attribute("aria-pressed", "true")
    for number in (1, 2, 3):
        step(page, number)
    expect(page.locator("#next-move")).to_contain_text("list_invoices was called")
    run = simulated(
        lab.home, "--catalog", "demo:progressive", "--baseline", "demo:flat", "--task", "a billing question",
        "--strategy", "server_driven", "--live",
    )  # fmt: skip
    assert totals(page) == wanted(run)
    saved = f"{run['versus_full']['net_saved'] * 100:.1f}\u00a0%"
    expect(page.locator("#totals")).to_contain_text(saved)

    # Back, a reload and forward find every measured step where it was.
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#l3")).to_have_attribute("aria-selected", "true")
    before = page.locator("#ledger").inner_text()
    page.reload()
    expect(page.locator("#ledger tbody tr")).to_have_count(4)
    assert page.locator("#ledger").inner_text() == before
    page.keyboard.press("ArrowRight")
    expect(page.locator("#l4")).to_have_attribute("aria-selected", "true")

    # A step leads to its real frames.
    page.locator("#l3 a.lnk").last.click()
    expect(page.locator("#explain")).to_contain_text(f"{run['steps'][2]['reply_bytes']:,}")
    page.go_back()
    expect(page.locator("#l4")).to_have_attribute("aria-selected", "true")
    assert complaints.heard == []


def test_a_key_pressed_the_moment_a_step_is_shown_takes_the_next_one(
    page: Page, lab: Running, complaints: Complaints
) -> None:
    """What is shown works at once: no moment in which a choice is there and htmx does not know it yet."""
    page.goto(lab.link())
    expect(page.locator("#servers .srv__n").get_by_text("3", exact=True)).to_be_visible()
    page.goto(
        f"{lab.base}/lab?catalog=demo-progressive&baseline=demo-flat&task=a+billing+question&strategy=server_driven"
    )
    expect(page.locator("#ledger tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Live").click()
    expect(page.locator("#live-run")).to_have_attribute("aria-pressed", "true")
    page.evaluate("""() => {
      window.samePage = true;
      let seen = 1;
      new MutationObserver(() => {
        const rows = document.querySelectorAll("#ledger tbody tr").length;
        if (rows <= seen) return;
        seen = rows;
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
      }).observe(document.body, { childList: true, subtree: true });
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
    }""")
    expect(page.locator("#next-move")).to_contain_text("list_invoices was called")
    expect(page.locator("#ledger tbody tr")).to_have_count(4)
    assert page.evaluate("window.samePage") is True
    assert complaints.heard == []


def test_the_lab_steps_through_2720_tools_as_the_command_does(
    page: Page, lab: Running, complaints: Complaints
) -> None:
    page.goto(lab.link())
    file = big_catalog(lab.home / "big.jsonl")
    page.goto(f"{lab.base}/lab?edit=1")
    page.locator("#catalog-file").set_input_files(str(file))
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator("#task").fill("export the report of service 41")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#ledger tbody tr")).to_have_count(1)
    for number in (1, 2, 3):
        step(page, number)
    run = simulated(
        lab.home,
        "--catalog",
        str(file),
        "--task",
        "export the report of service 41",
        "--strategy",
        "search_stable",
    )
    assert run["called"] == "big__export_report_41"
    assert totals(page) == wanted(run)
    expect(page.locator("#next-move")).to_contain_text("big__export_report_41 was called")
    page.locator("#s-full a").click()
    expect(page.locator(".lab__pieces")).to_contain_text("more definitions")
    assert len(page.content()) < 400_000
    assert complaints.heard == []
