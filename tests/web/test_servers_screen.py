"""The Servers screen over a real console, real demo servers and a real sign-in; its form and previews alone."""

from __future__ import annotations

import http.server
import json
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from inspector.console.console import Console
from inspector.errors import LoupeError
from inspector.settings.paths import Paths
from inspector.settings.servers import ServerList
from inspector.settings.spec import SSE, STREAMABLE_HTTP, OAuth, ServerSpec, Timeouts
from inspector.settings.targets import demo_spec
from inspector.web.app import create_app
from inspector.web.guard import Guard
from inspector.web.servers_forms import MASK, Draft, FormErrors, draft_of, read_draft, spec_of
from inspector.web.servers_preview import digest, needs_look, preview, shell_words, warnings
from inspector.web.servers_state import ServersState
from inspector.wire.children import Swept

PORT = 4000
WAIT_S = 30.0
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
EXITS = (sys.executable, "-c", "import sys; print('no licence', file=sys.stderr); sys.exit(3)")


class Balanced(HTMLParser):
    """Fails on an end tag that closes nothing, on one left open, and on an id that is there twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids)), [one for one in self.ids if self.ids.count(one) > 1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value and "/>" not in value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


class Screen:
    """A signed-in browser without script, and with `part=True` one whose htmx asks for parts."""

    def __init__(self, console: Console, app: Flask, client: FlaskClient) -> None:
        self.console, self.app, self.client = console, app, client

    @property
    def state(self) -> ServersState:
        return self.app.extensions.setdefault("servers", ServersState())  # type: ignore[no-any-return]

    def get(self, path: str, *, part: bool = False, status: int = 200) -> str:
        return self._checked(self.client.get(path, headers=self._headers(part)), status).get_data(
            as_text=True
        )

    def post(self, path: str, /, *, part: bool = False, status: int = 303, **form: Any) -> TestResponse:
        return self._checked(self.client.post(path, data=form, headers=self._headers(part)), status)

    def _headers(self, part: bool) -> dict[str, str]:
        origin = f"http://127.0.0.1:{PORT}"
        return {"Host": f"127.0.0.1:{PORT}", "Origin": origin, "Sec-Fetch-Site": "same-origin"} | (
            {"HX-Request": "true", "HX-Request-Type": "partial"} if part else {}
        )

    def _checked(self, answer: TestResponse, status: int) -> TestResponse:
        text = answer.get_data(as_text=True)
        assert answer.status_code == status, text
        if text and not 300 <= answer.status_code < 400:
            Balanced(text)
        return answer

    def settled(self, key: str) -> None:
        self.state.openings.wait(key, WAIT_S)
        assert self.state.openings.current(key) is None

    def listed(self) -> list[str]:
        return list(self.console.servers_file.all())

    def connected(self) -> list[str]:
        return [one.key for one in self.console.servers() if one.state == "connected"]


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "work")
    with Console(Paths.locate(tmp_path / "data")) as console:
        guard = Guard(PORT)
        app = create_app(console, guard)
        found = Screen(console, app, app.test_client())
        token = guard.login_url().partition("?")[2]
        answer = found.client.get(f"/login?{token}", headers={"Host": f"127.0.0.1:{PORT}"})
        name, value = answer.headers["Set-Cookie"].partition(";")[0].split("=", 1)
        found.client.set_cookie(name, value, domain="127.0.0.1")
        yield found
        for key in found.listed():
            found.state.openings.wait(key, WAIT_S)


# --- the form alone


def test_a_command_becomes_a_server_that_is_split_like_shell_words_and_run_by_none() -> None:
    spec = spec_of(Draft(target="TOKEN=1 npx -y 'some server'", args="--path\n  two words  \n", cwd="/tmp"))
    assert spec.argv == ("npx", "-y", "some server", "--path", "  two words  ")
    assert spec.env == {"TOKEN": "1"}
    assert (spec.cwd, spec.source, spec.name) == ("/tmp", "added by hand", "some server")


def test_a_command_copied_with_its_prompt_and_continued_lines_is_understood() -> None:
    assert spec_of(Draft(target="$ uvx \\\n   mcp-server-time")).argv == ("uvx", "mcp-server-time")


def test_a_url_with_headers_becomes_a_server_without_a_process() -> None:
    draft = Draft(target="https://example.com/mcp", headers="Authorization: Bearer x:y", transport="sse")
    spec = spec_of(draft)
    assert (spec.transport, spec.url, spec.argv) == (SSE, "https://example.com/mcp", ())
    assert spec.headers == {"Authorization": "Bearer x:y"}
    assert spec_of(replace(draft, transport="")).transport == STREAMABLE_HTTP


@pytest.mark.parametrize(
    ("draft", "field", "says"),
    [
        (Draft(), "target", "Write a command"),
        (Draft(target="npx 'open"), "target", "quote"),
        (Draft(target="localhost:8000/mcp"), "target", "http://localhost:8000/mcp"),
        (Draft(target="ftp://example.com"), "target", "no transport"),
        (Draft(target="demo:flatt"), "target", "demo:flat"),
        (Draft(target="npx x", env="A=1\nnothing"), "env", "Line 2"),
        (Draft(target="npx x", env=f"A={MASK}"), "env", "no earlier value"),
        (Draft(target="https://e.org/mcp", headers="no colon"), "headers", "Line 1"),
        (Draft(target="npx x", headers="A: 1"), "headers", "no HTTP headers"),
        (Draft(target="npx x", oauth="client_id: a"), "oauth", "not signed in to"),
        (Draft(target="https://e.org/mcp", oauth="scopes: a"), "oauth", "Line 1"),
        (
            Draft(target="https://e.org/mcp", oauth="grant: client_credentials\nclient_id: a"),
            "oauth",
            "needs client_id",
        ),
        (Draft(target="https://e.org/mcp", oauth=f"client_secret: {MASK}"), "oauth", "no earlier value"),
        (Draft(target="https://e.org/mcp", args="x"), "args", "no process"),
        (Draft(target="npx x", probe="soon"), "probe", "Seconds"),
        (Draft(target="npx x", call="0"), "call", "Seconds"),
        (Draft(target="npx x", era="old"), "era", "auto"),
    ],
)
def test_what_cannot_be_used_is_said_at_its_field(draft: Draft, field: str, says: str) -> None:
    with pytest.raises(FormErrors) as caught:
        spec_of(draft)
    assert list(caught.value.errors) == [field]
    assert says in caught.value.errors[field]


def test_several_errors_are_told_at_once() -> None:
    with pytest.raises(FormErrors) as caught:
        spec_of(Draft(target="", env="x", probe="-1"))
    assert set(caught.value.errors) == {"target", "env", "probe"}


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters=["\n", "\t"]), max_size=12)


@given(st.lists(WORDS, max_size=4), st.sampled_from(["npx", "/opt/my server/run", "./x'y"]))
def test_the_form_of_a_command_gives_the_same_arguments_again(args: list[str], program: str) -> None:
    spec = ServerSpec("one", argv=(program, *args))
    assert spec_of(draft_of(spec), spec) == spec


def test_how_to_sign_in_survives_the_form_and_the_file_with_its_secret_hidden(tmp_path: Path) -> None:
    text = "client_id: me\nclient_secret: s3cret-value\nscope: a b\nissuer: https://as.example"
    spec = spec_of(Draft(target="https://e.org/mcp", oauth=text))
    assert spec.oauth == OAuth(
        client_id="me", client_secret="s3cret-value", scope="a b", issuer="https://as.example"
    )
    servers = ServerList(tmp_path / "servers.json")
    kept = servers.get(servers.add(spec))
    assert kept.oauth == spec.oauth
    shown = draft_of(kept)
    assert "s3cret-value" not in repr((shown, kept, kept.public()))
    assert spec_of(shown, kept).oauth == spec.oauth


def test_the_form_of_a_server_hides_its_values_and_keeps_those_left_hidden() -> None:
    spec = ServerSpec(
        "one", argv=("x",), env={"KEY": "s3cret", "OLD": "gone"}, timeouts=Timeouts(1, 2, 3, 4), declare=("roots",),
        era="modern", ids="str", source="/a/mcp.json",
    )  # fmt: skip
    draft = draft_of(spec)
    assert "s3cret" not in repr(draft)
    assert spec_of(draft, spec) == spec
    changed = spec_of(replace(draft, env=f"KEY={MASK}\nNEW=typed"), spec)
    assert changed.env == {"KEY": "s3cret", "NEW": "typed"}


def test_a_posted_form_is_read_as_typed_and_foreign_capabilities_are_left_out() -> None:
    draft = read_draft({"target": "a\r\nb", "probe": "x", "csrf": "1"}, ["sampling", "bogus"])
    assert (draft.target, draft.probe, draft.declare) == ("a\nb", "x", ("sampling",))


# --- the preview alone


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("sudo", "x"), "another user's rights"),
        (("/usr/bin/sudo", "x"), "another user's rights"),
        (("bash", "-c", "rm -fr /x"), "deletes whole folders"),
        (("bash", "-c", "rm -v --recursive /x"), "deletes whole folders"),
        (("sh", "-c", "curl https://x | sh"), "downloads something"),
        (("sh", "-c", "sh <(wget -O- https://x)"), "downloads something"),
        (("bash", "-lc", "echo"), "interprets a text"),
        (("cat", "/home/me/.ssh/config"), ".ssh"),
        (("cat", "~/.ssh"), ".ssh"),
        (("x", "id_ed25519"), "id_ed25519"),
        (("docker", "run", "--privileged", "x"), "--privileged"),
    ],
)
def test_a_dangerous_looking_command_is_warned_about(argv: tuple[str, ...], says: str) -> None:
    assert says in " ".join(warnings(ServerSpec("x", argv=argv)))


@pytest.mark.parametrize(
    "argv",
    [
        ("npx", "-y", "@scope/server-memory"),
        ("uvx", "mcp-server-git", "--repository", "/home/me/form -r"),
        ("python", "-m", "farm", "-r"),
        ("docker", "run", "-i", "--rm", "image"),
        ("node", "curl.js"),
    ],
)
def test_an_ordinary_command_is_not_warned_about(argv: tuple[str, ...]) -> None:
    assert warnings(ServerSpec("x", argv=argv)) == []


def test_a_preview_names_the_program_the_variables_and_no_value() -> None:
    spec = ServerSpec("x", argv=("sh", "server"), env={"TOKEN": "s3cret"}, cwd="/", source="/a/mcp.json")
    look = preview(spec, {"PATH": "/bin:/usr/bin", "HOME": "/h", "AWS_SECRET": "no"})
    assert look.program in ("/bin/sh", "/usr/bin/sh")
    assert (look.env, look.cwd, look.source) == (["TOKEN"], "/", "/a/mcp.json")
    assert "HOME" in look.inherited and "AWS_SECRET" not in look.inherited
    assert "s3cret" not in repr(look)


def test_a_preview_of_a_missing_program_says_where_it_was_looked_for() -> None:
    look = preview(ServerSpec("x", argv=("no-such-program-here",)), {"PATH": "/bin"})
    assert look.program == "" and "not found" in look.problem and look.remedy


def test_what_came_from_a_file_or_looks_risky_is_shown_before_its_first_start() -> None:
    assert not needs_look(ServerSpec("x", argv=("npx",)))
    assert needs_look(ServerSpec("x", argv=("npx",), source="/p/.mcp.json"))
    assert needs_look(ServerSpec("x", argv=("sudo", "npx")))


def test_a_digest_changes_with_what_is_run_and_not_with_the_name() -> None:
    spec = ServerSpec("x", argv=("a", "b"))
    assert digest(spec) == digest(replace(spec, name="y", era="modern"))
    assert digest(spec) != digest(replace(spec, argv=("a b",)))
    assert digest(spec) == digest(replace(spec, argv=("a", "b")))


# --- the screen


def test_the_first_run_explains_itself(screen: Screen) -> None:
    page = screen.get("/servers")
    assert "There is no server yet" in page
    for way in (
        'id="target"',
        'id="demo-flat"',
        'id="demo-progressive"',
        'id="demo-cache-hints"',
        'name="file"',
        "/codes",
    ):
        assert way in page


def test_the_start_page_leads_to_the_first_catalog_or_to_the_servers(screen: Screen) -> None:
    assert screen.client.get("/", headers=screen._headers(False)).headers["Location"] == "/servers"
    screen.console.servers_file.add(demo_spec("flat"))
    found = screen.client.get("/", headers=screen._headers(False)).headers["Location"]
    assert found == "/catalog/demo-flat/tools"


def test_the_start_page_leads_past_a_server_that_failed(screen: Screen) -> None:
    screen.console.servers_file.add(ServerSpec("broken", argv=("no-such-program-here",)))
    with pytest.raises(LoupeError):
        screen.console.connect("broken")
    assert screen.client.get("/", headers=screen._headers(False)).headers["Location"] == "/servers/broken"
    screen.console.servers_file.add(demo_spec("flat"))
    screen.console.connect("demo-flat")
    found = screen.client.get("/", headers=screen._headers(False)).headers["Location"]
    assert found == "/catalog/demo-flat/tools"


def test_one_click_adds_a_demo_and_connects_it(screen: Screen) -> None:
    # Straight to what it lists when that is there at once, which a busy machine may not manage.
    place = screen.post("/servers/demo", name="flat").headers["Location"]
    assert place in ("/servers/demo-flat", "/catalog/demo-flat/tools")
    screen.settled("demo-flat")
    page = screen.get("/servers/demo-flat")
    assert "server/discover answered" in page and "connected" in page and "Health" in page
    assert screen.connected() == ["demo-flat"]
    row = screen.get("/servers")
    assert re.search(r'<td class="n">\s*50</td>', row) and "2026-07-28" in row
    screen.post("/servers/demo", name="flat")
    assert screen.listed() == ["demo-flat"]
    screen.settled("demo-flat")


def test_nothing_is_started_before_what_it_runs_was_shown(screen: Screen) -> None:
    form = {"target": f"{sys.executable} -m no.such.module", "env": "TOKEN=s3cret", "do": "connect"}
    page = screen.post("/servers/add", part=True, status=200, **form).get_data(as_text=True)
    assert "This will run" in page and "no.such.module" in page and "TOKEN" in page
    assert screen.listed() == []
    seen = re.search(r'name="seen" value="(\w+)"', page)
    assert seen is not None
    other = form | {"target": "sh -c 'rm -rf x'", "seen": seen[1]}
    assert "deletes whole folders" in screen.post("/servers/add", part=True, status=200, **other).get_data(
        as_text=True
    )
    assert screen.listed() == []
    answer = screen.post("/servers/add", part=True, status=200, **form, seen=seen[1])
    assert answer.headers["HX-Redirect"] == "/servers/no-such-module"
    screen.settled("no-such-module")


def test_a_form_with_errors_comes_back_with_all_that_was_typed(screen: Screen) -> None:
    form = {"target": "npx <b>", "env": "nonsense", "probe": "x", "name": "mine & yours", "do": "save"}
    for part in (True, False):
        page = screen.post("/servers/add", part=part, status=422, **form).get_data(as_text=True)
        assert ("<!doctype html>" in page) is not part
        for typed in (
            "npx &lt;b&gt;",
            "nonsense",
            'value="x"',
            "mine &amp; yours",
            "Line 1 is not NAME=value.",
            "Seconds above 0",
        ):
            assert typed in page
    assert screen.listed() == []


def test_adding_without_connecting_starts_nothing(screen: Screen) -> None:
    answer = screen.post("/servers/add", target="npx -y thing", do="save")
    assert answer.headers["Location"] == "/servers?added=thing"
    assert screen.console.server("thing").state == "never"
    told = notice(screen, "/servers?added=thing")
    assert "Nothing was started" in told and 'name="key" value="thing"' in told and "Connect</button>" in told


def test_pasted_json_of_one_server_is_spread_over_the_form_and_of_several_is_chosen_from(
    screen: Screen,
) -> None:
    one = '{"mcpServers": {"a": {"command": "sh", "args": ["x y"], "env": {"K": "V"}}}}'
    page = screen.post("/servers/add", part=True, status=200, target=one, do="check").get_data(as_text=True)
    assert "x y</textarea>" in page and "K=V" in page and "This will run" in page
    two = '{"a": {"command": "sh"}, "b": {"url": "https://e.org/mcp"}, "c": {"command": 3}}'
    page = screen.post("/servers/add", status=200, target=two, do="connect").get_data(as_text=True)
    assert 'value="a" checked' in page and 'value="b" checked' in page and "Server “c”" in page
    screen.post("/servers/add", part=True, status=422, target='{"a": ', do="check")
    assert screen.listed() == []


def claude_desktop(home: Path) -> Path:
    """Where that program keeps its servers; its folder is made."""
    kept = "Library/Application Support" if sys.platform == "darwin" else ".config"
    path = home / kept / "Claude" / "claude_desktop_config.json"
    path.parent.mkdir(parents=True)
    return path


def config(home: Path) -> Path:
    path = claude_desktop(home)
    servers = {
        "memory": {"command": "npx", "args": ["-y", "memory"], "env": {"KEY": "s3cret"}},
        "weather": {"url": "https://e.org/mcp", "headers": {"Authorization": "Bearer ${input:tok}"}},
        "off": {"command": "sh", "disabled": True},
        "bad": {"args": []},
    }
    inputs = [{"id": "tok", "type": "promptString", "description": "The weather token", "password": True}]
    path.write_text(json.dumps({"mcpServers": servers, "inputs": inputs}))
    return path


def test_a_file_found_here_is_imported_entry_by_entry_and_starts_nothing(screen: Screen) -> None:
    path = config(Path.home())
    assert "Claude Desktop" in screen.get("/servers")
    page = screen.get(f"/servers/add/import?path={path}")
    assert 'value="memory" checked' in page and 'value="off">' in page and "disabled in that file" in page
    assert "Server “bad”" in page and "s3cret" not in page
    assert re.search(r'name="value:weather:\$\{input:tok\}" type="password"', page)
    form = {"path": str(path), "entry": ["memory", "weather"], "value:weather:${input:tok}": "t0ken"}
    screen.post("/servers/add/import", **form)
    assert screen.listed() == ["memory", "weather"]
    assert screen.console.servers_file.get("weather").headers == {"Authorization": "Bearer t0ken"}
    assert screen.console.servers_file.get("memory").source == str(path)
    assert {one.state for one in screen.console.servers()} == {"never"}
    assert "already in the list" in screen.get(f"/servers/add/import?path={path}")


def test_only_files_that_were_found_are_read(screen: Screen) -> None:
    secret = Path.home() / "other.json"
    secret.write_text('{"mcpServers": {"x": {"command": "sh"}}}')
    assert "not one of the files found" in screen.get(f"/servers/add/import?path={secret}", status=422)


def test_choosing_no_entry_is_said_and_an_upload_is_read_like_pasted_text(screen: Screen) -> None:
    text = '{"a": {"command": "sh"}}'
    with (Path.home() / "my.json").open("w") as file:
        file.write(text)
    with (Path.home() / "my.json").open("rb") as file:
        page = screen.post("/servers/add/import/read", status=200, file=(file, "my.json")).get_data(
            as_text=True
        )
    assert "uploaded my.json" in page
    form = {"text": text, "source": "uploaded my.json"}
    assert "Choose at least one" in screen.post("/servers/add/import", status=422, **form).get_data(
        as_text=True
    )
    screen.post("/servers/add/import", **form, entry="a")
    assert screen.console.servers_file.get("a").source == "uploaded my.json"


def notice(screen: Screen, path: str) -> str:
    return screen.get(path).split('role="status">')[1].split("</div>")[0]


@pytest.mark.parametrize(
    ("padding", "said"),
    [
        ("#" * 130_000, "characters long, more than this page shows"),
        ("\u200b" * 300, "It has 300 invisible characters"),
    ],
)
def test_what_a_page_cannot_show_whole_is_not_connected_from_it(
    padding: str, said: str, screen: Screen
) -> None:
    entry = {"command": sys.executable, "args": ["-c", padding + "\nimport here"]}
    text = json.dumps({"mcpServers": {"long": entry}})
    page = screen.post("/servers/add/import/read", status=200, text=text).get_data(as_text=True)
    seen = re.findall(r'name="seen" value="([^"]+)"', page)
    assert len(seen) == 1 and said in page
    answer = screen.post("/servers/add/import", text=text, entry="long", seen=seen, do="connect")
    assert answer.headers["Location"] == "/servers/connect/confirm?key=long"
    assert said in screen.get("/servers/connect/confirm?key=long")


def test_a_page_offers_the_entries_that_fit_it_and_takes_no_others(screen: Screen) -> None:
    entries = {f"s{at}": {"command": "x" * 5_000} for at in range(100)} | {f"b{at}": 1 for at in range(500)}
    text = json.dumps({"mcpServers": entries})
    page = screen.post("/servers/add/import/read", status=200, text=text).get_data(as_text=True)
    offered = page.count('name="entry"')
    assert 0 < offered < 100
    assert f"{100 - offered} more entries do not fit this page" in page
    assert "400 more such sentences" in page
    assert len(page) - len(text) < 400_000
    answer = screen.post("/servers/add/import", status=422, text=text, entry=f"s{offered}")
    assert "Choose at least one" in answer.get_data(as_text=True)
    screen.post("/servers/add/import", text=text, entry=f"s{offered - 1}")
    assert list(screen.console.servers_file.all()) == [f"s{offered - 1}"]


def test_ticked_entries_connect_at_once_but_what_was_warned_of_or_changed_since_is_shown_again(
    screen: Screen,
) -> None:
    path = claude_desktop(Path.home())
    echo = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}

    def write(**more: Any) -> None:
        servers = {"plain": echo, "loads": {**echo, "env": {"LD_PRELOAD": "x.so"}}, "swapped": echo | more}
        path.write_text(json.dumps({"mcpServers": servers}))

    write()
    seen = re.findall(r'name="seen" value="([^"]+)"', screen.get(f"/servers/add/import?path={path}"))
    write(args=["-c", "import sys; sys.exit(3)"])
    form = {"path": str(path), "entry": ["plain", "loads", "swapped"], "seen": seen, "do": "connect"}
    answer = screen.post("/servers/add/import", **form)
    assert answer.headers["Location"] == "/servers/connect/confirm?key=loads&key=swapped"
    assert screen.listed() == ["plain", "loads", "swapped"]
    assert [key for key in screen.listed() if screen.state.openings.current(key)] == ["plain"]
    told = notice(screen, "/servers?added=plain")
    assert "Saved" in told and "Nothing was started" not in told and "Connect" not in told
    screen.post("/servers/plain/stop")
    screen.settled("plain")


def test_an_imported_server_is_shown_before_its_first_start_and_not_again(screen: Screen) -> None:
    spec = replace(demo_spec("flat"), name="imported", source="/p/.mcp.json")
    key = screen.console.servers_file.add(spec)
    assert (
        screen.post("/servers/connect", key=key).headers["Location"]
        == "/servers/connect/confirm?key=imported"
    )
    assert screen.state.openings.current(key) is None
    page = screen.get("/servers/connect/confirm?key=imported")
    assert "/p/.mcp.json" in page and "inspector.demo" in page
    screen.post("/servers/connect", key=key, seen=digest(spec))
    screen.settled(key)
    assert screen.connected() == [key]
    # A quick start lands on the catalog, a slow one on the server's page; neither asks again.
    landed = screen.post("/servers/connect", key=key).headers["Location"]
    assert landed in ("/servers/imported", "/catalog/imported/tools")
    screen.settled(key)


def test_connect_all_starts_what_is_known_and_asks_about_the_rest(screen: Screen) -> None:
    known = screen.console.servers_file.add(demo_spec("flat"))
    foreign = screen.console.servers_file.add(
        replace(demo_spec("flat"), name="foreign", source="/p/.mcp.json")
    )
    answer = screen.post("/servers/connect", **{"key": [known, foreign], "from": "list"})
    assert answer.headers["Location"] == "/servers/connect/confirm?key=foreign"
    screen.settled(known)
    assert screen.connected() == [known]


def test_a_server_that_exits_at_once_is_explained(screen: Screen) -> None:
    key = screen.console.servers_file.add(ServerSpec("exits", argv=EXITS))
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    page = screen.get(f"/servers/{key}")
    for part in (
        "Tried, in order",
        "server/discover",
        "initialize",
        "no licence",
        "Exit code",
        ">3<",
        "sys.exit(3)",
        "Next",
    ):
        assert part in page
    assert "exited with code 3" in screen.get("/servers")


@pytest.mark.parametrize("name", ["no-such-command-here", "./plain-file"])
def test_a_command_that_cannot_be_run_is_explained(screen: Screen, name: str) -> None:
    Path("plain-file").write_text("x")
    key = screen.console.servers_file.add(ServerSpec("it", argv=(name, "--flag")))
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    page = screen.get(f"/servers/{key}")
    assert "<dd>spawn</dd>" in page
    assert ("not executable" if name == "./plain-file" else "not found") in page
    assert f"{name} --flag" in page


class Handler(http.server.BaseHTTPRequestHandler):
    """404 with HTML, or 401 with a challenge below /locked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def do_GET(self) -> None:
        locked = self.path.startswith("/locked")
        body = b"<html><b>Nothing here</b></html>"
        self.send_response(401 if locked else 404)
        if locked:
            self.send_header("WWW-Authenticate", 'Bearer realm="mcp"')
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(WAIT_S)


