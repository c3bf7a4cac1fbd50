"""The single HTML file: everything is said, nothing secret, and hostile text does nothing in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from exported import ROOT, connection, planted_in_exchanges, rpc, source, write
from planted import forms
from playwright.sync_api import Browser, Page

from inspector.trace import html as module
from inspector.trace.html import POLICY, html
from inspector.trace.hypertext import json_text
from inspector.wire.events import C2S, LOCAL, S2C, Event

HOSTILE = (
    "<script>window.ran=1</script>", "<style>*{display:none}</style>",
    "<img src=x onerror='window.ran=1'><svg onload=window.ran=1>",
    "</pre></details></main></title><iframe src=http://127.0.0.1:9/x></iframe><base href=http://127.0.0.1:9/>",
    "javascript:window.ran=1", "file:///etc/passwd", "\x1b[31mred\x1b[0m \u202eevil\u202c zero\u200bwidth \x00\x07",
    "' onclick='window.ran=1' \" onmouseover=\"window.ran=1", "<link rel=stylesheet href=http://127.0.0.1:9/a.css>&lt;b&gt;",
    "data:text/html,<script>window.ran=1</script>", "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
)  # fmt: skip


def page_of(path: Path, *, redact: bool = True, **how: Any) -> str:
    return b"".join(html(source(path, redact=redact), version="1", **how)).decode()


def hostile_events() -> Iterator[Event]:
    for text in HOSTILE:
        yield connection(text, label=text, server_info={text: text}, era=text)
        yield rpc(1, {"jsonrpc": "2.0", "id": 1, "method": text, "params": {text: [text]}}, "request", text)
        yield rpc(1, {"error": {"code": text, "message": text}}, "error", text, S2C)
        yield rpc(2, {"method": "tools/call", "params": {"name": text}}, "request", "tools/call")
        yield Event("stderr", 1, S2C, {}, text.encode())
        yield Event("noise", 1, S2C, {"why": text}, text.encode())
        yield Event(
            "http", 1, C2S, {"phase": "request", "method": text, "url": text, "headers": [[text, text]]}
        )
        yield Event("http", 1, S2C, {"phase": "response", "status": 200, "reason": text}, text.encode())
        yield Event("proc", 1, LOCAL, {"what": text, "signal": text})
        yield Event("error", 1, LOCAL, {"origin": text, "class": text, "message": text, "remedy": text})
        yield Event(text, 1, text, {text: text, "what": text})


@pytest.fixture
def opened(browser: Browser) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page, what it asked for, and what it complained about."""
    page = browser.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda problem: said.append(str(problem)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    yield page, asked, said
    page.close()


@pytest.mark.browser
def test_hostile_text_runs_nothing_asks_for_nothing_and_breaks_no_rule(
    tmp_path: Path, opened: tuple[Page, list[str], list[str]]
) -> None:
    page, asked, said = opened
    trace = write(tmp_path / "a.jsonl", hostile_events(), HOSTILE[1] + HOSTILE[0])
    file = tmp_path / "a.html"
    file.write_bytes(page_of(trace).encode())
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', e => console.error('CSP ' + e.blockedURI))"
    )
    page.goto(file.as_uri())
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    for each in page.locator(".e > summary").all()[:3]:
        each.hover()
    assert page.evaluate("window.ran") is None
    assert asked == [file.as_uri()]
    assert said == []
    assert page.locator(".e").count() == len(HOSTILE) * 11
    assert page.locator("main").count() == 1
    assert page.locator("script, img, svg, iframe, base, link, object, form").count() == 0
    assert {link.get_attribute("href") for link in page.locator("a").all()} <= {
        f"#e{n}" for n in range(1, 200)
    }
    text = page.locator("main").text_content() or ""
    for shown in (
        "<script>window.ran=1</script>",
        "</pre></details></main></title><iframe",
        "U+202E",
        "U+200B",
        "U+001B",
    ):
        assert shown in text
    assert not re.search("[\u202e\u200b\x1b]", text)


