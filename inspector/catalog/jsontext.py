"""JSON as text: where values stand, the compact form and the canonical form, digit for digit. Pure, any thread."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from inspector.protocol.numbers import LongInteger, integer
from inspector.protocol.steps import end_of as end_of

_WHITESPACE = re.compile(r"[ \t\n\r]*")
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\n\r"]+')
_DECODER = json.JSONDecoder()
_NAMES = ("c_make_encoder", "encode_basestring")


def _quick(*, sort_keys: bool) -> Callable[[Any], str]:
    """What `json.dumps` does, looking for no circle, because what was parsed holds none: that is a fifth of its time.

    A `JSONEncoder` makes its C half anew for each value, which is another fifth where values are small; so it is made
    once here, where there is one that is made as in CPython 3.11 to 3.14.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, check_circular=False
    )
    try:
        make, string = [getattr(json.encoder, name) for name in _NAMES]
        pieces = make(None, encoder.default, string, None, ":", ",", sort_keys, False, True)
        if "".join(pieces({"b": [1.5, "é"], "a": None}, 0)) == encoder.encode({"b": [1.5, "é"], "a": None}):
            return lambda value: "".join(pieces(value, 0))
    except (AttributeError, TypeError):
        pass
    return encoder.encode


quick_text = _quick(sort_keys=False)
"""A parsed value as compact JSON text, as fast as can be; a `LongInteger` in it comes out wrong."""
quick_sorted = _quick(sort_keys=True)
"""The same with the keys sorted at every depth."""
_STRICT_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


_LENIENT_DECODER = json.JSONDecoder(parse_int=integer)


def raw_decode(text: str, at: int = 0) -> tuple[Any, int]:
    """The value at `at` and where it ends, integers of any length. ValueError when there is none."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError:  # the digit limit: parsing all integers in Python costs others, so only now
        return _LENIENT_DECODER.raw_decode(text, at)


class FloatsNoted:
    """`raw_decode`, and whether the value has a number in it that is not written as an integer."""

    def __init__(self) -> None:
        self._seen = False
        self._decode = json.JSONDecoder(parse_float=self._float).raw_decode

    def _float(self, text: str) -> float:
        self._seen = True
        return float(text)

    def __call__(self, text: str, at: int) -> tuple[Any, int, bool]:
        self._seen = False
        try:
            value, end = self._decode(text, at)
        except ValueError:
            return *raw_decode(text, at), True
        return value, end, self._seen


def is_as_written(raw: str, value: Any, canonical: str, floats: bool) -> bool:
    """Whether `quick_text(value)` is `raw`, from which `value` was parsed: nothing odd is in it.

    canonical: `quick_sorted(value)`. It has the size of `quick_text(value)`, and where no float and no `\\u` is in it,
    no token of JSON can be written shorter than the encoder does; so with the size the text is the same.
    """
    if not floats and "\\u" not in raw:
        return len(canonical) == len(raw)
    return quick_text(value) == raw


def loads(text: str | bytes) -> Any:
    """`json.loads` for what a server sent: integers of any length, those too long for Python as `LongInteger`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=integer)


def compact_value(value: Any) -> str:
    """A parsed value as compact JSON text: escapes minimal, non-ASCII raw. Numbers may have lost their spelling."""
    try:
        return _STRICT_ENCODER.encode(value)
    except ValueError:
        return _written_out(value)


def indented(value: Any) -> str:
    """The same for people and version control: a member a line, as `json.dumps(…, indent=1)` has it,
    which writes `Infinity` for a `LongInteger`."""
    return _indented(value, "\n")


def _indented(value: Any, line: str) -> str:
    """line: the line feed and the spaces before the end of `value`."""
    inner = line + " "
    if isinstance(value, dict) and value:
        members = [f"{quick_text(str(key))}: {_indented(each, inner)}" for key, each in value.items()]
        return "{" + inner + f",{inner}".join(members) + line + "}"
    if isinstance(value, list | tuple) and value:
        return "[" + inner + f",{inner}".join([_indented(each, inner) for each in value]) + line + "]"
    return compact_value(value)


def _written_out(value: Any) -> str:
    """The same for values that hold what is beyond any float: integers keep their digits, `1e400` becomes `1e999`."""
    if isinstance(value, dict):
        members = [f"{quick_text(str(key))}:{_written_out(each)}" for key, each in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_written_out(each) for each in value]) + "]"
    if isinstance(value, LongInteger):
        return value.text
    if isinstance(value, float) and value in (math.inf, -math.inf):
        return "1e999" if value > 0 else "-1e999"
    return quick_text(value)


