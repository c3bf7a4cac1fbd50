"""How to bring one of our optional parts to this very installation. Pure; any thread."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def install_command(extra: str, root: Path = ROOT) -> str:
    """A line for a shell: from a clone the clone once more with the extra, by the Python that runs now."""
    if not (root / "pyproject.toml").is_file():
        return f"pip install 'mcp-loupe[{extra}]'"
    return f"{shlex.quote(sys.executable)} -m pip install -e {shlex.quote(f'{root}[{extra}]')}"
