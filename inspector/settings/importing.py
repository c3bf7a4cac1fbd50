"""Reads other clients' server lists: Claude Desktop, Claude Code, Cursor, Windsurf, VS Code. Any thread."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspector.errors import ConfigError
from inspector.settings.commands import command_name, url_name
from inspector.settings.entry import URL_KEYS, check_url, kind, read_entry, shown
from inspector.settings.files import read_text
from inspector.settings.hiding import Hider
from inspector.settings.jsonc import loads
from inspector.settings.spec import ServerSpec
from inspector.settings.variables import Surroundings, expand, expand_environment, placeholders, unresolved

_ENV_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A value to supply before `server` can start. label: what to ask for; secret: do not echo it."""

    server: str
    placeholder: str
    label: str
    secret: bool = True
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What a config file holds. problems: sentences that name the entry; disabled: names out of `specs`."""

    source: str
    specs: list[ServerSpec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unresolved: list[Unresolved] = field(default_factory=list)
    disabled: list[str] = field(default_factory=list)


def read_config(
    text: str,
    source: str,
    *,
    environ: Mapping[str, str] | None = None,
    home: str | None = None,
    workspace: str | None = None,
) -> Imported:
    """The servers of a config file's text: `mcpServers`, `servers`, `mcp.servers`, a bare map, or one server.

    A bad entry becomes a sentence in `problems` and hides no other. Relative `envFile` and
    `${workspaceFolder}` stand on `workspace`. Raises ConfigError (line, column) only when the whole text is
    unusable.
    """
    document, repeated = loads(text.removeprefix("\ufeff"), source)
    if not isinstance(document, dict):
        raise ConfigError(
            f"{source} holds {kind(document)}, not an object with servers.",
            'Expected {"mcpServers": {…}} or {"servers": {…}}.',
        )
    servers, inputs = _find_servers(document, source)
    around = Surroundings(
        os.environ if environ is None else environ, home or os.path.expanduser("~"), workspace
    )
    imported = Imported(source)
    for name, entry in servers.items():
        _read_one(imported, name, entry, around, inputs)
    imported.problems.extend(
        f"Server “{shown(name)}” is there twice: the last one is used."
        for name in repeated
        if name in servers
    )
    return imported


def read_config_file(
    path: Path, *, environ: Mapping[str, str] | None = None, home: str | None = None
) -> Imported:
    """`read_config` of a file; its project folder is the workspace. Raises ConfigError."""
    folder = path.absolute().parent
    workspace = folder.parent if folder.name in (".vscode", ".cursor") else folder
    # A user-level file belongs to no project: its `${workspaceFolder}` means nothing here.
    in_project = folder.name in (".vscode", ".cursor") or path.name == ".mcp.json"
    if workspace == Path(home or os.path.expanduser("~")):
        in_project = False
    return read_config(
        read_text(path),
        str(path),
        environ=environ,
        home=home,
        workspace=str(workspace) if in_project else None,
    )


def _find_servers(document: dict[str, Any], source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(entries by name, VS Code's input definitions by id), from whichever of the known shapes this is."""
    nested = document.get("mcp")
    for holder, key in (
        (document, "mcpServers"),
        (nested, "servers"),
        (document, "mcp.servers"),
        (document, "servers"),
    ):
        if isinstance(holder, dict) and key in holder:
            if not isinstance(holder[key], dict):
                raise ConfigError(
                    f"`{key}` in {source} must be an object of servers by name, not {kind(holder[key])}.",
                    'Write {"name": {"command": …}} there.',
                )
            return holder[key], _inputs(holder.get("inputs"))
    if _is_server(document):
        name = document.get("name")
        return {name if isinstance(name, str) and name.strip() else _name(document): document}, {}
    if document and any(_is_server(value) for value in document.values()):
        return document, {}
    return {}, {}


def _is_server(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), str) for key in ("command", *URL_KEYS))


def _name(entry: dict[str, Any]) -> str:
    url = next((entry[key] for key in URL_KEYS if isinstance(entry.get(key), str)), None)
    if url is not None:
        return url_name(url)
    args = entry.get("args")
    return command_name(
        [entry["command"], *(a for a in (args if isinstance(args, list) else []) if isinstance(a, str))]
    )


def _inputs(found: Any) -> dict[str, Any]:
    listed = found if isinstance(found, list) else []
    return {one["id"]: one for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)}


def _read_one(
    imported: Imported, name: str, entry: Any, around: Surroundings, inputs: dict[str, Any]
) -> None:
    try:
        spec = expand(read_entry(name, entry, imported.source), around)
        missing = unresolved(spec, around.environ)
        if spec.url is not None and "${" not in spec.url:
            check_url(name, spec.url)
    except ConfigError as error:
        imported.problems.append(error.message)
        return
    if spec.url is None and entry.get("envFile") is not None:
        try:
            spec = replace(spec, env=_env_file(entry["envFile"], around) | spec.env)
        except ConfigError as error:
            imported.problems.append(f"Server “{name}”: its envFile was not used: {error.message}")
    imported.specs.append(spec)
    imported.unresolved.extend(_ask(name, placeholder, inputs) for placeholder in missing)
    if entry.get("disabled") is True or entry.get("enabled") is False:
        imported.disabled.append(name)


def _ask(server: str, placeholder: str, inputs: dict[str, Any]) -> Unresolved:
    name = placeholder[2:-1]
    if name.startswith("env:"):
        return Unresolved(server, placeholder, f"the environment variable {name[4:]}, which is not set")
    if not name.startswith("input:"):
        return Unresolved(server, placeholder, f"what {placeholder} stands for", secret=False)
    asked = inputs.get(name[6:], {})
    label, default = asked.get("description"), asked.get("default")
    return Unresolved(
        server,
        placeholder,
        label if isinstance(label, str) and label else f"the input “{name[6:]}”",
        secret=asked.get("password") is not False and asked.get("type", "promptString") == "promptString",
        default=default if isinstance(default, str) else None,
    )


def _env_file(path: Any, around: Surroundings) -> dict[str, str]:
    if not isinstance(path, str):
        raise ConfigError(f"envFile must be a path, not {kind(path)}.")
    # The placeholders of a path are those of any other text: borrow the expansion of a command.
    named = expand(ServerSpec("", argv=(path,)), around)
    missing = unresolved(named, around.environ)
    wanted = path if missing else expand_environment(named, around.environ).argv[0]
    if missing or (around.workspace is None and not os.path.isabs(wanted)):
        raise ConfigError(f"“{path}” cannot be found without the project's folder.")
    try:
        return read_env_file(read_text(Path(around.workspace or "/") / wanted))
    except ConfigError as problem:
        raise Hider(placeholders(named, around.environ)).error(problem) from None


def read_env_file(text: str) -> dict[str, str]:
    """The NAME=value lines of a .env file; quotes around a value are taken off, other lines are skipped."""
    found = {}
    for line in text.splitlines():
        match = _ENV_LINE.match(line.strip())
        if match is None or "\0" in line:
            continue
        value = match[2].strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = re.split(r"[ \t]#", value, maxsplit=1)[0].rstrip()
        found[match[1]] = value
    return found
