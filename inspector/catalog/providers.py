"""What each model API would be sent for a tool, from a dated table of facts. Pure, any thread or process."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inspector.catalog import jsontext

ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
GEMINI: Final = "gemini"
PROVIDERS: Final = (ANTHROPIC, OPENAI, GEMINI)

_DIGEST_CHARACTERS = 8
_DATA: Final = Path(__file__).with_name("data")
_SENT: Final = ("name", "description", "inputSchema")
_SCHEMA_KEY: Final = {ANTHROPIC: "input_schema", OPENAI: "parameters", GEMINI: "parametersJsonSchema"}


@dataclass(frozen=True, slots=True)
class Rendering:
    """One tool as one provider would be sent it.

    text: compact JSON, key order fixed. name: after the provider's rules; renamed: it differs from the server's.
    dropped: keys of the definition that never reach the model. refused: why the provider's API (or a client for
    it) would turn the tool down, a sentence each.
    """

    provider: str
    text: str
    name: str
    renamed: bool
    dropped: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A model's context window. source: S official, 2 secondary, D a round figure; as of `facts()["date"]`."""

    id: str
    title: str
    provider: str
    window_tokens: int
    source: str


@functools.cache
def facts() -> dict[str, Any]:
    """The dated table `data/providers.json`; read only. Every row carries its source label."""
    return _read("providers.json")


@functools.cache
def models() -> dict[str, Model]:
    """Models with known windows by id, the default first."""
    table = _read("models.json")
    rows = sorted(table["models"], key=lambda row: row["id"] != table["default"])
    return {row["id"]: Model(**row) for row in rows}


def _read(name: str) -> dict[str, Any]:
    table = json.loads((_DATA / name).read_text("utf-8"))
    return dict(table)


def default_model(provider: str) -> str:
    """The id of the first model we know of a provider."""
    return next(each.id for each in models().values() if each.provider == provider)


def hidden_prompt_tokens(provider: str, choice: str = "auto") -> int | None:
    """Tokens the provider adds by itself once a tool is sent; None when it publishes none.

    choice: `auto` (tool_choice auto or none) or `any` (any, or one tool).
    """
    prompt = facts()["providers"][provider]["hidden_prompt"]
    found = [row[choice] for row in prompt["rows"] if row["models"] == prompt["default"]]
    return found[0] if found else None


def provider_name(name: str, provider: str) -> str:
    """A tool's name under the provider's rules.

    Refused characters become `_`; one over the limit is cut to limit−9, plus `_` and 8 hex digits of the sha256
    of the original (docs/definitions.md, Renderings).
    """
    rule = facts()["providers"][provider]["name"]
    mapped = re.sub(rule["refused"], "_", name)
    if rule["refused_first"]:
        mapped = re.sub("^" + rule["refused_first"], "_", mapped)
    if len(mapped) <= rule["limit"]:
        return mapped
    digest = hashlib.sha256(jsontext.utf8(name)).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{mapped[: rule['limit'] - _DIGEST_CHARACTERS - 1]}_{digest}"


def collisions(names: Iterable[str], provider: str) -> dict[str, list[str]]:
    """Provider names that more than one tool ends up with, and the tools' own names in order."""
    taken: dict[str, list[str]] = {}
    for name in names:
        taken.setdefault(provider_name(name, provider), []).append(name)
    return {mapped: originals for mapped, originals in taken.items() if len(originals) > 1}


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool taken apart. parts: compact value text by key; root: the parsed inputSchema, None when absent."""

    name: str
    parts: dict[str, str]
    root: Any


def render(text: str, provider: str) -> Rendering:
    """What `provider` would be sent for the tool whose JSON is `text`; ValueError when it is no object with a name."""
    return _render(_take_apart(text), provider)


def render_all(text: str) -> dict[str, Rendering]:
    """`render` for every provider, reading the tool once."""
    tool = _take_apart(text)
    return {provider: _render(tool, provider) for provider in PROVIDERS}


def _take_apart(text: str) -> _Tool:
    parts = dict(jsontext.members_of(text))
    name = jsontext.loads(parts.get("name", "null"))
    if not isinstance(name, str):
        raise ValueError("a tool without a name cannot be sent")
    return _Tool(name, parts, jsontext.loads(parts.get("inputSchema", "null")))


def _render(tool: _Tool, provider: str) -> Rendering:
    name = provider_name(tool.name, provider)
    sent = [f'"name":{jsontext.compact_value(name)}']
    description = tool.parts.get("description", "")
    if description.startswith('"'):
        sent.append(f'"description":{description}')
    if "inputSchema" in tool.parts:
        sent.append(f'"{_SCHEMA_KEY[provider]}":{tool.parts["inputSchema"]}')
    if provider == OPENAI:
        sent = ['"type":"function"', *sent, '"strict":null']
    dropped = tuple([key for key in tool.parts if key not in _SENT])
    refused = tuple(_refusals(tool, provider))
    return Rendering(provider, "{" + ",".join(sent) + "}", name, name != tool.name, dropped, refused)


def _refusals(tool: _Tool, provider: str) -> list[str]:
    """Why the provider would turn the tool down; the schema's root is all a provider is known to look at."""
    sentences = [] if tool.name else ["the name is empty"]
    if not isinstance(tool.root, dict):
        wrong = "not a JSON object" if "inputSchema" in tool.parts else "missing"
        return [*sentences, f"inputSchema is {wrong}"]
    rules = facts()["providers"][provider]
    for key in rules["refused_root_keywords"]["keywords"]:
        if key in tool.root:
            sentences.append(f"{key} at the root of inputSchema is refused by the API")
    if rules["object_root_required"]["value"] and tool.root.get("type") != "object":
        sentences.append('the root of inputSchema must have "type": "object"')
    return sentences
