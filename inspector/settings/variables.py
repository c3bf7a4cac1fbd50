"""The `${…}` placeholders of config files: folders at the import, variables at the start, never blank. Any thread.

What the environment holds may be secret: it is put in at the last moment, and what is stored, shown and recorded
keeps the placeholder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.errors import ConfigError
from inspector.settings.entry import check_url
from inspector.settings.spec import OAuth, ServerSpec

_PLACEHOLDER = re.compile(r"\$\{([^${}\r\n]+)\}")
_BARE_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_KINDS: Final = ("env:", "input:", "config:", "command:", "file:")
_FOLDERS: Final = ("workspaceFolder", "workspaceFolderBasename", "cwd", "userHome")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What placeholders may stand for; a folder that is None stays unresolved. Values of `environ` are secret."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str | None = None
    workspace: str | None = None

    def value(self, name: str) -> str | None:
        """The folder names of VS Code; no variable of the environment (`expand_environment`)."""
        if name in ("/", "pathSeparator"):
            return os.sep
        if name == "userHome":
            return self.home
        if name in ("workspaceFolder", "cwd"):
            return self.workspace
        if name == "workspaceFolderBasename":
            return None if self.workspace is None else os.path.basename(self.workspace)
        return None


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment that a definition reads. place: where it goes: `header X`, `argument 2`."""

    name: str
    place: str


def expand(spec: ServerSpec, around: Surroundings) -> ServerSpec:
    """`spec` with every known folder put in, once. The rest stays: the environment's too, written in full."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        value = around.value(name)
        if value is not None:
            return value
        # `${NAME}`, as Claude Code writes it, is a variable in a config file only: a command typed for a shell
        # may hold the same. In full it is told apart after the spec was stored and read back.
        return f"${{env:{name}}}" if _BARE_NAME.match(name.partition(":-")[0]) else match[0]

    return _with_texts(spec, lambda text: _PLACEHOLDER.sub(one, text))


def expand_environment(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> ServerSpec:
    """`spec` with the values of `${env:NAME}` and `${env:NAME:-default}`: for spawning and sending, never to show.

    Raises ConfigError that names what has no value, and for a value that cannot be sent where it goes.
    """
    require_resolved(spec, environ)
    found = _with_texts(spec, lambda text: _PLACEHOLDER.sub(lambda m: _variable(m, environ), text))
    if found.url is not None and found.url != spec.url:
        check_url(spec.name, found.url)
    for name, value in found.headers.items():
        if re.search(r"[\r\n\0]", value):
            raise ConfigError(
                f"Server “{spec.name}”: a variable puts a line end or a NUL into header {name}.",
                "Set the variable to one line.",
            )
    return found


def expand_text(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The same of one text; what has no value stays."""
    return _PLACEHOLDER.sub(lambda match: _variable(match, environ), text)


def placeholders(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The values the environment puts in, each with the placeholder to show instead. For hiding, never to show."""
    known: dict[str, str] = {}

    def note(match: re.Match[str]) -> str:
        value = _variable(match, environ)
        if value != match[0]:
            known[value] = match[0]
        return value

    _with_texts(spec, lambda text: _PLACEHOLDER.sub(note, text))
    return known


def variables(spec: ServerSpec) -> list[Variable]:
    """Which variables of the environment a definition reads, and where each goes; in the definition's order."""
    texts = {f"argument {number}" if number else "the command": arg for number, arg in enumerate(spec.argv)}
    texts |= {f"variable {name}": value for name, value in spec.env.items()}
    texts |= {"the working folder": spec.cwd or "", "the URL": spec.url or ""}
    texts |= {f"header {name}": value for name, value in spec.headers.items()}
    texts["the client secret"] = spec.oauth.client_secret or "" if spec.oauth is not None else ""
    found = [
        Variable(match[1].removeprefix("env:").partition(":-")[0], place)
        for place, text in texts.items()
        for match in _PLACEHOLDER.finditer(text)
        if match[1].startswith("env:")
    ]
    return list(dict.fromkeys(found))


def _variable(match: re.Match[str], environ: Mapping[str, str] | None) -> str:
    """What a `${env:NAME}` stands for now; any other placeholder, and one without a value, as it is."""
    if not match[1].startswith("env:"):
        return match[0]
    name, has_default, default = match[1].removeprefix("env:").partition(":-")
    return (os.environ if environ is None else environ).get(name, default if has_default else match[0])


def unresolved(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> list[str]:
    """The placeholders that keep this spec from being started, each once, as written: `${input:token}`.

    Text in braces that no client expands (`${i}` in a shell script) is not one.
    """
    found: dict[str, None] = {}

    def note(text: str) -> str:
        for match in _PLACEHOLDER.finditer(text):
            missing = match[1].startswith(_KINDS) or match[1] in _FOLDERS
            if missing and _variable(match, environ) == match[0]:
                found[match[0]] = None
        return text

    _with_texts(spec, note)
    return list(found)


def supply(spec: ServerSpec, values: Mapping[str, str]) -> ServerSpec:
    """`spec` with placeholders (keys as `unresolved` names them) replaced by what a person typed."""
    return _with_texts(spec, lambda text: _PLACEHOLDER.sub(lambda m: values.get(m[0], m[0]), text))


def require_resolved(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> None:
    """Raises ConfigError that names what is still missing; call it before anything is started."""
    missing = unresolved(spec, environ)
    if missing:
        raise ConfigError(
            f"Server “{spec.name}” cannot be started: {', '.join(missing)} has no value.",
            "Set the environment variable, or fill the value in where the server is configured.",
            facts={"unresolved": missing},
        )


def _with_texts(spec: ServerSpec, change: Callable[[str], str]) -> ServerSpec:
    return replace(
        spec,
        argv=tuple(change(arg) for arg in spec.argv),
        env={name: change(value) for name, value in spec.env.items()},
        cwd=None if spec.cwd is None else change(spec.cwd),
        url=None if spec.url is None else change(spec.url),
        headers={name: change(value) for name, value in spec.headers.items()},
        oauth=_with_secret(spec.oauth, change),
    )


def _with_secret(oauth: OAuth | None, change: Callable[[str], str]) -> OAuth | None:
    if oauth is None or oauth.client_secret is None:
        return oauth
    return replace(oauth, client_secret=change(oauth.client_secret))
