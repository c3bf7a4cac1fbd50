"""Which processes we started, kept on disk so that a killed console's leftovers are found again. Any thread.

One small JSON file per child: pid, start time, and the same of the console that owns it. A pid alone proves
nothing (they are reused), so a process is ours only when its start time agrees. Never by name.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

SLACK_S = 0.05
"""Start times are read twice with the kernel's clock-tick resolution (10 ms)."""


@dataclass(frozen=True, slots=True)
class Swept:
    """One leftover that was ended: its pid, its command line as recorded, and how many processes went with it."""

    pid: int
    argv: list[str]
    processes: int


def started_at(pid: int) -> float | None:
    """When the process began, in seconds of a clock nobody sets; None when there is none we may look at.

    On Linux the kernel's own count since boot: psutil's wall-clock figure moves when the clock is set, and would
    make every leftover look like a stranger. Elsewhere seconds since the epoch.
    """
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[19]) / os.sysconf("SC_CLK_TCK")
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def boot() -> str:
    """Which run of the machine this is: start times of another one mean nothing."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


def same(pid: int, start: float | None) -> bool:
    """Whether `pid` is still the process that began at `start`."""
    found = started_at(pid)
    return found is not None and start is not None and abs(found - start) <= SLACK_S


class Children:
    """The pid files in one folder; `None` keeps no record (a test's own business)."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.me = {"pid": os.getpid(), "start": started_at(os.getpid())}

    def record(self, pid: int, argv: list[str]) -> None:
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        facts = {"pid": pid, "start": started_at(pid), "argv": argv, "owner": self.me, "boot": boot()}
        path = self._file(pid)
        path.touch(mode=0o600)
        path.write_text(json.dumps(facts))

    def forget(self, pid: int) -> None:
        if self.folder is not None:
            self._file(pid).unlink(missing_ok=True)

    def sweep(self) -> list[Swept]:
        """End what dead consoles left running; returns what was ended. Files of living consoles stay."""
        swept: list[Swept] = []
        for path in sorted(self.folder.glob("*.json")) if self.folder and self.folder.is_dir() else []:
            try:
                facts = json.loads(path.read_text())
                owner = facts["owner"]
                if facts["boot"] != boot():
                    path.unlink(missing_ok=True)
                    continue
                if same(owner["pid"], owner["start"]):
                    continue
                killed = end_group(facts["pid"], facts["start"])
            except (ValueError, KeyError, TypeError, OSError):
                killed, facts = 0, {}
            path.unlink(missing_ok=True)
            if killed:
                swept.append(Swept(facts["pid"], facts["argv"], killed))
        return swept

    def _file(self, pid: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.me['pid']}-{pid}.json"


def end_group(pid: int, start: float | None) -> int:
    """Kill the session that child `pid` led, when it is really that child's; returns how many were killed.

    The kernel gives no new process a pid that still names a living session, so members of session `pid` that
    began after `start` are the child's own, even when the child itself is gone.
    """
    leader = started_at(pid)
    if start is None or (leader is not None and abs(leader - start) > SLACK_S):
        return 0
    members = _session(pid, start)
    for process in members:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
    return len(members)


def _session(session: int, start: float) -> list[psutil.Process]:
    """Living processes of a session that began at `start` or later; zombies are gone but for their parent's sake."""
    found = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getsid(pid) != session:
                continue
            began, process = started_at(pid), psutil.Process(pid)
            if began is None or began < start - SLACK_S or process.status() == psutil.STATUS_ZOMBIE:
                continue
            found.append(process)
    return found
