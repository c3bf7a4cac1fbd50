"""Where a report goes: stdout, or a file that is replaced whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from inspector.catalog.jsontext import utf8
from inspector.errors import FileError


def write(text: str, output: Path | None) -> None:
    """UTF-8, whatever the terminal's encoding; a lone surrogate as its escape."""
    content = utf8(text)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_file(output, content)


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
