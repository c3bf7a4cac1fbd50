"""A console full of hostile texts, and a walk over every address its pages lead to. In process, on a real port."""

from __future__ import annotations

import http.client
import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from payloads import ADDRESS, PAYLOADS, evil
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import HTTPException
from werkzeug.test import encode_multipart

from inspector.console.console import Console
from inspector.errors import LoupeError
from inspector.protocol.hidden import HIDDEN
from inspector.settings.paths import Paths
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec, Timeouts
from inspector.web.app import WebServer, create_app, listen
from inspector.web.guard import Guard
from inspector.web.late import GrowingFlask

TESTS = Path(__file__).resolve().parents[1]
HOSTILE = TESTS / "servers" / "hostile_page.py"
WAIT_S = 90.0
LISTS = ("tools", "prompts", "resources", "templates")
PARTS = ("answer/.result/.structuredContent", "item-0", "item-0/0/0", "item-0/0/1", "answer/.result")
"""Of a large answer: a table, members, a text, an object; one of each look."""
DECLARED = ("roots", "sampling", "elicitation")

sys.path.insert(0, str(TESTS / "trace"))

import opened  # noqa: E402


@dataclass
class Hostile:
    """The console under test: its address, its application, and a way to post as its own pages do."""

    console: Console
    app: GrowingFlask
    guard: Guard
    base: str
    cookie: str = ""
    led_to: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, *, part: bool = False, **form: Any) -> http.client.HTTPResponse:
        """One request over the real socket; the answer is read whole into `.text`."""
        headers = {"Cookie": self.cookie, "Origin": self.base, "Accept": "text/html"}
        headers |= {"HX-Request": "true", "HX-Request-Type": "partial"} if part else {}
        body, kind = encoded(form) if method == "POST" else (None, "")
        headers |= {"Content-Type": kind} if kind else {}
        link = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=WAIT_S)
        try:
            link.request(method, path, body=body, headers=headers)
            answer = link.getresponse()
            answer.text = answer.read().decode("utf-8", "replace")  # type: ignore[attr-defined]
            return answer
        finally:
            link.close()

    def post(self, path: str, **form: Any) -> str:
        """A form of ours; where it leads to."""
        answer = self.ask("POST", path, **form)
        assert answer.status in (200, 204, 303, 409, 422), (path, answer.status, answer.text)  # type: ignore[attr-defined]
        place = str(answer.headers.get("Location", ""))
        self.led_to += [place] if place else []
        return place

    def sign_in(self) -> None:
        answer = self.ask("GET", self.guard.login_url().removeprefix(self.base))
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]


class _Hidden(HTMLParser):
    """Notes hidden characters of a page, but of values of inputs, which are sent back as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._edited = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._edited = tag == "textarea"
        for name, value in attrs:
            if (tag, name) not in (("input", "value"), ("option", "value"), ("button", "value")):
                self._look(f"{tag} {name}", value or "")

    def handle_endtag(self, tag: str) -> None:
        self._edited = False

    def handle_data(self, data: str) -> None:
        if not self._edited:
            self._look("text", data)

    def _look(self, where: str, text: str) -> None:
        if match := _HIDING.search(text):
            self.found.append(f"{where}: {text[max(0, match.start() - 30) : match.end() + 30]!r}")


_HIDING = re.compile(f"(?![\\n\\t])[{HIDDEN}]")


def hidden_in(page: str) -> list[str]:
    """Where hidden characters stand raw in a page."""
    parser = _Hidden()
    parser.feed(page)
    return parser.found


def encoded(form: dict[str, Any]) -> tuple[bytes, str]:
    """A form's body and its type; a tuple is a file: (name, bytes)."""
    pairs = [(k, one) for k, v in form.items() for one in (v if isinstance(v, list) else [v])]
    if not any(isinstance(one, tuple) for _, one in pairs):
        return urlencode(pairs).encode(), "application/x-www-form-urlencoded"
    files = {k: FileStorage(io.BytesIO(v[1]), v[0]) if isinstance(v, tuple) else v for k, v in pairs}
    boundary, body = encode_multipart(files)
    return body, f"multipart/form-data; boundary={boundary}"


