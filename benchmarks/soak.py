"""`make soak`: many connections, random faults and kills for a long time; then many `kill -9` of the console itself.

Not a test: it runs for half an hour and reports what it saw (docs/reliability.md). What it checks is an
assertion, so a broken one ends it; growth is judged in runs long enough for it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.soak_kills import kills
from inspector.console.console import Console
from inspector.demo.catalog import examples
from inspector.demo.chaos import registry
from inspector.errors import LoupeError
from inspector.settings.paths import Paths
from inspector.settings.spec import ServerSpec, Timeouts
from inspector.trace.filters import Filter
from inspector.wire.connection import CONNECTED

ROOT = Path(__file__).resolve().parents[1]
TEE = str(ROOT / "tests" / "servers" / "tee.py")
CALL_S = 5.0
GRACE_S = 10.0
TEED = 4
JUDGED_MINUTES = 20
GROWTH = {"threads": 1.1, "fds": 1.1, "rss_mb": 1.1, "blocks": 1.1}
QUIET = Timeouts(probe=20.0, connect=60.0, call=CALL_S, close=1.0)
SLOW_FAULTS = {
    "slow_drip",
    "slow_start",
    "long_line",
    "big_structure",
    "big_table",
    "late_answer",
    "notification_flood",
}


@dataclass
class Tally:
    """What happened, by word; guarded by one lock."""

    calls: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    reconnects: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, what: str) -> None:
        with self.lock:
            self.calls[what] += 1


def specs(number: int, folder: Path) -> list[ServerSpec]:
    """Healthy and chaotic servers in turn; the first few healthy ones behind an independent tee."""
    found = []
    for n in range(number):
        demo = "flat" if n < TEED or n % 2 == 0 else "chaos"
        argv = [sys.executable, "-m", "inspector.demo", demo]
        if n < TEED:
            argv = [sys.executable, TEE, str(folder / f"tee{n}"), "--", *argv]
        found.append(
            ServerSpec(f"{demo} {n}", argv=tuple(argv), env={"PYTHONPATH": str(ROOT)}, timeouts=QUIET)
        )
    return found


def faults() -> list[str]:
    found = [name for name, each in registry().items() if each.is_tool and each.at("stdio")]
    return [name for name in found if name not in SLOW_FAULTS]


class Soak:
    """One console under load."""

    def __init__(self, console: Console, keys: list[str], seed: int, pause_s: float) -> None:
        self.pause_s = pause_s
        self.console = console
        self.keys = keys
        self.tally = Tally()
        self.stop = threading.Event()
        self.seed = seed
        self.examples = examples()
        self.faults = faults()
        self._decks: dict[str, list[str]] = {}
        self.worst_s = 0.0

    def drive(self, n: int) -> None:
        """Call one server over and over, reconnecting when it is gone."""
        chance = random.Random(self.seed + n)
        key = self.keys[n]
        while not self.stop.is_set():
            server = self.console.server(key)
            if server.state != CONNECTED:
                self._reconnect(key)
                continue
            self._call(key, n, chance)
            self.stop.wait(chance.uniform(0.5, 1.5) * self.pause_s)

    def _reconnect(self, key: str) -> None:
        try:
            self.console.connect(key)
            with self.tally.lock:
                self.tally.reconnects += 1
        except LoupeError:
            self.tally.count("connect failed")

    def _call(self, key: str, n: int, chance: random.Random) -> None:
        if "chaos" in key:
            tool, arguments = self._next_fault(key, chance), "{}"
        else:
            tool = chance.choice(sorted(self.examples))
            arguments = json.dumps(self.examples[tool])
        began = time.monotonic()
        try:
            call = self.console.calls.start(
                self.console.connection(key), key, tool, arguments, timeout=CALL_S
            )
            call.future.result(CALL_S + GRACE_S)
        except Late:
            raise SystemExit(f"{tool} on {key} hung for {CALL_S + GRACE_S:g} s") from None
        except LoupeError:
            self.tally.count("not connected")
            return
        self.worst_s = max(self.worst_s, time.monotonic() - began)
        outcome = call.outcome
        self.tally.count(outcome.what if outcome is not None else "unknown")

    def _next_fault(self, key: str, chance: random.Random) -> str:
        """The faults in a new random order again and again, so that each has come before growth is judged."""
        deck = self._decks.setdefault(key, [])
        if not deck:
            deck += chance.sample(self.faults, len(self.faults))
        return deck.pop()

    def kill_some(self, every_s: float) -> None:
        """Now and then SIGKILL the process of a server that has no tee."""
        chance = random.Random(self.seed)
        while not self.stop.wait(every_s):
            key = chance.choice(self.keys[TEED:])
            connection = self.console.server(key).connection
            process = getattr(connection.transport, "server", None) if connection is not None else None
            if process is not None and process.process.returncode is None:
                os.kill(process.pid, signal.SIGKILL)
                with self.tally.lock:
                    self.tally.kills += 1


def sample(me: psutil.Process) -> dict[str, float]:
    return {
        "threads": me.num_threads(),
        "fds": me.num_fds(),
        "rss_mb": round(me.memory_info().rss / 1e6, 1),
        "blocks": sys.getallocatedblocks(),
        "children": len(me.children(recursive=True)),
    }


def run(minutes: float, connections: int, seed: int, pause_s: float, kill_s: float) -> dict[str, object]:
    me = psutil.Process()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Console(Paths.locate(folder / "data")) as console:
            keys = [console.servers_file.add(spec) for spec in specs(connections, folder)]
            soak = Soak(console, keys, seed, pause_s)
            threads = [threading.Thread(target=soak.drive, args=(n,)) for n in range(connections)]
            threads.append(threading.Thread(target=soak.kill_some, args=(kill_s,)))
            for thread in threads:
                thread.start()
            samples = watch(me, minutes, soak)
            soak.stop.set()
            for thread in threads:
                thread.join(CALL_S + GRACE_S + 60)
                assert not thread.is_alive(), "a driver did not end"
            session = console.recorder.session
            owners = {key: console.server(key).connection for key in keys[:TEED]}
            console.close_all()
            assert console.recorder.flush(60)
            assert console.recorder.health().dropped == 0
            compared = compare_tees(console, session, folder, owners)
        left = [child.pid for child in me.children(recursive=True) if child.is_running()]
        left = [
            pid
            for pid in left
            if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
        ]
    assert not left, f"processes left behind: {left}"
    first, last = samples[len(samples) // 3], samples[-1]
    if minutes >= JUDGED_MINUTES:
        judge(first, last)
    return {
        "minutes": minutes, "connections": connections, "calls": dict(soak.tally.calls), "kills": soak.tally.kills,
        "reconnects": soak.tally.reconnects, "slowest_call_s": round(soak.worst_s, 2), "at_a_third": first,
        "at_the_end": last, "frames_compared_with_a_tee": compared, "left_behind": len(left), "seed": seed,
    }  # fmt: skip


def judge(first: dict[str, float], last: dict[str, float]) -> None:
    """No growth from a third of the run to its end; a short run is all warm-up and is not judged."""
    for what, bound in GROWTH.items():
        assert last[what] <= first[what] * bound, (
            f"{what} grew from {first[what]} to {last[what]}, over {bound} x"
        )


def watch(me: psutil.Process, minutes: float, soak: Soak) -> list[dict[str, float]]:
    """A sample every few seconds until time is up; printed each minute."""
    samples = []
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        time.sleep(min(5.0, max(0.1, end - time.monotonic())))
        samples.append(sample(me))
        if len(samples) % 12 == 0:
            print(
                json.dumps({**samples[-1], "calls": sum(soak.tally.calls.values())}),
                file=sys.stderr,
                flush=True,
            )
    return samples


def compare_tees(console: Console, session: int, folder: Path, owners: dict[str, object]) -> int:
    """Every line the tee saw on stdout is in the database, byte for byte and in order."""
    compared = 0
    with console.store() as store:
        for n, connection in enumerate(owners.values()):
            lines = (folder / f"tee{n}" / "stdout").read_bytes().split(b"\n")[:-1]
            recorded: list[bytes] = []
            after = 0
            while rows := store.page(
                session, Filter(c=(connection.c,)), after=after, before=None, limit=1000
            ):  # type: ignore[attr-defined]
                for row in rows:
                    if row.t in ("rpc", "noise") and row.dir == "s2c":
                        recorded.append(store.raw(session, row.seq) or b"")
                after = rows[-1].seq
            assert recorded == lines, f"tee{n}: {len(recorded)} recorded, {len(lines)} crossed"
            compared += len(lines)
    return compared


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--connections", type=int, default=24)
    parser.add_argument("--kills", type=int, default=100, help="kill -9 of the console, afterwards")
    parser.add_argument("--pause", type=float, default=0.5, help="mean seconds between calls of a connection")
    parser.add_argument("--kill-every", type=float, default=5, help="seconds between kills of a server")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found: dict[str, object] = {}
    if given.minutes:
        found["soak"] = run(given.minutes, given.connections, given.seed, given.pause, given.kill_every)
    if given.kills:
        found["kills"] = kills(given.kills, given.seed)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
