"""Untrusted text as HTML of the single-file export: escaped, hidden characters named, JSON laid out. Any thread."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from inspector.protocol.hidden import HIDDEN

MARKS: Final = 200
"""Hidden characters named in one text; further ones become dots."""
_RUN: Final = re.compile(f"[{HIDDEN}]+")
_RUN_IN_LINES: Final = re.compile(f"(?:(?![\\n\\t])[{HIDDEN}])+")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^"{}\[\],:\s]+', re.DOTALL)
_DEEPEST: Final = 40


class Text:
    """Writes one text, in parts; it counts the marks it made. lines: line feeds and tabs stay."""

    def __init__(self, *, lines: bool = False) -> None:
        self._run = _RUN_IN_LINES if lines else _RUN
        self._marks = MARKS

    def write(self, text: str) -> str:
        out, at = [], 0
        for match in self._run.finditer(text):
            out += [escape(text[at : match.start()]), self._mark(match[0])]
            at = match.end()
        return "".join([*out, escape(text[at:])])

    def _mark(self, run: str) -> str:
        if not self._marks:
            return "·"
        self._marks -= 1
        more = f" and {len(run) - 1} more" if len(run) > 1 else ""
        return f'<b class="u">U+{ord(run[0]):04X}{more}</b>'


def inline(text: str, most: int = 300) -> str:
    """A text on one line, cut with an ellipsis."""
    head = text[:most]
    return Text().write(head) + ("…" if len(text) > most else "")


def lines(text: str) -> str:
    """A text as it is, line feeds and tabs kept."""
    return Text(lines=True).write(text)


def json_text(raw: str) -> str:
    """JSON re-indented: every lexeme as it was sent, only the white space between them is ours.

    A text that breaks off, or is no JSON, is laid out as far as its brackets go.
    """
    writer, out, depth, fresh = Text(lines=True), [], 0, False
    tokens = _TOKEN.findall(raw)
    for n, lexeme in enumerate(tokens):
        following = tokens[n + 1] if n + 1 < len(tokens) else ""
        if lexeme in "}]":
            depth = max(0, depth - 1)
            out.append(lexeme if fresh else _line(depth) + lexeme)
        elif lexeme in "{[":
            depth += 1
            out.append(lexeme + ("" if following in ("}", "]") else _line(depth)))
        elif lexeme == ",":
            out.append("," + _line(depth))
        elif lexeme == ":":
            out.append(": ")
        else:
            kind = "v" if not lexeme.startswith('"') else "k" if following == ":" else ""
            said = writer.write(lexeme)
            out.append(f'<span class="{kind}">{said}</span>' if kind else said)
        fresh = lexeme in ("{", "[")
    return "".join(out)


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)
