from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.errors import ConfigError, HttpFailed, PeerError
from inspector.settings.found import FoundConfig, discover, known_places
from inspector.settings.hiding import Hider
from inspector.settings.importing import Imported, Unresolved, read_config, read_config_file, read_env_file
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import pasted
from inspector.settings.variables import (
    Variable,
    expand_environment,
    placeholders,
    require_resolved,
    supply,
    unresolved,
    variables,
)


def read(document: object, **around: object) -> Imported:
    text = document if isinstance(document, str) else json.dumps(document)
    return read_config(text, "mcp.json", **({"environ": {}, "home": "/home/me"} | around))  # type: ignore[arg-type]


def one(entry: object, **around: object) -> ServerSpec:
    imported = read({"mcpServers": {"s": entry}}, **around)
    assert imported.problems == []
    return imported.specs[0]


def problem(entry: object) -> str:
    imported = read({"mcpServers": {"s": entry, "good": {"command": "true"}}})
    assert [spec.name for spec in imported.specs] == ["good"]
    assert len(imported.problems) == 1
    return imported.problems[0]


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda servers: {"mcpServers": servers},
        lambda servers: {"servers": servers, "inputs": []},
        lambda servers: {"mcp": {"servers": servers}, "editor.fontSize": 12},
        lambda servers: {"mcp.servers": servers},
        lambda servers: servers,
    ],
)
def test_every_known_shape_of_file_gives_the_same_servers(wrapped) -> None:  # type: ignore[no-untyped-def]
    servers = {"git": {"command": "uvx", "args": ["mcp-server-git", "--repository", "/a b"]}}
    assert read(wrapped(servers)).specs == [
        ServerSpec("git", argv=("uvx", "mcp-server-git", "--repository", "/a b"), source="mcp.json")
    ]


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://x.example/mcp"}, "streamable-http"),
        ({"serverUrl": "https://x.example/mcp"}, "streamable-http"),
        ({"httpUrl": "https://x.example/mcp"}, "streamable-http"),
        ({"type": "http", "url": "https://x.example/mcp"}, "streamable-http"),
        ({"type": "streamableHttp", "url": "https://x.example/mcp"}, "streamable-http"),
        ({"type": "sse", "url": "https://x.example/mcp"}, "sse"),
    ],
)
def test_http_entries_of_every_client_are_read(entry: dict[str, str], transport: str) -> None:
    spec = one(entry | {"headers": {"Authorization": "Bearer t"}})
    assert (spec.transport, spec.url, spec.headers) == (
        transport,
        "https://x.example/mcp",
        {"Authorization": "Bearer t"},
    )


def test_args_with_spaces_stay_single_arguments() -> None:
    assert one({"command": "x", "args": ["--dir", r"C:\My Files"]}).argv == ("x", "--dir", r"C:\My Files")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"command": "x", "args": "--dir /tmp"}, "Server “s”: its `args` is one joined text"),
        (
            {"command": "x", "args": ["--port", 8080]},
            "Server “s”: item 2 of `args` is a number: put it in quotes.",
        ),
        ({"command": "x", "args": ["a\0b"]}, "item 1 of `args` holds a NUL"),
        ({"command": "x", "args": ["\ud800"]}, "half a surrogate pair"),
        ({"command": "x", "args": {}}, "must be a list of texts, not an object"),
        ({"command": " "}, "command must be a text that is not blank"),
        ({"command": ["x"]}, "command must be a text"),
        ({"command": "x", "env": ["A=b"]}, "its `env` must be an object of names and texts, not a list"),
        ({"command": "x", "env": {"A": True}}, "`env.A` must be text, not true or false"),
        ({"command": "x", "env": {"A=": "b"}}, "a name in `env` is empty or holds “=”"),
        ({"command": "x", "cwd": 3}, "cwd must be a text"),
        ({"command": "x", "url": "https://a.example"}, "it has both `command` and `url`"),
        ({"type": "stdio", "url": "https://a.example"}, "it is of type stdio, so it needs a `command`"),
        ({"type": "http", "command": "x"}, "so it needs a `url`"),
        ({"type": "ws", "url": "ws://a"}, "its `type` must be stdio, http, streamable-http or sse"),
        ({"url": "ftp://a.example"}, "its URL must look like"),
        ({"url": "http://a.example:99999/"}, "its URL must look like"),
        ({"url": "https://a.example", "headers": {"X y": "1"}}, "a name in `headers` is not a header name"),
        ({"url": "https://a.example", "headers": {"X": "1\r\nY: 2"}}, "`headers.X` holds a line end"),
        ({}, "it has neither `command` nor `url`"),
        ("npx x", "it must be an object with `command` or `url`, not text"),
        (None, "not null"),
    ],
)
def test_a_bad_entry_is_one_sentence_that_names_it_and_hides_no_other(entry: object, expected: str) -> None:
    assert expected in problem(entry)


