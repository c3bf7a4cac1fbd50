"""Keyword search: BM25 by SQLite's FTS5, in memory. An index belongs to the thread that asks at the time.

Weights: a word in a tool's name counts four times one in its description, in its parameters half.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from inspector.discovery.registry import Tool
from inspector.discovery.search.method import Found
from inspector.discovery.search.words import asked, fields, words

_TABLE = "create virtual table tool using fts5(name, description, parameters, tokenize='porter unicode61')"
_RANKED = "select rowid, bm25(tool, 4.0, 1.0, 0.5) from tool where tool match ? order by 2, rowid limit ?"
_MATCHED = (
    "select highlight(tool, 0, char(2), char(3)), highlight(tool, 1, char(2), char(3)),"
    " highlight(tool, 2, char(2), char(3)) from tool where tool match ? and rowid = ?"
)
REMEMBERED = 20_000
"""Tools whose words are kept; a list that was read again is made of new ones."""
_MARKED = re.compile("\x02([^\x03]*)\x03")


class Keyword:
    """BM25 over name, description and parameters."""

    id = "keyword"

    def __init__(self) -> None:
        self._rows: dict[Tool, list[str]] = {}

    def build(self, tools: Sequence[Tool]) -> KeywordIndex:
        """Of a tool that was indexed before, the words are known."""
        known = self._rows
        self._rows = {tool: known.get(tool) or _row(tool) for tool in tools} | (
            known if len(known) < REMEMBERED else {}
        )
        return KeywordIndex(tools, [self._rows[tool] for tool in tools])


class KeywordIndex:
    """One FTS5 table in memory."""

    def __init__(self, tools: Sequence[Tool], rows: Sequence[Sequence[str]]) -> None:
        self._tools = tools
        self._numbers = {tool: number for number, tool in enumerate(tools)}
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(_TABLE)
        self._db.executemany(
            "insert into tool(rowid, name, description, parameters) values (?, ?, ?, ?)",
            [(number, *row) for number, row in enumerate(rows)],
        )

    def ranked(self, query: str, limit: int) -> list[Found]:
        """Tools that hold any of the query's words, by BM25."""
        match = _match(query)
        if not match:
            return []
        with self._lock:
            rows = self._db.execute(_RANKED, (match, limit)).fetchall()
        return [
            Found(self._tools[number], -score, (), {"keyword": rank})
            for rank, (number, score) in enumerate(rows, 1)
        ]

    def explained(self, query: str, found: Sequence[Found]) -> list[Found]:
        """With the words of the tool that the query's words met; none for a tool it does not match."""
        match = _match(query)
        if not match:
            return list(found)
        with self._lock:
            rows = [
                self._db.execute(_MATCHED, (match, self._numbers[each.tool])).fetchone() for each in found
            ]
        return [replace(each, matched=_matched(row or ())) for each, row in zip(found, rows, strict=True)]

    def __del__(self) -> None:
        with suppress(AttributeError, sqlite3.Error):
            self._db.close()


def _match(query: str) -> str:
    """FTS5's expression for any of the words."""
    return " OR ".join([f'"{term}"' for term in asked(query)])


def _row(tool: Tool) -> list[str]:
    return [" ".join(words(part)) for part in fields(tool)]


def _matched(marked: Sequence[str]) -> tuple[str, ...]:
    """The words of the tool that matched, each once."""
    found = [word for text in marked for run in _MARKED.findall(text) for word in run.split()]
    return tuple(dict.fromkeys(found))
