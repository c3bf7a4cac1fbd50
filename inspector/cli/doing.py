"""What a command does that takes longer than a second, on one line of a terminal. A thread of its own paints it."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

AFTER_S: Final = 1.0
"""How long nothing is said, and how often the seconds are."""


class Line:
    """The last line of the terminal: shown, and taken away before anything else is written."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shown = False

    def show(self, text: str) -> None:
        with self.away():
            sys.stderr.write(text[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
            self._shown = True

    @contextmanager
    def away(self) -> Iterator[None]:
        """It is not there, and does not come back before the end."""
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._shown = False
            yield


LINE: Final = Line()


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Say `what` is done, and for how long, to a person who would otherwise look at nothing."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    ended = threading.Event()
    painter = threading.Thread(target=_paint, args=(what, ended), daemon=True)
    painter.start()
    try:
        yield
    finally:
        ended.set()
        painter.join()
        with LINE.away():
            pass


def _paint(what: str, ended: threading.Event) -> None:
    began = time.monotonic()
    while not ended.wait(AFTER_S):
        LINE.show(f"{what} … {time.monotonic() - began:.0f} s; Ctrl-C ends it")
