"""What a person sees of a command that takes its time: one line, gone before the answer."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from cli_run import ROOT

SLOW = """
import os, sys
from inspector.cli.doing import doing
from inspector.cli.terminal import say, warn
go_on = int(sys.argv[1])
with doing("weighing it"):
    os.read(go_on, 1)
    warn("a word between")
    os.read(go_on, 1)
say("the answer")
"""


def begun(out: int) -> tuple[subprocess.Popen[bytes], int]:
    """Something slow that writes to `out`, and what lets it go on: a byte for each of its two waits."""
    theirs, ours = os.pipe()
    argv = [sys.executable, "-c", SLOW, str(theirs)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    process = subprocess.Popen(argv, pass_fds=[theirs], stdout=out, stderr=out, env=env)
    os.close(theirs)
    return process, ours


def until(terminal: int, wanted: bytes) -> bytes:
    came = b""
    while wanted not in came:
        came += os.read(terminal, 4096)
    return came


def test_a_terminal_shows_what_is_done_and_since_when_until_something_is_said() -> None:
    ours, theirs = pty.openpty()
    process, go_on = begun(theirs)
    os.close(theirs)
    assert until(ours, b"Ctrl-C ends it").startswith(b"weighing it \xe2\x80\xa6 ")
    os.write(go_on, b".")
    assert b"\r\x1b[Ka word between\r\n" in until(ours, b"between\r\n")
    until(ours, b"Ctrl-C ends it")
    os.write(go_on, b".")
    assert until(ours, b"answer\r\n").endswith(b"\r\x1b[Kthe answer\r\n")
    assert process.wait(30) == 0
    os.close(ours)
    os.close(go_on)


def test_a_file_or_a_pipe_has_none_of_it(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        process, go_on = begun(out.fileno())
        os.write(go_on, b"..")
        assert process.wait(60) == 0
    os.close(go_on)
    assert (tmp_path / "out").read_text() == "a word between\nthe answer\n"
