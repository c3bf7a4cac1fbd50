"""Which rules of the findings are switched off, in a findings.json that people may edit. Any thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from inspector.errors import ConfigError
from inspector.settings.files import read_json, write_json


class RulesOff:
    """The file `{"off": ["rule-id", …]}`; none is off while it does not exist. Ids of unknown rules are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def all(self) -> frozenset[str]:
        """The ids that are off. Raises ConfigError when the file cannot be understood."""
        return frozenset(self._load()["off"])

    def switch(self, rule: str, *, on: bool) -> None:
        """Put one rule on or off. Raises ConfigError, StorageError."""
        with self._lock:
            document = self._load()
            off = set(document["off"]) - {rule} if on else {*document["off"], rule}
            document["off"] = sorted(off)
            write_json(self.path, document)

    def _load(self) -> dict[str, Any]:
        remedy = f'Repair it, like {{"off": ["rule-id"]}}, or delete {self.path.name}.'
        document = read_json(self.path, {"off": []}, remedy)
        off = document.get("off") if isinstance(document, dict) else None
        if not isinstance(off, list) or not all(isinstance(each, str) for each in off):
            raise ConfigError(f"{self.path} has no list of rule ids called “off”.", remedy)
        return dict(document)
