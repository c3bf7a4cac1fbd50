"""What a server process is started with: its environment and its program. Any thread; reads the disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from inspector.errors import SpawnFailed, UsageError
from inspector.settings.commands import split_command
from inspector.settings.spec import ServerSpec

# POSIX: who and where one is, the terminal, the language, the time zone, the folders of caches. Windows: without
# SYSTEMROOT no socket opens, without PATHEXT no .cmd is found.
# fmt: off
INHERITED: Final = frozenset((
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME",
    "USERPROFILE", "WINDIR",
))
# fmt: on
_DEFAULT_PATHEXT: Final = ".COM;.EXE;.BAT;.CMD"
_INSTALL: Final = {
    "npx": "Install Node.js",
    "node": "Install Node.js",
    "uvx": "Install uv",
    "uv": "Install uv",
    "docker": "Install Docker",
    "bunx": "Install Bun",
    "deno": "Install Deno",
}


def child_environment(
    spec: ServerSpec, base: Mapping[str, str] | None = None, *, windows: bool = os.name == "nt"
) -> dict[str, str]:
    """The whole environment of the server process, as a new dict.

    From `base` (ours by default) only `INHERITED` and LC_*: tokens in our shell are none of a server's
    business, and hosts start servers with as little. Then the spec's own. PYTHONUTF8 and PYTHONIOENCODING
    make Python servers speak UTF-8 on pipes wherever the locale says otherwise (field report A8), unless
    the spec sets them.
    """
    found = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
    for name, value in (os.environ if base is None else base).items():
        plain = name.upper() if windows else name
        # A value that starts with () is an exported shell function: code, which no server needs.
        if (plain in INHERITED or plain.startswith("LC_")) and not value.startswith("()"):
            found[name] = value
    for name, value in spec.env.items():
        if windows:  # `Path` there replaces `PATH`
            found = {old: kept for old, kept in found.items() if old.upper() != name.upper()}
        found[name] = value
    return found


def resolve_command(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None = None, *, windows: bool = os.name == "nt"
) -> str:
    """The absolute path of the program `argv[0]` means to a child with this environment and folder.

    Raises SpawnFailed with the reason (missing, a folder, not executable, its interpreter missing), the
    searched folders in `facts["searched"]`, and the likeliest remedy.
    """
    if not argv or not argv[0]:
        raise SpawnFailed(
            "There is no command to start.", "Give the server a command.", facts={"argv": list(argv)}
        )
    folder = Path(os.path.abspath(cwd or "."))
    if not os.path.isdir(folder):  # Path.is_dir raises where one may not look
        raise SpawnFailed(
            f"The working folder {folder} does not exist.",
            "Correct `cwd`.",
            facts={"argv": list(argv), "cwd": cwd},
        )
    name = argv[0]
    if "/" in name or (windows and "\\" in name):
        searched, places = [], [folder / name]
    else:
        searched = [part for part in _variable(env, "PATH", os.defpath, windows).split(os.pathsep) if part]
        places = [folder / part / name for part in searched]
    for place in places:
        for ending in _endings(name, env, windows):
            if found := shutil.which(f"{place}{ending}"):
                _check_interpreter(found, argv)
                return found
    facts = {"argv": list(argv), "searched": searched}
    message, remedy = _why_not(argv, places, searched, env, cwd, windows)
    raise SpawnFailed(message, remedy, facts=facts)


def _variable(env: Mapping[str, str], name: str, default: str, windows: bool) -> str:
    if windows:
        return next((value for key, value in env.items() if key.upper() == name), default)
    return env.get(name, default)


def _endings(name: str, env: Mapping[str, str], windows: bool) -> list[str]:
    """What to append: on Windows `npx` is `npx.cmd` on disk, and the bare `npx` beside it is a Unix script."""
    if not windows:
        return [""]
    known = [one.lower() for one in _variable(env, "PATHEXT", _DEFAULT_PATHEXT, True).split(";") if one]
    return [""] if name.lower().endswith(tuple(known)) else known


def _check_interpreter(path: str, argv: Sequence[str]) -> None:
    """A script whose `#!` program is missing fails with ENOENT, like a missing script: tell them apart."""
    try:
        with open(path, "rb") as file:
            first = file.readline(256)
    except OSError:  # execute-only programs exist
        return
    words = first[2:].split() if first.startswith(b"#!") and os.name != "nt" else []
    if words and not os.path.exists(words[0]):
        interpreter = words[0].decode("utf-8", "replace")
        raise SpawnFailed(
            f"{path} asks to be run by {interpreter}, which does not exist.",
            "Correct its first line (a Windows line end there also does this), or name the interpreter yourself.",
            facts={"argv": list(argv)},
        )


def _why_not(
    argv: Sequence[str],
    places: Sequence[Path],
    searched: Sequence[str],
    env: Mapping[str, str],
    cwd: str | None,
    windows: bool,
) -> tuple[str, str]:
    """(sentence, remedy) for a command nothing was found for."""
    name = argv[0]
    for place in places:
        if os.path.isdir(place) and not searched:
            return f"{place} is a folder, not a program.", "Name the program in it."
        if os.path.isfile(place) and not windows:
            return (
                f"{place} is not executable.",
                f"Make it so (chmod +x {place}), or start it with its interpreter.",
            )
    if name.startswith("~"):
        return f"“{name}” does not exist: ~ is only expanded by a shell.", f"Write {os.path.expanduser(name)}"
    if words := _joined(name, env, cwd, windows):
        rest = json.dumps(words[1:], ensure_ascii=False)
        return (
            f"“{name}” was taken as the name of one program, spaces included.",
            f'Split it: "command": "{words[0]}", "args": {rest}.',
        )
    if not searched and places:
        near = _near(name, [places[0].parent])
        return f"{places[0]} does not exist.", f"Did you mean {near}?" if near else "Check the path."
    count = f"{len(searched)} folder{'' if len(searched) == 1 else 's'}"
    message = f"“{name}” was not found on the server's PATH ({count}: {_summary(searched)})."
    return message, _remedy(name, searched, env, cwd, windows)


def _remedy(
    name: str, searched: Sequence[str], env: Mapping[str, str], cwd: str | None, windows: bool
) -> str:
    if os.path.isfile(os.path.join(cwd or ".", name)):
        return f"There is one in the working folder: write ./{name}"
    ours = shutil.which(name)
    if ours is not None and not windows:
        return f"The console finds {ours}: give that path, or correct PATH in the server's env."
    near = _near(name, [Path(one) for one in searched])
    also = "" if near is None else f"Did you mean {near}? "
    install = f"{_INSTALL[name]}, or give" if name in _INSTALL else "Give"
    finder = f"where {name}" if windows else f"which {name}"
    example = f" (ending in {name}.cmd)" if windows else ""
    return f"{also}{install} the absolute path{example} that `{finder}` prints in your terminal."


def _near(name: str, folders: Sequence[Path]) -> str | None:
    """A name in these folders that looks like a slip of `name`."""
    wanted, names = Path(name).name, set[str]()
    for folder in folders:
        try:
            names.update(one for one in os.listdir(folder) if one[:1] == wanted[:1])
        except OSError:
            continue
    close = get_close_matches(wanted, sorted(names), n=1, cutoff=0.8)
    return close[0] if close else None


def _summary(searched: Sequence[str]) -> str:
    return ", ".join([*searched[:4], "…"] if len(searched) > 4 else searched) or "it is empty"


def _joined(name: str, env: Mapping[str, str], cwd: str | None, windows: bool) -> list[str]:
    """The words of a whole command line given as one name, when its first word is a program; else nothing."""
    try:
        words = split_command(name, windows=windows)
        if len(words) > 1:
            resolve_command(words[:1], env, cwd, windows=windows)
            return words
    except (UsageError, SpawnFailed):
        pass
    return []
