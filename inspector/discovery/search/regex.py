"""Search by a regular expression over names, descriptions and parameters. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inspector.discovery.registry import Tool
from inspector.discovery.search.method import Found
from inspector.discovery.search.words import asked, fields
from inspector.errors import UsageError

MOST_CHARACTERS = 200
# A repeated group that repeats or chooses inside can take for ever on one description.
_NESTED = re.compile(r"[+*}]\)*\)[+*{]|\|[^()]*\)+[+*{]|\(\?[=!<P]|\\[1-9]")
_PATTERN = re.compile(r"[\\^$.|?*+()\[\]{}]")


class Regex:
    """A pattern as a model would write it; a plain sentence stands for any of its words."""

    id = "regex"

    def build(self, tools: Sequence[Tool]) -> RegexIndex:
        return RegexIndex(tools)


class RegexIndex:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._texts = [(tool, fields(tool)) for tool in tools]

    def ranked(self, query: str, limit: int) -> list[Found]:
        """By how many different texts matched, those in names first; raises UsageError for a bad pattern."""
        pattern = _compiled(query)
        if pattern is None:
            return []
        found = []
        for tool, parts in self._texts:
            hits = [{hit.lower() for hit in _hits(pattern, part)} for part in parts]
            every = set[str]().union(*hits)
            if every:
                found.append(Found(tool, len(every) + len(hits[0]), tuple(sorted(every))))
        found.sort(key=lambda each: -each.score)
        return [
            Found(each.tool, each.score, each.matched, {"regex": rank})
            for rank, each in enumerate(found[:limit], 1)
        ]

    def explained(self, query: str, found: Sequence[Found]) -> list[Found]:
        """The ranks rest on what matched: it is there."""
        return list(found)


def _hits(pattern: re.Pattern[str], text: str) -> list[str]:
    return [hit[0] for hit in pattern.finditer(text) if hit[0]]


def _compiled(query: str) -> re.Pattern[str] | None:
    if not _PATTERN.search(query):
        terms = asked(query)
        return re.compile("|".join([re.escape(term) for term in terms]), re.IGNORECASE) if terms else None
    if len(query) > MOST_CHARACTERS or _NESTED.search(query):
        raise UsageError(
            "This pattern is too long, repeats or chooses within a repetition, looks around or refers back",
            f"Write a plain pattern of at most {MOST_CHARACTERS} characters",
        )
    try:
        return re.compile(query, re.IGNORECASE)
    except re.error as problem:
        raise UsageError(
            f"This is no regular expression: {problem}", "Write for example refund|payback"
        ) from None