@pytest.mark.parametrize(
    ("path", "layer", "says"),
    [
        ("/mcp", "http", "&lt;b&gt;Nothing here"),
        ("/locked", "auth", "Bearer realm="),
        (None, "network", "127.0.0.1:9"),
    ],
)
def test_a_url_that_does_not_work_is_explained(
    screen: Screen, web: str, path: str | None, layer: str, says: str
) -> None:
    url = f"{web}{path}" if path else "http://127.0.0.1:9/mcp"
    key = screen.console.servers_file.add(ServerSpec("it", transport=STREAMABLE_HTTP, url=url))
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    page = screen.get(f"/servers/{key}")
    assert f"<dd>{layer}</dd>" in page and says in page and "Tried, in order" in page
    assert "<b>Nothing here" not in page


@pytest.mark.parametrize(
    ("fault", "says"), [("exit_on_probe", "initialize"), ("mute_on_probe", "initialize"), ("banner", "noise")]
)
def test_a_fault_at_the_start_that_is_survived_shows_in_the_counters_or_the_steps(
    screen: Screen, fault: str, says: str
) -> None:
    spec = demo_spec("chaos")
    # A probe that is never answered must not take this test ten seconds.
    timeouts = Timeouts(probe=0.5) if fault == "mute_on_probe" else Timeouts()
    key = screen.console.servers_file.add(
        replace(spec, argv=(*spec.argv, "--fault", fault), timeouts=timeouts)
    )
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    assert screen.connected() == [key]
    page = screen.get(f"/servers/{key}/state?c={screen.console.connection(key).c}", part=True)
    assert '<td class="n w-7">2</td>' in page if fault == "banner" else "handshake" in page
    assert says in page


