"""One process with the third-party libraries imported, forked for each command line a test runs.

Importing the SDK, its models and a vocabulary takes longer than most commands do. A fork is a process of its own,
with its own arguments, environment, folder, streams, imports of ours, and end; only other people's modules are there,
and the one of ours that reads the vocabulary.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LIBRARIES = (
    "anyio._backends._asyncio", "click", "flask", "flask_sock", "httpx2", "jsonschema", "jsonschema_rs",
    "mcp", "mcp.client.streamable_http", "mcp.client.sse",
    "mcp_types", "platformdirs", "psutil", "sqlite_utils",
)  # fmt: skip
SECONDS = 60
STREAMS = 3


class Forks:
    """The process, and one command at a time in a fork of it."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()]
            )
        self._channel.settimeout(SECONDS)

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], folder: Path, stdin: bytes
    ) -> tuple[int, bytes, bytes]:
        """(exit code, stdout, stderr) of `mcp-loupe WORDS…`. Raises TimeoutError after a minute."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            tempfile.TemporaryFile("w+") as told,
        ):
            given.write(stdin)
            given.seek(0)
            json.dump({"words": words, "environment": dict(environment), "folder": str(folder)}, told)
            told.seek(0)
            files = [given, out, err, told]
            socket.send_fds(self._channel, [b"run"], [file.fileno() for file in files])
            code = self._code()
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def _code(self) -> int:
        process = int(self._channel.recv(100))
        try:
            return int(self._channel.recv(100))
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            self._channel.recv(100)
            raise

    def close(self) -> None:
        """It ends when nobody can ask it any more."""
        self._channel.close()
        self._process.wait(20)


def _command(channel: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Returns what to do in the fork; in the first process None, at the end."""
    while True:
        asked, files, _, _ = socket.recv_fds(channel, 100, STREAMS + 1)
        if not asked:
            return None
        child = os.fork()
        if not child:
            channel.close()
            with open(files[STREAMS]) as told:
                command = json.load(told)
            for number in range(STREAMS):
                os.dup2(files[number], number)
                os.close(files[number])
            return dict(command)
        for file in files:
            os.close(file)
        channel.send(str(child).encode())
        channel.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(command: Mapping[str, Any]) -> None:
    """Everything as a process started with these has it."""
    os.environ.clear()
    os.environ.update(command["environment"])
    os.chdir(command["folder"])
    sys.argv = ["inspector", *command["words"]]
    sys.path[0] = ""
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    runpy.run_module("inspector", run_name="__main__", alter_sys=True)


def main() -> None:
    for library in LIBRARIES:
        importlib.import_module(library)
    importlib.import_module("inspector.catalog.vocabulary").pure_encoding("o200k_base")
    gc.freeze()
    command = _command(socket.socket(fileno=int(sys.argv[1])))
    if command is not None:
        _become(command)


if __name__ == "__main__":
    main()
