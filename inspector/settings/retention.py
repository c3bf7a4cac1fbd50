"""How long recordings are kept, in a retention.json that people may edit; off until somebody says. Any thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, UsageError
from inspector.settings.files import read_json, write_json

_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """days: recordings older than this go; megabytes (of 1,000,000): the oldest go until the rest fits. None: never."""

    days: int | None = None
    megabytes: int | None = None

    @property
    def off(self) -> bool:
        return self.days is None and self.megabytes is None

    @classmethod
    def read(cls, days: str, megabytes: str) -> Retention:
        """From a form; empty is never. Raises UsageError."""
        return cls(_number(days, "days"), _number(megabytes, "megabytes"))


def _number(text: str, what: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= _MOST or len(text) > 9:
        raise UsageError(
            f"The number of {what} is no whole number from 1 to {_MOST:,}.", "Correct it, or leave it empty."
        )
    return int(text)


class RetentionFile:
    """The file `{"days": 30, "megabytes": null}`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Retention:
        """Raises ConfigError when the file cannot be understood."""
        remedy = f"Repair it, or delete {self.path.name}."
        document = read_json(self.path, {}, remedy)
        if not isinstance(document, dict):
            raise ConfigError(f"{self.path} is not a JSON object.", remedy)
        return Retention(self._value(document, "days"), self._value(document, "megabytes"))

    def save(self, wanted: Retention) -> None:
        """Raises StorageError."""
        write_json(self.path, {"days": wanted.days, "megabytes": wanted.megabytes})

    def _value(self, document: dict[str, Any], name: str) -> int | None:
        value = document.get(name)
        if value is None or (type(value) is int and 1 <= value <= _MOST):
            return value
        raise ConfigError(
            f"{self.path}: {name} is no whole number from 1 to {_MOST:,}.",
            f"Repair it, or delete {self.path.name}.",
        )