def test_a_connect_under_way_is_shown_at_once_and_can_be_cancelled(screen: Screen) -> None:
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")
    key = screen.console.servers_file.add(ServerSpec("silent", argv=silent))
    screen.post("/servers/connect", key=key)
    page = screen.get(f"/servers/{key}")
    assert "Connecting" in page and f"/servers/{key}/stop" in page and 'hx-trigger="every 1s"' in page
    assert "connecting" in screen.get(f"/servers/{key}/row", part=True)
    screen.post(f"/servers/{key}/stop")
    screen.settled(key)
    assert screen.console.server(key).state == "closed"
    page = screen.get(f"/servers/{key}")
    assert "Not connected" in page and f"/servers/{key}/stop" not in page


def test_a_missing_value_is_said_on_the_page_though_nothing_was_opened(screen: Screen) -> None:
    key = screen.console.servers_file.add(ServerSpec("it", argv=("sh", "${input:token}")))
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    assert "${input:token} has no value" in screen.get(f"/servers/{key}")
    assert "failed" in screen.get("/servers")


def test_stop_ends_the_process_and_the_row_is_swapped_for_htmx(screen: Screen) -> None:
    key = screen.console.servers_file.add(demo_spec("flat"))
    row = screen.post("/servers/connect", part=True, status=200, **{"key": key, "from": "list"}).get_data(
        as_text=True
    )
    assert f'hx-target="#server-{key}"' in row and 'hx-target="#servers"' in row
    screen.settled(key)
    answer = screen.post(f"/servers/{key}/stop", **{"from": "list"})
    assert answer.headers["Location"] == "/servers"
    assert screen.console.server(key).state == "closed"


