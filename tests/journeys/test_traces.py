"""An opened file in a real browser: dropped in, looked at, noted, exported; and a hostile one that gets nowhere."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request

from .conftest import ROOT, Complaints, Running

sys.path.insert(0, str(ROOT / "tests" / "trace"))

import opened

pytestmark = pytest.mark.browser

DROP = """([name, data]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const moved = new DataTransfer();
  moved.items.add(new File([bytes], name));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true }));
}"""
EVIL = (
    "<script>window.pwned=1</script><img src=//evil.example/x onerror=window.pwned=1><svg onload=window.pwned=1>"
    "<hx-partial hx-target='#main' hx-get='/x'></hx-partial> javascript:window.pwned=1 file:///etc/passwd "
    "\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(1)\x07link \u202egnp.exe\u2066 \u200bzero"
)
ICON = {"src": "https://evil.example/icon.svg", "mimeType": "image/svg+xml"}


def dropped(page: Page, running: Running, file: Path) -> None:
    """Drop a file on the Traces screen and come to its timeline."""
    page.goto(f"{running.base}/traces")
    page.evaluate(DROP, [file.name, base64.b64encode(file.read_bytes()).decode()])
    page.wait_for_url("**/timeline?session=*")


def test_a_file_is_dropped_read_noted_and_taken_along_with_no_server_at_all(
    page: Page, console: Running, complaints: Complaints
) -> None:
    page.goto(console.url)
    page.keyboard.press("g")
    page.keyboard.press("8")
    page.wait_for_selector("h1:text('Traces')")
    page.click("button:has-text('sqlite-crash')")
    page.wait_for_url("**/timeline?session=*")
    assert page.locator("tr.frame--err").count() > 0
    dropped(page, console, ROOT / "traces" / "git-modern.mcptrace.jsonl")
    assert page.locator("a.tag:has-text('recording')").is_visible()
    page.click("#e10 .c-what")
    page.fill("#note-new", "asked at once")
    page.click("#notes button:has-text('Pin note')")
    page.wait_for_selector("#notes textarea >> nth=1")
    page.wait_for_selector("#e10 .frame__n")
    assert page.locator("#explain button:has-text('Hide selected text')").is_disabled()
    page.locator("#explain .facts dd").first.select_text()
    moment = page.evaluate("document.getSelection().toString().trim()")
    page.click("#explain button:has-text('Hide selected text')")
    page.wait_for_selector(".rules >> text=T1")
    assert moment not in page.url
    page.go_back()
    page.wait_for_selector("#e10.frame--on .frame__n")
    page.click("a.tag:has-text('recording')")
    page.wait_for_selector("text=asked at once")
    page.click("a:has-text('Tools 12')")
    page.wait_for_selector("#list >> text=git_log")
    assert page.locator("#refresh, #call").count() == 0
    page.go_back()
    page.click("a.btn:has-text('Export')")
    page.fill("#rule-text", "mcp-server-git")
    page.click("button:has-text('Add rule')")
    page.wait_for_selector(".rules >> text=T2")
    page.click("#format-trace")
    with page.expect_download() as download:
        page.click("#download")
    lines = Path(download.value.path()).read_text().splitlines()
    assert not any("mcp-server-git" in line for line in lines[1:-1])
    assert json.loads(lines[-2])["text"] == "asked at once"
    assert complaints.heard == []


def hostile(folder: Path) -> Path:
    """Every field that may hold a text holds the worst one."""
    tool: dict[str, Any] = {
        "name": EVIL, "title": EVIL, "description": EVIL, "icons": [ICON],
        "inputSchema": {"$ref": "https://evil.example/s.json", "properties": {EVIL: {"description": EVIL}}},
    }  # fmt: skip
    content = [
        {"type": "text", "text": EVIL}, {"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"},
        {"type": "resource_link", "uri": "javascript:window.pwned=1", "name": EVIL, "icons": [ICON]},
    ]  # fmt: skip
    events = [
        opened.introduced(label=EVIL) | {"server_info": {"name": EVIL, "icons": [ICON], "websiteUrl": "javascript:x"}},
        opened.request(2, "tools/list"), opened.answer(3, 2, {"tools": [tool]}, "tools/list"),
        opened.request(4, params={"name": EVIL}), opened.answer(5, 4, {"content": content}),
        opened.request(6, EVIL), opened.event(7, "error", message=EVIL, origin="peer", remedy=EVIL, **{"class": EVIL}),
        opened.event(8, "stderr", data=EVIL, enc="utf8"), opened.event(9, "noise", data=EVIL, enc="utf8", why=EVIL),
        opened.event(10, "http", phase="request", method=EVIL, url=f"javascript:{EVIL}", headers=[[EVIL, EVIL]]),
        opened.event(11, "http", phase="response", status=500, reason=EVIL, headers=[[EVIL, EVIL]], body=EVIL, pair=10),
        opened.event(12, "proc", what=EVIL), opened.event(13, "note", text=EVIL, pair=2),
        opened.event(14, "cache", key=EVIL, verdict="stale", why=EVIL), opened.event(15, EVIL[:40], what=EVIL),
        opened.event(16, "lab", run=EVIL), b'{"t":"stderr","seq":17,"c":1,"at":"2026-11-30T00:00:17.000000Z","dt":17,'
        b'"dir":"s2c","enc":"utf8","data":"x","data":"<script>window.pwned=1</script>"}\n',
    ]  # fmt: skip
    header = opened.HEADER | {
        "title": EVIL, "note": EVIL, "tool": {"name": EVIL, "version": EVIL},
        "redaction": {"profile": EVIL, "reviewed": True, "rules": [{"id": EVIL, "kind": EVIL, "what": EVIL}]},
    }  # fmt: skip
    return opened.write(folder / "<img src=x onerror=window.pwned=1>.mcptrace.jsonl", events, header)


def test_a_hostile_file_runs_no_script_sends_no_request_and_breaks_no_policy(
    page: Page, console: Running, complaints: Complaints, tmp_path: Path
) -> None:
    away: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((console.base, "data:", "blob:")):
            away.append(request.url)

    page.on("request", note)
    page.goto(console.url)
    dropped(page, console, hostile(tmp_path))
    session = page.url.rpartition("=")[2]
    tabs = {"raw": (5, 9), "pretty": (3, 7), "pair": (5,), "headers": (11,), "explain": range(1, 18)}
    for tab, seqs in tabs.items():
        for seq in seqs:
            page.goto(f"{console.base}/timeline?session={session}&e={seq}&tab={tab}")
            assert page.locator("#explain .scroll").count() == 1
    key = f"~{session}.1"
    for path in (
        "traces", f"traces/{session}", f"traces/{session}/export", f"catalog/{key}/tools", f"compare?a={key}&b={key}",
        f"catalog/{key}/tools?pane=findings", f"timeline?session={session}&server={key}",
    ):  # fmt: skip
        page.goto(f"{console.base}/{path}")
        assert (
            page.evaluate("document.querySelectorAll('#main :is(script, iframe, object, embed, img)').length")
            == 0
        )
    page.goto(f"{console.base}/catalog/{key}/tools")
    page.locator("#list tbody a").first.click()
    page.wait_for_selector("#close")
    assert page.evaluate("window.pwned") is None
    links = page.evaluate("[...document.querySelectorAll('a')].map((a) => a.protocol)")
    assert set(links) <= {"http:"}
    assert (away, complaints.heard) == ([], [])
