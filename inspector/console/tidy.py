"""Memory kept flat: when the garbage collector runs, and over what. Its own thread, `tidy`.

The interpreter's own schedule does not fit either half of our work. Parsing a list of thousands of tools makes millions
of objects none of which is garbage, and spends half its time in the collector (measured: 1,143 -> 547 ms for 10,000
tools with the thresholds below). A connection that ended is garbage in a cycle of some 2,500 objects, which those
thresholds would leave lying for eleven minutes (measured in the soak: a saw tooth of 270,000 objects, 15 MB).
So: what is there at the start (modules, mostly) is set aside, the thresholds are high, and once a minute everything
else is looked through.

glibc raises the size from which a block comes from the system by itself each time a larger one is freed, and then keeps
what a list of megabytes left behind (measured: 9.7 times the list still held after it was read, 4.6 with a fixed size).
"""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from typing import Final

EVERY_S: Final = 60.0
SHARE: Final = 1 / 600
"""At most this share of the processor's time goes into collecting, however many objects there are."""
THRESHOLDS: Final = (200_000, 50, 1000)
LARGE: Final = 64 * 1024
"""Bytes from which a block of memory goes back to the system as soon as it is freed."""
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # malloc.h


class Tidy:
    """Start it once a process has loaded what it needs; `close` gives the interpreter its own schedule back."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._stop = threading.Event()
        give_back_large_blocks()
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


def give_back_large_blocks() -> bool:
    """Have the C library return large blocks at once; False where it cannot be told so (it is not glibc)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_ARENA_MAX, 2) and mallopt(_MMAP_THRESHOLD, LARGE))
