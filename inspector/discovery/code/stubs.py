"""The functions a script sees: typed stubs of every tool an authorization context may call. Slow for big catalogs.

Names are made valid and mapped back; where a schema says nothing the type is `Any`, and that is a finding.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, Literal

from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.code import python_stubs, typescript_stubs
from inspector.discovery.code.names import class_name, identifiers
from inspector.discovery.code.schema_types import read_schema
from inspector.discovery.code.shapes import ANY, Field, Read, Shape, Type
from inspector.discovery.registry import Registry, Tool

Language = Literal["python", "typescript"]
Level = Literal["names", "described", "typed", "full"]
LEVELS: Final[tuple[Level, ...]] = ("names", "described", "typed", "full")
"""Name · name and description · types without any words · types with the words."""
_WRITERS: Final[Mapping[Language, ModuleType]] = {"python": python_stubs, "typescript": typescript_stubs}
WHOLE: Final = "arguments"
"""The one parameter of a tool whose arguments are no plain object."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a stub says less than it might. what: `no outputSchema`, `any` or `lost`; path: JSON pointer."""

    tool: str
    what: str
    path: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Stub:
    """One tool as a function. name: valid Python; parameters: parameter -> JSON key; whole: its arguments are one
    parameter; shapes, aliases: the types it names."""

    name: str
    tool: Tool
    parameters: Mapping[str, str]
    whole: bool
    fields: tuple[Field, ...] = field(repr=False)
    extra: Type | None = field(repr=False)
    result: Type = field(repr=False)
    shapes: Mapping[str, Shape] = field(repr=False)
    aliases: Mapping[str, Type] = field(repr=False)
    findings: tuple[Finding, ...] = field(repr=False)

    def python(self, *, docs: bool) -> str:
        """Classes and function."""
        return _written(self, "python", docs)

    def typescript(self, *, docs: bool) -> str:
        """Interfaces and declaration."""
        return _written(self, "typescript", docs)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The tool's own arguments of a call's keywords; unknown ones stay as they are, for the schema to refuse."""
        if self.whole and isinstance(given.get(WHOLE), dict) and len(given) == 1:
            return dict(given[WHOLE])
        return {self.parameters.get(key, key): value for key, value in given.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Stubs:
    """All of them by function name."""

    functions: Mapping[str, Stub]

    def text(
        self, language: Language = "python", level: Level = "full", names: Sequence[str] | None = None
    ) -> str:
        """What a model is shown; names: of those functions only."""
        wanted = list(self.functions.values()) if names is None else [
            self.functions[name] for name in names if name in self.functions
        ]  # fmt: skip
        if level in ("names", "described"):
            return "".join([_line(stub, level) for stub in wanted])
        docs = level == "full"
        made = [_written(stub, language, docs) for stub in wanted]
        head = f"{python_stubs.HEADER}{python_stubs.BUILT_IN}\n" if language == "python" else ""
        return head + "\n".join(made)

    @property
    def findings(self) -> list[Finding]:
        return [each for stub in self.functions.values() for each in stub.findings]

    def used(self, code: str) -> list[str]:
        """The functions a script names anywhere, also those whose types it names; all when it cannot be parsed."""
        try:
            words = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return list(self.functions)
        return [name for name, stub in self.functions.items() if name in words or stub.shapes.keys() & words]


def _line(stub: Stub, level: Level) -> str:
    told = python_stubs.one_line(stub.tool.description) if level == "described" else ""
    return f"{stub.name}{f': {told}' if told else ''}\n"


def stubs_of(registry: Registry, access: Access = EVERYONE) -> Stubs:
    """Stubs of what this context may see now; what it may not is in none of them."""
    tools = {tool.public: tool for tool in registry.visible(access)}
    return Stubs({name: _made(tools[public], name) for name, public in identifiers(tools).items()})


def _made(tool: Tool, name: str) -> Stub:
    stem = class_name(tool.public)
    given = read_schema(tool.value.get("inputSchema"), stem)
    output = tool.value.get("outputSchema")
    back = read_schema(output, f"{stem}Result") if isinstance(output, dict) else Read()
    fields, extra, whole = _parameters(given, tool.value.get("inputSchema"))
    return Stub(
        name, tool, python_stubs.parameters(fields), whole, tuple(fields), extra, back.type,
        {**given.shapes, **back.shapes}, {**given.aliases, **back.aliases}, _findings(tool, given, back, output),
    )  # fmt: skip


@functools.lru_cache(maxsize=16_384)
def _written(stub: Stub, language: Language, docs: bool) -> str:
    writer = _WRITERS[language]
    made = [writer.shape(each, docs=docs) for each in stub.shapes.values()]
    made += [writer.alias(label, type_) for label, type_ in stub.aliases.items()]
    doc = stub.tool.description if docs else ""
    return "".join([*made, writer.function(stub.name, stub.fields, stub.extra, stub.result, doc, docs=docs)])


def _parameters(given: Read, schema: Any) -> tuple[Sequence[Field], Type | None, bool]:
    """A tool's parameters: the fields of its arguments, where they are one object. (fields, extra, whole)."""
    top = given.type
    if top.kind == "named" and top.name in given.shapes:
        shape = given.shapes[top.name]
        if not _named_in(given, top.name):
            del given.shapes[top.name]
        return shape.fields, shape.extra, False
    if top.kind == "map":
        value = top.parts[0]
        if value.kind == "any" and "properties" in schema and "additionalProperties" not in schema:
            given.any_at.clear()  # no parameters, and no word on others: as closed as one with parameters
            return (), None, False
        return (), None if value.kind == "never" else value, False
    if top.kind == "any":
        return (), ANY, False
    return (Field(WHOLE, top, True),), None, True


def _named_in(read: Read, name: str) -> bool:
    waiting = [field.type for shape in read.shapes.values() for field in shape.fields]
    waiting += [shape.extra for shape in read.shapes.values() if shape.extra is not None]
    waiting += read.aliases.values()
    while waiting:
        each = waiting.pop()
        if each.name == name:
            return True
        waiting += each.parts
    return False


def _findings(tool: Tool, given: Read, back: Read, output: Any) -> tuple[Finding, ...]:
    found = []
    if not isinstance(output, dict):
        said = "it declares no outputSchema: what it returns is Any, so a script has to look before it can use it"
        found.append(Finding(tool.public, "no outputSchema", "", said))
    for side, read in (("inputSchema", given), ("outputSchema", back)):
        found += [
            Finding(tool.public, "any", f"/{side}{path}", "the schema says nothing of the type: it is Any")
            for path in dict.fromkeys(read.any_at)
        ]
        found += [
            Finding(
                tool.public, "lost", f"/{side}{path}", f"no type can say {key}; only the broker checks it"
            )
            for path, key in dict.fromkeys(read.lost)
        ]
    return tuple(found)
