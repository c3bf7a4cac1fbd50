"""The one way out to a terminal: what a server says can be read there and drives nothing. Any thread."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final, TextIO

from inspector.catalog.jsontext import compact_value
from inspector.cli.doing import LINE
from inspector.protocol.clipping import clipped

_OURS: Final = "\n\t"
"""Controls that lay text out and do no more: whoever composes a line from a server's text calls `printable`."""
MOST_SAID: Final = 2000
"""Characters of a sentence or a line of stderr: the server may have chosen them."""


def printable(text: str | None) -> str:
    """A server's text as one line: controls, line ends, BiDi and invisible characters, half surrogates as escapes."""
    return "(no name)" if text is None else _escaped(text, "")


def briefly(text: str | None, most: int = 200) -> str:
    """As `printable`, of a text that may have megabytes: so many characters, and how many more there are."""
    return printable(None if text is None else clipped(text, most))


def harmless(text: str) -> str:
    """As `printable`, for a whole report: its line ends and tabs stay."""
    return _escaped(text, _OURS)


def say(text: str = "", *, colour: str | None = None, end: str = "\n") -> None:
    """Human output on stdout. colour: an SGR number such as "31", ours, put around the escaped text."""
    shown = harmless(text)
    _put(sys.stdout, f"\x1b[{colour}m{shown}\x1b[0m{end}" if colour is not None else shown + end)


def warn(text: str) -> None:
    """Human output on stderr."""
    _put(sys.stderr, harmless(text) + "\n")


def print_document(document: Any, *, indent: int | None = None) -> None:
    """One JSON document on stdout."""
    _put(sys.stdout, document_text(document, indent=indent) + "\n")


def document_text(document: Any, *, indent: int | None = None) -> str:
    """Equal JSON for any reader, in which no string holds what `printable` would escape."""
    # The only line ends json writes are its own indentation: those in strings are escapes already.
    try:
        text = json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:  # a server's number beyond any float: not laid out, but JSON and exact
        text = compact_value(document)
    return text if text.isprintable() else re.sub(r"[^\n -~]", _json_escape, text)


def _escaped(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in kept else char.encode("unicode_escape").decode()
        for char in text
    )


def _json_escape(match: re.Match[str]) -> str:
    char = match[0]
    return char if char.isprintable() else json.dumps(char)[1:-1] if char != "\x7f" else "\\u007f"


def _put(stream: TextIO, text: str) -> None:
    """At once, whatever the stream's encoding: a terminal that is not UTF-8 gets escapes, not our failure."""
    encoding = stream.encoding or "utf-8"
    with LINE.away():
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=stream, flush=True)
