"""The `${…}` placeholders of config files: expanded where known, else named, never blank. Any thread."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from inspector.errors import ConfigError
from inspector.settings.spec import ServerSpec

_PLACEHOLDER = re.compile(r"\$\{([^${}\r\n]+)\}")
_BARE_NAME = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_KINDS: Final = ("env:", "input:", "config:", "command:", "file:")
_FOLDERS: Final = ("workspaceFolder", "workspaceFolderBasename", "cwd", "userHome")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What placeholders may stand for; a folder that is None stays unresolved.

    Environment values and inputs can be secret, so neither is in the repr.
    """

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    home: str | None = None
    workspace: str | None = None

    def value(self, name: str) -> str | None:
        """`env:NAME`, `NAME` (as Claude Code writes it), either with `:-default`; VS Code's folder names."""
        if name in ("/", "pathSeparator"):
            return os.sep
        if name == "userHome":
            return self.home
        if name in ("workspaceFolder", "cwd"):
            return self.workspace
        if name == "workspaceFolderBasename":
            return None if self.workspace is None else os.path.basename(self.workspace)
        wanted, has_default, default = name.removeprefix("env:").partition(":-")
        if name.startswith("env:") or _BARE_NAME.match(wanted):
            return self.environ.get(wanted, default if has_default else None)
        return None


def expand(spec: ServerSpec, around: Surroundings) -> ServerSpec:
    """`spec` with every known placeholder replaced, once; the unknown stay (`unresolved` finds them)."""

    def one(match: re.Match[str]) -> str:
        name = match[1]
        value = around.value(name)
        if value is not None:
            return value
        # Written in full, a missing bare name is found again after the spec was stored and read back.
        return f"${{env:{name}}}" if _BARE_NAME.match(name) else match[0]

    return _with_texts(spec, lambda text: _PLACEHOLDER.sub(one, text))


def unresolved(spec: ServerSpec) -> list[str]:
    """The placeholders that keep this spec from being started, each once, as written: `${input:token}`.

    Text in braces that no client expands (`${i}` in a shell script) is not one.
    """
    found: dict[str, None] = {}

    def note(text: str) -> str:
        names = (match[1] for match in _PLACEHOLDER.finditer(text))
        found.update(dict.fromkeys(f"${{{n}}}" for n in names if n.startswith(_KINDS) or n in _FOLDERS))
        return text

    _with_texts(spec, note)
    return list(found)


def supply(spec: ServerSpec, values: Mapping[str, str]) -> ServerSpec:
    """`spec` with placeholders (keys as `unresolved` names them) replaced by what a person typed."""
    return _with_texts(spec, lambda text: _PLACEHOLDER.sub(lambda m: values.get(m[0], m[0]), text))


def require_resolved(spec: ServerSpec) -> None:
    """Raises ConfigError that names what is still missing; call it before anything is started."""
    missing = unresolved(spec)
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
    )
