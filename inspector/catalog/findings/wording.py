"""Rules about what descriptions say: missing, empty, too long, steering the model. Pure; run them in the worker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, object_of, text_of
from inspector.catalog.findings.walk import strings
from inspector.catalog.snapshot import TOOLS

_LONG_BYTES = 2_000
_LONG_SHARE = 0.5
_LONGEST_NAMELIKE = 200
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_FILLER: Final = re.compile("a|all|an|and|by|for|from|in|of|on|or|s|the|this|to|tool|with")
_SAFETY: Final = "MCP 2026-07-28 server/tools#security; tool poisoning reports; ours"

_WHITE: Final = re.compile(r"\\(?:[tnfr]|u00(?:0b|1[c-f]))")
"""White space as compact JSON spells it: words that a line end parts must be found in the text, too."""

# All for text in lower case, each beginning with what is literal: several times faster than one that ignores case.
# What a description has no business saying: overruling other instructions,
_OVERRULES: Final = re.compile(
    r"(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|system|all|other)\b"
    r"[^.\n]{0,20}\b(?:instruction|prompt|guideline|rule)s?\b"
)
# keeping something from the person,
_KEEPS_FROM: Final = re.compile(
    r"(?:do not|don't|never|without|avoid)\s+(?:\w+\s+){0,2}"
    r"(?:tell|inform|mention|reveal|notify|alert|disclose)(?:ing)?\b[^.\n]{0,40}\b(?:user|human|anyone)\b"
)
# markup that people do not see or models obey, private files, stealth.
_HIDES: Final = re.compile(
    r"<\s*/?\s*(?:important|system|hidden|instructions?|critical)\s*>|<!--|<\|im_(?:start|end)\|>|\[/?(?:system|inst)\]"
    r"|~/\.(?:ssh|aws|cursor|netrc|gnupg)\b(?!\S*\.pub\b)|/etc/(?:passwd|shadow)\b"
    r"|(?:secretly|covertly)\b|silently\s+(?:send|forward|upload|copy|include|add|call)\b"
)
_STEERS: Final = re.compile(
    r"(?:always|must)\s+(?:\w+\s+){0,2}(?:call|use|run|invoke)\b[^.\n]{0,30}\b(?:first|this tool|before)\b"
    r"|before\s+(?:using|calling|running)\s+(?:any|every|all|the)?\s*other\b"
    r"|(?:never|do not|don't)\s+(?:call|use|run|invoke)\s+(?:any\s+|the\s+)?other\b"
    r"|instead of\s+(?:any|all|the)?\s*other\s+tools?\b"
    r"|you are (?:a|an|the)\s+(?:\w+\s+){0,3}(?:assistant|agent|expert|engineer|bot|ai)\b"
)
_NEEDED: Final = {
    _OVERRULES: ("ignore", "disregard", "forget", "override"),
    _KEEPS_FROM: ("do not", "don't", "never", "without", "avoid"),
    _HIDES: (
        *("important", "system", "hidden", "instruction", "critical", "<!--", "<|im_", "inst]"),
        *("~/.", "/etc/", "secretly", "covertly", "silently"),
    ),
    _STEERS: ("always", "must", "before", "never", "do not", "don't", "instead of", "you are"),
}
"""Of these, what a pattern finds holds one: most texts hold none, and that is seen several times faster."""


@rule(
    "tool-description-missing",
    "caution",
    "A tool has no description",
    why="The model has only the name to decide by, and tool search finds nothing.",
    remedy="Say in one or two sentences what the tool does and when to choose it.",
    spec="MCP 2026-07-28 server/tools#tool",
)
def tool_description_missing(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if not tool.description.strip():
            yield Hit(tool.index, "/description" if "description" in tool.value else "", "")


@rule(
    "description-repeats-name",
    "note",
    "A description says nothing that the name does not",
    why="It costs tokens and helps neither the model nor a search.",
    remedy="Say what comes back, from where, or when to choose this tool over its neighbours.",
    spec="ours",
)
def description_repeats_name(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        said = _words(tool.description) if len(tool.description) <= _LONGEST_NAMELIKE else set()
        if said and said <= _words(tool.name) | _words(text_of(tool.value.get("title"))):
            yield Hit(
                tool.index, "/description", f"{tool.description.strip()[:80]!r} is the name in other words"
            )


def _words(text: str) -> set[str]:
    """Words in lower case, without fillers and plural endings."""
    found = [word.lower() for word in _WORD.findall(text)]
    return {word.rstrip("s") if len(word) > 3 else word for word in found if not _FILLER.fullmatch(word)}


@rule(
    "description-long",
    "note",
    f"A description of more than {_LONG_BYTES:,} bytes is most of its tool",
    why="Every conversation pays for it, whether the tool is used or not.",
    remedy="Keep what decides the choice; move manuals, examples and formats into a resource, a prompt or a reply.",
    spec="MCP client best practices (progressive discovery); ours",
)
def description_long(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        size, whole = tool.measure.parts.get("description", 0), tool.measure.definition_bytes
        if size > _LONG_BYTES and size > _LONG_SHARE * whole:
            message = f"the description is {size:,} of {whole:,} bytes ({size / whole:.0%})"
            yield Hit(tool.index, "/description", message, size - _LONG_BYTES)


@rule(
    "text-conceals",
    "caution",
    "A text speaks past the user: hiding, overruling, private files, markup",
    why="Definitions go into the model's prompt. This is what tool poisoning looks like; it may also be harmless.",
    remedy="Read the text in full before you connect this server to anything that matters.",
    spec=_SAFETY,
)
def text_conceals(subject: Subject) -> Iterator[Hit]:
    yield from _matching(subject, _OVERRULES, _KEEPS_FROM, _HIDES)


@rule(
    "text-steers",
    "note",
    "A description gives the model orders about other tools or its role",
    why="With several servers connected, tools that claim to come first crowd out the others.",
    remedy="Describe the tool; leave the order of calls to instructions or to a skill.",
    spec=_SAFETY,
)
def text_steers(subject: Subject) -> Iterator[Hit]:
    yield from _matching(subject, _STEERS)


def _matching(subject: Subject, *patterns: re.Pattern[str]) -> Iterator[Hit]:
    for tool in subject.tools:
        # The definition as a whole first: nearly no tool matches, and walking its strings takes longer.
        if not _first(patterns, _WHITE.sub(" ", tool.measure.text)):
            continue
        for path, text in strings(_prose(tool.value)):
            found = _first(patterns, text)
            if found:
                yield Hit(tool.index, path, f"…{_around(text, found)}…")
    if subject.instructions and subject.what == TOOLS:
        found = _first(patterns, subject.instructions)
        if found:
            yield Hit(None, "", f"the server's instructions say …{_around(subject.instructions, found)}…")


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    lowered = text.lower()
    for pattern in patterns:
        if any(word in lowered for word in _NEEDED[pattern]) and (found := pattern.search(lowered)):
            return found
    return None


def _prose(tool: dict[str, object]) -> dict[str, object]:
    return {key: part for key, part in tool.items() if key not in ("_meta", "icons", "annotations")}


def _around(text: str, found: re.Match[str]) -> str:
    text = text if len(text) == len(found.string) else found.string  # some letters are two in lower case
    start, end = max(0, found.start() - 30), min(len(text), found.end() + 40, found.start() + 200)
    return " ".join(text[start:end].split())


@rule(
    "item-description-missing",
    "note",
    "A prompt, resource or template has no description",
    why="People and hosts choose by it.",
    remedy="Say in a sentence what it holds and when to use it.",
    spec="MCP 2026-07-28 server/prompts, server/resources",
)
def item_description_missing(subject: Subject) -> Iterator[Hit]:
    if subject.what == TOOLS:
        return
    for entry in subject.entries:
        value = object_of(entry.value)
        if value and not text_of(value.get("description")).strip():
            yield Hit(entry.index, "", "")
