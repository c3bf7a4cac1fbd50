"""An optional part that is missing is named with a line that brings it here."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from inspector.settings.extras import install_command


def test_from_a_clone_the_line_installs_the_clone_with_the_extra_by_this_python(tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    assert install_command("code", clone) == "pip install 'mcp-loupe[code]'"
    (clone / "pyproject.toml").touch()
    words = shlex.split(install_command("code", clone))
    assert words == [sys.executable, "-m", "pip", "install", "-e", f"{clone}[code]"]
