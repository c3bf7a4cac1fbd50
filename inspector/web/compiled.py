"""Templates as they were compiled before: compiling those of the first page takes longer than all the rest of it.

In a folder of this user alone, for what is read back there is run. Request threads.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from inspector import __version__
from inspector.errors import StorageError
from inspector.settings.files import read_own
from inspector.settings.paths import private_cache

KEPT_S: Final = 7 * 86_400
"""After that the templates of another version, or of an edited tree, are taken away."""
LARGEST: Final = 4 << 20
_SUM: Final = sha256().digest_size


class Compiled(BytecodeCache):
    """Keeps what it can: a full or read-only disk costs time and nothing else.

    Each file begins with the checksum of the rest. Only a whole one, of this user and closed to others, is believed:
    what Python makes of damaged byte code is no exception but a crash.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self.prefix = prefix

    def file(self, bucket: Bucket) -> Path:
        return self.folder / f"{self.prefix}{bucket.key}.cache"

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            kept = read_own(self.file(bucket), LARGEST) or b""
            if kept[:_SUM] == sha256(kept[_SUM:]).digest():
                bucket.bytecode_from_string(kept[_SUM:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        body = bucket.bytecode_to_string()
        with suppress(OSError):
            handle, temporary = tempfile.mkstemp(prefix=self.prefix, suffix=".tmp", dir=self.folder)  # 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(sha256(body).digest() + body)
                os.replace(temporary, self.file(bucket))
            except OSError:
                os.unlink(temporary)


def compiled() -> Compiled | None:
    """The templates compiled by this version as it stands now; None where there is no safe place for them.

    Jinja holds a template's source against what it kept, but works out constant expressions when it compiles, and what
    our filters make of them is not in the source: so the newest of our modules counts, too.
    """
    newest = max(path.stat().st_mtime_ns for path in Path(__file__).parent.glob("*.py"))
    try:
        folder = private_cache("templates")
    except StorageError:
        return None
    for old in folder.glob("mcp-loupe-*"):
        with suppress(OSError):  # another console takes it away, too
            if old.stat().st_mtime < time.time() - KEPT_S:
                old.unlink()
    return Compiled(folder, f"mcp-loupe-{__version__}-{newest:x}-")
