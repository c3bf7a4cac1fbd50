"""The chaos server on stdio: raw bytes on file descriptors; one thread, late answers from timers."""

from __future__ import annotations

import os
import signal
import sys
import threading

from inspector.demo.chaos_faults import Ask, State, dumps
from inspector.demo.chaos_server import ChaosServer


class Pipe:
    """Standard output as bytes; `write` is exact, `frame` adds the newline."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._lock = threading.Lock()

    def write(self, raw: bytes, fd: int = 1) -> None:
        """All of `raw`, unbuffered, to stdout or (fd 2) stderr; the client having gone ends the process."""
        with self._lock:
            rest = memoryview(raw)
            try:
                while rest:
                    rest = rest[os.write(fd, rest) :]
            except BrokenPipeError:
                os._exit(0)

    def frame(self, raw: bytes, status: int = 200) -> None:
        self.write(raw + b"\n")

    def later(self, seconds: float, raw: bytes) -> None:
        timer = threading.Timer(seconds, self.frame, (raw,))
        timer.daemon = True
        timer.start()

    def when_cancelled(self, ask: Ask, raw: bytes) -> None:
        self.state.waiting[dumps(ask.id)] = lambda: self.frame(raw)

    def accepted(self) -> None:
        pass

    def admit(self, ask: Ask) -> bool:
        return True


def serve_stdio(server: ChaosServer) -> int:
    """Answer lines until stdin's EOF; the exit code."""
    pipe = Pipe(server.state)
    server.start(pipe)
    for line in sys.stdin.buffer:
        if line.strip():
            server.handle(line, pipe)
    while server.state.linger:
        signal.pause()
    return 0