def test_an_edit_keeps_hidden_values_and_says_that_a_connection_is_older(screen: Screen) -> None:
    key = screen.console.servers_file.add(
        replace(demo_spec("flat"), env={**demo_spec("flat").env, "KEY": "s3cret"})
    )
    screen.post("/servers/connect", key=key)
    screen.settled(key)
    page = screen.get(f"/servers/{key}/edit")
    assert "s3cret" not in page and f"KEY={MASK}" in page
    draft = draft_of(screen.console.servers_file.get(key))
    form = {
        "target": draft.target,
        "args": draft.args,
        "env": draft.env,
        "name": draft.name,
        "era": "modern",
        "do": "save",
    }
    screen.post(f"/servers/{key}/edit", **form)
    changed = screen.console.servers_file.get(key)
    assert (changed.env["KEY"], changed.era) == ("s3cret", "modern")
    assert "reconnect to use" in screen.get(f"/servers/{key}")
    screen.post(f"/servers/{key}/edit", **form | {"name": "Other"})
    assert screen.listed() == ["other"] and screen.connected() == []


def test_a_removed_server_can_be_put_back(screen: Screen) -> None:
    key = screen.console.servers_file.add(ServerSpec("it", argv=("sh",), env={"A": "1"}))
    screen.console.servers_file.add(ServerSpec("next", argv=("sh",)))
    answer = screen.post(f"/servers/{key}/remove")
    assert answer.headers["Location"] == "/servers?removed=it"
    assert "Undo" in screen.get("/servers?removed=it")
    screen.post("/servers/removed/it/restore")
    assert screen.console.servers_file.get("it").env == {"A": "1"}
    assert list(screen.console.servers_file.all()) == ["it", "next"], "where it stood"
    assert "Undo" not in screen.get("/servers?removed=it")
    screen.post("/servers/removed/it/restore", status=422)


