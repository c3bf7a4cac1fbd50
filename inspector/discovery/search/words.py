"""What of a tool is searched, cut into words: identifiers split, CJK as pairs. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from inspector.discovery.registry import Tool

# Kana, Han and Hangul: FTS5's own tokenizer takes a whole sentence of them for one word.
_CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ASCII_PARTS = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+")
"""The same cut as _RUN and _CAMEL make, in one pass for the text that nearly all of it is."""
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and are at be by can do for from have how i in is it me my of on or our please"
        " that the then there this to us was we what when where which who with you your",
    )
)


def words(text: str) -> list[str]:
    """Lower-case words of a name or a sentence, in order: `getInvoice_byID` -> get, invoice, by, id; 退款期限 -> 退款,
    款期, 期限."""
    if text.isascii():
        return " ".join(_ASCII_PARTS.findall(text)).lower().split()
    found: list[str] = []
    for run in _RUN.findall(text):
        found += _parts(run)
    return found


def asked(query: str) -> list[str]:
    """The words of a query, each once, without the commonest (unless nothing else is left)."""
    every = list(dict.fromkeys(words(query)))
    return [word for word in every if word not in _COMMON] or every


@lru_cache(16_384)
def _parts(run: str) -> tuple[str, ...]:
    if not run.isascii() and _IS_CJK.match(run):
        return tuple([run[at : at + 2] for at in range(len(run) - 1)]) or (run,)
    return tuple([part.lower() for part in _CAMEL.split(run)])


def fields(tool: Tool) -> tuple[str, str, str]:
    """(name, description, parameters with their descriptions) as text; the title counts as description."""
    said = " ".join([part for part in (tool.value.get("title"), tool.description) if isinstance(part, str)])
    return tool.name, said, " ".join(_parameters(tool.value.get("inputSchema"), 0))


def _parameters(schema: Any, depth: int) -> Iterator[str]:
    """Names and descriptions of a schema's properties, three levels down."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or depth > 2:
        return
    for name, node in properties.items():
        yield str(name)
        if isinstance(node, dict):
            if isinstance(node.get("description"), str):
                yield node["description"]
            yield from _parameters(node, depth + 1)
            yield from _parameters(node.get("items"), depth + 1)