def test_problems_never_quote_values() -> None:
    said = problem({"command": "x", "args": "--token hunter2", "env": {"T": "hunter2"}})
    said += problem({"url": "https://a.example", "headers": {"T": "hunter2\n"}})
    assert "hunter2" not in said


def test_numbers_and_nulls_in_env_are_read_as_vs_code_reads_them() -> None:
    assert one({"command": "x", "env": {"PORT": 8080, "GONE": None}}).env == {"PORT": "8080"}


def test_comments_and_a_byte_order_mark_are_tolerated() -> None:
    text = '\ufeff{ // servers\n "servers": {"a": {"command": "x", "args": ["// not a comment", "a,]"],},}, }'
    assert read(text).specs[0].argv == ("x", "// not a comment", "a,]")


def test_a_server_named_twice_is_reported() -> None:
    imported = read('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')
    assert imported.specs[0].argv == ("y",)
    assert imported.problems == ["Server “a” is there twice: the last one is used."]


def test_disabled_servers_are_read_and_named() -> None:
    imported = read({"mcpServers": {"a": {"command": "x", "disabled": True}, "b": {"command": "y"}}})
    assert [spec.name for spec in imported.specs] == ["a", "b"]
    assert imported.disabled == ["a"]


@pytest.mark.parametrize(("text", "line"), [("", 1), ('{"mcpServers": {\n  "a": }', 2), ("nonsense", 1)])
def test_a_broken_file_names_line_and_column(text: str, line: int) -> None:
    with pytest.raises(ConfigError, match=rf"line {line}, column \d+"):
        read(text)


@pytest.mark.parametrize("document", [[], 3, {"mcpServers": []}, {"servers": "x"}])
def test_a_file_of_another_shape_is_a_sentence(document: object) -> None:
    with pytest.raises(ConfigError):
        read(document)


def test_folders_are_put_in_at_the_import_and_variables_stay_what_they_were_written_as() -> None:
    spec = one(
        {
            "command": "${userHome}/bin/x",
            "args": ["${workspaceFolder}", "${workspaceFolderBasename}", "${MODE:-fast}", "$HOME", "${i}"],
            "env": {"T": "${env:TOKEN}", "U": "${TOKEN}"},
        },
        environ={"TOKEN": "s3cret"},
        workspace="/work/shop",
    )
    assert spec.argv == ("/home/me/bin/x", "/work/shop", "shop", "${env:MODE:-fast}", "$HOME", "${i}")
    assert spec.env == {"T": "${env:TOKEN}", "U": "${env:TOKEN}"}


def test_variables_are_put_in_once_when_the_server_starts() -> None:
    spec = one(
        {"command": "x", "args": ["${MODE:-fast}", "${i}"], "env": {"T": "${env:TOKEN}", "U": "${TOKEN}"}}
    )
    started = expand_environment(spec, {"TOKEN": "a${env:OTHER}", "OTHER": "no"})
    assert started.argv == ("x", "fast", "${i}")
    assert started.env == {"T": "a${env:OTHER}", "U": "a${env:OTHER}"}
    assert expand_environment(spec, {"TOKEN": "t", "MODE": "slow"}).argv == ("x", "slow", "${i}")


def test_a_variable_without_a_value_is_named_at_the_start() -> None:
    spec = one({"url": "https://x.example/", "headers": {"A": "Bearer ${NOT_SET}"}})
    with pytest.raises(ConfigError, match=r"\$\{env:NOT_SET\} has no value"):
        expand_environment(spec, {})


