"""One difference and the table of their kinds: what each means to a caller, and how severe that is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from inspector.catalog.snapshot import ABSENT

BREAKING: Final = "breaking"
CAUTION: Final = "caution"
FINE: Final = "fine"
SEVERITIES: Final = (BREAKING, CAUTION, FINE)
"""The worst first."""

INPUT: Final = "input"
OUTPUT: Final = "output"


class Change(NamedTuple):
    """One difference. path: JSON pointer into the tool (through `$ref`s as if they were written out), the empty
    string for the tool as a whole. before, after: JSON values, ABSENT where there is none."""

    path: str
    kind: str
    severity: str
    before: Any = ABSENT
    after: Any = ABSENT


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of change. input: its severity in `inputSchema` and outside of schemas; output: in `outputSchema`."""

    name: str
    means: str
    input: str
    output: str


def _kind(name: str, means: str, input_: str, output: str | None = None) -> Kind:
    return Kind(name, means, input_, output or input_)


# Input is contravariant: what a caller may send must not shrink. Output is covariant: what a caller must be able
# to read must not grow, and what it relies on must stay.
KINDS: Final = {
    kind.name: kind
    for kind in (
        _kind("tool-removed", "the tool is gone", BREAKING),
        _kind("tool-added", "a new tool", FINE),
        _kind("tool-duplicated", "a second tool of the same name: which one is called is up to the host", CAUTION),
        _kind("tool-broken", "the tool can no longer be used as sent", BREAKING),
        _kind("tool-mended", "the tool could not be used before", FINE),
        _kind("broken-changed", "a tool that cannot be used is different", CAUTION),
        _kind("description-only", "the words changed and nothing else did: a rug pull looks like this", CAUTION),
        _kind("description-changed", "the words a model reads changed", CAUTION),
        _kind("annotation-loosened", "the tool now claims to be less safe", CAUTION),
        _kind("annotation-tightened", "the tool now claims to be safer", FINE),
        _kind("annotation-changed", "another annotation changed", FINE),
        _kind("execution-changed", "how the tool is run (tasks) changed", CAUTION),
        _kind("member-changed", "a title, an icon, _meta or an unknown member changed", FINE),
        _kind("schema-removed", "the schema is gone", BREAKING),
        _kind("schema-added", "a schema where there was none", BREAKING, FINE),
        _kind("schema-unreadable", "the schema, or a part of it, is no JSON Schema", BREAKING),
        _kind("dialect-changed", "$schema names another dialect", CAUTION),
        _kind("property-removed", "a property is gone", BREAKING),
        _kind("property-added", "a new optional property", FINE),
        _kind("required-added", "a property must be there now", BREAKING, FINE),
        _kind("required-dropped", "a property need not be there any more", FINE, BREAKING),
        _kind("type-narrowed", "fewer types than before", BREAKING, FINE),
        _kind("type-widened", "more types than before", FINE, BREAKING),
        _kind("type-changed", "another type", BREAKING),
        _kind("enum-narrowed", "values are no longer among the choices", BREAKING, FINE),
        _kind("enum-widened", "new values among the choices", FINE, CAUTION),
        _kind("enum-changed", "some values went, others came", BREAKING, CAUTION),
        _kind("union-narrowed", "an alternative is gone", BREAKING, FINE),
        _kind("union-widened", "a new alternative", FINE, BREAKING),
        _kind("bound-narrowed", "a limit allows less", BREAKING, FINE),
        _kind("bound-widened", "a limit allows more", FINE, CAUTION),
        _kind("properties-closed", "additional properties are restricted", BREAKING, FINE),
        _kind("properties-opened", "additional properties are less restricted", FINE),
        _kind("constraint-added", "a new constraint", BREAKING, FINE),
        _kind("constraint-removed", "a constraint is gone", FINE, CAUTION),
        _kind("constraint-changed", "another constraint; whether it allows less cannot be told", CAUTION),
        _kind("format-changed", "format, contentEncoding or contentMediaType changed", CAUTION),
        _kind("default-changed", "what happens when the value is left out may change", CAUTION, FINE),
        _kind("reference-changed", "a $ref that cannot be followed is different", CAUTION),
        _kind("header-changed", "x-mcp-header: the value travels in another HTTP header", CAUTION),
        _kind("keyword-changed", "a keyword without effect on what is valid changed", FINE),
        _kind("equivalent", "written differently; the values read the same", CAUTION),
        _kind("not-compared", "too deep, too large or too circular to be compared in full", CAUTION),
        _kind("order-changed", "the same tools in another order: prompt caches miss", FINE),
        _kind("paging-changed", "another number of pages", FINE),
        _kind("ttl-changed", "ttlMs as sent changed", FINE),
        _kind("scope-changed", "cacheScope as sent changed", FINE),
        _kind("scope-shared", "cacheScope became public: shared caches may keep the list", CAUTION),
        _kind("instructions-changed", "the server's instructions to the model changed", CAUTION),
        _kind("version-changed", "the server gives another name or version", FINE),
    )
}  # fmt: skip


def change(kind: str, path: str, before: Any = ABSENT, after: Any = ABSENT, side: str = INPUT) -> Change:
    """A change with the severity its kind has on that side of a call."""
    known = KINDS[kind]
    return Change(path, kind, known.output if side == OUTPUT else known.input, before, after)


def worst(changes: Iterable[Change]) -> str | None:
    """The worst severity among the changes; None without any."""
    found = {each.severity for each in changes}
    return next((severity for severity in SEVERITIES if severity in found), None)
