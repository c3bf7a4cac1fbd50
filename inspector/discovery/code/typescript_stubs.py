"""Stubs as TypeScript: interfaces and declared functions; shown and counted, never run. Pure, any thread."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from inspector.discovery.code.python_stubs import one_line
from inspector.discovery.code.shapes import Field, Shape, Type

SIMPLE: Final = {
    "any": "any", "never": "never", "null": "null", "bool": "boolean", "int": "number", "float": "number",
    "str": "string",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")


def function(
    name: str, fields: Sequence[Field], extra: Type | None, result: Type, doc: str, *, docs: bool = True
) -> str:
    """One tool: its arguments as one object, under their own JSON keys."""
    members = [_member(field, docs) for field in fields]
    if extra is not None:
        members.append(_index(extra, fields))
    optional = "" if any(field.required for field in fields) else "?"
    given = f"args{optional}: {{ {'; '.join(members)} }}" if members else ""
    head = _comment(doc) + "\n" if docs and doc.strip() else ""
    return f"{head}declare function {name}({given}): Promise<{expression(result)}>;\n"


def shape(each: Shape, *, docs: bool = True) -> str:
    members = [_member(field, docs) for field in each.fields]
    if each.extra is not None:
        members.append(_index(each.extra, each.fields))
    body = "\n".join([f"  {member};" for member in members])
    return f"interface {each.name} {{\n{body}\n}}\n"


def alias(name: str, type_: Type) -> str:
    return f"type {name} = {expression(type_)};\n"


def expression(type_: Type) -> str:
    match type_.kind:
        case "literal":
            return " | ".join([_literal(value) for value in type_.values])
        case "array":
            inner = expression(type_.parts[0])
            return f"({inner})[]" if type_.parts[0].kind in ("union", "literal") else f"{inner}[]"
        case "map":
            return f"{{ [key: string]: {expression(type_.parts[0])} }}"
        case "named":
            return type_.name
        case "union":
            return " | ".join([expression(part) for part in type_.parts])
    return SIMPLE[type_.kind]


def _index(extra: Type, fields: Sequence[Field]) -> str:
    """Other keys; TypeScript wants the named ones to fit them too, so beside named ones they may be anything."""
    return f"[key: string]: {'any' if fields else expression(extra)}"


def _member(field: Field, docs: bool) -> str:
    key = field.key if _NAME.match(field.key) else _literal(field.key)
    note = f"{_comment(field.description)} " if docs and field.description.strip() else ""
    return f"{note}{key}{'' if field.required else '?'}: {expression(field.type)}"


def _literal(value: object) -> str:
    return json.dumps(value)


def _comment(text: str) -> str:
    told = one_line(text).replace("*/", "* /")
    return f"/** {told} */"