def test_a_duplicate_is_opened_for_editing(screen: Screen) -> None:
    key = screen.console.servers_file.add(ServerSpec("it", argv=("sh",)))
    assert screen.post(f"/servers/{key}/duplicate").headers["Location"] == "/servers/it-copy/edit"


def test_what_was_swept_at_the_start_is_told_until_dismissed(screen: Screen) -> None:
    screen.console.swept = [Swept(77, ["npx", "<old>"], 2)]
    page = screen.get("/servers")
    assert "npx &lt;old&gt;" in page and "pid 77, 2 processes" in page
    screen.post("/servers/swept/dismiss")
    assert "pid 77" not in screen.get("/servers")


def test_no_address_of_the_screen_starts_anything_on_get(screen: Screen) -> None:
    key = screen.console.servers_file.add(demo_spec("flat"))
    for rule in screen.app.url_map.iter_rules():
        if rule.endpoint.startswith("servers.") and "GET" in (rule.methods or ()):
            path = rule.rule.replace("<key>", key)
            screen.client.get(path, query_string={"key": key, "c": 0}, headers=screen._headers(False))
    assert screen.console.server(key).state == "never"
    assert screen.state.openings.current(key) is None
    for path in ("/servers/connect", "/servers/add", "/servers/demo"):
        assert screen.client.get(path, headers=screen._headers(False)).status_code in (404, 405, 422)