@contextmanager
def hostile(folder: Path) -> Iterator[Hostile]:
    """Three connected hostile servers, everything asked of them, a hostile file opened. Starts and ends all of it."""
    argv = [sys.executable, str(HOSTILE), "--http"]
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdout is not None
        url = peer.stdout.readline().strip()
        with Console(Paths.locate(folder).ensure()) as console:
            guard = Guard(port)
            app = create_app(console, guard)
            server = WebServer(app, listening)
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                site = Hostile(console, app, guard, f"http://127.0.0.1:{port}")
                site.sign_in()
                fill(site, url)
                yield site
            finally:
                server.stop()
                thread.join(WAIT_S)
                peer.terminate()


def fill(site: Hostile, url: str) -> None:
    """Whatever makes a hostile text appear on some screen."""
    known, patience = site.console.servers_file, Timeouts(call=3, most=3)
    argv = (sys.executable, str(HOSTILE))
    more: dict[str, Any] = {"timeouts": patience, "declare": DECLARED, "env": {"A": evil()}}
    old = known.add(ServerSpec(f"old {evil()[:90]}", argv=argv, era="handshake", **more))
    new = known.add(ServerSpec(f"new {evil()[:90]}", argv=(*argv, "--modern"), **more))
    web = known.add(ServerSpec("web", STREAMABLE_HTTP, url=url, era="handshake", timeouts=patience))
    known.add(ServerSpec("broken", argv=("/nowhere/" + evil()[:200].replace("\0", ""),), source=evil()))
    with ThreadPoolExecutor() as pool:
        used = [pool.submit(use, site, key) for key in (old, new, web)]
        session = trace(site)
        for each in used:
            each.result(WAIT_S)
    site.post(f"/call/{old}/raw", name=evil()[:80], text=evil(), form="text", where="live", do="save")
    site.post(f"/call/{old}/client/listen", uris=evil()[:300], lists=["toolsListChanged"])
    site.post("/servers/connect", key="broken")
    site.post(f"/servers/{new}/doctor", probe="1")
    site.post("/code/scripts", name=evil()[:60], code=evil())
    site.post("/code/run", server=[old], code="print(1)\nraise ValueError('<img data-pwn>')")
    site.post(f"/traces/{session}/describe", title=evil(), note=evil())
    site.post(f"/traces/{session}/notes", seq="2", text=evil(), back="/traces")
    site.post("/replay/run", session=session, pick="4", to=old, confirmed="1")
    catalogue = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": evil(), "description": evil()}]}}
    )
    site.post("/compare/files", file=(f"{evil()[:60]}.jsonl", catalogue.encode()), side="a")
    site.led_to += [
        f"/call/{old}/result/call-1",
        f"/call/{old}/result/call-1/part?at=answer",
        f"/timeline/event/2?session={session}",
        "/oauth/callback?state=x",
        f"/call/{old}/skills",  # led to where a server has some
    ]
    site.console.recorder.flush(WAIT_S)


def use(site: Hostile, key: str) -> None:
    """Connect it, list, call, and send a frame by hand."""
    site.console.connect(key)
    for what in LISTS:
        with suppress(LoupeError):  # the one over HTTP answers tools/list alone
            site.console.refresh(key, what)
    calls(site, key)
    frame = '{"jsonrpc":"2.0","id":9,"method":"x"}'
    site.post(f"/call/{key}/raw", text=frame, form="text", where="live", seconds="0.1", do="send")


def calls(site: Hostile, key: str) -> None:
    """Tools that answer, ask and fail; prompts, resources, templates."""
    asked = [("tools", "say", {}), ("tools", "app", {}), ("tools", "none", {}),
             ("prompts", "greet", {"plain": evil()}),
             ("resources", "note://one", {}), ("resources", "ui://app/main", {}),
             ("templates", "note://{a}", {"a": "b"}), ("tools", "large", {})]  # fmt: skip
    for what, name, arguments in asked:
        place = site.post(
            f"/call/{key}", what=what, tool=name, mode="json", json=json.dumps(arguments), unchecked="1"
        )
    here = f"/call/{key}/result/{parse_qsl(urlsplit(place).query)[-1][1]}/part?at="
    site.led_to += [here + at for at in PARTS]


