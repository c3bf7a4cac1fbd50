"""Where a report goes: stdout, or a file that is replaced whole."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from inspector.catalog.jsontext import utf8
from inspector.cli.terminal import say
from inspector.errors import FileError


def write(text: str, output: Path | None) -> None:
    """On a terminal nothing in it drives that; in a file it is UTF-8 as it is, a lone surrogate as its escape."""
    if output is None:
        say(text, end="")
    else:
        write_file(output, [utf8(text)])


def write_file(path: Path, pieces: Iterable[bytes], mode: int = 0o666) -> None:
    """All of it or nothing: written beside and moved into place. mode: of a new file, before the umask. FileError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            for piece in pieces:
                file.write(piece)
        beside.replace(path)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    finally:
        beside.unlink(missing_ok=True)


def cannot_write(path: Path | str, problem: OSError) -> FileError:
    text = f"{path} cannot be written: {problem.strerror or problem}."
    return FileError(text, "Check the folder and its permissions.")