def test_what_a_server_says_is_text_and_an_unknown_server_is_told(screen: Screen) -> None:
    key = screen.console.servers_file.add(ServerSpec("<script>x", argv=("sh", "<img>")))
    for path in ("/servers", f"/servers/{key}", f"/servers/{key}/edit"):
        page = screen.get(path)
        assert "<img>" not in page and "<script>x" not in page
    assert "There is no server" in screen.get("/servers/nobody", status=422)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (
            ("cd", "/tmp", "&&", "python3", "x.py"),
            "Write python3 x.py as the command, and /tmp as Working folder",
        ),
        (("cd", "/tmp"), "Write the folder as Working folder"),
        (("export", "TOKEN=1"), "Write variables as Env"),
        (("python3", "x.py", "|", "tee", "log"), "name a shell: bash -c"),
        (("python3", "x.py", "2>err.log"), "2>err.log is no more than a word here"),
        (("python3", "x.py;", "true"), "x.py; is no more than a word here"),
    ],
)
def test_words_for_a_shell_are_told_with_what_to_use_instead(argv: tuple[str, ...], says: str) -> None:
    assert says in shell_words(argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("python3", "x.py", "a|b"),
        ("bash", "-c", "cd /tmp && ls"),
        ("npx", "-y", "x", "--url", "http://h/?a=1;b"),
    ],
)
def test_words_that_need_no_shell_are_left_alone(argv: tuple[str, ...]) -> None:
    assert shell_words(argv) == ""


