"""What types a schema can be said in: a small tree that both stub languages are written from. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Kind = Literal[
    "any", "never", "null", "bool", "int", "float", "str", "literal", "array", "map", "named", "union"
]


@dataclass(frozen=True, slots=True)
class Type:
    """literal: `values`; array, map: the one of `parts`; union: all of them; named: `name` of a shape or an alias."""

    kind: Kind
    parts: tuple[Type, ...] = ()
    values: tuple[Any, ...] = ()
    name: str = ""


ANY: Final = Type("any")
NEVER: Final = Type("never")


@dataclass(frozen=True, slots=True)
class Field:
    """A property of an object, or a parameter of a tool; key: as it stands in JSON."""

    key: str
    type: Type
    required: bool
    description: str = ""


@dataclass(slots=True)
class Shape:
    """An object type. extra: what other properties are; None when the schema does not say so."""

    name: str
    fields: tuple[Field, ...] = ()
    extra: Type | None = None
    description: str = ""


@dataclass(slots=True)
class Read:
    """Everything that was made of one schema. any_at: JSON pointers where it says nothing of the type. lost:
    keywords that a type cannot express, and where."""

    type: Type = ANY
    shapes: dict[str, Shape] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    any_at: list[str] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)


def union(options: Iterable[Type]) -> Type:
    """One of the options: flat, each once, literals together; anything at all makes it `any`."""
    flat: list[Type] = []
    for option in options:
        flat += option.parts if option.kind == "union" else [option]
    if any(option.kind == "any" for option in flat):
        return ANY
    literals = [value for option in flat if option.kind == "literal" for value in option.values]
    kept: list[Type] = []
    for option in flat:
        if option.kind == "never" or (option.kind == "literal" and any(o.kind == "literal" for o in kept)):
            continue
        one = literal(literals) if option.kind == "literal" else option
        if one not in kept:
            kept.append(one)
    if not kept:
        return NEVER
    return kept[0] if len(kept) == 1 else Type("union", tuple(kept))


def literal(values: Iterable[Any]) -> Type:
    """Exactly these values (strings, integers, booleans), each once; True and 1 are two."""
    once = {(type(value), value): value for value in values}
    return Type("literal", values=tuple(once.values()))
