"""What to write into another client's file so that it reaches a server through `mcp-loupe tap`. Pure, any thread."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.settings.paths import Paths
from inspector.settings.spec import STDIO, ServerSpec

PORT = 7001


@dataclass(frozen=True, slots=True)
class Snippet:
    """client: its name. file: where it keeps its servers. text: the JSON to put there. note: what to know, or empty."""

    client: str
    file: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TapLine:
    """command: to run first in a terminal, for a server at a URL; empty for a command, which the client starts."""

    command: str
    snippets: list[Snippet]
    env: list[str]


def tap_line(key: str, spec: ServerSpec, paths: Paths) -> TapLine:
    """How to tap `spec`. The values of its environment and headers are in none of it."""
    own = [*own_command(), "tap", *data_dir(paths)]
    if spec.transport == STDIO:
        entry: dict[str, Any] = {"command": own[0], "args": [*own[1:], "--", *spec.argv]}
        return TapLine("", _snippets(key, entry, {"type": "stdio", **entry}, ""), sorted(spec.env))
    scheme, _, rest = (spec.url or "").partition("?")[0].partition("://")
    place, _, path = rest.partition("/")
    url = f"{scheme}://{place.rpartition('@')[2]}/{path}"  # a query or user may be a secret: the client sends them
    kind = {"url": f"http://127.0.0.1:{PORT}/{path}"}
    note = "Its file takes commands only: add the URL under Settings, Connectors, or through a bridge such as mcp-remote."
    run = shlex.join([*own, "--url", url, "--listen", str(PORT)])
    return TapLine(run, _snippets(key, kind, {"type": "http", **kind}, note), sorted(spec.headers))


def _snippets(key: str, entry: dict[str, Any], vscode: dict[str, Any], desktop: str) -> list[Snippet]:
    usual = _json({"mcpServers": {key: entry}})
    return [
        Snippet("Claude Desktop", "claude_desktop_config.json", "" if desktop else usual, desktop),
        Snippet("Cursor", "~/.cursor/mcp.json", usual),
        Snippet("VS Code", ".vscode/mcp.json", _json({"servers": {key: vscode}})),
    ]


def own_command() -> list[str]:
    """This program by its full path: a client started from a desktop does not know our PATH."""
    beside = Path(sys.executable).with_name("mcp-loupe")
    if beside.is_file():
        return [str(beside)]
    found = shutil.which("mcp-loupe")
    return [found] if found else [sys.executable, "-m", "inspector"]


def data_dir(paths: Paths) -> list[str]:
    """Where this console looks, when that is not where a command would look by itself."""
    return [] if paths == Paths.locate(environ={}) else ["--data-dir", str(paths.data)]


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
