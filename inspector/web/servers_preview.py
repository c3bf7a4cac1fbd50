"""What starting a server will run, said before anything is started, with what to be wary of. Reads PATH; any thread."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from inspector.errors import SpawnFailed
from inspector.settings.child import child_environment, resolve_command
from inspector.settings.spec import ServerSpec
from inspector.settings.variables import unresolved

_TYPED: Final = ("added by hand", "command line", "demo")
"""Sources a person typed themselves; what a file or a pasted text brought along is shown before its first start."""
_IN_COMMAND: Final = (
    (
        r"(?:^|[\s;&|(/])(sudo|doas|pkexec|run0)(?=\s|$)",
        "{} runs it with another user's rights, often root's.",
    ),
    (
        r"(?:^|[\s;&|(/])(rm)\s+(?:-\S+\s+)*-(?:\w*[rR]\w*|-recursive)\b",
        "{} -r deletes whole folders without asking.",
    ),
    (
        r"\b(curl|wget|iwr|irm|Invoke-WebRequest)\b.*?\||(?:\$\(|<\(|`)\s*(?:curl|wget)\b",
        "It downloads something and hands it on unread, perhaps to a shell.",
    ),
    (
        r"^(?:\S*[/\\])?(sh|bash|zsh|dash|fish|ksh|cmd|powershell|pwsh)(?:\.exe)?\s.*?(?<!\S)(?:-\w*c|/c|-Command)\s",
        "{} interprets a text here, so it can run anything.",
    ),
    (
        r"(?<![\w.-])(\.(?:ssh|gnupg|aws|kube|netrc)|id_(?:rsa|ed25519|ecdsa))(?![\w-])",
        "It names {}, where keys and credentials are kept.",
    ),
    (r"(?:^|\s)(--privileged)(?=\s|$)", "{} gives the container the rights of the host."),
)
"""(pattern in the words of a command joined by spaces, sentence about its first group)."""
_LOADS_CODE: Final = frozenset(
    ("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONSTARTUP", "BASH_ENV")
)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a start does. program: the file that runs, or empty with `problem` and `remedy` saying why not.

    env: names the definition sets; inherited: names passed on from the console. digest: stands for exactly
    this, so that what was confirmed is what is started; it holds no values of env or headers.
    """

    name: str
    argv: tuple[str, ...]
    url: str | None
    transport: str
    program: str
    problem: str
    remedy: str
    cwd: str
    env: list[str]
    inherited: list[str]
    headers: list[str]
    missing: list[str]
    source: str
    warnings: list[str]
    digest: str


def preview(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> Preview:
    """Looks the program up as the child would; starts nothing."""
    program = problem = remedy = ""
    env = child_environment(spec, environ)
    if spec.url is None:
        try:
            program = resolve_command(spec.argv, env, spec.cwd)
        except SpawnFailed as error:
            problem, remedy = error.message, error.remedy
    return Preview(
        name=spec.name,
        argv=spec.argv,
        url=spec.shown_target() if spec.url is not None else None,
        transport=spec.transport,
        program=program,
        problem=problem,
        remedy=remedy,
        cwd=os.path.abspath(spec.cwd or "."),
        env=sorted(spec.env),
        inherited=sorted(set(env) - set(spec.env)),
        headers=sorted(spec.headers),
        missing=unresolved(spec),
        source=spec.source,
        warnings=warnings(spec),
        digest=digest(spec),
    )


def digest(spec: ServerSpec) -> str:
    """Changes with what is run or reached; the same for equal definitions."""
    told = [spec.transport, spec.argv, spec.cwd, sorted(spec.env), spec.url, sorted(spec.headers)]
    return hashlib.sha256(json.dumps(told).encode("utf-8", "backslashreplace")).hexdigest()


def needs_look(spec: ServerSpec) -> bool:
    """Whether a person should see the preview before the first start: it came from a file, or looks risky."""
    return spec.source not in _TYPED or bool(warnings(spec))


def warnings(spec: ServerSpec) -> list[str]:
    """Sentences about what in this definition deserves a second look; matches are hints, not proof."""
    return _url_warnings(spec) if spec.url is not None else _command_warnings(spec)


def _command_warnings(spec: ServerSpec) -> list[str]:
    text = " ".join([*spec.argv, spec.cwd or ""])
    matches = ((re.search(pattern, text, re.DOTALL), sentence) for pattern, sentence in _IN_COMMAND)
    found = [sentence.format(match[1]) for match, sentence in matches if match]
    if loads := [name for name in spec.env if name.upper() in _LOADS_CODE]:
        found.append(f"{', '.join(loads)} can make the program load other code.")
    return found


def _url_warnings(spec: ServerSpec) -> list[str]:
    parts = urlsplit(spec.url or "")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not local and (spec.headers or parts.username):
        return ["The headers travel unencrypted: the URL is http, and not this machine."]
    return []