@pytest.mark.parametrize(
    ("entry", "value", "says"),
    [
        ({"url": "${WHERE}"}, "ftp://x", "its URL must look like"),
        ({"url": "http://x", "headers": {"A": "${WHERE}"}}, "a\r\nB: c", "a line end or a NUL into header A"),
    ],
)
def test_a_value_that_cannot_be_sent_is_refused_without_being_quoted(
    entry: dict[str, object], value: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as found:
        expand_environment(one(entry), {"WHERE": value})
    assert value not in found.value.message


def test_which_variables_a_definition_reads_and_where_they_go_is_known() -> None:
    stdio = one({"command": "x", "args": ["a", "--t=${T}"], "env": {"E": "${env:T:-d}"}})
    http = one({"url": "http://x/${T}", "headers": {"X-Y": "${U}"}})
    assert variables(stdio) == [Variable("T", "argument 2"), Variable("T", "variable E")]
    assert variables(http) == [Variable("T", "the URL"), Variable("U", "header X-Y")]


def test_values_are_shown_as_the_placeholders_they_came_from() -> None:
    spec = one({"url": "http://x/${T}", "headers": {"X": "${U}", "Y": "${SHORT}"}})
    hider = Hider(placeholders(spec, {"T": "a b/c", "U": "s3cret", "SHORT": "x"}))
    assert hider.text("http://x/a%20b/c A%20B%2FC s3cret!") == "http://x/${env:T} ${env:T} ${env:U}!"
    assert hider.tree({"s3cret": [["k", "s3cret"], 1]}) == {"s3cret": [["k", "${env:U}"], 1]}
    ours = hider.error(HttpFailed("at s3cret", "not s3cret", facts={"url": "s3cret", "stderr": ["s3cret"]}))
    assert (ours.message, ours.remedy, str(ours)) == ("at ${env:U}", "not ${env:U}", "at ${env:U}")
    assert ours.facts == {"url": "${env:U}", "stderr": ["s3cret"]}
    assert hider.error(PeerError(1, "bad s3cret")).message == "The server answered with error 1: bad s3cret"


def test_a_value_that_is_no_utf_8_is_hidden_in_each_spelling() -> None:
    hider = Hider({"caf\udce9-key": "${env:T}", "half\ud800": "${env:U}"})
    assert (
        hider.text("caf\udce9-key caf%E9-key caf\xe9-key half\ud800") == "${env:T} ${env:T} ${env:T} ${env:U}"
    )


def test_what_has_no_value_is_reported_and_never_blank() -> None:
    document = {
        "inputs": [{"id": "key", "type": "promptString", "description": "API key", "password": True}],
        "servers": {
            "s": {
                "url": "https://x.example/${input:path}",
                "headers": {"Authorization": "Bearer ${input:key}", "X": "${env:MISSING}", "Y": "${ALSO}"},
            },
            "t": {"command": "x", "args": ["${workspaceFolder}"]},
        },
    }
    imported = read(document)
    assert imported.problems == []
    assert imported.unresolved == [
        Unresolved("s", "${input:path}", "the input “path”"),
        Unresolved("s", "${input:key}", "API key"),
        Unresolved("s", "${env:MISSING}", "the environment variable MISSING, which is not set"),
        Unresolved("s", "${env:ALSO}", "the environment variable ALSO, which is not set"),
        Unresolved("t", "${workspaceFolder}", "what ${workspaceFolder} stands for", secret=False),
    ]
    with pytest.raises(ConfigError, match=r"\$\{input:path\}, \$\{input:key\}"):
        require_resolved(imported.specs[0])


def test_a_spec_can_start_once_everything_is_supplied() -> None:
    spec = read({"servers": {"s": {"command": "x", "env": {"A": "k=${input:key}"}}}}).specs[0]
    full = supply(spec, {"${input:key}": "v"})
    require_resolved(full)
    assert (unresolved(spec), unresolved(full), full.env) == (["${input:key}"], [], {"A": "k=v"})


def test_an_env_file_is_read_below_the_project_and_env_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# c\nexport A=1\nB='two words' \nC=3 # note\nD\n")
    config = tmp_path / ".vscode" / "mcp.json"
    config.parent.mkdir()
    entry = {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"A": "mine"}}
    config.write_text(json.dumps({"servers": {"s": entry, "r": entry | {"envFile": ".env"}}}))
    assert [spec.env for spec in read_config_file(config, environ={}).specs] == [
        {"A": "mine", "B": "two words", "C": "3"}
    ] * 2