@pytest.mark.browser
def test_a_recording_reads_filters_and_leads_from_an_answer_to_its_request(
    tmp_path: Path, opened: tuple[Page, list[str], list[str]]
) -> None:
    page, _, said = opened
    file = tmp_path / "git.html"
    file.write_bytes(page_of(ROOT / "traces" / "git-modern.mcptrace.jsonl").encode())
    page.goto(file.as_uri())
    assert page.locator("h1").inner_text() == "mcp-server-git"
    assert "Redacted: secrets the rules found" in page.locator(".say").first.inner_text()
    rows = page.locator(".e:visible")
    everything = rows.count()
    page.get_by_role("checkbox", name="Stderr").uncheck()
    assert rows.count() == everything - page.locator(".t-stderr").count() < everything
    answer = page.locator(".e", has_text="← answer").first
    answer.locator("summary").click()
    answer.get_by_role("link").click()
    assert page.locator(":target .kind").inner_text() == "→ request"
    assert said == []


def test_the_policy_forbids_everything_but_our_own_style(tmp_path: Path) -> None:
    text = page_of(write(tmp_path / "a.jsonl", []))
    assert f'content="{POLICY}"' in text
    assert POLICY.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in POLICY
    assert "The trace holds no events" in text


def test_no_planted_secret_survives_in_html(tmp_path: Path) -> None:
    path, secrets, known = planted_in_exchanges(tmp_path / "a.jsonl")
    content = b"".join(html(source(path, known))).decode()
    plain = unescape(re.sub(r"<[^>]*>", "", content))
    assert plain.count("[redacted:") > 60
    texts = content + plain + plain.replace("\\n", "").replace("\n", "")
    assert [
        (kind, name) for kind, secret in secrets for name, form in forms(secret).items() if form in texts
    ] == []
    as_it_is = unescape(re.sub(r"<[^>]*>", "", page_of(path, redact=False)))
    assert sum(secret in as_it_is for _, secret in secrets) > 60
    assert "Not redacted: it may hold secrets." in as_it_is


def test_what_is_too_much_is_left_out_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write(tmp_path / "a.jsonl", [Event("stderr", 1, S2C, {}, b"x" * 30) for _ in range(1200)])
    monkeypatch.setattr(module, "BODY_MOST", 20)
    text = page_of(trace, most=1100)
    assert re.findall("Events ([0-9,]+–[0-9,]+)", text) == ["1–500", "501–1,000", "1,001–1,100"]
    assert "Only the first 1,100 of 1,200 events are shown." in text
    assert "100 of 1,200 events are left out here" in text
    assert text.count(">10 more characters are in the trace file.") == 1100
    monkeypatch.setattr(module, "HTML_MOST", 2000)
    shorter = page_of(trace)
    left = re.search("([0-9,]+) of 1,200 events are left out here", shorter)
    assert left is not None
    assert int(left[1].replace(",", "")) == 1200 - shorter.count('<details class="e ') > 1190


def test_laying_out_json_changes_white_space_only() -> None:
    for raw in (
        '{"a":1.0,"a":[1e3,{}, [ ] ,"x\\"y\\u00e9"],"b" : -0}', '[{"a":', '{"broken": "no end', "{]}}}}", "[" * 5000,
        '{"a b":"c  d: [e],{f}"}',
    ):  # fmt: skip
        laid = unescape(re.sub(r"<[^>]*>", "", json_text(raw)))
        outside = re.compile(r'("(?:[^"\\]|\\.)*"?)|\s+', re.DOTALL)
        assert outside.sub(lambda match: match[1] or "", laid) == outside.sub(
            lambda match: match[1] or "", raw
        )
    assert json_text('{"a":[]}') == '{\n  <span class="k">&quot;a&quot;</span>: []\n}'
