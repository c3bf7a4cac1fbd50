"""What the tests of screens share: consoles over temporary folders, servers that list what is wanted, looks at HTML."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.web.app import create_app
from inspector.web.guard import Guard

REPLAY = Path(__file__).resolve().parents[1] / "servers" / "replay_lines.py"
ORIGIN = "http://127.0.0.1:6280"
WAIT_S = 30.0
PATIENT = Timeouts(probe=60.0, connect=90.0, call=60.0)
"""On a busy machine a server on the SDK takes more than ten seconds to start: what is counted must not hang on that."""
PARTIAL = {"HX-Request-Type": "partial"}
VOID = {"input", "meta", "link", "br", "img", "hr"}

Screen = Callable[..., TestResponse]


class Nesting(HTMLParser):
    """Raises on a tag that closes what is not open, and keeps the ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def well_formed(answer: TestResponse) -> str:
    """The text of a page or part, after a look at its nesting and its ids."""
    parser = Nesting()
    parser.feed(answer.text)
    assert parser.open == []
    assert len(set(parser.ids)) == len(parser.ids)
    return answer.text


def words(text: str) -> str:
    """The text of a page or part, white space made single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def squeezed(text: str) -> str:
    """Without spaces: markup around a word or a mark puts some where the sentence has none."""
    return re.sub(r"\s+", "", text)


@contextmanager
def console_of(folder: Path, specs: dict[str, ServerSpec]) -> Iterator[tuple[Console, FlaskClient]]:
    """A console over `folder`, its servers known but not connected, and a browser that is signed in."""
    guard = Guard(6280)
    with Console(Paths.locate(folder)) as console:
        known = console.servers_file.all()
        for spec in specs.values():
            if spec.name not in [each.name for each in known.values()]:
                console.servers_file.add(
                    replace(spec, timeouts=PATIENT) if spec.timeouts == Timeouts() else spec
                )
        client = create_app(console, guard).test_client()
        assert client.get("/login", query_string={"token": guard.mint()}, base_url=ORIGIN).status_code == 303
        yield console, client


def replayed(folder: Path, name: str, tools: list[Any], **hints: Any) -> ServerSpec:
    """A server that lists just these tools, in both eras."""
    file = folder / f"{name}.jsonl"
    result = {"tools": tools, "resultType": "complete", **hints}
    line = json.dumps({"jsonrpc": "2.0", "id": 10, "result": result}, separators=(",", ":"))
    file.write_text(line + "\n", "utf-8")
    return ServerSpec(name, argv=(sys.executable, str(REPLAY), str(file)))


def counted(console: Console, key: str, what: str = "tools") -> None:
    """Wait until the tokens and findings of a list have come."""
    catalog = console.catalogs.known(key, what)
    assert catalog is not None
    catalog.tokens.result(WAIT_S)
    catalog.findings.result(WAIT_S)


def rows_of(text: str) -> list[str]:
    """The names in the table, as the links say them."""
    return re.findall(r'<tr id="i\d+".*?<td class="mono"[^>]*><a [^>]*>(.*?)</a>', text)
