"""Token counts of text, exact where that is affordable and flagged where not. Pure; run it in the worker process."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from inspector.catalog.vocabulary import pure_encoding

O200K: Final = "o200k_base"
TOKENIZERS: Final = (O200K, "cl100k_base")

# Both tokenizers end a piece between an ASCII letter or digit and a quote, whatever stands around (their split
# patterns have no look-behind, and only an apostrophe continues a word), and between `","` and an ASCII letter or
# digit (punctuation that is more than one character takes no word with it). So JSON may be cut there, counted chunk
# by chunk and added up exactly; catalogs repeat their chunks (`":"string`, `","`, `type`), and the second reading of a
# definition, on the wire or rendered for a provider, costs almost nothing.
_CHUNK = re.compile(
    r'"?[^"]*+(?:(?<![A-Za-z0-9])"(?!(?<=",")[A-Za-z0-9])[^"]*+)*+(?:(?<=",)"(?=[A-Za-z0-9]))?'
)
_CUT = re.compile(r'(?<=[A-Za-z0-9])(?=")')
_BLOCK = 1 << 15
"""Characters cut into chunks at a time: a list of all chunks of a large text takes five times its room."""
_REMEMBERED = 1 << 14
"""Chunks whose count is remembered, the latest ones: enough for a definition to meet its renderings."""

# A piece of n characters costs n² (pure Python: about 60 ns each), so one word of a megabyte would take hours.
# Runs are looked for every _STRIDE characters: letters, punctuation and whitespace are what pieces are made of.
_STRIDE = 32
_RUN = re.compile(
    r"[^\s\d\x00-\x40\x5b-\x60\x7b-\x7f\u3000-\u303f\uff00-\uff0f]{32,}|[^\w\s]{32,}|\s{32,}",
)
AFFORDABLE: Final = 10_000_000
"""Squared characters of long runs a text may hold and still be counted exactly: one run of 3,162, say."""
LITTLE: Final = 100_000
"""The same for one of many texts, once their sum is known to be costly: one run of 316."""
WHATEVER: Final = 1 << 62
"""For a text that is known to be affordable."""
_SHORT = 64
_SLICE = 64
_SAMPLE = 50_000
# A quick look that says of nearly every text that it is affordable: is there a run at all? What is not ASCII may be of
# either kind, and so may `?`, which is what it is encoded as.
_LEAST = b"a" * 32
_LONGER = re.compile(b"a+")
_KINDS: Final = (
    bytes([97 if chr(byte).isalpha() or byte == 63 else 32 for byte in range(128)]) + bytes(128),
    bytes([32 if chr(byte).isalnum() else 97 for byte in range(128)]) + bytes(128),
)


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A count by one tokenizer. exact is False when long unbroken runs were cut to keep the cost down."""

    value: int
    exact: bool
    tokenizer: str


def count(text: str, tokenizer: str = O200K, *, affordable: int = AFFORDABLE) -> TokenCount:
    """Tokens of `text`; special-token strings are ordinary text, a lone surrogate counts as U+FFFD."""
    counter = _counter(tokenizer)
    runs = _costly_runs(text, affordable)
    if not runs:
        return TokenCount(counter(_countable(text)), True, tokenizer)
    return TokenCount(_estimated(_countable(text), runs, counter), False, tokenizer)


def load(tokenizer: str = O200K) -> None:
    """Read the vocabulary now, while there is nothing else to do: the first count would."""
    _counter(tokenizer)


def is_affordable(text: str) -> bool:
    """Whether `count` would count every token of it."""
    return not _costly_runs(text, AFFORDABLE)


