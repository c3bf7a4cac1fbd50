"""Libraries imported when they are first used: half of what a short command did was import. Any thread."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module until something of it is asked for; for large ones that many runs never need.

    Beside it, under TYPE_CHECKING, the real import: for mypy and for import-linter, which then see no difference.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, wanted: str) -> Any:
        return getattr(import_module(self._name), wanted)
