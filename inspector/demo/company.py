"""The small company behind the demo tools: a built-in data set, a fresh copy for each server; its event loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class ToolFailed(Exception):
    """A tool could not do what it was asked; the sentence is meant for the model (`isError`)."""


class Company:
    """The rows of `company.json` by table. What tools write stays in memory and ends with the process."""

    def __init__(self) -> None:
        self._tables: dict[str, Any] = json.loads(
            Path(__file__).with_name("company.json").read_text(encoding="utf-8")
        )

    @property
    def today(self) -> str:
        """The company's day, as an ISO date. Fixed, so that every answer can be repeated."""
        return str(self._tables["today"])

    def rows(self, table: str, **equal: Any) -> list[Row]:
        """The rows of a table whose fields equal the given values; a value of None asks nothing."""
        wanted = {field: value for field, value in equal.items() if value is not None}
        return [row for row in self._tables[table] if all(row[f] == value for f, value in wanted.items())]

    def row(self, table: str, field: str, value: Any, called: str) -> Row:
        """The one row with this value, or `ToolFailed` naming up to five that exist."""
        found: list[Row] = [row for row in self._tables[table] if row[field] == value]
        if found:
            return found[0]
        known = ", ".join(str(row[field]) for row in self._tables[table][:5])
        raise ToolFailed(f"There is no {called} {value}. Known ones are, for example: {known or 'none yet'}.")

    def named(self, table: str) -> dict[str, Any]:
        """A table that maps names to values."""
        found: dict[str, Any] = self._tables[table]
        return found

    def add(self, table: str, row: Row) -> Row:
        self._tables[table].append(row)
        return row

    def next_id(self, table: str, field: str, prefix: str, first: int) -> str:
        """The next free id of a table, such as `INV-1008`."""
        used = [int(row[field].removeprefix(prefix)) for row in self._tables[table]]
        return f"{prefix}{max(used, default=first - 1) + 1}"

    def remove(self, table: str, row: Row) -> None:
        self._tables[table].remove(row)
