"""Memory kept flat: when the garbage collector runs, and over what. Its own thread, `tidy`.

The interpreter's own schedule does not fit either half of our work. Parsing a list of thousands of tools makes millions
of objects none of which is garbage, and spends half its time in the collector (measured: 1,143 -> 547 ms for 10,000
tools with the thresholds below). A connection that ended is garbage in a cycle of some 2,500 objects, which those
thresholds would leave lying for eleven minutes (measured in the soak: a saw tooth of 270,000 objects, 15 MB).
So: what is there at the start (modules, mostly) is set aside, the thresholds are high, and once a minute everything
else is looked through.
"""

from __future__ import annotations

import gc
import threading
import time
from typing import Final

EVERY_S: Final = 60.0
SHARE: Final = 1 / 600
"""At most this share of the processor's time goes into collecting, however many objects there are."""
THRESHOLDS: Final = (200_000, 50, 1000)


class Tidy:
    """Start it once a process has loaded what it needs; `close` gives the interpreter its own schedule back."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._stop = threading.Event()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        self._thread = threading.Thread(target=self._run, name="tidy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        gc.unfreeze()
        gc.set_threshold(*self._before)

    def _run(self) -> None:
        wait = EVERY_S
        while not self._stop.wait(wait):
            began = time.thread_time()
            gc.collect()
            wait = max(EVERY_S, (time.thread_time() - began) / SHARE)