def test_a_missing_env_file_is_said_and_the_server_is_kept(tmp_path: Path) -> None:
    imported = read({"servers": {"s": {"command": "x", "envFile": "/none/.env"}}})
    assert len(imported.specs) == 1
    assert imported.problems[0].startswith("Server “s”: its envFile was not used: /none/.env")


def test_env_file_lines_keep_what_quotes_hold() -> None:
    assert read_env_file('A="x # y"\nB=a=b\nC=\n bad line\n') == {"A": "x # y", "B": "a=b", "C": ""}


def test_utf_16_files_as_powershell_writes_them_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"é": {"command": "x"}}}', encoding="utf-16")
    assert read_config_file(path).specs[0].name == "é"


def test_what_is_no_readable_file_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "latin.json", Path("/dev/zero")):
        with pytest.raises(ConfigError, match=str(path)):
            read_config_file(path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"command": "npx", "args": ["-y", "@scope/server-everything"]}', "server-everything"),
        ('{"name": "mine", "command": "npx"}', "mine"),
        ('"github": {"command": "npx"}', "github"),
        ('{"mcpServers": {"git": {"command": "npx"}}}', "git"),
        ('// from the README\n{"url": "https://mcp.example.com/mcp"}', "mcp.example.com"),
        ("https://mcp.example.com:8443/mcp", "mcp.example.com:8443"),
        ("API_KEY=x npx -y some-server@latest", "some-server@latest"),
        ("python -m mcp_server_git", "mcp_server_git"),
    ],
)
def test_pasted_text_of_any_kind_gives_a_named_server(text: str, name: str) -> None:
    assert [spec.name for spec in pasted(text, environ={}).specs] == [name]


def test_discovery_finds_what_is_there_and_says_what_cannot_be_read(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    good = '{"mcpServers": {"a": {"command": "x"}, "b": {}}}'
    for path, text in {
        project / ".mcp.json": good,
        project / ".vscode/mcp.json": '{"servers": {"a": {"command": "x"}}}',
        home / ".config/Claude/claude_desktop_config.json": good,
        home / ".cursor/mcp.json": "{ broken",
        home / ".config/Code/User/settings.json": '{"editor.fontSize": 12}',
        home
        / ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"w": {"serverUrl": "https://w.example/"}}}',
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = discover(home, project, "linux", environ={})
    assert [(one.client, one.count, one.problems, one.error is None) for one in found] == [
        ("project", 1, 1, True),
        ("VS Code project", 1, 0, True),
        ("Claude Desktop", 1, 1, True),
        ("Cursor", 0, 0, False),
        ("Windsurf", 1, 0, True),
    ]
    assert "line 1, column 3" in str(found[3].error)
    assert isinstance(found[0], FoundConfig)


@pytest.mark.parametrize(
    ("platform", "claude"),
    [
        ("linux", ".config/Claude/claude_desktop_config.json"),
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ],
)
def test_places_follow_the_platform(platform: str, claude: str) -> None:
    assert ("Claude Desktop", Path("/h") / claude) in known_places(Path("/h"), Path("/p"), platform)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("${input:x}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["command", "args", "env", "cwd", "url", "httpUrl", "type", "headers", "disabled", "envFile", "name"]
ENTRY = st.dictionaries(st.sampled_from(KEYS), ANY | st.just("x") | st.lists(st.text(max_size=4), max_size=3))


@given(
    st.dictionaries(st.text(max_size=5), ENTRY | ANY, max_size=4),
    ANY,
    st.sampled_from(["mcpServers", "servers"]),
)
def test_any_entries_are_read_or_refused_each_with_its_sentence(
    servers: dict[str, object], inputs: object, key: str
) -> None:
    imported = read({key: servers, "inputs": inputs})
    refused = len(servers) - len(imported.specs)
    assert 0 <= refused <= len(imported.problems)
    for sentence in imported.problems:
        sentence.encode()
    for spec in imported.specs:
        assert spec.argv or spec.url


@given(st.text(max_size=80) | ANY.map(json.dumps))
def test_any_text_is_a_value_or_our_error(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(read(text), Imported)
