from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.errors import SpawnFailed
from inspector.settings.child import child_environment, resolve_command
from inspector.settings.spec import ServerSpec


def program(path: Path, text: str = "#!/bin/sh\nexit 0\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def failure(argv: list[str], env: dict[str, str], cwd: Path | None = None, **more: bool) -> SpawnFailed:
    with pytest.raises(SpawnFailed) as caught:
        resolve_command(argv, env, None if cwd is None else str(cwd), **more)
    return caught.value


def test_only_listed_names_are_inherited_and_the_spec_wins() -> None:
    base = {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET": "s", "TERM": "() { :; }", "HOME": "/h"}
    spec = ServerSpec("s", argv=("x",), env={"HOME": "/other", "KEY": "v"})
    assert child_environment(spec, base, windows=False) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "HOME": "/other",
        "KEY": "v",
        "PYTHONUTF8": "1",
        "PYTHONIOENCODING": "utf-8",
    }


def test_a_spec_that_sets_pythons_encoding_keeps_it() -> None:
    spec = ServerSpec("s", env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"})
    assert child_environment(spec, {}) == {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}


def test_names_are_one_whatever_their_case_on_windows() -> None:
    found = child_environment(
        ServerSpec("s", env={"Path": "B"}), {"PATH": "A", "SystemRoot": "W"}, windows=True
    )
    assert found == {"Path": "B", "SystemRoot": "W", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}


def test_a_real_child_in_a_c_locale_speaks_utf_8() -> None:
    env = child_environment(ServerSpec("s", env={"LC_ALL": "C"}))
    code = "import sys; print(sys.stdout.encoding, '\\u2713')"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=60, check=True)
    assert done.stdout.decode("utf-8").split() == ["utf-8", "✓"]


def test_the_childs_path_is_searched_not_ours(tmp_path: Path) -> None:
    found = program(tmp_path / "my bin" / "serve")
    assert resolve_command(["serve"], {"PATH": f"/none:{found.parent}"}) == str(found)


def test_a_relative_program_is_below_the_servers_folder(tmp_path: Path) -> None:
    found = program(tmp_path / "run" / "serve")
    assert resolve_command(["./run/serve"], {}, str(tmp_path)) == str(found)


def test_a_missing_program_tells_where_was_looked(tmp_path: Path) -> None:
    error = failure(["no-such-thing"], {"PATH": f"{tmp_path}:/none"})
    assert (
        error.message == f"“no-such-thing” was not found on the server's PATH (2 folders: {tmp_path}, /none)."
    )
    assert error.facts == {"argv": ["no-such-thing"], "searched": [str(tmp_path), "/none"]}
    assert "absolute path" in error.remedy
    assert error.exit_code == 3


def test_a_slip_gets_the_near_name(tmp_path: Path) -> None:
    program(tmp_path / "loupe-serve")
    assert "Did you mean loupe-serve?" in failure(["loupe-server"], {"PATH": str(tmp_path)}).remedy


def test_a_program_only_our_own_path_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = program(tmp_path / "npx")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"The console finds {found}" in failure(["npx"], {"PATH": "/none"}).remedy


def test_a_program_in_the_working_folder_needs_a_dot_slash(tmp_path: Path) -> None:
    program(tmp_path / "serve")
    assert failure(["serve"], {"PATH": "/none"}, tmp_path).remedy.endswith("write ./serve")


def test_a_file_that_is_not_executable_is_said(tmp_path: Path) -> None:
    path = program(tmp_path / "serve", mode=0o644)
    for argv, env in ((["serve"], {"PATH": str(tmp_path)}), ([str(path)], {})):
        error = failure(argv, env)
        assert error.message == f"{path} is not executable."
        assert f"chmod +x {path}" in error.remedy


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert failure([str(tmp_path)], {}).message == f"{tmp_path} is a folder, not a program."


def test_a_whole_command_line_in_command_is_recognised(tmp_path: Path) -> None:
    program(tmp_path / "npx")
    error = failure(["npx -y thing"], {"PATH": str(tmp_path)})
    assert error.remedy == 'Split it: "command": "npx", "args": ["-y", "thing"].'


def test_a_path_with_spaces_that_does_not_exist_is_one_path(tmp_path: Path) -> None:
    program(tmp_path / "My Files" / "serve")
    error = failure([str(tmp_path / "My Files" / "serv")], {"PATH": "/bin"})
    assert error.message == f"{tmp_path}/My Files/serv does not exist."
    assert error.remedy == "Did you mean serve?"


def test_a_missing_interpreter_is_not_taken_for_a_missing_script(tmp_path: Path) -> None:
    path = program(tmp_path / "serve", "#!/none/python\n")
    assert failure([str(path)], {}).message == f"{path} asks to be run by /none/python, which does not exist."


def test_a_missing_working_folder_is_said(tmp_path: Path) -> None:
    assert failure(["true"], {"PATH": "/bin"}, tmp_path / "none").message.endswith("none does not exist.")


def test_a_tilde_is_not_expanded() -> None:
    assert os.path.expanduser("~/no-such/serve") in failure(["~/no-such/serve"], {}).remedy


def test_on_windows_the_cmd_file_is_found_and_the_unix_script_beside_it_is_not(tmp_path: Path) -> None:
    program(tmp_path / "npx")
    found = program(tmp_path / "npx.cmd")
    env = {"Path": str(tmp_path), "PATHEXT": ".EXE;.CMD"}
    assert resolve_command(["npx"], env, windows=True) == str(found)
    assert resolve_command(["npx.cmd"], env, windows=True) == str(found)
    assert "npx.cmd" in failure(["npx"], {"PATH": "/none"}, windows=True).remedy


def test_an_empty_command_is_our_error() -> None:
    assert failure([], {}).message == "There is no command to start."
