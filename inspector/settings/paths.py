"""Where Loupe keeps things, and the state files of running consoles. Any thread; blocks on the disk."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import platformdirs
import psutil

from inspector.errors import StorageError
from inspector.settings.files import is_ours, read_own, storage_error, write_private

DATA_VARIABLE: Final = "MCP_LOUPE_DATA"
_APP: Final = "mcp-loupe"
_MARKS: Final = ("loupe.db", "servers.json", "children")
"""Names by which a folder is known to be ours."""
_LARGEST_STATE: Final = 64 * 1024
_CLOCK_SLACK: Final = 2.0
"""Seconds. The OS derives a process's start from the boot time, which moves when the clock is set."""


@dataclass(frozen=True, slots=True)
class Paths:
    """data: the recordings; config: what people edit; runtime: running consoles and their children.

    With `--data-dir` or MCP_LOUPE_DATA all three are that one folder.
    """

    data: Path
    config: Path
    runtime: Path

    @classmethod
    def locate(cls, data_dir: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Paths:
        """The folders to use; `data_dir` wins over MCP_LOUPE_DATA, which wins over the platform's places.

        Nothing is created: see `ensure`. The state folder serves as runtime folder, because /run/user is
        absent in containers and over some ssh logins, and two consoles that look in different places never
        find each other.
        """
        chosen = data_dir or (os.environ if environ is None else environ).get(DATA_VARIABLE)
        if chosen:
            folder = Path(os.path.abspath(os.path.expanduser(chosen)))
            return cls(folder, folder, folder)
        return cls(
            platformdirs.user_data_path(_APP, appauthor=False),
            platformdirs.user_config_path(_APP, appauthor=False),
            platformdirs.user_state_path(_APP, appauthor=False),
        )

    @property
    def database(self) -> Path:
        return self.data / "loupe.db"

    @property
    def servers(self) -> Path:
        return self.config / "servers.json"

    @property
    def tokens(self) -> Path:
        """What signing in to servers left, 0600."""
        return self.data / "tokens.json"

    @property
    def children(self) -> Path:
        """The folder of pid files of server processes, swept at the next start."""
        return self.runtime / "children"

    def console(self, port: int) -> Path:
        return self.runtime / f"console-{port}.json"

    def ensure(self) -> Paths:
        """Makes the folders (0700) and proves that they can be written. Raises StorageError."""
        for folder in dict.fromkeys((self.data, self.config, self.runtime, self.children)):
            _ensure_folder(folder)
        return self


def private_cache(name: str) -> Path:
    """A folder (0700) for what can be made anew, the same whatever the data folder. Raises StorageError."""
    folder = platformdirs.user_cache_path(_APP, appauthor=False) / name
    _ensure_folder(folder)
    return folder


def _ensure_folder(folder: Path) -> None:
    try:
        if folder.exists() and not folder.is_dir():
            raise StorageError(
                f"{folder} is a file, not a folder.", "Give a folder with --data-dir (or MCP_LOUPE_DATA)."
            )
        for missing in [each for each in reversed(folder.parents) if not each.exists()]:
            missing.mkdir(
                mode=0o700, exist_ok=True
            )  # `parents` goes by the umask: who can write there can swap ours
        folder.mkdir(mode=0o700, exist_ok=True)
        if not is_ours(folder.stat()):
            raise StorageError(
                f"{folder} belongs to another user, who could change what is in it.",
                "Give a folder of your own with --data-dir (or MCP_LOUPE_DATA), or change its owner.",
            )
        if sys.platform != "win32" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
            _close_to_others(folder)
        # Only a real write shows a full disk, a quota or a read-only mount.
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
            probe.flush()
    except OSError as error:
        raise storage_error(folder, error) from None


def _close_to_others(folder: Path) -> None:
    """chmod 0700, but only a folder of ours or an empty one: `--data-dir /tmp` must not close /tmp to all."""
    names = os.listdir(folder)
    if names and not any(name in _MARKS or name.startswith("console-") for name in names):
        raise StorageError(
            f"{folder} holds other files and other users can open it, and recordings may hold secrets.",
            f"Give a folder of its own, or make it private: chmod 700 {folder}",
        )
    folder.chmod(0o700)


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """One running console. started: when its process started, seconds since 1970 as the OS says."""

    url: str
    port: int
    pid: int
    started: float
    admin_secret: str = field(repr=False)


def process_started(pid: int) -> float | None:
    """When the process of this pid started (seconds since 1970); None when none runs. A zombie does not run."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except (psutil.Error, ValueError, OverflowError):
        return None


def is_running(pid: int, started: float) -> bool:
    """Whether the very process that had this pid at `started` still runs: pids are used again."""
    now = process_started(pid)
    return now is not None and abs(now - started) <= _CLOCK_SLACK


def write_console(paths: Paths, url: str, port: int, admin_secret: str) -> ConsoleState:
    """Announces this process as the console on `port`, in a 0600 file. Raises StorageError."""
    pid = os.getpid()
    state = ConsoleState(url, port, pid, process_started(pid) or 0.0, admin_secret)
    known = {"url": url, "port": port, "pid": pid, "started": state.started, "admin_secret": admin_secret}
    write_private(paths.console(port), json.dumps(known, indent=2) + "\n")
    return state


def read_console(path: Path) -> ConsoleState | None:
    """What a state file says, of the dead too; None when it is absent or not ours. Raises StorageError."""
    try:
        known = json.loads(read_own(path, _LARGEST_STATE) or b"")
        return ConsoleState(
            str(known["url"]),
            int(known["port"]),
            int(known["pid"]),
            float(known["started"]),
            str(known["admin_secret"]),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket: nothing we wrote
            return None
        raise storage_error(path, error) from None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def remove_console(paths: Paths, port: int) -> None:
    """Takes our own announcement back; another console that has taken over the port keeps its file."""
    state = read_console(paths.console(port))
    if state is not None and state.pid == os.getpid():
        _unlink(paths.console(port))


def living_consoles(paths: Paths) -> list[ConsoleState]:
    """The consoles that run now, by port; the files of those that died without goodbye are removed."""
    living = []
    for path in paths.runtime.glob("console-*.json"):
        state = read_console(path)
        if state is not None and is_running(state.pid, state.started):
            living.append(state)
        else:
            _unlink(path)
    return sorted(living, key=lambda state: state.port)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(path, error) from None
