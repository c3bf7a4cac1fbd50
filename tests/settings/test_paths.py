from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.errors import StorageError
from inspector.settings.files import storage_error
from inspector.settings.paths import (
    Paths,
    is_running,
    living_consoles,
    process_started,
    read_console,
    remove_console,
    write_console,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.locate(tmp_path / "loupe").ensure()


def test_a_given_folder_wins_over_the_environment(tmp_path: Path) -> None:
    environ = {"MCP_LOUPE_DATA": str(tmp_path / "env")}
    assert Paths.locate(tmp_path / "given", environ).data == tmp_path / "given"
    assert Paths.locate(None, environ) == Paths(*[tmp_path / "env"] * 3)


def test_without_either_the_platforms_places_are_used() -> None:
    located = Paths.locate(None, {})
    assert {located.data.name, located.config.name, located.runtime.name} == {"mcp-loupe"}


def test_folders_are_made_for_this_user_only(paths: Paths) -> None:
    assert mode(paths.data) == 0o700
    assert mode(paths.children) == 0o700
    assert (paths.database.name, paths.servers.name) == ("loupe.db", "servers.json")
    assert list(paths.data.iterdir()) == [paths.children]


def test_a_folder_of_ours_that_others_can_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "loupe.db").touch()
    tmp_path.chmod(0o755)
    Paths.locate(tmp_path).ensure()
    assert mode(tmp_path) == 0o700


def test_a_shared_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(StorageError, match="other users can open it") as caught:
        Paths.locate(tmp_path).ensure()
    assert caught.value.remedy.endswith(f"chmod 700 {tmp_path}")
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("below", ["", "/sub", "/sub/sub"])
def test_a_file_in_the_way_is_a_sentence(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"is a file, not a folder|a part of the path is a file") as caught:
        Paths.locate(f"{tmp_path}/file{below}").ensure()
    assert "--data-dir" in caught.value.remedy


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    folder = Path("/proc/self/loupe") if os.geteuid() == 0 else tmp_path / "closed" / "loupe"
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(StorageError, match=f"{folder} cannot be used") as caught:
        Paths.locate(folder).ensure()
    assert (caught.value.exit_code, caught.value.layer) == (7, "storage")


def test_a_full_disk_and_a_read_only_one_are_told_apart() -> None:
    full = storage_error(Path("/d"), OSError(errno.ENOSPC, "x"))
    fixed = storage_error(Path("/d"), OSError(errno.EROFS, "x"))
    assert full.message == "/d cannot be used: the disk is full."
    assert fixed.message == "/d cannot be used: it is on a read-only file system."
    assert full.remedy == "Free some space, or give another folder with --data-dir (or MCP_LOUPE_DATA)."


def test_a_console_is_announced_in_a_private_file_and_taken_back(paths: Paths) -> None:
    state = write_console(paths, "http://127.0.0.1:7700/", 7700, "s3cret")
    assert mode(paths.console(7700)) == 0o600
    assert read_console(paths.console(7700)) == state
    assert living_consoles(paths) == [state]
    assert "s3cret" not in repr(state)
    remove_console(paths, 7700)
    assert living_consoles(paths) == []


def test_another_consoles_file_is_not_taken_back(paths: Paths) -> None:
    write_console(paths, "http://127.0.0.1:7700/", 7700, "s")
    known = json.loads(paths.console(7700).read_text())
    paths.console(7700).write_text(json.dumps(known | {"pid": os.getppid()}))
    remove_console(paths, 7700)
    assert paths.console(7700).exists()


def test_the_files_of_dead_consoles_and_used_again_pids_are_removed(paths: Paths) -> None:
    living = write_console(paths, "http://127.0.0.1:1/", 1, "s")
    known = json.loads(paths.console(1).read_text())
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait(timeout=60)
    paths.console(2).write_text(json.dumps(known | {"port": 2, "pid": child.pid}))
    paths.console(3).write_text(json.dumps(known | {"port": 3, "started": known["started"] - 3600}))
    paths.console(4).write_text("{ torn")
    assert living_consoles(paths) == [living]
    assert [path.name for path in paths.runtime.glob("console-*")] == ["console-1.json"]


def test_a_zombie_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_started(child.pid)
    assert started is not None
    assert is_running(child.pid, started)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(child.pid) is None
    child.wait(timeout=60)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', '{"url":"u","port":"x","pid":1,"started":1}'])
def test_a_state_file_that_is_not_ours_is_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "console-1.json").write_text(text)
    assert read_console(tmp_path / "console-1.json") is None
    assert read_console(tmp_path / "console-2.json") is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)
    with pytest.raises(StorageError, match="belongs to another user"):
        Paths.locate(folder).ensure()


def test_an_announcement_that_is_not_ours_is_not_believed(paths: Paths, tmp_path: Path) -> None:
    mine = write_console(paths, "http://127.0.0.1:1/", 1, "s3cret")
    assert read_console(paths.console(1)) == mine
    paths.console(2).symlink_to(paths.console(1))
    os.mkfifo(paths.console(3), 0o600)
    paths.console(4).write_bytes(paths.console(1).read_bytes())
    paths.console(4).chmod(0o644)
    assert [read_console(paths.console(port)) for port in (2, 3, 4)] == [None] * 3
    assert living_consoles(paths) == [mine]