def test_a_check_that_failed_offers_no_connect(screen: Screen) -> None:
    def buttons(target: str) -> list[str]:
        page = screen.post("/servers/add", part=True, status=200, target=target, do="check").get_data(
            as_text=True
        )
        form = page[page.index('class="btns form__b"') :]
        return [
            " ".join(re.sub(r"<[^>]+>", "", each).split())
            for each in re.findall(r"<button.*?</button>", form)
        ]

    assert buttons(f"{sys.executable} x.py")[0] == "Connect"
    assert buttons("no-such-program-here") == ["Check again", "Add without connecting"]
    assert buttons(f"{sys.executable} x.py | tee log") == [
        "Check again",
        "Add without connecting",
        "Connect anyway",
    ]


def test_servers_of_one_name_are_told_apart_on_every_list(screen: Screen) -> None:
    for path in ("mcp", "sse"):
        screen.console.servers_file.add(
            ServerSpec("127.0.0.1:9", transport=STREAMABLE_HTTP, url=f"http://127.0.0.1:9/{path}")
        )
    for page in ("/servers", "/palette"):
        text = re.sub(r"</?(?:span|b)[^>]*>", "", screen.get(page))
        assert "127.0.0.1:9/mcp" in text and "127.0.0.1:9/sse" in text, page


