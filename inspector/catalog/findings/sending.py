"""Rules about what model providers refuse or rename. Pure; run them in the worker process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from inspector.catalog import providers
from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, object_of, some

_TABLE: Final = "the dated table data/providers.json, with a source label on each row"


@rule(
    "provider-refuses",
    "caution",
    "A provider's API would turn the tool down",
    why="One refused tool fails the whole request, and some clients then drop the server.",
    remedy="Keep the root of inputSchema a plain object; move alternatives into a property.",
    spec=f"{_TABLE}; field reports E7",
)
def provider_refuses(subject: Subject) -> Iterator[Hit]:
    refused = {key for row in providers.facts()["providers"].values() for key in _keywords(row)}
    for tool in subject.tools:
        root = object_of(tool.value.get("inputSchema"))
        if tool.measure.broken or (tool.name and root.get("type") == "object" and refused.isdisjoint(root)):
            continue
        by_sentence: dict[str, list[str]] = {}
        for name, sent in providers.render_all(tool.measure.text).items():
            for sentence in sent.refused:
                by_sentence.setdefault(sentence, []).append(name)
        for sentence, refusing in by_sentence.items():
            yield Hit(tool.index, "/inputSchema", f"{sentence} ({', '.join(refusing)})")


def _keywords(row: dict[str, Any]) -> list[str]:
    return list(row["refused_root_keywords"]["keywords"])


@rule(
    "provider-renames",
    "note",
    "A provider needs another name for the tool",
    why="The model sees a name the server never sent; logs and prompts stop matching.",
    remedy="Use at most 64 of A-Z a-z 0-9 _ - and begin with a letter.",
    spec=_TABLE,
)
def provider_renames(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if not tool.name:
            continue
        mapped: dict[str, list[str]] = {}
        for provider in providers.PROVIDERS:
            name = providers.provider_name(tool.name, provider)
            if name != tool.name:
                mapped.setdefault(name, []).append(provider)
        for name, renaming in mapped.items():
            yield Hit(tool.index, "/name", f"`{name}` for {', '.join(renaming)}")


@rule(
    "provider-collision",
    "error",
    "Two tools end up with one name at a provider",
    why="The provider refuses the request, or a call reaches the wrong tool.",
    remedy="Rename one of them; a host must route by its own registry, never by the provider's name.",
    spec=f"{_TABLE}; field reports E6",
    across=True,
)
def provider_collision(subject: Subject) -> Iterator[Hit]:
    own = list(dict.fromkeys([tool.name for tool in subject.tools if tool.name]))
    for provider in providers.PROVIDERS:
        for mapped, names in providers.collisions(own, provider).items():
            yield Hit(None, "", f"{some(names)} all become `{mapped}` for {provider}")


@rule(
    "provider-too-many",
    "caution",
    "The list has more tools than a provider takes in one request",
    why="The request is refused as a whole.",
    remedy="Choose tools per request, or put a search tool in front of them.",
    spec=_TABLE,
    across=True,
)
def provider_too_many(subject: Subject) -> Iterator[Hit]:
    many = sum(1 for _ in subject.tools)
    for facts in providers.facts()["providers"].values():
        most = facts["most_tools"]["value"]
        if most is not None and many > most:
            yield Hit(None, "", f"{many:,} tools, and {facts['title']} takes {most} a request")
