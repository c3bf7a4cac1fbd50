"""The records of child processes: which are believed, and what a forged or broken one cannot do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from inspector.wire.children import Children, boot, read_record, started_at

DEAD = {"pid": 2**22 + 1, "start": 0.01}
"""No such pid exists: Linux gives none above 2**22."""


def forged(folder: Path, name: str, **changes: object) -> Path:
    """A record of a session that is not ours to end, plausible but for `changes`."""
    facts = {"pid": 2**22 + 2, "start": 1.0, "argv": ["x"], "owner": DEAD, "boot": boot()} | changes
    path = folder / name
    path.write_text(json.dumps({key: value for key, value in facts.items() if value is not None}))
    path.chmod(0o600)
    return path


@pytest.fixture
def orphans() -> Iterator[tuple[int, float]]:
    """(session, start) of a living process whose session's leader is gone."""
    words = ["sh", "-c", "sleep 60 >/dev/null & echo $!"]
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, text=True) as leader:
        start = started_at(leader.pid)
        assert leader.stdout is not None and start is not None
        left = int(leader.stdout.readline())
    assert psutil.pid_exists(left)
    yield leader.pid, start
    assert psutil.pid_exists(left)  # whatever the test swept, it was not this
    os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("start", [0, None, -1, "1", float("nan"), True, 1e400])
def test_a_record_without_a_real_start_ends_nothing(
    tmp_path: Path, orphans: tuple[int, float], start: object
) -> None:
    forged(tmp_path, "a.json", pid=orphans[0], start=start)
    assert Children(tmp_path).sweep() == []
    assert list(tmp_path.iterdir()) == []


def test_a_child_older_than_its_console_is_no_child(tmp_path: Path, orphans: tuple[int, float]) -> None:
    session, start = orphans
    forged(tmp_path, "a.json", pid=session, start=start, owner={**DEAD, "start": start + 1})
    assert Children(tmp_path).sweep() == []


def test_only_private_regular_files_of_ours_are_believed(tmp_path: Path, orphans: tuple[int, float]) -> None:
    session, start = orphans
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "children"
    folder.mkdir()
    believable = forged(elsewhere, "a.json", pid=session, start=start)
    (folder / "link.json").symlink_to(believable)
    (folder / "hard.json").hardlink_to(forged(elsewhere, "b.json", pid=session, start=start))
    os.mkfifo(folder / "fifo.json", 0o600)
    forged(folder, "open.json", pid=session, start=start).chmod(0o644)
    forged(folder, "large.json", pid=session, start=start, argv=["x" * 100_000])
    os.utime(forged(folder, "older-than-boot.json", pid=session, start=start), (1, 1))
    assert Children(folder).sweep() == []
    assert (list(folder.iterdir()), believable.exists()) == ([], True)
    (tmp_path / "linked").symlink_to(elsewhere)
    assert Children(tmp_path / "linked").sweep() == []
    assert believable.exists()


@pytest.mark.parametrize(
    "text",
    ["", "[]", '"x"', "[" * 60_000, '{"owner": []}', '{"pid": ' + "9" * 5000 + "}", "\ud800", "{}"],
)
def test_a_record_that_is_none_is_removed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    path.chmod(0o600)
    assert Children(tmp_path).sweep() == []
    assert not path.exists()


@pytest.mark.parametrize("pid", [-1, 0, 1, 2**31, 2**70, "7", True, None])
def test_a_record_of_no_possible_process_is_removed(tmp_path: Path, pid: object) -> None:
    forged(tmp_path, "a.json", pid=pid)
    forged(tmp_path, "b.json", owner={"pid": pid, "start": 1.0})
    assert Children(tmp_path).sweep() == []
    assert list(tmp_path.iterdir()) == []


def test_a_record_is_private_and_replaces_what_was_put_in_its_place(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    folder = tmp_path / "children"
    folder.mkdir()
    path = folder / f"{os.getpid()}-{os.getpid()}.json"
    path.symlink_to(precious)
    Children(folder).record(os.getpid(), ["x", "y" * 100_000])
    assert (precious.read_text(), path.is_symlink(), path.stat().st_mode & 0o777) == ("kept", False, 0o600)
    found = read_record(path)
    assert found is not None
    assert (found.pid, found.owner, found.argv) == (os.getpid(), os.getpid(), ["x", "y" * 3999 + "…"])
    assert list(folder.iterdir()) == [path]


def test_a_believable_record_of_a_dead_console_is_followed(tmp_path: Path) -> None:
    """The counterpart of the refusals above: the same record, unbroken."""
    words = ["sh", "-c", "sleep 60 >/dev/null & echo $!"]
    with subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, text=True) as leader:
        start = started_at(leader.pid)
        assert leader.stdout is not None
        left = psutil.Process(int(leader.stdout.readline()))
    forged(tmp_path, "a.json", pid=leader.pid, start=start)
    assert [(each.pid, each.processes) for each in Children(tmp_path).sweep()] == [(leader.pid, 1)]
    psutil.wait_procs([left], timeout=10)
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
