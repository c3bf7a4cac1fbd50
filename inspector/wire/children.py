"""Which processes we started, kept on disk so that a killed console's leftovers are found again. Any thread.

One small JSON file per child: pid, start time, and the same of the console that owns it. A pid alone proves
nothing (they are reused), so a process is ours only when its start time agrees. Never by name.

A record is believed when only we can have written it (regular, our uid, 0600) and its times agree with each other
and with this run of the machine. Whoever runs as us could still forge one; they can also kill our processes without
it. A nonce in the child's environment would add no more than that, and change what a server is started with.
"""

from __future__ import annotations

import json
import math
import os
import signal
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from inspector.settings.files import is_ours, read_own

LARGEST: Final = 64 * 1024
"""Bytes of a record; of the command line it keeps `ARGV_KEPT` characters, for people to recognise it by."""
ARGV_KEPT: Final = 4000
CLOCK_SLACK_S: Final = 60.0
"""How far the wall clock may have been set back since the machine started."""
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
        facts = {"pid": pid, "start": started_at(pid), "argv": _kept(argv), "owner": self.me, "boot": boot()}
        # Made under a name of its own (O_EXCL, 0600) and moved: another console's sweep sees it whole or not at all.
        handle, beside = tempfile.mkstemp(prefix=".child-", dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(facts))
        os.replace(beside, self._file(pid))

    def forget(self, pid: int) -> None:
        if self.folder is not None:
            self._file(pid).unlink(missing_ok=True)

    def sweep(self) -> list[Swept]:
        """End what dead consoles left running; returns what was ended. Files of living consoles stay."""
        swept: list[Swept] = []
        for path in self._records():
            left = read_record(path)
            if left is not None and left.boot == boot() and same(left.owner, left.owner_start):
                continue
            killed = end_group(left.pid, left.start) if left is not None and left.boot == boot() else 0
            with suppress(OSError):  # a folder of that name stays: it is none of ours
                path.unlink()
            if left is not None and killed:
                swept.append(Swept(left.pid, left.argv, killed))
        return swept

    def _records(self) -> list[Path]:
        """The records, when the folder itself is ours to trust."""
        try:
            found = os.lstat(self.folder) if self.folder is not None else None
        except OSError:
            return []
        if self.folder is None or found is None or not stat.S_ISDIR(found.st_mode) or not is_ours(found):
            return []
        return sorted(self.folder.glob("*.json"))

    def _file(self, pid: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.me['pid']}-{pid}.json"


@dataclass(frozen=True, slots=True)
class Record:
    """What a record says, once it was found plausible. Times as `started_at` gives them."""

    pid: int
    start: float
    argv: list[str]
    owner: int
    owner_start: float
    boot: str


def read_record(path: Path) -> Record | None:
    """None for what we cannot have written: another's file, a link, a FIFO, no JSON, times that contradict."""
    try:
        content = read_own(path, LARGEST)
        if content is None or path.stat().st_mtime < psutil.boot_time() - CLOCK_SLACK_S:
            return None
        facts = json.loads(content)
        owner, argv = facts["owner"], [str(word) for word in facts["argv"]]
        found = Record(
            _pid(facts["pid"]), _time(facts["start"]), argv, _pid(owner["pid"]), _time(owner["start"]),
            str(facts["boot"]),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if found.start >= found.owner_start - SLACK_S else None


def _kept(argv: list[str]) -> list[str]:
    """The first words, as far as a person needs them."""
    kept, left = [], ARGV_KEPT
    for word in argv:
        kept.append(word if len(word) <= left else word[: max(left, 0)] + "…")
        left -= len(word)
        if left <= 0:
            break
    return kept


def _pid(value: Any) -> int:
    """Raises ValueError, for init too."""
    if type(value) is not int or not 1 < value < 2**31:
        raise ValueError(value)
    return value


def _time(value: Any) -> float:
    """Raises ValueError."""
    if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
        raise ValueError(value)
    return float(value)


def end_group(pid: int, start: float | None) -> int:
    """Kill the session that child `pid` led, when it is really that child's; returns how many were killed.

    The kernel gives no new process a pid that still names a living session, so members of session `pid` that
    began after `start` are the child's own, even when the child itself is gone.
    """
    if start is None or start <= 0 or pid in (os.getpid(), os.getsid(0)):
        return 0
    leader = started_at(pid)
    if leader is not None and abs(leader - start) > SLACK_S:
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
