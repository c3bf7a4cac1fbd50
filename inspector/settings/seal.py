"""Which entries of servers.json this program wrote itself: a keyed hash of each. Any thread; blocks on the disk."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from pathlib import Path
from typing import Any, Final

from inspector.settings.files import read_own, write_private

TYPED: Final = ("added by hand", "command line", "demo")
"""Sources a person typed or chose here: what they name is started without another look."""
UNSEALED: Final = "servers.json, changed outside Loupe"
_STARTS: Final = (
    "type", "transport", "command", "args", "env", "cwd", "url", "httpUrl", "serverUrl", "headers", "source",
)  # fmt: skip
_KEY_BYTES: Final = 32


class Seal:
    """`of` an entry as we write it; `source` of an entry as it is read: what it claims, when we wrote it so.

    The file of the key is 0600 and beside servers.json. A copied entry, or one that another program or a person
    changed, bears no seal of ours: its `source` is only a text. Whoever runs as us can read the key, and needs no
    server list to start a program.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, entry: dict[str, Any]) -> str:
        """Makes the key when there is none. Raises StorageError."""
        key = self._key()
        if key is None:
            key = secrets.token_bytes(_KEY_BYTES)
            write_private(self.path, key.hex() + "\n")
        return _mac(key, entry)

    def source(self, entry: dict[str, Any], claimed: str) -> str:
        if claimed not in TYPED:
            return claimed
        key, found = self._key(), entry.get("seal")
        sealed = key is not None and isinstance(found, str) and found.isascii()
        return claimed if sealed and hmac.compare_digest(str(found), _mac(key or b"", entry)) else UNSEALED

    def _key(self) -> bytes | None:
        try:
            found = bytes.fromhex((read_own(self.path, 1024) or b"").decode())
        except (OSError, ValueError):
            return None
        return found if len(found) == _KEY_BYTES else None


def _mac(key: bytes, entry: dict[str, Any]) -> str:
    told = json.dumps({name: entry[name] for name in _STARTS if name in entry}, sort_keys=True)
    return hmac.new(key, told.encode(), hashlib.sha256).hexdigest()
