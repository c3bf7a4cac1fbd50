"""Text inside text (JSON strings, percent-encoding, base64), with the way back to the outer places. Pure, any thread."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

_JSON_ESCAPE: Final = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL
)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_PERCENTS: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+")

PLAIN_ESCAPE: Final = re.compile(r"\\\\*(?:u00([2-7][0-9a-fA-F])|(/))")
_CHAR: Final = r"[A-Za-z0-9+/_-]"
BASE64_GROUP: Final = rf"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589]{_CHAR}(?:\r?\n)?)"
"""Four characters stand for three ASCII bytes when certain bits are zero: of random words one in 4096 passes."""
BASE64_TEXT: Final = re.compile(
    rf"{BASE64_GROUP}{{4,}}"
    r"(?:[A-Za-f][AQgw](?:==|(?![A-Za-z0-9+/_=-]))"
    r"|[A-Za-f][A-HQ-Xg-nw-z0-3][AEIMQUYcgkosw048](?:=|(?![A-Za-z0-9+/_=-])))?"
)
"""ASCII text in base64, either alphabet, also when lines are wrapped or binary surrounds it."""


@dataclass(slots=True)
class View:
    """`text` as decoded from a source; `place` turns positions in it into positions there."""

    text: str = ""
    _at: list[int] = field(default_factory=lambda: [0])
    _source: list[int] = field(default_factory=lambda: [0])

    def place(self, position: int) -> int:
        step = bisect_right(self._at, position) - 1
        return self._source[step] + position - self._at[step]

    def jump(self, at: int, source: int) -> None:
        """From `at` on, the text stands at `source`."""
        self._at.append(at)
        self._source.append(source)


def json_string(inner: str) -> View:
    """What stands between the quotes of a JSON string, unescaped."""
    view, pieces, length, copied = View(), [], 0, 0
    for match in _JSON_ESCAPE.finditer(inner):
        pieces.append(inner[copied : match.start()])
        length += match.start() - copied
        view.jump(length, match.start())
        char = _unescaped(match)
        pieces.append(char)
        length += len(char)
        copied = match.end()
        view.jump(length, copied)
    pieces.append(inner[copied:])
    view.text = "".join(pieces)
    return view


def _unescaped(match: re.Match[str]) -> str:
    high, low, single, letter = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if single:
        return chr(int(single, 16))
    return _LETTERS.get(letter, letter)


def percent_decoded(text: str) -> View:
    """`text` with every %XX decoded."""
    view, pieces, length, copied = View(), [], 0, 0
    for match in _PERCENTS.finditer(text):
        pieces.append(text[copied : match.start()])
        length += match.start() - copied
        encoded, source = bytes.fromhex(match[0].replace("%", "")), match.start()
        try:
            decoded, charset = encoded.decode("utf-8"), "utf-8"
        except UnicodeDecodeError:
            decoded, charset = encoded.decode("latin-1"), "latin-1"
        for char in decoded:
            view.jump(length, source)
            source += 3 * len(char.encode(charset))
            length += 1
        pieces.append(decoded)
        copied = match.end()
        view.jump(length, copied)
    pieces.append(text[copied:])
    view.text = "".join(pieces)
    return view


def base64_text(encoded: str) -> str | None:
    """The ASCII text a match of BASE64_TEXT stands for."""
    plain = encoded.translate(_STANDARD)
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("ascii")
    except ValueError:
        return None


def base64_again(text: str, encoded: str, *, goes_on: bool) -> str:
    """`text` in the alphabet and padding of `encoded`; filled up with spaces when more base64 follows."""
    if goes_on:
        text += " " * (-len(text) % 3)
    again = base64.b64encode(text.encode("ascii", "replace")).decode("ascii")
    if "-" in encoded or "_" in encoded:
        again = again.replace("+", "-").replace("/", "_")
    return again if "=" in encoded or len(encoded.translate(_STANDARD)) % 4 == 0 else again.rstrip("=")


def base64_cores(value: str) -> list[str]:
    """What base64 text holding `value` certainly contains, at each of the three offsets, in both alphabets."""
    content, found = value.encode("utf-8", "surrogatepass"), []
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + content).decode("ascii")
        core = whole[-(-8 * offset // 6) : 8 * (offset + len(content)) // 6]
        found.append(core)
        found.append(core.replace("+", "-").replace("/", "_"))
    return list(dict.fromkeys(found))


_STANDARD: Final = str.maketrans({"-": "+", "_": "/", "\r": None, "\n": None})