class Reader:
    """Walks JSON text once, telling where values begin and end.

    `members` and `elements` yield with `at` on a value; the caller takes it with `value`, `members` or
    `elements` before going on. Raises ValueError when the text is no JSON, RecursionError when too deep.
    """

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def peek(self) -> str:
        """The next character that is not whitespace, or an empty string at the end."""
        char = self.text[self.at : self.at + 1]
        if char and char not in " \t\n\r":
            return char
        found = _WHITESPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:
        """The parsed value here."""
        self.peek()
        value, self.at = raw_decode(self.text, self.at)
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object here, duplicates included."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                raise ValueError(f"a key was expected at character {self.at}")
            key = str(self.value())
            self._take(":")
            self.peek()
            yield key
            if self._take(",}") == "}":
                return

    def elements(self) -> Iterator[int]:
        """The positions in the array here, from 0."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        index = 0
        while True:
            self.peek()
            yield index
            if self._take(",]") == "]":
                return
            index += 1

    def _take(self, wanted: str) -> str:
        char = self.peek()
        if not char or char not in wanted:
            raise ValueError(f"one of {wanted} was expected at character {self.at}")
        self.at += 1
        return char


def utf8(text: str) -> bytes:
    r"""UTF-8 bytes; a lone surrogate, which has none, keeps its six-character escape `\udXXX`."""
    return text.encode("utf-8", "backslashreplace")


def size(text: str) -> int:
    """How many bytes `utf8` makes of it."""
    return len(text) if text.isascii() else len(utf8(text))


def compact(text: str) -> str:
    r"""Valid JSON text without spaces: key order, duplicate keys and number spellings stay as they are.

    String escapes become minimal (`\u00e9` -> é, `\/` -> /); lone surrogates stay as characters here and
    become escapes in `utf8`.
    """
    tokens = _TOKENS.findall(text)
    if "\\" in text:
        tokens = [_unescaped(token) if "\\" in token else token for token in tokens]
    return "".join(tokens)


def _unescaped(token: str) -> str:
    return compact_value(json.loads(token))


def members_of(text: str) -> list[tuple[str, str]]:
    """(key, compact value text) of each member of a JSON object, in order, duplicates kept."""
    quick = _members_as_written(text)
    if quick is not None:
        return quick
    reader = Reader(text)
    found = []
    for key in reader.members():
        start = reader.at
        value = reader.value()
        found.append((key, compact_as_received(text[start : reader.at], value)))
    return found


def _members_as_written(text: str) -> list[tuple[str, str]] | None:
    """The same by the C encoder, when it gives back the object's text byte for byte: then it is compact, with each
    key once. None otherwise."""
    try:
        value = loads(text)
        if not isinstance(value, dict):
            return None
        members = [(key, quick_text(each)) for key, each in value.items()]
    except (ValueError, RecursionError):
        return None  # the reader says what is wrong, and where
    written = ",".join([f"{quick_text(key)}:{each}" for key, each in members])
    return members if f"{{{written}}}" == text else None


def compact_as_received(raw: str, value: Any) -> str:
    """The compact form of `raw`, whose parsed value is at hand.

    Nearly every server sends compact JSON already: when the C encoder reproduces the text it is compact and
    nothing odd is in it. Only the rest walks the slower road over tokens.
    """
    try:
        if quick_text(value) == raw:
            return raw
    except RecursionError:
        pass
    return compact(raw)


def canonical(raw: str, value: Any) -> str:
    """The compact form of `raw`, whose parsed value is at hand, with keys sorted by code point at every depth.

    Duplicate keys keep their order. A text nested too deeply to sort is returned compact, in received order.
    """
    try:
        if quick_text(value) == raw:
            return quick_sorted(value)
        tree = json.loads(
            raw, object_pairs_hook=_Pairs, parse_float=_Number, parse_int=_Number, parse_constant=_Number
        )
        return _written(tree)
    except RecursionError:
        return compact(raw)


class _Number(str):
    """A number as spelled."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """An object's members, duplicates included."""


def _written(node: Any) -> str:
    if isinstance(node, _Number):
        return str(node)
    if isinstance(node, _Pairs):
        pairs = sorted(node, key=lambda pair: pair[0])
        return "{" + ",".join([f"{compact_value(key)}:{_written(value)}" for key, value in pairs]) + "}"
    if isinstance(node, list):
        return "[" + ",".join([_written(value) for value in node]) + "]"
    return compact_value(node)
