from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.errors import ConfigError, StorageError, UsageError
from inspector.settings.importing import read_config_file
from inspector.settings.seal import UNSEALED
from inspector.settings.servers import ServerList, slug
from inspector.settings.spec import ServerSpec, Timeouts

STDIO = ServerSpec("My Server", argv=("npx", "-y", "a b"), env={"TOKEN": "hunter2"}, cwd="/tmp")
HTTP = ServerSpec(
    "Remote",
    transport="sse",
    url="https://x.example/sse",
    headers={"Authorization": "Bearer hunter2"},
    era="modern",
    timeouts=Timeouts(call=5.5),
    declare=("roots",),
    ids="str",
)


@pytest.fixture
def servers(tmp_path: Path) -> ServerList:
    return ServerList(tmp_path / "servers.json")


def test_what_is_added_is_read_back_by_another_list(servers: ServerList) -> None:
    assert (servers.add(STDIO), servers.add(HTTP)) == ("my-server", "remote")
    assert ServerList(servers.path).all() == {"my-server": STDIO, "remote": HTTP}


def test_the_file_is_private_and_readable_as_an_mcp_json(servers: ServerList) -> None:
    servers.add(STDIO)
    assert stat.S_IMODE(servers.path.stat().st_mode) == 0o600
    assert read_config_file(servers.path).specs[0].argv == STDIO.argv
    beside = {path.name: stat.S_IMODE(path.stat().st_mode) for path in servers.path.parent.iterdir()}
    assert beside == {"servers.json": 0o600, "servers.key": 0o600}


@pytest.mark.parametrize("source", ["demo", "added by hand", "command line"])
def test_an_entry_that_was_not_written_here_cannot_say_it_was_typed_here(
    servers: ServerList, source: str
) -> None:
    key = servers.add(replace(STDIO, source=source))
    written = json.loads(servers.path.read_text())
    copied = written["mcpServers"][key]
    written["mcpServers"] |= {
        "mine": copied,
        "bare": {"command": "evil", "source": source},
        "changed": copied | {"command": "evil"},
        "env": copied | {"env": {"TOKEN": "other"}},
        "claims": copied | {"source": "added by hand" if source == "demo" else "demo"},
        "odd": copied | {"seal": "ü"},
    }
    servers.path.write_text(json.dumps(written))
    found = {name: spec.source for name, spec in servers.all().items()}
    assert (found[key], found["mine"]) == (source, source)
    assert {found[name] for name in ("bare", "changed", "env", "claims", "odd")} == {UNSEALED}
    servers.path.with_name("servers.key").unlink()
    assert servers.get(key).source == UNSEALED


def test_an_edit_here_does_not_make_a_foreign_entry_ours(servers: ServerList) -> None:
    servers.path.write_text('{"mcpServers": {"x": {"command": "evil", "source": "demo"}}}')
    assert servers.get(servers.rename("x", "Renamed")).source == UNSEALED
    assert servers.get(servers.duplicate("renamed")).source == UNSEALED


def test_keys_are_unique_slugs(servers: ServerList) -> None:
    assert [servers.add(STDIO) for _ in range(3)] == ["my-server", "my-server-2", "my-server-3"]
    assert (slug("Ünï/..//x"), slug("漢字")) == ("n-x", "server")


def test_remove_returns_what_add_brings_back(servers: ServerList) -> None:
    key = servers.add(STDIO)
    removed = servers.remove(key)
    assert (removed, servers.all()) == (STDIO, {})
    assert servers.add(removed) == key


def test_rename_and_replace_keep_the_place_and_unknown_keys(servers: ServerList) -> None:
    servers.add(STDIO)
    servers.add(HTTP)
    document = json.loads(servers.path.read_text())
    document["note"] = "mine"
    document["mcpServers"]["my-server"]["colour"] = "red"
    servers.path.write_text(json.dumps(document))
    assert servers.rename("my-server", "Yours") == "yours"
    assert servers.replace("yours", replace(STDIO, name="Yours", env={})) == "yours"
    document = json.loads(servers.path.read_text())
    assert (document["note"], list(document["mcpServers"])) == ("mine", ["yours", "remote"])
    assert document["mcpServers"]["yours"]["colour"] == "red"
    assert "env" not in document["mcpServers"]["yours"]


def test_a_duplicate_has_a_name_of_its_own(servers: ServerList) -> None:
    key = servers.add(STDIO)
    assert (servers.duplicate(key), servers.duplicate(key)) == ("my-server-copy", "my-server-copy-2")
    assert servers.get("my-server-copy-2") == replace(STDIO, name="My Server copy 2")


