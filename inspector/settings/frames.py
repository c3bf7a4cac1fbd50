"""Frames a person keeps to send again, in a frames.json that people may edit. Any thread."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, UsageError
from inspector.settings.files import read_json, write_json

MOST: Final = 200


@dataclass(frozen=True, slots=True)
class SavedFrame:
    """A frame as it was typed. form: `text` or `hex`; where: `live` or `scratch`; headers: `Name: value` lines."""

    name: str
    text: str
    form: str = "text"
    where: str = "live"
    seconds: str = "3"
    method: str = "POST"
    headers: str = ""
    alone: bool = False


class SavedFrames:
    """The file `{"frames": [{"name": …, "text": …}]}`; none is kept while it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def all(self) -> list[SavedFrame]:
        """Oldest first. Raises ConfigError when the file cannot be understood."""
        known = {one.name for one in fields(SavedFrame)}
        found = []
        for entry in self._load():
            if (
                isinstance(entry, dict)
                and isinstance(entry.get("name"), str)
                and isinstance(entry.get("text"), str)
            ):
                found.append(SavedFrame(**{key: value for key, value in entry.items() if key in known}))
        return found

    def save(self, frame: SavedFrame) -> None:
        """Keep a frame in place of one of the same name. Raises UsageError, ConfigError, StorageError."""
        if not frame.name.strip():
            raise UsageError("A saved frame needs a name", "Give it one")
        with self._lock:
            rest = [one for one in self.all() if one.name != frame.name]
            if len(rest) >= MOST:
                raise UsageError(f"{MOST} frames are saved already", "Forget one of them")
            self._write([*rest, frame])

    def forget(self, name: str) -> None:
        with self._lock:
            self._write([one for one in self.all() if one.name != name])

    def _write(self, frames: list[SavedFrame]) -> None:
        write_json(self.path, {"frames": [asdict(one) for one in frames]})

    def _load(self) -> list[Any]:
        remedy = f"Repair it, or delete {self.path.name}; only saved frames are lost."
        document = read_json(self.path, {"frames": []}, remedy)
        found = document.get("frames") if isinstance(document, dict) else None
        if not isinstance(found, list):
            raise ConfigError(f"{self.path} has no list called “frames”.", remedy)
        return found
