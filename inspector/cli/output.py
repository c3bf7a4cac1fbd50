"""Where a report goes: stdout, or a file that is replaced whole."""

from __future__ import annotations

import os
from pathlib import Path

from inspector.catalog.jsontext import utf8
from inspector.cli.terminal import say
from inspector.errors import FileError


def write(text: str, output: Path | None) -> None:
    """On a terminal nothing in it drives that; in a file it is UTF-8 as it is, a lone surrogate as its escape."""
    if output is None:
        say(text, end="")
    else:
        write_file(output, utf8(text))


def write_file(path: Path, content: bytes) -> None:
    """All of it or nothing: written beside and moved into place. Raises FileError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise FileError(
            f"{path} cannot be written: {problem.strerror or problem}.",
            "Check the folder and its permissions.",
        ) from problem
