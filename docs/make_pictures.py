"""Takes the pictures of the README and of docs/pictures.md, which it writes too: `python docs/make_pictures.py`.

Needs the test extra and a Chromium. WebP, because a screen of text is a fifth of its PNG.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser_path import FLAGS, chromium  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1440, "height": 900}
LAB = "/lab?" + urlencode(
    [
        ("catalog", "demo-progressive"),
        ("baseline", "demo-flat"),
        ("task", "a billing question"),
        ("strategy", "server_driven"),
    ]
)
SCRIPT = """found = demo_flat__search_knowledge_base(query="refund period")
print(found)
"""
TO_WEBP = """([png, quality]) => new Promise(done => {
  const picture = new Image();
  picture.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), {width: picture.width, height: picture.height});
    canvas.getContext("2d").drawImage(picture, 0, 0);
    done(canvas.toDataURL("image/webp", quality).split(",")[1]);
  };
  picture.src = "data:image/png;base64," + png;
})"""


@dataclass(frozen=True)
class Shot:
    """A picture. address: {name} is filled with what `happen` found; wait: text that says the screen is ready."""

    name: str
    theme: str
    address: str
    words: str
    wait: str = ""
    click: str = ""


SHOTS = (
    Shot("servers", "light", "/servers", "Servers: what runs, what it speaks, how many tools, and how to add one"),
    Shot("server", "dark", "/servers/demo-chaos", "A server: how its era was found out, its process, its last words"),
    Shot("failed", "light", "/servers/broken", "A server that does not start: its stderr, the next thing to try", "exit"),
    Shot("confirm", "dark", "/servers/connect/confirm?key=demo-flat", "What will run, before it does"),
    Shot("doctor", "light", "/servers/demo-flat/doctor", "Doctor: each step with its evidence"),
    Shot("catalog", "light", "/catalog/demo-flat/tools?tool=search_knowledge_base", "Catalog: bytes by tool and part"),
    Shot("findings", "dark", "/catalog/demo-flat/tools?pane=findings", "Findings about a catalog"),
    Shot("rules", "light", "/findings", "Every rule, each to be switched off"),
    Shot("call", "light", "{called}", "Call: the form made of the schema, the result, its verdict"),
    Shot("client", "dark", "/call/demo-flat/client", "Client: what the server may ask, and saved answers"),
    Shot("raw", "light", "/call/demo-flat/raw", "A frame of your own, byte for byte"),
    Shot("timeline", "dark", "/timeline?server=demo-chaos", "Timeline: an error explained", "Whose", "tr.frame--err"),
    Shot("codes", "light", "/codes", "Every error Loupe can show, and what to try next"),
    Shot("traces", "dark", "/traces", "Traces: recordings, opened files, those that came with Loupe"),
    Shot("trace", "light", "/traces/{session}", "A recording: what it holds, notes, export"),
    Shot("recording", "light", "/timeline?session={session}", "A recording of a crash, opened: no server needed"),
    Shot("compare", "dark", "/compare?a=demo-flat&b=demo-progressive", "Compare: what changed, how serious", "removed"),
    Shot("lab", "light", LAB, "Lab: ten ways of disclosing a catalog, what each costs", "saves"),
    Shot("lab-report", "dark", LAB.replace("/lab?", "/lab/report?"), "The lab's report on one page", "net"),
    Shot("evaluate", "light", "/lab/evaluate?catalog=demo-flat", "Evaluate: which tool a search finds"),
    Shot("replay", "dark", "/replay?to=demo-flat", "Replay: recorded requests, to be sent again"),
    Shot("stand-in", "light", "/replay/stand-in?session={session}", "A recording served as a stand-in for its server"),
    Shot("code", "light", "{ran}", "Code: a script over the tools, each call recorded"),
)  # fmt: skip


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
                photograph(browser, url)
        finally:
            console.terminate()
            console.wait(30)


def photograph(browser: Browser, url: str) -> None:
    base = url.split("/login")[0]
    page = browser.new_page(viewport=SIZE, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_default_timeout(60_000)
    page.goto(url)
    found = happen(page, base)
    paper = browser.new_page()
    for old in [*PICTURES.glob("*.png"), *PICTURES.glob("*.webp")]:
        old.unlink()
    for shot in SHOTS:
        page.emulate_media(color_scheme=shot.theme)  # type: ignore[arg-type]
        page.goto(base + shot.address.format(**found))
        page.wait_for_load_state("networkidle")
        if shot.click:
            page.locator(shot.click).first.click()
        if shot.wait:
            expect(page.locator("main")).to_contain_text(shot.wait)
        png = base64.b64encode(page.screenshot()).decode()
        webp = base64.b64decode(paper.evaluate(TO_WEBP, [png, 0.86]))
        (PICTURES / f"{shot.name}-{shot.theme}.webp").write_bytes(webp)
    gallery()


HEAD = """# Every screen

Taken by `python docs/make_pictures.py`, of the demo servers and a recording that comes with Loupe, light and dark.
"""


def gallery() -> None:
    shots = [
        f"\n## {shot.name}\n\n![{shot.words}](pictures/{shot.name}-{shot.theme}.webp)\n\n{shot.words}.\n"
        for shot in SHOTS
    ]
    (ROOT / "docs" / "pictures.md").write_text(HEAD + "".join(shots))


def happen(page: Page, base: str) -> dict[str, str]:
    """Wait for the servers, call a tool that works and some that do not, open a recording, run a script: addresses."""
    for key in ("demo-flat", "demo-progressive", "demo-chaos"):
        page.goto(f"{base}/servers/{key}")
        expect(page.locator("main")).to_contain_text("2026-07-28")
    call(
        page,
        f"{base}/call/demo-flat?tool=search_knowledge_base&mode=json",
        '{"query": "software refund period"}',
    )
    called = page.url.removeprefix(base)
    for tool in ("stdout_banner", "is_error", "custom_error_code", "no_such_tool"):
        call(page, f"{base}/call/demo-chaos?tool={tool}&mode=json", "{}")
    page.goto(f"{base}/servers")
    page.locator("#target").fill(f"{sys.executable} -m inspector demo chaos --fault exit_at_start")
    page.locator("#add summary").first.click()
    page.locator("#name").fill("broken")
    page.locator("#do-check").click()
    page.locator("#do-connect").click()
    page.wait_for_url("**/servers/broken")
    page.goto(f"{base}/servers/demo-flat/doctor")
    page.locator("main form button[type=submit]").first.click()
    expect(page.locator("main")).to_contain_text("shutdown")
    page.goto(f"{base}/traces")
    page.locator("form", has_text="sqlite-crash").first.locator("button").click()
    page.wait_for_url("**session=**")
    session = page.url.partition("session=")[2].partition("&")[0]
    return {"called": called, "session": session, "ran": script(page, base)}


def script(page: Page, base: str) -> str:
    """The address of a script's run, that waits for a person to allow its call."""
    page.goto(f"{base}/code?server=demo-flat")
    page.locator("textarea[name=code]").fill(SCRIPT)
    page.locator("button[form=script]").first.click()
    page.wait_for_url("**run=**")
    return page.url.removeprefix(base)


def call(page: Page, url: str, arguments: str) -> None:
    page.goto(url)
    page.locator(".call__args textarea").first.fill(arguments)
    page.locator(".call__args").get_by_role("button", name="Run").first.click()
    page.wait_for_url("**call=call-**")


if __name__ == "__main__":
    main()
