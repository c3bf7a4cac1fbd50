"""Command lines and URLs to specs: split like shell words, never run by a shell. Any thread."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from inspector.errors import ConfigError, UsageError
from inspector.settings.entry import check_url
from inspector.settings.spec import STREAMABLE_HTTP, ServerSpec

_RUNNERS: Final = {
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "uv",
    "bun",
    "deno",
    "node",
    "python",
    "python3",
    "py",
    "docker",
    "podman",
    "run",
}
_VALUED: Final = {
    *(
        "--prefix",
        "--from",
        "--with",
        "--python",
        "--directory",
        "--project",
        "--index",
        "--index-url",
        "--env-file",
    ),
    *(
        "--extra-index-url",
        "--registry",
        "--cache",
        "--cache-dir",
        "--spec",
        "-w",
        "--workspace",
        "-r",
        "--require",
    ),
    *("-e", "--env", "-v", "--volume", "--mount", "--name", "--network", "-p", "--publish", "-u", "--user"),
}  # options of runners whose value is a word of its own, and names no server
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.DOTALL)


def split_command(text: str, *, windows: bool = os.name == "nt") -> list[str]:
    """Shell words of `text`, nothing expanded. On Windows a backslash is a letter of a path, not an escape.

    Raises UsageError when a quote is not closed.
    """
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if windows:
        words.escape = ""
    try:
        return list(words)
    except ValueError:
        raise UsageError(
            "The command has a quote that is never closed, or ends in a lone backslash.",
            "Close the quote, or pass the command as `-- CMD ARG…`.",
        ) from None


def command_spec(text: str, source: str, *, windows: bool = os.name == "nt") -> ServerSpec:
    """A stdio spec of one command line; leading NAME=value words, as READMEs write them, become env."""
    words, env = split_command(text, windows=windows), {}
    while words and (match := _ASSIGNMENT.match(words[0])):
        env[match[1]] = match[2]
        words.pop(0)
    if not words or not words[0]:
        raise UsageError("There is no command to start.", "Write for example cmd:'npx -y some-server'.")
    if "\0" in text:
        raise UsageError(
            "The command holds a NUL character.", "Type the command again instead of pasting it."
        )
    return ServerSpec(command_name(words), argv=tuple(words), env=env, source=source)


def url_spec(url: str, source: str) -> ServerSpec:
    """A streamable HTTP spec. Raises UsageError when the URL is none."""
    try:
        check_url(url_name(url), url)
    except ConfigError:
        raise UsageError(
            "That URL cannot be used.", "Write it like https://host/path or http://127.0.0.1:8000/mcp."
        ) from None
    return ServerSpec(url_name(url), transport=STREAMABLE_HTTP, url=url, source=source)


def command_name(argv: Sequence[str]) -> str:
    """A short name for people: what `npx`, `uvx` or `python -m` runs, else the program itself."""
    argv = [word for before, word in zip(("", *argv), argv, strict=False) if before not in _VALUED]
    stems = [_stem(word) for word in argv]
    named = [stem for stem, word in zip(stems, argv, strict=True) if stem and not word.startswith("-")]
    return next((stem for stem in named if stem not in _RUNNERS), named[0] if named else "server")


def url_name(url: str) -> str:
    """host or host:port; `server` when the URL has none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "server"
        return host if parts.port is None else f"{host}:{parts.port}"
    except ValueError:
        return "server"


def _stem(word: str) -> str:
    last = PurePosixPath(word.replace("\\", "/")).name
    return re.sub(r"\.(?:exe|cmd|bat|js|mjs|py|sh)\Z", "", last, flags=re.IGNORECASE)
