"""What TARGET on the command line, or pasted text, stands for. Any thread; reads config files."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from inspector.errors import UsageError
from inspector.settings.commands import command_spec, url_spec
from inspector.settings.found import discover_imported
from inspector.settings.importing import Imported, read_config, read_config_file
from inspector.settings.spec import ServerSpec

DEMOS: Final = ("flat", "progressive", "chaos", "cache-hints", "logs", "tracker")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HOST_AND_PORT = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+|\[[0-9a-fA-F:]+\]):\d+(?:/|\Z)")


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file that exists: a trace, a snapshot or a lock; its reader finds out which."""

    path: Path


@dataclass(frozen=True, slots=True)
class NamedSpec:
    """What a name may mean, and where that is defined."""

    name: str
    spec: ServerSpec
    where: str


def target(
    text: str,
    *,
    configs: Sequence[Path] = (),
    configured: Mapping[str, ServerSpec] | None = None,
    home: Path | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    platform: str = sys.platform,
) -> ServerSpec | FileTarget:
    """What `text` names: a URL, `cmd:…`, `demo:…`, an existing file, or a configured server.

    A name is looked up in `configs` (--config) when given, else in `configured` (our own list, by key) and
    the client files found. The spec may still hold placeholders: see `variables.require_resolved`. Raises
    UsageError for what cannot be understood, ConfigError when a file in `configs` cannot be read.
    """
    cwd = cwd or Path.cwd()
    if not text.strip() or "\0" in text:
        raise UsageError(
            "There is no target.", "Give a URL, cmd:'COMMAND ARGS', demo:flat, a file, or a server's name."
        )
    if text.startswith("cmd:"):
        return command_spec(text[4:], "command line", windows=platform == "win32")
    if text.startswith("demo:"):
        return demo_spec(text[5:])
    if scheme := _SCHEME.match(text):
        if scheme[1].lower() not in ("http", "https"):
            raise UsageError(f"{scheme[1]}:// is no transport of MCP.", "Use an http:// or https:// URL.")
        return url_spec(text, "command line")
    file = _existing_file(text, cwd)
    named, unread = _named(configs, configured or {}, home, cwd, environ, platform)
    spec = _choose(text, named)
    if file is not None and spec is not None:
        raise UsageError(
            f"“{text}” is a file here and also a server's name.", f"Write ./{text} for the file."
        )
    if file is not None:
        return FileTarget(file)
    if spec is not None:
        return spec
    raise _nothing_found(text, cwd, named, unread)


def demo_spec(name: str) -> ServerSpec:
    """One of the servers we ship, run by this Python."""
    if name not in DEMOS:
        near = get_close_matches(name, DEMOS, n=1)
        hint = f"Did you mean demo:{near[0]}? " if near else ""
        raise UsageError(
            f"There is no demo server “{name}”.",
            hint + "There are " + ", ".join(f"demo:{one}" for one in DEMOS) + ".",
        )
    return ServerSpec(
        f"demo:{name}", argv=(sys.executable, "-m", "inspector.demo", name), env=_import_path(), source="demo"
    )


def demo_of(spec: ServerSpec) -> str | None:
    """The demo a definition runs, whichever Python does: a data folder may be used with several environments."""
    _, *words = spec.argv or ("",)
    return next((name for name in DEMOS if words == ["-m", "inspector.demo", name]), None)


def same_server(spec: ServerSpec, known: Mapping[str, ServerSpec]) -> str | None:
    """The key under which the server of `spec` is in the list already: the very command or URL, else the same demo."""
    exact = next((key for key, one in known.items() if (one.argv, one.url) == (spec.argv, spec.url)), None)
    demo = demo_of(spec)
    if exact is not None or demo is None:
        return exact
    return next((key for key, one in known.items() if demo_of(one) == demo), None)


