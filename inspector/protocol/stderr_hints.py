"""What the last words of a dying server usually mean. Pure; each row was seen on a real server."""

from __future__ import annotations

import re
from typing import Final

_OLD_SDK: Final = (
    r"has no attribute '(list_|call_)|No module named 'mcp\.server\.fastmcp'|cannot import name '\w+' from 'mcp[.']"
    r"|'mcp<2'"
)
_CREDENTIAL: Final = r"api[ _-]?key|token|credentials?|secret|password"

_HINTS: Final = (
    (
        r"npm (error|ERR!)( code)? E404|not found in the package registry|No matching distribution found",
        "The registry has no package of that name or version: check the spelling.",
    ),
    (
        _OLD_SDK,
        "The server was written for the MCP SDK 1.x and runs with 2.x: install it with 'mcp<2' in a venv of its own.",
    ),
    (
        r"ImportError: cannot import name|does not provide an export named",
        "Its program and a package it loads do not fit each other, as two versions may not: install another version"
        " of it, or of that package.",
    ),
    (
        r"ModuleNotFoundError|ImportError|Cannot find module|ERR_MODULE_NOT_FOUND",
        "A package it needs is missing: install its dependencies in the environment that runs it.",
    ),
    (
        rf"(?i:({_CREDENTIAL})\S* (is |are )?(required|missing|not set|must be))"
        rf"|(?i:(missing|requires?|set|provide|without|no) (\S+ ){{0,4}}\S*({_CREDENTIAL}))",
        "It wants a credential: give it as an environment variable of this server's definition.",
    ),
    (
        r"EADDRINUSE|(?i:address already in use)",
        "Another process has its port: stop that one, or give this one another port.",
    ),
    (
        r"(?m:^(/bin/)?(ba|z|da)?sh: (line )?(\d+: )?\S+:( command)? not found)|could not determine executable to run",
        "The package has no program of that name, or it is not installed: install it, or name its program.",
    ),
    (
        r"(?m:^(\S*/)?env: [‘'\"]?[\w.+-]+[’'\"]?: No such file or directory)",
        "The interpreter its first line names is not on its PATH: install that, or give the server a PATH that has it.",
    ),
    (
        r"ENOENT|No such file or directory|FileNotFoundError",
        "A file or folder it was told to use does not exist: check the arguments.",
    ),
    (
        r"EACCES|Permission denied|PermissionError",
        "It may not read or run something: check the permissions of what it names.",
    ),
    (
        r"(?i:usage:|unrecognized arguments|unknown option|no such option)",
        "It did not understand its arguments: compare them with its --help.",
    ),
    (
        r"(?i:unsupported engine|requires node|requires python)|SyntaxError",
        "It wants a newer Node or Python than the one that ran it.",
    ),
    (
        r"ECONNREFUSED|Connection refused|ENOTFOUND|getaddrinfo",
        "It needs another service or the network at start, and did not reach it.",
    ),
)


def remedy_for(lines: list[str], otherwise: str) -> str:
    """The likeliest next step after these stderr lines (the last 40 count)."""
    text = "\n".join(lines[-40:])
    return next((remedy for pattern, remedy in _HINTS if re.search(pattern, text)), otherwise)
