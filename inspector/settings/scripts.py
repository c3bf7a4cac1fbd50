"""Scripts people saved for code mode, in a scripts.json they may edit. Any thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from inspector.errors import ConfigError, UsageError
from inspector.settings.files import read_json, write_json

MOST: Final = 100
LONGEST_NAME: Final = 80
LONGEST: Final = 200_000


class ScriptList:
    """The file `{"name": "code", …}`; none is saved while it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def all(self) -> dict[str, str]:
        """By name, in the order they were saved. Raises ConfigError when the file cannot be understood."""
        remedy = f'Repair it, like {{"name": "code"}}, or delete {self.path.name}.'
        found = read_json(self.path, {}, remedy)
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise ConfigError(f"{self.path} is no object of scripts.", remedy)
        return found

    def save(self, name: str, code: str) -> None:
        """Keep a script; one of the same name is replaced. Raises UsageError, ConfigError, StorageError."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise UsageError("The script needs a name.", f"Give one of at most {LONGEST_NAME} characters.")
        if not code.strip() or len(code) > LONGEST:
            raise UsageError(
                "There is no script to save, or it is too long.",
                f"Write one of at most {LONGEST:,} characters.",
            )
        with self._lock:
            known = self.all()
            if name not in known and len(known) >= MOST:
                raise UsageError(f"{MOST} scripts are saved already.", "Delete one first.")
            write_json(self.path, {**known, name: code})

    def delete(self, name: str) -> None:
        with self._lock:
            write_json(self.path, {key: code for key, code in self.all().items() if key != name})
