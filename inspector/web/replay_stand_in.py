"""How to serve a recording in its server's place: the exact command, and what a client's configuration needs. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.replay.sessions import PREFIX
from inspector.settings.paths import Paths
from inspector.trace.store import Connection, Session
from inspector.web.servers_tap import data_dir, own_command

PORT: Final = "8765"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the page asks for. c: the connection to play; problem: why that cannot be."""

    c: int | None = None
    http: bool = False
    port: str = PORT
    timing: bool = False
    ignore: tuple[str, ...] = ()
    problem: str = ""

    @classmethod
    def read(cls, args: Any) -> Wish:
        c, port = args.get("c", ""), args.get("port", PORT).strip()
        lines = tuple(line for line in map(str.strip, args.get("ignore", "")[:4000].splitlines()) if line)
        usable = port.isascii() and port.isdecimal() and len(port) < 6 and int(port) < 65536
        return cls(
            int(c) if c.isascii() and c.isdecimal() and len(c) < 10 else None, args.get("transport") == "http",
            port if usable else PORT, args.get("timing") == "1", lines,
            "" if usable else f"{port[:20]} is no port: write a number from 0 to 65535.",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Snippets:
    """command: for a shell. config: JSON of `mcpServers`, as Claude Desktop and Cursor take it; url: over HTTP."""

    command: str
    config: str
    url: str


def snippets(paths: Paths, session: Session, connections: Sequence[Connection], wish: Wish) -> Snippets:
    """For a recorded session, which the command reads from the recording database."""
    words = [*own_command(), "trace", "stand-in", f"{PREFIX}{session.id}", *data_dir(paths)]
    if wish.c is not None and len(connections) > 1:
        words += ["--connection", str(wish.c)]
    if wish.http:
        words += ["--http", wish.port]
    if wish.timing:
        words.append("--timing")
    for line in wish.ignore:
        words += ["--ignore", line]
    label = next((one.label for one in connections if one.label and wish.c in (None, one.c)), "recorded")
    url = f"http://127.0.0.1:{wish.port}/mcp"
    entry: dict[str, Any] = {"url": url} if wish.http else {"command": words[0], "args": words[1:]}
    config = json.dumps({"mcpServers": {f"{label}-stand-in": entry}}, ensure_ascii=False, indent=2)
    return Snippets(shlex.join(words), config, url if wish.http else "")
