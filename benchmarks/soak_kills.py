"""Killing the console with SIGKILL at random moments: what it announced is kept, what it started is found again."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
READY_S = 60.0


def kills(times: int, seed: int) -> dict[str, object]:
    """Start a console, let it work, kill it; check the database and, after the next start, the processes."""
    chance = random.Random(seed)
    announced = swept = left_before = 0
    with tempfile.TemporaryDirectory() as data:
        servers: list[int] = []
        for n in range(times + 1):
            victim = Victim(Path(data))
            gone = [pid for pid in servers if alive(pid)]
            assert not gone, f"start {n}: servers of the killed console still run: {gone}"
            swept += victim.swept
            if n == times:
                victim.process.kill()
                victim.process.wait(30)
                break
            time.sleep(chance.uniform(0.0, 2.0))
            victim.process.send_signal(signal.SIGKILL)
            victim.process.wait(30)
            victim.reader.join(10)
            servers = victim.servers
            left_before += sum(alive(pid) for pid in servers)
            announced += check(Path(data), victim.session, victim.announced)
            if (n + 1) % 10 == 0:
                print(json.dumps({"kills": n + 1, "announced": announced}), file=sys.stderr, flush=True)
        for pid in servers:
            if alive(pid):
                psutil.Process(pid).kill()
    return {
        "kills": times,
        "announced_and_found": announced,
        "servers_alive_after_a_kill": left_before,
        "swept": swept,
    }


class Victim:
    """A console in a process of its own that calls its servers and says what was announced."""

    def __init__(self, data: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak_victim", str(data)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.session, self.swept, self.servers = ready["session"], ready["swept"], ready["servers"]
        self.announced = 0
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.announced = int(line)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def check(data: Path, session: int, announced: int) -> int:
    """The database is whole, and holds every event announced."""
    with sqlite3.connect(data / "loupe.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (count,) = db.execute(
            "SELECT count(*) FROM event WHERE session = ? AND seq <= ?", (session, announced)
        ).fetchone()
    db.close()
    assert count == announced, f"{announced} announced, {count} found"
    return announced
