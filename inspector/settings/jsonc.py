"""JSON with comments and trailing commas, as VS Code writes it, in linear time. Any thread."""

from __future__ import annotations

import json
import re
from typing import Any

from inspector.errors import ConfigError

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
# Unterminated strings and comments match up to the end: a restart at every quote would be quadratic.
_COMMENTS = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMAS = re.compile(rf"{_STRING}|,(?=[ \t\r\n]*[}}\]])", re.DOTALL)
_NOT_LINE_END = re.compile(r"[^\r\n]")


def strip(text: str) -> str:
    """`text` with comments and trailing commas blanked out, so lines and columns stay; strings are untouched.

    What is wrong stays wrong, for the JSON parser to point at: an unclosed comment, `[,]`, `[1,,]`.
    """
    bare = _COMMENTS.sub(_blank_comment, text)
    return _COMMAS.sub(_blank_comma, bare)


def _blank_comment(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"') or (found.startswith("/*") and not (len(found) >= 4 and found.endswith("*/"))):
        return found
    return _NOT_LINE_END.sub(" ", found)


def _blank_comma(match: re.Match[str]) -> str:
    if match[0] != ",":
        return match[0]
    before = match.start() - 1
    while before >= 0 and match.string[before] in " \t\r\n":
        before -= 1
    follows_a_value = before >= 0 and match.string[before] not in "[{,:"
    return " " if follows_a_value else ","


def loads(text: str, source: str, *, comments: bool = True) -> tuple[Any, list[str]]:
    """The value, and the object keys written twice (the last one counts, as in every JSON reader).

    Raises ConfigError with line and column; it quotes nothing of the text, which may hold secrets.
    """
    repeated: list[str] = []

    def keep_last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                repeated.append(key)
            found[key] = value
        return found

    try:
        return json.loads(strip(text) if comments else text, object_pairs_hook=keep_last), repeated
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(
            f"{source} is not valid JSON at {where}: {error.msg}.",
            "Correct that place (a missing comma, quote or bracket is the usual cause).",
            facts={"line": error.lineno, "column": error.colno},
        ) from None
    except (RecursionError, ValueError):
        raise ConfigError(
            f"{source} holds JSON nested too deep or a number too long to read.",
            "Check that it is the right file.",
        ) from None
