"""What starting a server will run, said before anything is started, with what to be wary of. Reads PATH; any thread."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from inspector.errors import ConfigError, SpawnFailed
from inspector.settings.child import child_environment, resolve_command
from inspector.settings.hiding import Hider
from inspector.settings.seal import TYPED, UNSEALED
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import DEMOS, demo_spec
from inspector.settings.variables import Variable, expand_environment, placeholders, unresolved, variables
from inspector.web.marks import MARKS, begins_hidden

_KEY: Final = secrets.token_bytes(32)
"""Of this run. A digest covers secret values and is in pages: without a key, short ones could be guessed from it."""
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
SHOWN_WHOLE: Final = 20_000
"""Characters of a definition that a page surely shows, each escaped (`marks.HTML`)."""
_SHELL_WORDS: Final = frozenset(("&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1"))
_SHELL_COMMANDS: Final = frozenset(("cd", "source", ".", "export"))
_LOADS_CODE: Final = re.compile(
    r"LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|PATH|PATHEXT|BASH_ENV|ENV|SHELLOPTS|BASHOPTS"
    r"|PYTHON(?:PATH|STARTUP|HOME|USERBASE|BREAKPOINT)|PERL5(?:OPT|LIB|DB)|PERLLIB|RUBY(?:OPT|LIB)|NODE_(?:OPTIONS|PATH)"
    r"|GIT_(?:SSH_COMMAND|SSH|EXEC_PATH|ASKPASS|EXTERNAL_DIFF|CONFIG\w*)|(?:_?JAVA_|JDK_JAVA_)(?:TOOL_)?OPTIONS"
    r"|GCONV_PATH|LUA_INIT\w*|PHPRC|PHP_INI_SCAN_DIR|(?:UV|PIP|NPM_CONFIG)_\w*(?:INDEX|REGISTRY)\w*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a start does. program: the file that runs, or empty with `problem` and `remedy` saying why not.

    env: names the definition sets; inherited: names passed on from the console. warnings: among them each
    variable of our environment whose value goes into it, and where. digest: stands for exactly this, values of env and
    headers included, so that what was confirmed is what is started; no value can be told from it.
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
    shell: str = ""
    """Why the words look like a line for a shell, which reads none of it, and what to use instead."""

    @property
    def can_start(self) -> bool:
        """Whether a connect has a chance: the program is there, and no value is missing."""
        return not self.problem and not self.missing


def preview(spec: ServerSpec, environ: Mapping[str, str] | None = None) -> Preview:
    """Looks the program up as the child would; starts nothing."""
    program = problem = remedy = ""
    env = child_environment(spec, environ)
    missing, hider = unresolved(spec, environ), Hider(placeholders(spec, environ))
    if not missing:
        try:
            program = hider.text(_program(expand_environment(spec, environ), environ))
        except (SpawnFailed, ConfigError) as error:
            hider.error(error)
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
        missing=missing,
        source=spec.source,
        warnings=warnings(spec),
        digest=digest(spec),
        shell=shell_words(spec.argv) if spec.url is None else "",
    )


def _program(spec: ServerSpec, environ: Mapping[str, str] | None) -> str:
    """The file that would run; an empty text for a URL."""
    return resolve_command(spec.argv, child_environment(spec, environ), spec.cwd) if spec.url is None else ""


def shell_words(argv: Sequence[str]) -> str:
    """What to say of `cd /tmp && python3 x.py`; an empty string for words that need no shell."""
    first = next(
        (word for word in argv if word in _SHELL_WORDS or word.endswith(";") or _redirects(word)), ""
    )
    if argv[0] not in _SHELL_COMMANDS and not first:
        return ""
    said = f"No shell reads this: {first or argv[0]} is no more than a word here."
    if argv[0] == "cd" and len(argv) > 3 and argv[2] in ("&&", ";"):
        return f"{said} Write {shlex.join(argv[3:])} as the command, and {argv[1]} as Working folder, under Details."
    if argv[0] == "cd":
        return f"{said} Write the folder as Working folder, under Details, and the command alone here."
    if argv[0] in ("export", "source", "."):
        return f"{said} Write variables as Env, under Details, and the command alone here."
    return f"{said} Write one program and its arguments; for more than that, name a shell: bash -c '…'."


def _redirects(word: str) -> bool:
    return re.match(r"(?:[12&]?>{1,2}|<)[^>=]", word) is not None


def digest(spec: ServerSpec) -> str:
    """Changes with what is run or reached, and with every value; the same for equal definitions in one run."""
    env, headers = sorted(spec.env.items()), sorted(spec.headers.items())
    told = [spec.transport, spec.argv, spec.cwd, env, spec.url, headers]
    return hmac.new(_KEY, json.dumps(told).encode(), hashlib.sha256).hexdigest()


def needs_look(spec: ServerSpec) -> bool:
    """Whether a person should see the preview before the first start: it came from a file, or looks risky.

    A source that says it was typed here is believed because the server list checked its seal.
    """
    typed = spec.source in TYPED or (spec.source == UNSEALED and is_demo(spec))
    return not typed or bool(warnings(spec))


def is_demo(spec: ServerSpec) -> bool:
    """Whether it starts exactly one of the servers we ship, whatever its source says."""
    return spec.url is None and any(digest(spec) == digest(demo_spec(name)) for name in DEMOS)


def warnings(spec: ServerSpec) -> list[str]:
    """Sentences about what in this definition deserves a second look; matches are hints, not proof."""
    found = _url_warnings(spec) if spec.url is not None else _command_warnings(spec)
    return (
        _unshown(spec)
        + found
        + [
            f"The value of the environment variable {one.name} goes into {one.place}"
            + (", which every user of this machine can see (ps)." if _in_argv(one) else ".")
            for one in variables(spec)
        ]
    )


def _unshown(spec: ServerSpec) -> list[str]:
    """Padding that pushes what is run out of the part of a text that a page shows."""
    texts = [*spec.argv, spec.cwd or "", spec.url or "", *spec.env, *spec.headers]
    length = sum(map(len, texts))
    hidden = sum(char not in "\n\t" and begins_hidden(char) for text in texts for char in text)
    if length > SHOWN_WHOLE:
        return [f"It is {length:,} characters long, more than this page shows: read it where it is written."]
    if hidden > MARKS:
        return [f"It has {hidden:,} invisible characters, more than this page marks one by one."]
    return []


def _in_argv(one: Variable) -> bool:
    return one.place == "the command" or one.place.startswith("argument ")


def _command_warnings(spec: ServerSpec) -> list[str]:
    text = " ".join([*spec.argv, spec.cwd or ""])
    matches = ((re.search(pattern, text, re.DOTALL), sentence) for pattern, sentence in _IN_COMMAND)
    found = [sentence.format(match[1]) for match, sentence in matches if match]
    ours = demo_spec(DEMOS[0]).env  # a checkout's own folder, which a demo needs and everybody has
    loads = [
        name for name, value in spec.env.items() if _LOADS_CODE.fullmatch(name) and ours.get(name) != value
    ]
    if loads:
        found.append(f"{', '.join(loads)} can make the program load other code.")
    return found


def _url_warnings(spec: ServerSpec) -> list[str]:
    parts = urlsplit(spec.url or "")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not local and (spec.headers or parts.username):
        return ["The headers travel unencrypted: the URL is http, and not this machine."]
    return []
