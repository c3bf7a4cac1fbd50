"""The README's command blocks, run as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()
]
MAKE = ["make run", "make test"]


def test_the_readme_has_the_two_commands() -> None:
    assert [command for command in COMMANDS if command.startswith("make")] == MAKE


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("make")])
def test_a_command_of_the_readme_works_as_written(command: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "MCP_LOUPE_DATA": str(tmp_path / "data")}
    ran = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
