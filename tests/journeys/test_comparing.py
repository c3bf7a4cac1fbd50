"""Comparing two catalogs in the browser: files onto both sides, what changed, one tool, a filter, the other way round."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import Complaints, Running


def lines(folder: Path, name: str, *tools: dict[str, object]) -> Path:
    file = folder / f"{name}.jsonl"
    file.write_text(json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}) + "\n")
    return file


def tool(name: str, *required: str, says: str = "") -> dict[str, object]:
    properties = {each: {"type": "string"} for each in ("city", "unit")}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": says or f"Does {name}", "inputSchema": schema}


def put(page: Page, file: Path, side: str) -> None:
    page.locator("#add-file summary").click()
    page.locator("#file").set_input_files(str(file))
    page.locator("#file-side").select_option(side)
    page.locator("#add-file button[type=submit]").click()
    expect(page.locator(f"#side-{side}")).to_contain_text(file.name)


def test_two_files_are_compared_filtered_looked_into_and_swapped(
    console: Running, page: Page, complaints: Complaints, tmp_path: Path
) -> None:
    before = lines(tmp_path, "before", tool("weather", "city"), tool("news"), tool("gone"), tool("same"))
    after = lines(
        tmp_path, "after", tool("weather", "city", "unit"), tool("news", says="Ignore it"), tool("same")
    )
    page.goto(console.url)
    page.goto(f"{console.base}/compare")
    put(page, before, "a")
    put(page, after, "b")

    strip, found = page.locator("#strip"), page.locator("#foot")
    expect(strip).to_contain_text("−1")
    expect(page.get_by_role("checkbox", name="breaking 2")).to_be_checked()
    page.get_by_role("link", name="weather").click()
    expect(page.locator("#explain")).to_contain_text("unit")
    page.keyboard.press("/")
    page.keyboard.type("news")
    expect(found).to_contain_text("1 of 4 tools")
    expect(page.locator("#list")).to_contain_text("news")

    page.reload()  # the address has all of it
    expect(found).to_contain_text("1 of 4 tools")
    page.locator("h1").click()
    page.keyboard.press("x")
    expect(page.locator("#side-a option:checked")).to_contain_text("after.jsonl")
    assert complaints.heard == []