def test_an_error_page_keeps_the_rail_and_the_status_line(screen: Screen) -> None:
    screen.console.servers_file.add(demo_spec("flat"))
    page = screen.get("/call/no-such", status=422)
    assert "demo:flat" in page and "recorder healthy" in page
    screen.app.view_functions["findings.index"] = lambda: 1 / 0
    page = screen.get("/findings", status=500)
    assert "this is our own fault" in page and "demo:flat" in page and "recorder healthy" in page


def test_a_connecting_page_can_be_reloaded_without_script(screen: Screen) -> None:
    spec = ServerSpec("slow", argv=(sys.executable, "-c", "import time; time.sleep(60)"))
    key = screen.console.servers_file.add(spec)
    screen.state.openings.begin(screen.console, key)
    assert re.search(r'<noscript><p><a href="/servers/slow">Reload</a>', screen.get(f"/servers/{key}"))
    screen.console.disconnect(key)
    screen.settled(key)


def test_the_first_page_of_an_unused_loupe_offers_a_server_a_demo_and_a_recording(screen: Screen) -> None:
    page = screen.get("/servers")
    assert 'id="demo-flat"' in page and "Check what it runs" in page
    assert 'action="/traces/shipped/sqlite-crash.mcptrace.jsonl"' in page
    screen.console.servers_file.add(demo_spec("flat"))
    assert "/traces/shipped/" not in screen.get("/servers")


def test_a_demo_of_another_environment_is_started_by_this_one_and_not_listed_twice(screen: Screen) -> None:
    gone = replace(demo_spec("flat"), argv=("/gone/bin/python", "-m", "inspector.demo", "flat"), era="modern")
    key = screen.console.servers_file.add(gone)
    screen.post("/servers/demo", name="flat")
    assert {key: (spec.argv, spec.era) for key, spec in screen.console.servers_file.all().items()} == {
        key: (demo_spec("flat").argv, "modern")
    }
