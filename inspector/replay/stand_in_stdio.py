"""The stand-in on stdio: one frame a line; the thread that reads also answers, unless the timing is kept."""

from __future__ import annotations

import sys
import threading
import time
from typing import BinaryIO

from inspector.replay.stand_in import Play, StandIn


class StdioStandIn:
    """Serves one client until its EOF. timing: wait as long before each frame as the recorded server did."""

    def __init__(self, stand_in: StandIn, into: BinaryIO, out: BinaryIO, *, timing: bool = False) -> None:
        self.stand_in = stand_in
        self.into = into
        self.out = out
        self.timing = timing
        self._writing = threading.Lock()

    def serve(self) -> None:
        """Returns at EOF, when the answers already due are written; raises nothing when the client left."""
        for line in self.into:
            came = time.monotonic()
            play = self.stand_in.play(line.rstrip(b"\r\n")) if line.strip() else None
            if play is None:
                continue
            if self.timing:  # others must not wait for a slow answer
                threading.Thread(target=self._send, args=(play, came), daemon=True).start()
            else:
                self._send(play, came)

    def _send(self, play: Play, came: float) -> None:
        for step in play.steps:
            if self.timing:
                time.sleep(max(came + step.after_us / 1e6 - time.monotonic(), 0))
            # A recorded HTTP body may have line ends between its tokens, and only there.
            line = step.raw.replace(b"\n", b" ").replace(b"\r", b" ")
            try:
                with self._writing:
                    self.out.write(line + b"\n")
                    self.out.flush()
            except (BrokenPipeError, ValueError):
                return


def serve_stdio(stand_in: StandIn, *, timing: bool = False) -> int:
    """Serve on this process's own stdin and stdout; the exit code."""
    StdioStandIn(stand_in, sys.stdin.buffer, sys.stdout.buffer, timing=timing).serve()
    return 0
