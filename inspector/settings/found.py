"""Looks for the config files other MCP clients keep, here and in this project. Any thread; reads files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inspector.errors import ConfigError
from inspector.settings.importing import Imported, read_config_file


@dataclass(frozen=True, slots=True)
class FoundConfig:
    """A file that exists. count: its usable servers; problems: its other entries; error: why it is unreadable."""

    client: str
    path: Path
    count: int
    problems: int = 0
    error: str | None = None


def known_places(home: Path, cwd: Path, platform: str = sys.platform) -> list[tuple[str, Path]]:
    """(client, path) of every place we know, the project's first; `platform` as `sys.platform` names it."""
    if platform == "darwin":
        programs = home / "Library" / "Application Support"
    elif platform == "win32":
        programs = home / "AppData" / "Roaming"
    else:
        programs = home / ".config"
    places = [
        ("project", cwd / ".mcp.json"),
        ("VS Code project", cwd / ".vscode" / "mcp.json"),
        ("Cursor project", cwd / ".cursor" / "mcp.json"),
        ("Claude Desktop", programs / "Claude" / "claude_desktop_config.json"),
        ("Claude Code", home / ".claude.json"),
        ("Cursor", home / ".cursor" / "mcp.json"),
        ("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ("Windsurf", home / ".codeium" / "mcp_config.json"),
    ]
    for editor, folder in (
        ("VS Code", "Code"),
        ("VS Code Insiders", "Code - Insiders"),
        ("VSCodium", "VSCodium"),
    ):
        places.append((editor, programs / folder / "User" / "mcp.json"))
        places.append((editor, programs / folder / "User" / "settings.json"))
    unique: dict[Path, str] = {}
    for client, path in places:
        unique.setdefault(path, client)
    return [(client, path) for path, client in unique.items()]


def discover(
    home: Path | None = None,
    cwd: Path | None = None,
    platform: str = sys.platform,
    *,
    environ: Mapping[str, str] | None = None,
) -> list[FoundConfig]:
    """The config files that exist in the known places; a settings file that holds no servers is left out."""
    return [found for found, _ in discover_imported(home, cwd, platform, environ=environ)]


def discover_imported(
    home: Path | None = None,
    cwd: Path | None = None,
    platform: str = sys.platform,
    *,
    environ: Mapping[str, str] | None = None,
) -> list[tuple[FoundConfig, Imported | None]]:
    """As `discover`, each with what was read from it; None where the file could not be read."""
    home = home or Path.home()
    looked = (
        _look(client, path, environ, str(home))
        for client, path in known_places(home, cwd or Path.cwd(), platform)
        if os.path.lexists(path)
    )
    return [one for one in looked if one is not None]


def _look(
    client: str, path: Path, environ: Mapping[str, str] | None, home: str
) -> tuple[FoundConfig, Imported | None] | None:
    try:
        imported = read_config_file(path, environ=environ, home=home)
    except ConfigError as error:
        return FoundConfig(client, path, 0, error=error.message), None
    holds_other_things = path.name in ("settings.json", ".claude.json", "claude_desktop_config.json")
    if holds_other_things and not imported.specs and not imported.problems:
        return None
    return FoundConfig(client, path, len(imported.specs), len(imported.problems)), imported
