"""Untrusted text as safe HTML of bounded size: hidden characters as marks, what is too much counted. Pure, any thread."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from typing import Final

from markupsafe import Markup, escape

from inspector.protocol.hidden import HIDDEN

HTML: Final = 128_000
"""What one text may cost, in characters of HTML."""
MARKS: Final = 200
"""Hidden characters named by marks in one text: each costs fifty times what it is."""
TAGS_SHOWN: Final = 200
NAMED: Final = 8
"""Characters one mark names."""

_HIDDEN_RUN: Final = re.compile(f"[{HIDDEN}]+")
_ESCAPED: Final = {char: len(escape(char)) for char in "&<>\"'"}


class Writer:
    """Writes text as HTML while there is room. keep: hidden characters that stay as they are.

    room: characters of HTML still to be had. left: characters of the text beyond it. After `begin`, marks may be
    made anew; `rest` says what was left out since then, and forgets it.
    """

    def __init__(self, keep: str = "", room: int = HTML) -> None:
        self.room = room
        self._keep = keep
        self.begin()

    def begin(self) -> None:
        self.left = 0
        self._marks = MARKS
        self._folded: Counter[str] = Counter()

    def spend(self, amount: int) -> None:
        """Take room for mark-up that is written elsewhere."""
        self.room = max(0, self.room - amount)

    def write(self, text: str) -> str:
        """As much of `text` as there is room for."""
        out: list[str] = []
        at = 0
        for match in _HIDDEN_RUN.finditer(text, 0, self.room):
            out.append(self._plain(text[at : match.start()]))
            at = match.end()
            if not self.room:
                self.left += at - match.start()
                break
            out.append(self._run(match[0]))
        # No character is cheaper than one: what lies beyond the room need not be looked at.
        end = at + self.room
        out.append(self._plain(text[at:end]))
        self.left += max(0, len(text) - max(at, end))
        return "".join(out)

    def mark(self, written: str, html: str) -> str:
        """`html`, which marks an escape; the escape as `written` when there are too many marks already."""
        if not self._marks or not self.room:
            return self.write(written)
        self._marks -= 1
        self.spend(len(html))
        return html

    def rest(self, where: str = "") -> str:
        """A mark for the hidden characters that got none, and how much was cut; empty when nothing was."""
        out = ""
        if self._folded:
            count = self._folded.total()
            kinds = [f"{times:,} × {name_of(char)}" for char, times in self._folded.most_common(NAMED)]
            if len(self._folded) > NAMED:
                kinds.append(f"{len(self._folded) - NAMED:,} other kinds")
            out = mark(", ".join(kinds), f"… and {count:,} more hidden character{'' if count == 1 else 's'}")
        if self.left:
            out += f'<span class="ln__s"> … cut, {self.left:,} more characters{where}</span>'
        self.spend(len(out))
        self.begin()
        return out

    def _plain(self, text: str) -> str:
        html = str(escape(text))
        if len(html) > self.room:
            fits = bisect_right(list(accumulate([_ESCAPED.get(char, 1) for char in text])), self.room)
            self.left += len(text) - fits
            self.room = 0
            return str(escape(text[:fits]))
        self.room -= len(html)
        return html

    def _run(self, run: str) -> str:
        """A run of hidden characters: kept ones as they are, the others as one mark per unbroken stretch."""
        out = []
        for piece in re.split(f"([{re.escape(self._keep)}])", run) if self._keep else [run]:
            if piece in self._keep:
                out.append(piece)
            elif self._marks:
                self._marks -= min(self._marks, len(piece), NAMED)
                out.append(mark_of(piece))
            else:
                self._folded.update(piece)
        html = "".join(out)
        self.spend(max(len(html), len(run)))
        return html


def begins_hidden(text: str) -> bool:
    """Whether the text begins with a hidden character."""
    return _HIDDEN_RUN.match(text) is not None


def hides(text: str) -> str:
    """The names of the hidden characters in a text that stands in an input, which shows them to nobody; else empty."""
    found = Counter("".join(_HIDDEN_RUN.findall(text)))
    kinds = [char for char, _ in found.most_common() if char not in "\n\t\r"]
    more = f" and {len(kinds) - NAMED} other kinds" if len(kinds) > NAMED else ""
    return ", ".join([f"{found[char]:,} × {name_of(char)}" for char in kinds[:NAMED]]) + more


def mark(title: str, shown: str) -> str:
    """HTML that shows `shown` as a mark and explains it by `title`."""
    return str(Markup('<span class="mk" title="{}">{}</span>').format(title, shown))


def mark_of(run: str) -> str:
    """The mark of an unbroken run of hidden characters."""
    if all(0xE0020 <= ord(char) <= 0xE007E for char in run):
        most, shown = TAGS_SHOWN, "tags:" + "".join([chr(ord(char) - 0xE0000) for char in run[:TAGS_SHOWN]])
    else:
        most, shown = NAMED, " ".join([_picture(char) for char in run[:NAMED]])
    more = f" +{len(run) - most:,}" if len(run) > most else ""
    return mark(", ".join(dict.fromkeys([name_of(char) for char in run[:NAMED]])), shown + more)


def _picture(char: str) -> str:
    code = ord(char)
    if code == 0x0A:
        return "↵"
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def name_of(char: str) -> str:
    """`U+200B ZERO WIDTH SPACE`."""
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X} {name or ('control' if unicodedata.category(char) == 'Cc' else 'unnamed')}"
