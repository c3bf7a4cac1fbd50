"""The client's half over a server that asks and offers everything, in both eras: what the pages do and show."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from catalog_screen import ORIGIN, PARTIAL, WAIT_S, console_of
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from inspector.console.calls import Call
from inspector.console.console import Console
from inspector.settings.spec import ServerSpec

ASKING = Path(__file__).resolve().parents[1] / "servers" / "asking.py"
DECLARED = ("roots", "sampling", "elicitation")


@dataclass
class Half:
    """The servers `old` and `new`, connected, and a signed-in browser."""

    console: Console
    client: FlaskClient

    def get(self, path: str, *, part: bool = False) -> TestResponse:
        return self.client.get(path, base_url=ORIGIN, headers=PARTIAL if part else {})

    def post(self, path: str, *, part: bool = True, **fields: object) -> TestResponse:
        headers = {"Origin": ORIGIN, **(PARTIAL if part else {})}
        return self.client.post(path, base_url=ORIGIN, headers=headers, data=fields)

    def run(self, key: str, what: str, tool: str, **fields: object) -> str:
        """Run to the end; what the result pane then says."""
        answer = self.post(f"/call/{key}", what=what, tool=tool, **fields)
        assert answer.status_code == 200, answer.text
        return self.ended(self.last(key))

    def last(self, key: str) -> Call:
        return self.console.calls.recent(key)[0]

    def ended(self, call: Call) -> str:
        call.future.result(WAIT_S)
        return words(self.get(f"/call/{call.server_key}/result/{call.id}", part=True).text)


def words(text: str) -> str:
    """The text of a fragment, white space made single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Half]:
    folder = tmp_path_factory.mktemp("half")
    folder.chmod(0o700)
    argv = (sys.executable, str(ASKING))
    specs = {
        "old": ServerSpec("old", argv=argv, declare=DECLARED, era="handshake"),
        "new": ServerSpec("new", argv=(*argv, "--modern"), declare=DECLARED),
    }
    with console_of(folder, specs) as (console, client):
        for key in specs:
            console.connect(key)
        yield Half(console, client)


def test_lists_other_than_tools_are_listed_on_request_and_shown(half: Half) -> None:
    page = half.get("/call/old?what=prompts").text
    assert "Its prompts were not listed yet" in page
    for what in ("prompts", "resources", "templates"):
        answer = half.post("/call/old/list", part=False, what=what)
        assert answer.headers["Location"] == f"/call/old?what={what}"
    prompts = words(half.get("/call/old?what=prompts").text)
    assert "greet" in prompts and "Greets somebody." in prompts
    assert "A picture" in words(half.get("/call/old?what=resources").text)


def test_a_prompt_is_asked_for_with_its_arguments(half: Half) -> None:
    half.console.refresh("old", "prompts")
    refused = half.post("/call/old", what="prompts", tool="greet", mode="form")
    assert refused.status_code == 422 and "not sent" in words(refused.text).lower()
    shown = half.run("old", "prompts", "greet", mode="form", **{"a:/name": "Ada", "a:/style": ""})
    assert "The server gave the prompt." in shown and "Greet Ada." in shown and "Role user" in shown
    assert half.last("old").arguments == '{"name":"Ada"}'


def test_a_resource_is_read_as_text_image_or_download(half: Half) -> None:
    assert "text of note://text" in half.run("old", "resources", "note://text")
    half.run("old", "resources", "note://image")
    call = half.last("old")
    shown = half.get(f"/call/old/result/{call.id}", part=True).text
    assert '<img class="call__img" src="data:image/png;base64,iVBORw0' in shown
    assert "resource · 256 B" in half.run("new", "resources", "note://blob")
    octets = half.get(f"/call/new/result/{half.last('new').id}/item/0").data
    assert octets == bytes(range(256))


def test_a_template_has_a_form_of_its_variables_and_is_expanded(half: Half) -> None:
    half.console.refresh("old", "templates")
    template = "note://{owner}{/path*}{?q,lang*}"
    page = half.get("/call/old", part=False).text  # the tab is there once the list is known
    assert "what=templates" in page
    form = words(
        half.client.get(
            "/call/old", base_url=ORIGIN, query_string={"what": "templates", "tool": template}
        ).text
    )
    assert "owner string required" in form and "path string items" in form and "q string" in form
    shown = half.run(
        "old", "templates", template, mode="form", **{"a:/owner": "a b", "a:/path": "x\ny/z", "lines:/path": "1",
        "a:/q": "ü", "a:/lang": "", "lines:/lang": "1"},
    )  # fmt: skip
    assert "text of note://a%20b/x/y%2Fz?q=%C3%BC" in shown


def test_a_missing_variable_and_a_malformed_template_send_nothing(half: Half) -> None:
    before = half.console.journal.last_seq
    missing = half.post("/call/old", what="templates", tool="note://{owner}", mode="json", json="{}")
    assert missing.status_code == 422 and "needs a value for “owner”" in words(missing.text)
    malformed = half.post("/call/old", what="templates", tool="note://{", mode="json", json="{}")
    assert malformed.status_code == 422 and "URI template is malformed" in words(malformed.text)
    page = half.client.get(
        "/call/old", base_url=ORIGIN, query_string={"what": "templates", "tool": "note://{"}
    )
    assert "Type the whole URI by hand" in words(page.text)
    assert half.console.journal.last_seq == before


def test_arguments_are_completed_with_what_the_server_proposes(half: Half) -> None:
    fields = {"what": "prompts", "tool": "greet", "argument": "/name", "a:/name": "A", "a:/style": "formal"}
    assert re.findall('value="(.*?)"', half.post("/call/old/complete", **fields).text) == ["Ada", "Alan"]
    page = half.get("/call/old?what=prompts&tool=greet").text
    assert 'hx-post="/call/old/complete"' in page and '<datalist id="f0-list">' in page
    refused = half.post("/call/old/complete", what="tools", tool="ask", argument="/x")
    assert refused.status_code == 422
