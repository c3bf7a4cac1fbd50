"""Runs the command line as a person would: a real process, an empty data folder."""

from __future__ import annotations

import atexit
import functools
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_forks import Forks

from inspector.cli import main

ROOT = Path(__file__).resolve().parents[2]


class FLAT:
    """What `list demo:flat` says: test_list holds the command to it, others hold themselves to it."""

    wire_bytes, definition_bytes, tokens = 20_841, 20_600, 4_844


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout; fails when there is more or less than that."""
        return json.loads(self.out)


def environment(home: Path, **extra: str) -> dict[str, str]:
    """Ours without what would make a run depend on this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "XDG_"))}
    return {
        **kept,
        "HOME": str(home),
        "MCP_LOUPE_DATA": str(home / "loupe"),
        "PYTHONPATH": str(ROOT),
        **extra,
    }


@functools.cache
def _forks() -> Forks:
    forks = Forks()
    atexit.register(forks.close)
    return forks


def loupe(home: Path, *words: str, stdin: str = "", cwd: Path | None = None, **extra: str) -> Ran:
    """`mcp-loupe WORDS…`, at most a minute."""
    if any(name.startswith(("PYTHON", "LC_", "LANG")) for name in extra):  # Python reads these at its start
        done = subprocess.run(
            [sys.executable, "-m", "inspector", *words],
            env=environment(home, **extra), input=stdin, capture_output=True, text=True, timeout=60, cwd=cwd or home,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr)
    code, out, err = _forks().run(words, environment(home, **extra), cwd or home, stdin.encode())
    return Ran(code, out.decode(), err.decode())


def here(home: Path, *words: str, stdin: str = "") -> Ran:
    """The same in this process, which has everything imported: a third of the time where no server is started."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        wanted = environment(home)
        for name in os.environ.keys() - wanted.keys():
            patch.delenv(name)
        for name, value in wanted.items():
            patch.setenv(name, value)
        patch.chdir(home)
        patch.setattr(sys, "argv", ["mcp-loupe", *words])
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


@contextmanager
def chaos_http(*faults: str) -> Iterator[str]:
    """The chaos server on HTTP with these faults; yields its URL."""
    options = [word for fault in faults for word in ("--fault", fault)]
    child = subprocess.Popen(
        [sys.executable, "-m", "inspector.demo", "chaos", "--http", "0", *options],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin and child.stdout
    try:
        yield json.loads(child.stdout.readline())["url"]
    finally:
        child.stdin.close()
        child.stdout.close()
        child.wait(20)
