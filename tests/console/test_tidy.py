"""The collector's schedule: ours while a console is open, the interpreter's own afterwards; a cycle does not stay."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import threading
import weakref

import pytest

from inspector.console import tidy
from inspector.console.tidy import THRESHOLDS, Tidy

GIVING_BACK = """
import resource
from pathlib import Path
from inspector.console.tidy import give_back_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

assert give_back_large_blocks()
blocks = [bytearray(100_000) for _ in range(200)]
between = [bytearray(2_000) for _ in range(200)]  # would hold a heap open
held = resident()
del blocks
print(held - resident())
"""


class Knot:
    def __init__(self) -> None:
        self.me = self


def test_the_schedule_is_ours_while_it_is_open_and_given_back() -> None:
    before = gc.get_threshold()
    kept = Tidy()
    assert gc.get_threshold() == THRESHOLDS
    assert gc.get_freeze_count() > 10_000
    kept.close()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_a_cycle_is_taken_away_without_anybody_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "EVERY_S", 0.01)
    kept = Tidy()
    try:
        gone = threading.Event()
        knot = Knot()
        weakref.finalize(knot, gone.set)
        del knot
        assert gone.wait(20)
    finally:
        kept.close()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_large_blocks_go_back_to_the_system_when_they_are_freed() -> None:
    """In a process of its own: what else was freed there before would hide it."""
    done = subprocess.run([sys.executable, "-c", GIVING_BACK], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15_000_000
