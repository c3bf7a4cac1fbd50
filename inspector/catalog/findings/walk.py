"""Every subschema and every string of a definition, with where it stands. Pure, any thread or process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog.schema import escape

_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_ONE: Final = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """One subschema. path: JSON pointer from the definition. name: of the property it describes, else None.

    depth: subschemas above it. alternative: a combinator or condition was crossed, so it need not hold.
    """

    path: str
    schema: dict[str, Any]
    name: str | None = None
    depth: int = 0
    alternative: bool = False


def nodes(schema: Any, path: str) -> list[Node]:
    """Each subschema as written, `$ref`s not followed. No recursion: schemas may nest deeper than the stack."""
    found: list[Node] = []
    waiting: list[tuple[Any, str, str | None, int, bool]] = [(schema, path, None, 0, False)]
    while waiting:
        value, at, name, depth, alternative = waiting.pop()
        if not isinstance(value, dict):
            continue
        found.append(Node(at, value, name, depth, alternative))
        inside: list[tuple[Any, str, str | None, int, bool]] = []
        for key, part in value.items():
            if isinstance(part, dict) and key in _MAPS:
                inside += [
                    (
                        each,
                        f"{at}/{key}/{escape(word)}",
                        word if key == "properties" else None,
                        depth + 1,
                        False,
                    )
                    for word, each in part.items()
                ]
            elif isinstance(part, list) and key in _LISTS:
                inside += [(each, f"{at}/{key}/{n}", None, depth + 1, True) for n, each in enumerate(part)]
            elif isinstance(part, dict) and key in _ONE:
                inside.append((part, f"{at}/{key}", None, depth + 1, key in ("not", "if", "then", "else")))
        waiting += reversed(inside)
    return found


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(JSON pointer, text) of each string in `value`; a key is told as text standing at its member."""
    waiting: list[tuple[str, Any]] = [(path, value)]
    while waiting:
        at, part = waiting.pop()
        if isinstance(part, str):
            yield at, part
        elif isinstance(part, list):
            waiting += [(f"{at}/{n}", each) for n, each in enumerate(part)]
        elif isinstance(part, dict):
            for key, each in part.items():
                yield f"{at}/{escape(key)}", key
                waiting.append((f"{at}/{escape(key)}", each))
