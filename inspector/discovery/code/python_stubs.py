"""Stubs as Python: TypedDicts and keyword-only functions, as the sandbox's type checker reads them. Pure, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inspector.discovery.code.names import identifier, identifiers
from inspector.discovery.code.shapes import Field, Shape, Type

HEADER: Final = (
    "from typing import Any, Literal, Never, NotRequired, TypeAlias, TypeVar, overload\n"
    "from typing_extensions import TypedDict\n\n"
)
BUILT_IN: Final = '''_T = TypeVar("_T")

@overload
def extract(value: Any, type_: type[_T]) -> _T: ...
@overload
def extract(value: Any, type_: Any) -> Any:
    """`value` parsed and checked against a type: int, list[str], a TypedDict of the stubs or of the script."""

# A call raises ValueError (arguments or result break the schema), RuntimeError (the tool failed), PermissionError (it was
# not allowed), OSError (protocol or transport), TimeoutError, OverflowError (the result is too large).
class PermissionError(OSError): ...

def result_part(handle: int, *, start: int = 0, count: int = 100) -> Any:
    """Part of a result that was too large: items of a list, characters of a text. The error names the handle."""
'''
SIMPLE: Final = {
    "any": "Any", "never": "Never", "null": "None", "bool": "bool", "int": "int", "float": "float", "str": "str",
}  # fmt: skip
EXTRA: Final = "more"


def parameters(fields: Sequence[Field]) -> dict[str, str]:
    """Parameter -> JSON key."""
    return identifiers([field.key for field in fields])


def function(
    name: str, fields: Sequence[Field], extra: Type | None, result: Type, doc: str, *, docs: bool = True
) -> str:
    """The stub of one tool. extra: what other arguments are, where the schema allows them."""
    by_key = {key: made for made, key in parameters(fields).items()}
    ordered = sorted(fields, key=lambda field: not field.required)
    words = [
        f"{by_key[each.key]}: {expression(each.type)}{'' if each.required else ' = ...'}" for each in ordered
    ]
    if extra is not None:
        words.append(f"**{identifier(EXTRA, set(by_key.values()))}: {expression(extra)}")
    star = "*, " if ordered else ""
    head = f"def {name}({star}{', '.join(words)}) -> {expression(result)}:"
    told = _documented(doc, [(by_key[each.key], each.description) for each in ordered]) if docs else ""
    return head + (f'\n    """{told}"""\n' if told else " ...\n")


def shape(each: Shape, *, docs: bool = True) -> str:
    """One TypedDict; in the functional form where a key is no Python name."""
    plain = all(identifier(field.key) == field.key for field in each.fields)
    extra = f", extra_items={expression(each.extra)}" if each.extra is not None else ""
    if not plain:
        pairs = ", ".join([f"{quoted(field.key)}: {_member(field)}" for field in each.fields])
        return f"{each.name} = TypedDict({quoted(each.name)}, {{{pairs}}}{extra})\n"
    lines = [f"class {each.name}(TypedDict{extra}):"]
    for field in each.fields:
        note = f"  # {one_line(field.description)}" if docs and field.description.strip() else ""
        lines.append(f"    {field.key}: {_member(field)}{note}")
    return "\n".join(lines) + "\n"


def alias(name: str, type_: Type) -> str:
    return f"{name}: TypeAlias = {quoted(expression(type_))}\n"


def _member(field: Field) -> str:
    text = expression(field.type)
    return text if field.required else f"NotRequired[{text}]"


def expression(type_: Type) -> str:
    match type_.kind:
        case "literal":
            return f"Literal[{', '.join([quoted(value) for value in type_.values])}]"
        case "array":
            return f"list[{expression(type_.parts[0])}]"
        case "map":
            return f"dict[str, {expression(type_.parts[0])}]"
        case "named":
            return type_.name
        case "union":
            return " | ".join([expression(part) for part in type_.parts])
    return SIMPLE[type_.kind]


def quoted(value: object) -> str:
    """A literal of plain ASCII, so that no text of a server can break out of it or drive a terminal."""
    return ascii(value)


def one_line(text: str, longest: int = 400) -> str:
    """A description as a comment: no line end, no control character."""
    text = text[: longest * 4]
    if not text.isprintable():
        text = "".join([each if each.isprintable() else " " for each in text])
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def _documented(doc: str, parameters: Sequence[tuple[str, str]]) -> str:
    lines = [_safe(line.rstrip()) for line in doc.strip().splitlines()]
    lines += [_safe(f"{name}: {one_line(told)}") for name, told in parameters if told.strip()]
    text = "\n    ".join(lines)
    return f"{text}\n    " if text.endswith('"') else text


def _safe(line: str) -> str:
    """What may stand within triple quotes."""
    shown = line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if shown.isprintable():
        return shown
    return "".join([each if each.isprintable() else ascii(each)[1:-1] for each in shown])