def pasted(
    text: str,
    *,
    environ: Mapping[str, str] | None = None,
    home: str | None = None,
    platform: str = sys.platform,
) -> Imported:
    """Pasted text: JSON (a whole file, one server, or `"name": {…}` cut out of one), a URL or a command."""
    text = text.removeprefix("\ufeff").strip()
    if text.startswith('"'):
        text = "{" + text + "}"
    if text.startswith(("{", "[", "//", "/*")):
        return read_config(text, "pasted text", environ=environ, home=home)
    if _SCHEME.match(text):
        return Imported("pasted text", [url_spec(text, "pasted text")])
    return Imported("pasted text", [command_spec(text, "pasted text", windows=platform == "win32")])


def _import_path() -> dict[str, str]:
    """A checkout that is not installed is found by our process alone; the child needs to be told."""
    root = Path(__file__).resolve().parents[2]
    return {} if root.name in ("site-packages", "dist-packages") else {"PYTHONPATH": str(root)}


def _existing_file(text: str, cwd: Path) -> Path | None:
    try:
        path = cwd / Path(text).expanduser()
        if path.is_file():
            return path
        is_folder = path.is_dir()
    except (OSError, RuntimeError):  # a name too long, or ~someone unknown
        return None
    if is_folder and ("/" in text or "\\" in text or text in (".", "..")):
        raise UsageError(f"{text} is a folder.", "Name a file in it, or a server.")
    return None


def _named(
    configs: Sequence[Path],
    configured: Mapping[str, ServerSpec],
    home: Path | None,
    cwd: Path,
    environ: Mapping[str, str] | None,
    platform: str,
) -> tuple[list[NamedSpec], list[str]]:
    """(every server a name may mean, sentences about files and entries that could not be read)."""
    if configs:
        read = [
            read_config_file(cwd / path, environ=environ, home=None if home is None else str(home))
            for path in configs
        ]
        return _listed(read), [problem for imported in read for problem in imported.problems]
    found = discover_imported(home, cwd, platform, environ=environ)
    own = [
        NamedSpec(name, spec, "Loupe's own list")
        for key, spec in configured.items()
        for name in dict.fromkeys((key, spec.name))
    ]
    imported = [one for _, one in found if one is not None]
    unread = [config.error for config, _ in found if config.error is not None]
    return own + _listed(imported), unread + [problem for one in imported for problem in one.problems]


def _listed(imported: Sequence[Imported]) -> list[NamedSpec]:
    return [NamedSpec(spec.name, spec, one.source) for one in imported for spec in one.specs]


def _choose(name: str, named: Sequence[NamedSpec]) -> ServerSpec | None:
    matches = [one for one in named if one.name == name]
    matches = matches or [one for one in named if one.name.lower() == name.lower()]
    if not matches:
        return None
    first = matches[0].spec
    if any(_start(one.spec) != _start(first) for one in matches):
        places = ", ".join(dict.fromkeys(one.where for one in matches))
        raise UsageError(
            f"“{name}” means different servers in {places}.", "Say which file you mean: --config FILE."
        )
    return first


def _start(spec: ServerSpec) -> tuple[object, ...]:
    return spec.transport, spec.argv, spec.env, spec.cwd, spec.url, spec.headers


def _nothing_found(text: str, cwd: Path, named: Sequence[NamedSpec], unread: Sequence[str]) -> UsageError:
    names = list(dict.fromkeys(one.name for one in named))
    near = get_close_matches(text, names, n=3, cutoff=0.5)
    if text in DEMOS:
        remedy = f"Did you mean demo:{text}?"
    elif _HOST_AND_PORT.match(text):
        remedy = f"For a URL write http://{text}"
    elif near:
        remedy = "Did you mean " + " or ".join(near) + "?"
    elif " " in text:
        remedy = f"For a command write cmd:'{text}' or put it last, after --."
    elif names:
        remedy = "Known servers: " + ", ".join(names[:8]) + ("…" if len(names) > 8 else "") + "."
    else:
        remedy = "Give a URL, cmd:'COMMAND ARGS', demo:flat, a file, or --config FILE and a name from it."
    if unread:
        remedy += " Not everything could be read: " + unread[0]
    return UsageError(f"“{text}” is no file in {cwd} and no known server.", remedy)
