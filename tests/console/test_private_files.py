"""docs/security.md: what another user of the machine may read of a running console. Nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from inspector.console.console import Console
from inspector.settings.paths import Paths, write_console
from inspector.settings.spec import ServerSpec
from inspector.settings.tokens import TokenStore
from inspector.trace.file import TraceFileWriter
from inspector.wire.events import LOCAL, Event, Journal


def test_whatever_a_console_writes_is_for_its_user_alone_even_without_a_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        paths = Paths.locate(tmp_path / "data").ensure()
        with Console(paths) as console:
            console.servers_file.add(ServerSpec("a", argv=("true",)))
            write_console(paths, "http://127.0.0.1:1/", 1, "secret")
            TokenStore(paths.tokens)._put("http://a/mcp", {"tokens": {"access_token": "secret"}})
            writer = TraceFileWriter(paths.data / "t.mcptrace.jsonl", journal := Journal(), tool_version="0")
            journal.emit(Event("note", 0, LOCAL, {"text": "x"}))
            writer.close()
            console.recorder.flush(10)
            found = [path for path in [paths.data, *paths.data.rglob("*")] if path.exists()]
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in found}
    finally:
        os.umask(before)
    assert {"loupe.db", "loupe.db-wal", "servers.json", "tokens.json", "console-1.json"} <= modes.keys()
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
