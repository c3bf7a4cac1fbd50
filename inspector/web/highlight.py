"""Untrusted text as safe HTML: JSON with colours, hidden characters as marks, ANSI as spans. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from markupsafe import Markup

from inspector.protocol.hidden import HIDDEN
from inspector.web.marks import Writer, begins_hidden, mark, name_of

INLINE_WIDTH: Final = 60
"""A container this short (characters) stays on one line."""
FOLD_AT: Final = 120
FOLD_LIMIT: Final = 20_000

CODE_HTML: Final = 512_000
"""What one laid-out text may cost in characters of HTML beside its punctuation; the rest is counted."""
TOGETHER: Final = 80_000
"""The same for a table, or a list of parts, all texts of it together."""
ANSI_CHARS: Final = 20_000
ANSI_HTML: Final = 64_000
"""The same for one line of terminal output."""

_TOKEN: Final = re.compile(
    r'(?P<s>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<n>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<w>true|false|null)'
    r"|(?P<p>[{}\[\],:])|(?P<_>[ \t\r\n]+)",
    re.DOTALL,
)
_ATOM: Final = re.compile(rf"\\u[0-9a-fA-F]{{4}}|\\n *|\\.|[{HIDDEN}]+|[^\\{HIDDEN}]+|\\", re.DOTALL)
_SGR: Final = re.compile(r"\x1b\[([0-9;]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

PART_FILLS: Final = {
    "description": "desc",
    "inputSchema": "schema",
    "input_schema": "schema",
    "parameters": "schema",
    "parametersJsonSchema": "schema",
    "outputSchema": "out",
    "annotations": "ann",
    "name": "name",
    "title": "name",
    "_meta": "meta",
}
"""Key of a tool definition -> its colour (`f-…`, `t-…` in the stylesheet); the rest is `oth`."""


@dataclass(slots=True)
class CodeLine:
    """One shown line: safe `html`, its `bytes` of compact JSON, the `fill` of the part it belongs to."""

    number: int
    html: Markup
    bytes: int = 0
    fill: str = "oth"
    cost: float = 0.0
    """Share of the most expensive line, in per cent."""


@dataclass(slots=True)
class Code:
    """`lines` shown out of `total`; `json` says whether the text was laid out as JSON."""

    lines: list[CodeLine]
    total: int
    json: bool

    @property
    def left_out(self) -> int:
        return self.total - len(self.lines)


def code_lines(text: str, cap: int = 400) -> Code:
    """Lay JSON text out for reading, lexemes untouched; anything else line by line. At most `cap` lines."""
    tokens = list(_tokens(text))
    closes = _closes(tokens)
    if not tokens or closes is None:
        return _plain(text, cap)
    lines = _layout(tokens, closes)
    writer = Writer(room=CODE_HTML)
    shown = [_line(number, tokens, line, writer) for number, line in enumerate(lines[:cap], 1)]
    most = max(line.bytes for line in shown)
    for line in shown:
        line.cost = round(100 * line.bytes / most, 1)
    return Code(shown, len(lines), json=True)


def visible(text: str) -> Markup:
    """Escape `text` and show its control, BiDi, zero-width and other invisible characters as marks.

    A text that would cost more than a page can bear (`marks.HTML`, `marks.MARKS`) is cut, and says by how much.
    """
    writer = Writer(keep="\n\t")
    return Markup(writer.write(str(text)) + writer.rest())  # noqa: S704 -- the writer escapes


def together(room: int = TOGETHER) -> Callable[[str], Markup]:
    """`visible` for the many texts of one table: all of them cost no more than `room`, and each says what was cut."""
    writer = Writer(keep="\n\t", room=room)

    def shown(text: str) -> Markup:
        writer.begin()
        return Markup(writer.write(text) + writer.rest())  # noqa: S704 -- the writer escapes

    return shown


def called(name: str) -> Markup:
    """`visible`, for a name on one line: line feeds and tabs are marked too; a name of blanks or nothing can be seen."""
    return _called(Writer(), name)


def called_together(room: int = TOGETHER) -> Callable[[str], Markup]:
    """`called` for the many names of one table: all of them cost no more than `room`, and each says what was cut."""
    writer = Writer(room=room)
    return lambda name: _called(writer, name)


def _called(writer: Writer, name: str) -> Markup:
    if not name:
        return Markup("(empty name)")
    writer.begin()
    html = writer.write(name if name.strip() else f"“{name}”") + writer.rest()
    return Markup(html)  # noqa: S704 -- the writer escapes


def ansi(text: str) -> Markup:
    """Like `visible`, with SGR colour sequences turned to spans and other escape sequences dropped.

    Of one line, ANSI_CHARS characters are read.
    """
    writer = Writer(keep="\n\t", room=ANSI_HTML)
    out = []
    for (bold, colour), pieces in groupby(_coloured(text[:ANSI_CHARS]), key=lambda piece: piece[0]):
        classes = [name for name in ("an-b" if bold else "", f"an-{colour}" if colour else "") if name]
        start, end = (f'<span class="{" ".join(classes)}">', "</span>") if classes else ("", "")
        writer.spend(len(start + end))
        html = writer.write("".join([piece for _, piece in pieces]))
        out.append(start + html + end if html else "")
    writer.left += max(0, len(text) - ANSI_CHARS)
    return Markup("".join(out) + writer.rest())  # noqa: S704 -- the writer escapes


State = tuple[bool, int]
"""Bold, and the number of the colour; 0 is none."""


def _coloured(text: str) -> Iterator[tuple[State, str]]:
    """The text between the escape sequences, each piece with the state in force; empty pieces left out."""
    state: State = (False, 0)
    at = 0
    for match in _SGR.finditer(text):
        if match.start() > at:
            yield state, text[at : match.start()]
        at = match.end()
        if match[1] is not None:
            state = _sgr(state, match[1])
    if at < len(text):
        yield state, text[at:]


def _sgr(state: State, codes: str) -> State:
    """The state after one SGR sequence; 256 and true colours are ignored, and so is what no terminal knows."""
    bold, colour = state
    for part in codes.split(";"):
        code = int(part or 0) if len(part) <= 3 else -1
        if code == 0:
            bold, colour = False, 0
        elif code in (1, 22):
            bold = code == 1
        elif code in (38, 48):
            break
        elif code == 39:
            colour = 0
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = 8 if code == 90 else code % 10 % 7  # black and white are the page's own
    return bold, colour


def _plain(text: str, cap: int) -> Code:
    rows = text.split("\n")
    writer = Writer(keep="\t", room=CODE_HTML)
    shown = []
    for number, row in enumerate(rows[:cap], 1):
        writer.begin()
        html = writer.write(row[:FOLD_LIMIT])
        writer.left += max(0, len(row) - FOLD_LIMIT)
        shown.append(CodeLine(number, Markup(html + writer.rest())))  # noqa: S704 -- the writer escapes
    return Code(shown, len(rows), json=False)


Token = tuple[str, str]
Line = tuple[int, int, int, str]
"""Depth, first token, token after the last, top-level key."""


def _tokens(text: str) -> Iterator[Token]:
    """(kind, lexeme) without white space; nothing at all when the text does not lex as JSON."""
    at, found = 0, []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return
        if match.lastgroup != "_":
            found.append((match.lastgroup or "", match[0]))
        at = match.end()
    yield from found


def _closes(tokens: list[Token]) -> dict[int, int] | None:
    """Where each bracket closes, or None when they do not match."""
    waiting: list[int] = []
    closes: dict[int, int] = {}
    for at, (_, lexeme) in enumerate(tokens):
        if lexeme in ("{", "["):
            waiting.append(at)
        elif lexeme in ("}", "]"):
            if not waiting or tokens[waiting[-1]][1] + lexeme not in ("{}", "[]"):
                return None
            closes[waiting.pop()] = at
    return None if waiting else closes


def _layout(tokens: list[Token], closes: dict[int, int]) -> list[Line]:
    """Cut the tokens into lines. No recursion: nesting may be as deep as a hostile peer likes."""
    widths = [0]
    for _, lexeme in tokens:
        widths.append(widths[-1] + len(lexeme) + (lexeme in (",", ":")))
    lines: list[Line] = []
    depth = start = at = 0
    part = ""

    def cut(end: int) -> None:
        nonlocal start
        if end > start:
            lines.append((depth, start, end, part))
            start = end

    while at < len(tokens):
        lexeme = tokens[at][1]
        if depth == 1 and at + 1 < len(tokens) and tokens[at + 1][1] == ":":
            part = lexeme[1:-1]
        if lexeme in ("{", "["):
            close = closes[at]
            if close == at + 1 or widths[close + 1] - widths[at] <= INLINE_WIDTH:
                at = close
            else:
                cut(at + 1)
                depth += 1
        elif lexeme in ("}", "]"):
            cut(at)
            depth -= 1
            part = part if depth else ""
        elif lexeme == ",":
            cut(at + 1)
        at += 1
    cut(len(tokens))
    return lines


def _line(number: int, tokens: list[Token], line: Line, writer: Writer) -> CodeLine:
    depth, start, end, part = line
    out = ["  " * min(depth, 40)]
    size = 0
    for at in range(start, end):
        kind, lexeme = tokens[at]
        size += len(lexeme.encode("utf-8", "replace"))
        writer.begin()
        if kind == "s":
            is_key = at + 1 < len(tokens) and tokens[at + 1][1] == ":"
            out.append(f'<span class="{"jk" if is_key else "js"}">{_string(lexeme, writer)}</span>')
        elif kind == "p":
            out.append(lexeme + (" " if lexeme == ":" or (lexeme == "," and at + 1 < end) else ""))
        else:
            shown = writer.write(lexeme)
            out.append(f'<span class="j{kind}">{shown}{writer.rest(" under Raw")}</span>')
    return CodeLine(number, Markup("".join(out)), size, PART_FILLS.get(part, "oth"))  # noqa: S704 -- the writer escapes


def _string(lexeme: str, writer: Writer) -> str:
    """A string lexeme, escapes kept as written, line breaks and hidden characters as marks, long ones folded."""
    if len(lexeme) <= FOLD_AT:
        return "".join([_atom(atom, writer) for atom in _ATOM.findall(lexeme)]) + writer.rest(" under Raw")
    head: list[str] = []
    tail: list[str] = []
    length = 0
    for atom in _ATOM.findall(lexeme[:FOLD_LIMIT]):
        room = max(0, FOLD_AT - 20 - length)
        cut = room if room and atom[0] != "\\" and not begins_hidden(atom) else (len(atom) if room else 0)
        length += len(atom)
        head.append(_atom(atom[:cut], writer) if cut else "")
        tail.append(_atom(atom[cut:], writer, breaks=True) if cut < len(atom) else "")
    writer.left += max(0, len(lexeme) - FOLD_LIMIT)
    tail.append(writer.rest(" under Raw"))
    total = len(lexeme.encode("utf-8", "replace"))
    return (
        f'<details class="fold"><summary>{"".join(head)}<i>all {total:,} B</i></summary>'
        f"{''.join(tail)}</details>"
    )


def _atom(atom: str, writer: Writer, breaks: bool = False) -> str:
    """A piece of a string lexeme. An escape says what it stands for even where marks have run out."""
    if atom.startswith("\\n"):
        after = "\n" + atom[2:] if breaks else ""
        shown = "↵" + ("" if breaks else "·" * len(atom[2:]))
        return writer.mark(atom, mark("\\n, U+000A line feed", shown) + after)
    if atom.startswith("\\t"):
        return writer.mark(atom, mark("\\t, U+0009 tab", "⇥"))
    if atom.startswith("\\u") and len(atom) == 6 and begins_hidden(chr(int(atom[2:], 16))):
        return writer.mark(atom, mark(name_of(chr(int(atom[2:], 16))), atom))
    return writer.write(atom)