def test_a_key_that_is_gone_is_a_sentence(servers: ServerList) -> None:
    servers.add(STDIO)
    for act in (servers.get, servers.remove, servers.duplicate):
        with pytest.raises(UsageError, match="no server “x”") as caught:
            act("x")
        assert caught.value.remedy == "Known servers: my-server."


def test_values_are_never_in_a_repr_or_an_error(servers: ServerList) -> None:
    servers.add(STDIO)
    text = servers.path.read_text()
    said = repr(servers)
    for broken in (text.replace('"hunter2"', "[hunter2]"), text.replace('"hunter2"', '["hunter2"]')):
        servers.path.write_text(broken)
        try:
            said += " ".join(servers.problems())
            servers.get("my-server")
        except ConfigError as error:
            said += error.message + error.remedy + repr(error.facts)
    assert "hunter2" not in said


def test_a_bad_entry_hides_no_other_and_is_not_lost(servers: ServerList) -> None:
    bad = {"command": "x", "args": "-y joined"}
    servers.path.write_text(json.dumps({"version": 1, "mcpServers": {"bad": bad, "good": {"command": "y"}}}))
    assert list(servers.all()) == ["good"]
    assert servers.problems()[0].startswith("Server “bad”: its `args` is one joined text")
    servers.add(STDIO)
    assert json.loads(servers.path.read_text())["mcpServers"]["bad"] == bad
    servers.discard("bad")
    assert servers.problems() == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("era", "old"),
        ("ids", 3),
        ("declare", ["x"]),
        ("declare", [[]]),
        ("timeouts", {"call": 0}),
        ("timeouts", {"call": "9"}),
        ("timeouts", []),
        ("name", 3),
        ("source", 3),
    ],
)
def test_our_own_settings_are_checked(servers: ServerList, key: str, value: object) -> None:
    servers.path.write_text(json.dumps({"mcpServers": {"a": {"command": "x", key: value}}}))
    assert len(servers.problems()) == 1
    assert f"`{key}` must be" in servers.problems()[0]


def test_a_broken_file_names_its_line_and_is_kept_when_a_server_is_added(servers: ServerList) -> None:
    broken = '{"mcpServers": {\n  "a": {"command": "x",}\n}}'
    for name in ("servers.json.broken", "servers.json.broken-2"):
        servers.path.write_text(broken)
        with pytest.raises(ConfigError, match="line 2, column") as caught:
            servers.all()
        assert "servers.json.broken" in caught.value.remedy
        with pytest.raises(ConfigError):
            servers.remove("a")
        assert servers.path.read_text() == broken
        assert servers.add(STDIO) == "my-server"
        assert servers.path.with_name(name).read_text() == broken


def test_half_a_surrogate_pair_in_what_we_do_not_know_is_kept(servers: ServerList) -> None:
    servers.path.write_text('{"mcpServers": {"a": {"command": "x", "theirs": "\\ud83d"}}}')
    servers.add(STDIO)
    assert json.loads(servers.path.read_text())["mcpServers"]["a"]["theirs"] == "\ud83d"


def test_a_file_of_a_newer_version_is_left_alone(servers: ServerList) -> None:
    servers.path.write_text('{"version": 2, "servers": []}')
    with pytest.raises(ConfigError, match="newer mcp-loupe"):
        servers.add(STDIO)
    assert servers.path.read_text() == '{"version": 2, "servers": []}'


def test_a_spec_that_could_not_be_read_back_is_refused(servers: ServerList) -> None:
    for spec in (ServerSpec("x"), replace(HTTP, url="nonsense"), replace(STDIO, argv=("a\0",))):
        with pytest.raises(ConfigError):
            servers.add(spec)
    assert not servers.path.exists()


def test_a_symbolic_link_is_followed(servers: ServerList, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text("")
    servers.path.symlink_to(kept)
    servers.add(STDIO)
    assert servers.path.is_symlink()
    assert "my-server" in kept.read_text()


def test_a_folder_that_is_missing_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        ServerList(tmp_path / "none" / "servers.json").add(STDIO)


def test_threads_lose_nothing(servers: ServerList) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: servers.add(STDIO), range(24)))
    assert set(keys) == set(servers.all())
    assert len(keys) == 24


@given(text=st.text('{}[]":,a1mcpServers \n', max_size=60))
def test_any_file_is_a_list_or_our_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any-servers.json"
    path.write_text(text)
    with suppress(ConfigError):
        assert isinstance(ServerList(path).all(), dict)