def trace(site: Hostile) -> int:
    """A file in which every text is hostile; its session."""
    server = {"name": evil(), "version": evil(), "title": evil()}
    tool = {
        "name": evil(),
        "description": evil(),
        "inputSchema": {"type": "object"},
        "icons": [{"src": ADDRESS}],
    }
    events = [
        opened.introduced(label=evil()) | {"server_info": server, "server_key": evil()},
        opened.request(2, "tools/list"), opened.answer(3, 2, {"tools": [tool]}, "tools/list"),
        opened.request(4, params={"name": "say", "arguments": {}}),
        opened.answer(5, 4, {"content": [{"type": "text", "text": evil()}]}),
        opened.event(6, "error", origin="peer", code=evil(), message=evil(), remedy=evil(), pair=4, **{"class": "tool"}),
        opened.event(7, "http", dir="c2s", phase="request", method="POST", url=ADDRESS, headers=[[evil(), evil()]]),
        opened.event(8, "http", dir="s2c", phase="response", status=500, reason=evil(), pair=7,
                     headers=[["location", "javascript:pwn(5)"], [evil(), evil()]]),
        opened.event(9, "noise", dir="s2c", stream="stderr", data=evil(), enc="utf8", bytes=9),
        opened.event(10, "proc", what="exited", code=1, argv=[evil()]),
        opened.event(11, "note", text=evil()),
    ]  # fmt: skip
    header = opened.HEADER | {"title": evil(), "note": evil(), "tool": {"name": evil(), "version": evil()}}
    path = opened.write(site.console.paths.data / "hostile.jsonl", events, header)
    job = site.console.recordings.open(path, f"{PAYLOADS[0]}.mcptrace.jsonl")
    job.future.result(WAIT_S)
    return job.session()


# --- the walk


class Links(HTMLParser):
    """What a page leads to by reading alone: links, what htmx gets, forms that ask by GET."""

    def __init__(self, text: str, base: str) -> None:
        super().__init__()
        self.base = base
        self.found: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self._add(given.get("href"), False)
        if tag in ("img", "iframe"):
            self._add(given.get("src"), False)
        if tag == "form" and (given.get("method") or "get").lower() == "get":
            self._add(given.get("action"), False)
        self._add(given.get("data-href"), True)
        self._add(given.get("hx-get"), True)

    def _add(self, url: str | None, part: bool) -> None:
        if url is not None and not url.startswith("#"):
            self.found.append((urljoin(self.base, url).partition("#")[0], part))


KINDS = ("tab", "what", "view", "kind", "pane", "mode", "by", "show")
"""Query names whose value changes what a page looks like."""


@dataclass
class Walk:
    """The starts, and every address that shows something new: a screen, a query name, a tab, a list, a part of a page."""

    site: Hostile
    seen: set[tuple[str, ...]] = field(default_factory=set)
    endpoints: set[str] = field(default_factory=set)
    asked: dict[tuple[str, bool], tuple[str, int, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def run(self, *starts: str) -> None:
        self.site.app.load()
        rules = self.site.app.url_map.bind("")
        waiting = [(f"{self.site.base}{path}", False) for path in starts]
        given = set(waiting)
        while waiting:
            url, part = waiting.pop(0)
            if (url, part) in self.asked or urlsplit(url).netloc != urlsplit(self.site.base).netloc:
                continue
            try:
                endpoint, arguments = rules.match(urlsplit(url).path, method="GET")
            except HTTPException:
                continue
            if endpoint in ("static", "live", "guard.login"):
                continue
            query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
            fresh = {(endpoint, str(part)), (endpoint, str(arguments.get("what")))} - self.seen
            fresh |= {(endpoint, name, value if name in KINDS else "") for name, value in query} - self.seen
            self.seen |= fresh
            if not fresh and (url, part) not in given:
                continue
            answer = self.site.ask("GET", url.removeprefix(self.site.base), part=part)
            kind = answer.headers.get("Content-Type", "")
            self.asked[url, part] = endpoint, answer.status, kind
            self.endpoints.add(endpoint)
            if "Location" in answer.headers:
                waiting.append((urljoin(url, answer.headers["Location"]), False))
            if kind.startswith("text/html") and endpoint not in ("apps.show", "apps.frame"):
                self.texts[url] = answer.text  # type: ignore[attr-defined]
                waiting += Links(answer.text, url).found  # type: ignore[attr-defined]

    def screens(self) -> dict[str, str]:
        """One whole page of every endpoint that has one: {endpoint: URL}; the last found, which is the fullest."""
        return {
            endpoint: url
            for (url, part), (endpoint, status, _) in self.asked.items()
            if not part and status == 200 and "<html" in self.texts.get(url, "")
        }
