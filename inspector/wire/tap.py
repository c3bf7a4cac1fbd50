"""The tap on stdio: a process in a server's place that runs the server and passes every byte on, unchanged.

One thread a stream, blocking reads and writes; the main thread waits for the server and forwards signals. A piece
is recorded before it is passed on, so that no answer can be recorded before its request.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from inspector.settings.spec import ServerSpec
from inspector.wire.link import LINE_CAP
from inspector.wire.process import signal_name, spawn_failed
from inspector.wire.stdio import LineSplitter, StderrSplitter
from inspector.wire.tap_record import TapRecord

CHUNK: Final = 64 * 1024
SETTLE_S: Final = 0.5
"""How long the pipes of a server that ended may stay silent before we end too: a child of its may hold them."""
FORWARDED: Final = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


class Pump:
    """One direction: takes down what it reads, passes it on, until EOF or until nobody reads it any more."""

    def __init__(
        self,
        source: int,
        target: int,
        record: TapRecord,
        take: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> None:
        self.source = source
        self.target = target
        self.record = record
        self.take = take
        self.ended = ended
        self.passed = 0
        self.holding = False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        refused = False
        try:
            while piece := os.read(self.source, CHUNK):
                self.record.safely(self.take, piece)
                self.holding = True
                _write_all(self.target, piece)
                self.holding = False
                self.passed += len(piece)
                self.record.flush()
        except OSError:
            refused = (
                True  # nobody reads it any more: whoever writes it is to learn that as if we were not here
            )
        self.holding = False
        self.record.safely(self.ended)
        self.record.flush()
        _let_go(self.target)
        if refused:
            _let_go(self.source)

    def settle(self) -> None:
        """Wait until all is passed on, or nothing has come for a while and nothing is held."""
        seen = -1
        while self.thread.is_alive() and (self.holding or self.passed != seen):
            seen = self.passed
            self.thread.join(SETTLE_S)


def _write_all(target: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(target, rest) :]


def _let_go(descriptor: int) -> None:
    """Close our end of a pipe; the number stays taken, so that nothing of ours can end up in a stranger's file."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


class StdioTap:
    """Runs `argv` on our own three streams. The environment and the folder are ours, as the client gave them.

    The server stays in our process group: what a client does to the group reaches it as if we were not there.
    """

    def __init__(self, argv: Sequence[str], record: TapRecord) -> None:
        self.argv = list(argv)
        self.record = record
        self._child: subprocess.Popen[bytes] | None = None
        self._came: list[int] = []

    def run(self) -> int:
        """Serve until the server ends: its exit code, or minus the signal that ended it. Raises SpawnFailed.

        Only from the main thread, for it handles signals.
        """
        before = {number: signal.getsignal(number) for number in FORWARDED}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # started with nohup, say: then the server is to ignore it too
                signal.signal(number, self._forward)
        try:
            child = self._spawn()
            pumps = self._pumps(child)
            for pump in pumps:
                pump.thread.start()
            self._child = child
            for number in self._came:
                self._forward(number, None)
            code = child.wait()
            for pump in pumps[1:]:
                pump.settle()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        ended = {"signal": signal_name(-code)} if code < 0 else {"code": code}
        self.record.emit("proc", what="exited", pid=child.pid, **ended)
        return code

    def _spawn(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(self.argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        except OSError as problem:
            spec = ServerSpec(self.argv[0], argv=tuple(self.argv))
            raise spawn_failed(spec, self.argv, None, problem) from None
        self.record.emit("proc", what="spawned", pid=child.pid, argv=self.argv, cwd=os.getcwd())
        return child

    def _pumps(self, child: subprocess.Popen[bytes]) -> list[Pump]:
        """Standard input's first. The descriptors are the pumps' own from here on."""
        record = self.record
        sent = LineSplitter(self._from_client, self._cut)
        came = LineSplitter(self._from_server, self._cut)
        said = StderrSplitter(record.link.stderr_line)

        def closed() -> None:
            sent.finish()
            record.link.emit("proc", what="stdin-closed", pid=child.pid)

        into, out, err = (_own(stream) for stream in (child.stdin, child.stdout, child.stderr))
        return [
            Pump(0, into, record, sent.feed, closed),
            Pump(out, 1, record, came.feed, came.finish),
            Pump(err, 2, record, said.feed, said.finish),
        ]

    def _from_client(self, raw: bytes, eol: str) -> None:
        if raw.strip():
            self.record.sent(self.record.link, raw, eol=eol)

    def _from_server(self, raw: bytes, eol: str) -> None:
        if raw.strip():
            self.record.received(self.record.link, raw, eol=eol)

    def _cut(self, head: bytes, full_bytes: int) -> None:
        why = f"one line of more than {LINE_CAP:,} bytes"
        self.record.link.noise(head, why, eol="lf", cut=True, full_bytes=full_bytes)

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        if self._child is None:
            self._came.append(number)
            return
        if _typed(number):
            return
        with suppress(ProcessLookupError, PermissionError):
            self._child.send_signal(number)
        self.record.emit("proc", what="term", pid=self._child.pid, signal=signal_name(number))


def _own(stream: Any) -> int:
    """The descriptor of a pipe as ours to close."""
    own = os.dup(stream.fileno())
    stream.close()
    return own


def _typed(number: int) -> bool:
    """Whether a terminal sent it (Ctrl-C): then the server, in the same foreground group, has it already."""
    if number not in (signal.SIGINT, getattr(signal, "SIGQUIT", None)):
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def leave_as(code: int) -> int:
    """End this process by the signal that ended the server, when one did; else the exit code to leave with."""
    if code >= 0:
        return code
    import resource  # no such thing on Windows, where no server ends by a signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the server's own core is the one worth having
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code
