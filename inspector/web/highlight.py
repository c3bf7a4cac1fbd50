"""Untrusted text as safe HTML: JSON with colours, hidden characters as marks, ANSI as spans. Pure, any thread."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

INLINE_WIDTH: Final = 60
"""A container this short (characters) stays on one line."""
FOLD_AT: Final = 120
FOLD_LIMIT: Final = 20_000

# Control, format, BiDi, zero-width, filler and tag characters, variation selectors (but FE0F, which emoji
# need), lone surrogates.
_HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)
_HIDDEN_RUN: Final = re.compile(f"[{_HIDDEN}]+")
_TOKEN: Final = re.compile(
    r'(?P<s>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<n>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<w>true|false|null)'
    r"|(?P<p>[{}\[\],:])|(?P<_>[ \t\r\n]+)",
    re.DOTALL,
)
_ATOM: Final = re.compile(rf"\\u[0-9a-fA-F]{{4}}|\\n *|\\.|[{_HIDDEN}]+|[^\\{_HIDDEN}]+|\\", re.DOTALL)
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
    shown = [_line(number, tokens, line) for number, line in enumerate(lines[:cap], 1)]
    most = max(line.bytes for line in shown)
    for line in shown:
        line.cost = round(100 * line.bytes / most, 1)
    return Code(shown, len(lines), json=True)


def visible(text: str) -> Markup:
    """Escape `text` and show its control, BiDi, zero-width and other invisible characters as marks."""
    return _marked(str(text), keep="\n\t")


def ansi(text: str) -> Markup:
    """Like `visible`, with SGR colour sequences turned to spans and other escape sequences dropped."""
    out: list[str] = []
    classes: list[str] = []
    at = 0
    for match in _SGR.finditer(text):
        out.append(_spanned(visible(text[at : match.start()]), classes))
        at = match.end()
        if match[1] is not None:
            classes = _sgr(classes, match[1])
    out.append(_spanned(visible(text[at:]), classes))
    return Markup("".join(out))  # noqa: S704 -- every piece came from visible()


def _spanned(html: Markup, classes: list[str]) -> str:
    return f'<span class="{" ".join(classes)}">{html}</span>' if classes and html else str(html)


def _sgr(classes: list[str], codes: str) -> list[str]:
    """The classes in force after one SGR sequence; 256 and true colours are ignored."""
    for code in (int(part or 0) for part in codes.split(";")):
        if code == 0:
            classes = []
        elif code == 1:
            classes = [*classes, "an-b"]
        elif code in (38, 48):
            break
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = 8 if code == 90 else code % 10
            classes = [c for c in classes if c == "an-b"] + ([f"an-{colour}"] if colour not in (0, 7) else [])
    return classes


def _plain(text: str, cap: int) -> Code:
    rows = text.split("\n")
    shown = []
    for number, row in enumerate(rows[:cap], 1):
        html = _marked(row[:FOLD_LIMIT], keep="\t")
        if len(row) > FOLD_LIMIT:
            html += Markup('<span class="ln__s"> … {:,} more characters</span>').format(len(row) - FOLD_LIMIT)
        shown.append(CodeLine(number, html))
    return Code(shown, len(rows), json=False)


def _marked(text: str, keep: str = "") -> Markup:
    out: list[str] = []
    at = 0
    for match in _HIDDEN_RUN.finditer(text):
        out.append(str(escape(text[at : match.start()])))
        out.append(_marks(match[0], keep))
        at = match.end()
    out.append(str(escape(text[at:])))
    return Markup("".join(out))  # noqa: S704 -- every piece was escaped above


def _marks(run: str, keep: str) -> str:
    """A run of invisible characters: kept ones as they are, the others as one mark per unbroken stretch."""
    out = []
    for piece in re.split(f"([{re.escape(keep)}])", run) if keep else [run]:
        out.append(piece if piece in keep else _mark(piece))
    return "".join(out)


def _mark(run: str) -> str:
    if all(0xE0020 <= ord(c) <= 0xE007E for c in run):
        shown = "tags:" + "".join(chr(ord(c) - 0xE0000) for c in run)
    else:
        shown = " ".join(_picture(c) for c in run[:8]) + (f" +{len(run) - 8}" if len(run) > 8 else "")
    names = ", ".join(dict.fromkeys(_name(c) for c in run[:8]))
    return str(Markup('<span class="mk" title="{}">{}</span>').format(names, shown))


def _picture(char: str) -> str:
    code = ord(char)
    if code == 0x0A:
        return "↵"
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def _name(char: str) -> str:
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X} {name or ('control' if unicodedata.category(char) == 'Cc' else 'unnamed')}"


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


def _line(number: int, tokens: list[Token], line: Line) -> CodeLine:
    depth, start, end, part = line
    out = ["  " * min(depth, 40)]
    size = 0
    for at in range(start, end):
        kind, lexeme = tokens[at]
        size += len(lexeme.encode("utf-8", "replace"))
        if kind == "s":
            is_key = at + 1 < len(tokens) and tokens[at + 1][1] == ":"
            out.append(f'<span class="{"jk" if is_key else "js"}">{_string(lexeme)}</span>')
        elif kind == "p":
            out.append(lexeme + (" " if lexeme == ":" or (lexeme == "," and at + 1 < end) else ""))
        else:
            out.append(f'<span class="j{kind}">{lexeme}</span>')
    return CodeLine(number, Markup("".join(out)), size, PART_FILLS.get(part, "oth"))  # noqa: S704 -- lexemes of _TOKEN, strings escaped


def _string(lexeme: str) -> str:
    """A string lexeme, escapes kept as written, line breaks and hidden characters as marks, long ones folded."""
    if len(lexeme) <= FOLD_AT:
        return "".join(_atom(atom) for atom in _ATOM.findall(lexeme))
    head: list[str] = []
    tail: list[str] = []
    length = 0
    for atom in _ATOM.findall(lexeme[:FOLD_LIMIT]):
        room = max(0, FOLD_AT - 20 - length)
        cut = room if room and atom[0] != "\\" and not _HIDDEN_RUN.match(atom) else (len(atom) if room else 0)
        length += len(atom)
        head.append(_atom(atom[:cut]) if cut else "")
        tail.append(_atom(atom[cut:], breaks=True) if cut < len(atom) else "")
    more = len(lexeme) - FOLD_LIMIT
    if more > 0:
        tail.append(f'<span class="ln__s"> … {more:,} more characters under Raw</span>')
    total = len(lexeme.encode("utf-8", "replace"))
    return (
        f'<details class="fold"><summary>{"".join(head)}<i>all {total:,} B</i></summary>'
        f"{''.join(tail)}</details>"
    )


def _atom(atom: str, breaks: bool = False) -> str:
    if atom.startswith("\\n"):
        mark = "↵" + ("" if breaks else "·" * len(atom[2:]))
        after = "\n" + atom[2:] if breaks else ""
        return f'<span class="mk" title="\\n, U+000A line feed">{mark}</span>{after}'
    if atom.startswith("\\t"):
        return '<span class="mk" title="\\t, U+0009 tab">⇥</span>'
    if atom.startswith("\\u") and len(atom) == 6 and _HIDDEN_RUN.match(chr(int(atom[2:], 16))):
        return str(
            Markup('<span class="mk" title="{}">{}</span>').format(_name(chr(int(atom[2:], 16))), atom)
        )
    return str(_marked(atom))
