from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.errors import ConfigError, LoupeError, UsageError
from inspector.settings.commands import command_spec, split_command
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import FileTarget, demo_spec, same_server, target


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    servers = {"github": {"command": "gh-mcp"}, "gitlab": {"url": "https://gitlab.example/mcp"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return tmp_path


def find(text: str, here: Path, **more: object) -> ServerSpec | FileTarget:
    return target(text, home=here / "home", cwd=here, environ={}, platform="linux", **more)  # type: ignore[arg-type]


def refused(text: str, here: Path, **more: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        find(text, here, **more)
    return caught.value


def test_a_url_is_streamable_http(here: Path) -> None:
    spec = find("http://127.0.0.1:8000/mcp", here)
    assert spec == ServerSpec(
        "127.0.0.1:8000", transport="streamable-http", url="http://127.0.0.1:8000/mcp", source="command line"
    )


def test_a_command_is_split_like_shell_words_and_expands_nothing(here: Path) -> None:
    spec = find("cmd:KEY=v npx -y 'a b' $HOME \"c;d\" *", here)
    assert isinstance(spec, ServerSpec)
    assert spec.argv == ("npx", "-y", "a b", "$HOME", "c;d", "*")
    assert spec.env == {"KEY": "v"}


def test_backslashes_are_letters_on_windows() -> None:
    assert split_command(r'"C:\My Tools\x.exe" C:\a', windows=True) == [r"C:\My Tools\x.exe", r"C:\a"]


def test_demo_servers_are_run_by_this_python(here: Path) -> None:
    spec = find("demo:chaos", here)
    assert isinstance(spec, ServerSpec)
    assert spec.argv == (sys.executable, "-m", "inspector.demo", "chaos")


def test_an_existing_file_is_a_file_target(here: Path) -> None:
    (here / "run.jsonl").write_text("")
    assert find("run.jsonl", here) == FileTarget(here / "run.jsonl")


def test_a_name_is_found_in_the_project_and_in_our_own_list(here: Path) -> None:
    spec = find("github", here)
    assert isinstance(spec, ServerSpec)
    assert spec.argv == ("gh-mcp",)
    mine = ServerSpec("My server", argv=("x",))
    for name in ("my-server", "My server", "my server"):
        assert find(name, here, configured={"my-server": mine}) is mine


def test_config_files_given_are_the_only_ones_looked_at(here: Path) -> None:
    (here / "other.json").write_text('{"mcpServers": {"github": {"command": "other"}}}')
    spec = find("github", here, configs=[Path("other.json")])
    assert isinstance(spec, ServerSpec)
    assert spec.argv == ("other",)
    assert "other.json" in spec.source
    assert refused("gitlab", here, configs=[Path("other.json")]).remedy.startswith("Did you mean github?")


def test_a_config_file_that_is_missing_is_said(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json is not a file"):
        find("github", here, configs=[Path("none.json")])


def test_one_name_for_two_different_servers_is_ambiguous(here: Path) -> None:
    (here / ".cursor").mkdir()
    (here / ".cursor/mcp.json").write_text('{"mcpServers": {"github": {"command": "other"}}}')
    error = refused("github", here)
    assert "means different servers in" in error.message
    assert error.remedy == "Say which file you mean: --config FILE."


def test_a_name_that_is_also_a_file_is_ambiguous(here: Path) -> None:
    (here / "github").write_text("")
    assert refused("github", here).remedy == "Write ./github for the file."
    assert find("./github", here) == FileTarget(here / "github")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("githup", "Did you mean github or gitlab?"),
        ("zzz", "Known servers: github, gitlab."),
        ("demo:flatt", "Did you mean demo:flat?"),
        ("flat", "Did you mean demo:flat?"),
        ("localhost:8000/mcp", "For a URL write http://localhost:8000/mcp"),
        ("npx -y server", "For a command write cmd:'npx -y server'"),
        ("ws://x", "Use an http:// or https:// URL."),
        ("http://", "Write it like https://host/path"),
        ("cmd:", "Write for example cmd:"),
        ("cmd:'a", "Close the quote"),
        ("./", "Name a file in it, or a server."),
        ("", "Give a URL"),
    ],
)
def test_what_is_not_understood_comes_with_the_next_thing_to_try(here: Path, text: str, remedy: str) -> None:
    assert remedy in refused(text, here).remedy


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("npx -y --prefix /opt/tools @scope/server-one", "server-one"),
        ("uvx --from git+https://example.org/x two-server --port 3", "two-server"),
        ("uv --directory /srv/weather run three.py", "three"),
        ("docker run -i --rm -e TOKEN -v /a:/b ghcr.io/owner/four", "four"),
        ("python -m five.server", "five.server"),
        ("/usr/bin/six --db-path x.db", "six"),
        ("/opt/n/node /srv/seven/build/eight.js", "eight"),
        ("npx", "npx"),
    ],
)
def test_a_command_is_named_for_what_it_runs_not_for_an_option_of_its_runner(text: str, name: str) -> None:
    assert command_spec(text, "x").name == name


def test_a_file_that_could_not_be_read_is_mentioned_when_a_name_is_not_found(here: Path) -> None:
    (here / ".cursor").mkdir()
    (here / ".cursor/mcp.json").write_text("{")
    assert "Not everything could be read" in refused("zzz", here).remedy


@given(text=st.text(max_size=30) | st.text("cmd:htp/.'\\[]@0", max_size=20).map("http://".__add__))
def test_any_text_is_a_target_or_our_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    here = tmp_path_factory.getbasetemp()
    with suppress(LoupeError):
        assert isinstance(target(text, home=here, cwd=here, environ={}), ServerSpec | FileTarget)


def test_a_demo_is_the_same_server_whichever_python_runs_it() -> None:
    ours = demo_spec("flat")
    known = {
        "other": ServerSpec("x", argv=("/gone/bin/python", "-m", "inspector.demo", "chaos")),
        "demo-flat": ServerSpec("demo:flat", argv=("/gone/bin/python", "-m", "inspector.demo", "flat")),
    }
    assert same_server(ours, known) == "demo-flat"
    assert same_server(ours, known | {"exact": ours}) == "exact"
    assert same_server(demo_spec("logs"), known) is None
    assert (
        same_server(ServerSpec("y", argv=("python", "-m", "inspector.demo", "flat", "--slow")), known) is None
    )
