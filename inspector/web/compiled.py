"""Templates as they were compiled before: compiling those of the first page takes longer than all the rest of it.

In the folder Jinja has for this, in the system's temporary one: of this user, 0700, which Jinja checks. Request threads.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from inspector import __version__

KEPT_S: Final = 7 * 86_400
"""After that the templates of another version, or of an edited tree, are taken away."""


class Compiled(FileSystemBytecodeCache):
    """Keeps what it can: a full or read-only disk costs time and nothing else."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def compiled() -> Compiled | None:
    """The templates compiled by this version as it stands now; None where there is no safe place for them.

    Jinja holds a template's source against what it kept, but works out constant expressions when it compiles, and what
    our filters make of them is not in the source: so the newest of our modules counts, too.
    """
    newest = max(path.stat().st_mtime_ns for path in Path(__file__).parent.glob("*.py"))
    with suppress(OSError, RuntimeError):
        cache = Compiled(pattern=f"mcp-loupe-{__version__}-{newest:x}-%s.cache")
        for old in Path(cache.directory).glob("mcp-loupe-*.cache"):
            if old.stat().st_mtime < time.time() - KEPT_S:
                old.unlink(missing_ok=True)
        return cache
    return None
