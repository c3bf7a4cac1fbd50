"""The snippet for another client's file: what it runs is this program before the very command, and no secret is in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec
from inspector.web.servers_tap import tap_line


def test_the_snippet_of_each_client_runs_the_tap_before_the_command(tmp_path: Path) -> None:
    spec = ServerSpec("git", argv=("uvx", "mcp-server-git", "--x", "a b"), env={"TOKEN": "secret-value"})
    line = tap_line("git", spec, Paths.locate(tmp_path))
    found = {one.client: json.loads(one.text) for one in line.snippets}
    entry = found["Claude Desktop"]["mcpServers"]["git"]
    assert found["Cursor"] == found["Claude Desktop"]
    assert found["VS Code"]["servers"]["git"] == {"type": "stdio", **entry}
    at = entry["args"].index("--")
    assert entry["args"][at + 1 :] == list(spec.argv)
    assert entry["args"][at - 3 : at] == ["tap", "--data-dir", str(tmp_path)]
    assert Path(entry["command"]).is_absolute()
    told = [entry["command"], *entry["args"][: at - 3], "tap", "--help"]
    assert b"Sit between a client" in subprocess.run(told, capture_output=True, check=True, timeout=60).stdout
    assert line.env == ["TOKEN"]
    assert "secret-value" not in str(line)


def test_a_server_at_a_url_is_tapped_by_a_command_of_its_own() -> None:
    spec = ServerSpec(
        "x", transport="streamable-http", url="https://u:pw@h.example:8443/a/mcp?key=secret-value"
    )
    line = tap_line("x", spec, Paths.locate(environ={}))
    assert line.command.endswith(" tap --url https://h.example:8443/a/mcp --listen 7001")
    found = {one.client: one for one in line.snippets}
    assert json.loads(found["Cursor"].text) == {"mcpServers": {"x": {"url": "http://127.0.0.1:7001/a/mcp"}}}
    assert json.loads(found["VS Code"].text)["servers"]["x"]["type"] == "http"
    assert found["Claude Desktop"].text == ""
    assert "takes commands only" in found["Claude Desktop"].note
    assert "secret-value" not in str(line) and "pw@" not in str(line)