class Running:
    """Counts a long text piece by piece, between other counts that share its words; in the end it is `count`'s.

    A text that is not affordable is left to `finish`.
    """

    def __init__(self, text: str, tokenizer: str = O200K, *, exact: bool | None = None) -> None:
        self._text = text
        self._exact = is_affordable(text) if exact is None else exact
        self._tokenizer = tokenizer
        self._counter = _counter(tokenizer)
        self._at = self._value = 0

    def part(self, start: int, end: int) -> TokenCount | None:
        """The count of a part by itself, its words counted once for both; None when it must be counted apart."""
        first = _CUT.search(self._text, start, end) if self._exact and start >= self._at else None
        if first is None:
            return None
        last = self._text.rfind('"', start, end)
        while not _CUT.match(self._text, last):
            last = self._text.rfind('"', start, last)
        self._take(first.start())
        ends = self._counted(start, first.start()) + self._counted(last, end)
        before = self._value
        self._take(last)
        return TokenCount(ends + self._value - before, True, self._tokenizer)

    def finish(self) -> TokenCount:
        """The count of the whole text."""
        if not self._exact:
            return count(self._text, self._tokenizer)
        self._take(len(self._text))
        return TokenCount(self._value, True, self._tokenizer)

    def _take(self, end: int) -> None:
        self._value += self._counted(self._at, end)
        self._at = end

    def _counted(self, start: int, end: int) -> int:
        if end - start <= _SHORT:
            return _remembered(self._text[start:end], self._tokenizer)
        return self._counter(_countable(self._text[start:end]))


def estimate_bytes4(size: int) -> int:
    """The rule of thumb, one token per four bytes, rounded up: an estimate, always labelled so."""
    return -(-size // 4)


def _estimated(text: str, runs: list[tuple[int, int]], counter: Callable[[str], int]) -> int:
    """Count what is between the runs, cut a sample of the runs into slices, and scale it to all of them."""
    between, start = [], 0
    for begin, end in runs:
        between.append(text[start:begin])
        start = end
    between.append(text[start:])
    cut = "".join([text[begin : min(end, begin + _SAMPLE)] for begin, end in runs])[:_SAMPLE]
    sampled = sum(counter(cut[at : at + _SLICE]) for at in range(0, len(cut), _SLICE))
    whole = sum(end - begin for begin, end in runs)
    return sum(counter(part) for part in between) + round(sampled * whole / len(cut))


def _costly_runs(text: str, affordable: int) -> list[tuple[int, int]]:
    """The long runs of `text` when together they would cost too much, else an empty list."""
    if affordable == WHATEVER or len(text) ** 2 <= affordable or _is_surely_affordable(text, affordable):
        return []
    text = _countable(text)
    runs, at = [], 0
    while at < len(text):
        found = _RUN.match(text, at)
        if found:
            runs.append(found.span())
            at = found.end()
        else:
            at += _STRIDE
    return runs if sum((end - begin) ** 2 for begin, end in runs) > affordable else []


def _is_surely_affordable(text: str, affordable: int) -> bool:
    """Whether the runs cannot cost too much. False proves nothing: some may have been taken for both kinds."""
    flat, squares = text.encode("ascii", "replace"), 0
    for kind in _KINDS:
        marked = flat.translate(kind)
        at = marked.find(_LEAST)
        while at >= 0 and squares <= affordable:
            run = _LONGER.match(marked, at)
            assert run is not None
            squares += (run.end() - at) ** 2
            at = marked.find(_LEAST, run.end())
    return squares <= affordable


@functools.lru_cache(maxsize=1 << 12)
def _remembered(text: str, tokenizer: str) -> int:
    """The count of what stands around definitions, which is nearly always the same."""
    return _counter(tokenizer)(_countable(text))


def _countable(text: str) -> str:
    """`text` without lone surrogates, which no tokenizer takes."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@functools.cache
def _counter(tokenizer: str) -> Callable[[str], int]:
    """The tokenizer's counting function, loaded once a process (0.15 s and 25 MB when pure Python)."""
    try:
        import quicktok
    except ImportError:
        return _pure_counter(tokenizer)
    fast: Callable[[str], int] = quicktok.get_encoding(tokenizer).count
    return fast


def _pure_counter(tokenizer: str) -> Callable[[str], int]:
    encode = pure_encoding(tokenizer).encode_ordinary

    @functools.lru_cache(maxsize=_REMEMBERED)
    def of_chunk(chunk: str) -> int:
        return len(encode(chunk))

    return lambda text: sum(sum(map(of_chunk, _CHUNK.findall(block))) for block in _blocks(text))


def _blocks(text: str) -> Iterator[str]:
    """`text` in parts that end where it may be cut."""
    start = 0
    while len(text) - start > _BLOCK:
        cut = _CUT.search(text, start + _BLOCK)
        if cut is None:
            break
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]
