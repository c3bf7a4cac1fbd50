"""What the server processes of one scenario saw, line by line in a file that outlives SIGKILL; any thread.

One JSON object a line: `pid`, `at` (seconds, monotonic) and `what`: `started`, `line` (with `text`, or `hex` when it is
no UTF-8), `tail` (bytes behind the last line feed), `eof`, `signal` (`name`), `mark` (`text`), `exit` (`text`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NAME: Final = "observed.jsonl"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"


class Log:
    """Appends what one server process sees; each entry is one `write`, so nothing of it is lost or mixed."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        self.life = sum(1 for entry in _entries(path) if entry["what"] == "started")
        """How many processes of this scenario were started before this one."""
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.put("started")

    def put(self, what: str, **more: Any) -> None:
        entry = {"pid": os.getpid(), "at": round(time.monotonic(), 4), "what": what, **more}
        os.write(self._fd, json.dumps(entry).encode() + b"\n")

    def line(self, raw: bytes, what: str = "line") -> None:
        try:
            self.put(what, text=raw.decode())
        except UnicodeDecodeError:
            self.put(what, hex=raw.hex())


@dataclass(slots=True)
class Life:
    """One server process: its entries in order, and the JSON objects of its stdin."""

    pid: int
    entries: list[dict[str, Any]] = field(default_factory=list)

    def of(self, what: str) -> list[dict[str, Any]]:
        return [entry for entry in self.entries if entry["what"] == what]

    def at(self, what: str) -> float | None:
        """When it first happened; None when it did not."""
        return next((entry["at"] for entry in self.entries if entry["what"] == what), None)

    def frames(self) -> Iterator[dict[str, Any]]:
        """What the client wrote, as far as it is JSON objects."""
        for entry in self.of("line"):
            try:
                value = json.loads(entry.get("text", ""))
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value

    def requests(self, method: str = "") -> list[dict[str, Any]]:
        asked = [frame for frame in self.frames() if "id" in frame and "method" in frame]
        return [frame for frame in asked if method in ("", frame["method"])]

    def notifications(self, method: str) -> list[dict[str, Any]]:
        return [frame for frame in self.frames() if "id" not in frame and frame.get("method") == method]

    def answers(self) -> list[dict[str, Any]]:
        return [frame for frame in self.frames() if "method" not in frame]

    def calls(self, name: str) -> list[dict[str, Any]]:
        """The `tools/call` requests of this tool."""
        return [ask for ask in self.requests("tools/call") if params_of(ask).get("name") == name]

    @property
    def handshaken(self) -> bool:
        return bool(self.requests("initialize"))


@dataclass(slots=True)
class Seen:
    """One scenario as its servers and the suite saw it.

    ended: the client ended by itself in time. left: pids of server processes alive after it.
    """

    lives: list[Life]
    ended: bool = True
    left: tuple[int, ...] = ()

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [ask for life in self.lives for ask in life.calls(name)]


def read(folder: Path) -> list[Life]:
    """The processes of a scenario in the order they started."""
    lives: dict[int, Life] = {}
    for entry in _entries(folder / NAME):
        lives.setdefault(entry["pid"], Life(entry["pid"])).entries.append(entry)
    return list(lives.values())


def _entries(path: Path) -> list[dict[str, Any]]:
    """All whole entries; the last one of a killed process may be half written."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def params_of(frame: dict[str, Any]) -> dict[str, Any]:
    found = frame.get("params")
    return found if isinstance(found, dict) else {}


def version_of(frame: dict[str, Any]) -> Any:
    """The revision a modern request names in its `_meta`; None when it names none."""
    meta = params_of(frame).get("_meta")
    return meta.get(VERSION_KEY) if isinstance(meta, dict) else None
