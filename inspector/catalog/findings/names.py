"""Rules about names of tools, prompts and resources. Pure; run them in the worker process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, some
from inspector.catalog.snapshot import PROMPTS, TOOLS
from inspector.protocol.names import name_faults

_NAMES: Final = "MCP 2026-07-28 server/tools#tool-names"
_SEPARATORS: Final = re.compile(r"[-_. ]+")


@rule(
    "name-outside-should",
    "caution",
    "A name is outside what the specification asks for",
    why="1 to 128 of A-Z a-z 0-9 _ - . is what clients and providers are built for; others get renamed.",
    remedy="Rename it within those characters.",
    spec=_NAMES,
)
def name_outside_should(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if tool.name:
            for fault in name_faults(tool.name):
                yield Hit(tool.index, "/name", fault)


@rule(
    "name-duplicate",
    "error",
    "A name is listed more than once",
    why="A call can reach only one of them; Anthropic's API refuses the whole request.",
    remedy="Give each its own name; a gateway puts a prefix of its own before each server's.",
    spec=f"{_NAMES} (unique per server)",
    across=True,
)
def name_duplicate(subject: Subject) -> Iterator[Hit]:
    first: dict[str, int] = {}
    for index, name in enumerate(subject.names):
        if name is None:
            continue
        if name in first:
            yield Hit(index, "/name", f"`{name}` already stands at number {first[name] + 1}")
        else:
            first[name] = index


@rule(
    "name-nearly-same",
    "caution",
    "Names differ only by case or separators",
    why="`a.b`, `a_b` and `aB` read alike, and a model will mix them up.",
    remedy="Rename all but one so that a word tells them apart.",
    spec=f"{_NAMES} (case-sensitive); field reports E6",
    across=True,
)
def name_nearly_same(subject: Subject) -> Iterator[Hit]:
    if subject.what not in (TOOLS, PROMPTS):
        return
    alike: dict[str, dict[str, int]] = {}
    for index, name in enumerate(subject.names):
        if name is not None:
            alike.setdefault(_SEPARATORS.sub("", name).lower(), {}).setdefault(name, index)
    for group in alike.values():
        if len(group) > 1:
            yield Hit(list(group.values())[1], "/name", f"{some(list(group))} differ only in spelling")


@rule(
    "item-broken",
    "error",
    "An entry of the list cannot be used as sent",
    why="Strict clients refuse the whole list because of one such entry.",
    remedy="Send an object with its name; look at the raw JSON of the entry.",
    spec="MCP 2026-07-28 schema (Tool, Prompt, Resource, ResourceTemplate)",
)
def item_broken(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.measure.broken:
            yield Hit(entry.index, "", entry.measure.broken)
