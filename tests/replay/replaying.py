"""Traces for the tests of this room, recorded from a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from inspector.console.direct import direct
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec

ROOT = Path(__file__).resolve().parents[2]
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "recorded", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
HELLO_ANSWER = (
    b'{"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}},'
    b'"jsonrpc":"2.0","id":1}'
)


def record_git(folder: Path, era: str) -> tuple[Path, Path]:
    """(trace, repository): a list and a call of the real mcp-server-git."""
    repository = folder / "repository"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository))
    subprocess.run(["git", "init", "-q", str(repository)], check=True, timeout=20)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True, timeout=20)
    path = folder / f"{era}.mcptrace.jsonl"
    server = str(Path(sys.executable).with_name("mcp-server-git"))
    spec = ServerSpec("git", argv=(server, "--repository", str(repository)), era=era)
    with direct(spec, Paths.locate(folder / "loupe"), record=path, redact=False) as connection:
        connection.ask("tools/list")
        connection.ask("tools/call", {"name": "git_log", "arguments": {"repo_path": str(repository)}})
    return path, repository


def raws(path: Path, method: str, kind: str = "result") -> list[str]:
    """The recorded texts of the answers to `method`."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line["raw"] for line in lines if line.get("method") == method and line.get("kind") == kind]
