"""Rules about what a tool promises: results, annotations, headers, retired fields. Pure; run them in the worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, Tool, text_of
from inspector.protocol.eras import MODERN
from inspector.protocol.headers import ANNOTATION, header_faults

HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ANNOTATIONS: Final = "MCP 2026-07-28 server/tools#tool (ToolAnnotations)"
_HEADERS: Final = "MCP 2026-07-28 server/tools#x-mcp-header"
_OUTPUT: Final = "MCP 2026-07-28 server/tools#output-schema"
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WRITES: Final = re.compile(
    "append|apply|commit|create|deploy|edit|insert|install|modify|move|patch|push|put|rename|restart|rollback|send"
    "|uninstall|update|upgrade|upload|write"
)
_DESTROYS: Final = re.compile("delete|destroy|drop|erase|kill|purge|remove|terminate|wipe")
_READS: Final = re.compile(
    "check|count|describe|fetch|find|generate|get|list|preview|query|read|search|show|status|validate|view"
)
_SECRET: Final = re.compile(r"passw|secret|token|api[-_]?key|credential|private[-_]?key", re.IGNORECASE)


@rule(
    "output-schema-missing",
    "note",
    "A tool does not say what it returns",
    why="Hosts cannot check results, and code mode has no return type to offer the model.",
    remedy="Declare outputSchema and return structuredContent beside the text.",
    spec=_OUTPUT,
)
def output_schema_missing(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if "outputSchema" not in tool.value:
            yield Hit(tool.index, "", "")


@rule(
    "output-schema-vague",
    "note",
    "outputSchema says only that something comes back",
    why="It costs bytes on the wire and tells neither host nor model a single field.",
    remedy="Describe the fields, or leave outputSchema out.",
    spec=f"{_OUTPUT}; ours",
)
def output_schema_vague(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        root = tool.outputs[0].schema if tool.outputs else None
        if root is None:
            continue
        if {"properties", "$ref", "anyOf", "oneOf", "allOf", "items", "enum", "const"}.isdisjoint(root):
            extra = root.get("additionalProperties")
            if not (isinstance(extra, dict) and extra):
                size = tool.measure.parts.get("outputSchema")
                yield Hit(tool.index, "/outputSchema", "outputSchema names no field", size)


@rule(
    "annotations-missing",
    "note",
    "A tool has no behaviour hints",
    why="Hosts then assume the worst: writing, destructive, open world. They ask before every call.",
    remedy="Set readOnlyHint at least; on tools that write, destructiveHint and idempotentHint too.",
    spec=_ANNOTATIONS,
)
def annotations_missing(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if not any(hint in tool.annotations for hint in HINTS):
            yield Hit(tool.index, "/annotations" if "annotations" in tool.value else "", "")


@rule(
    "annotations-invalid",
    "caution",
    "A behaviour hint is not a boolean",
    why='Strict clients refuse the tool; others read the string "false" as true.',
    remedy="Send true or false, or leave the hint out.",
    spec=_ANNOTATIONS,
)
def annotations_invalid(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        for hint in HINTS:
            value = tool.annotations.get(hint, False)
            if not isinstance(value, bool):
                yield Hit(tool.index, f"/annotations/{hint}", f"{hint} is {repr(value)[:40]}")


@rule(
    "annotations-contradict",
    "caution",
    "A tool says it only reads and also that it destroys",
    why="destructiveHint means something only when readOnlyHint is false; a host cannot tell which one is meant.",
    remedy="Decide which it is; a tool that can write is not read-only.",
    spec=_ANNOTATIONS,
)
def annotations_contradict(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        if tool.annotations.get("readOnlyHint") is True and tool.annotations.get("destructiveHint") is True:
            yield Hit(tool.index, "/annotations", "readOnlyHint and destructiveHint are both true")


@rule(
    "annotations-doubtful",
    "caution",
    "The name says a tool changes things, its hints say it does not",
    why="Hosts run read-only tools without asking. A wrong hint is an unasked change.",
    remedy="Check what the tool does; correct the hint or the name.",
    spec=f"{_ANNOTATIONS}; ours",
)
def annotations_doubtful(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        verb = _verb(tool)
        if verb and tool.annotations.get("readOnlyHint") is True:
            yield Hit(
                tool.index,
                "/annotations/readOnlyHint",
                f"`{tool.name}` says {verb}, and readOnlyHint is true",
            )
        elif _DESTROYS.fullmatch(verb) and tool.annotations.get("destructiveHint") is False:
            message = f"`{tool.name}` says {verb}, and destructiveHint is false"
            yield Hit(tool.index, "/annotations/destructiveHint", message)


def _verb(tool: Tool) -> str:
    """The changing verb a name begins or ends with, a one-word prefix aside; empty when it also reads."""
    words = [word.lower() for word in _WORDS.findall(tool.name)]
    if any(_READS.fullmatch(word) for word in words):
        return ""
    return next(
        (word for word in [*words[:2], *words[-1:]] if _WRITES.fullmatch(word) or _DESTROYS.fullmatch(word)),
        "",
    )


@rule(
    "header-invalid",
    "error",
    "An x-mcp-header annotation cannot be honoured",
    why="Over HTTP a client must leave the whole tool out.",
    remedy="Annotate only string, integer and boolean properties reached through properties, with unique token names.",
    spec=_HEADERS,
)
def header_invalid(subject: Subject) -> Iterator[Hit]:
    for tool in _annotated(subject):
        for fault in header_faults(tool.value.get("inputSchema")):
            yield Hit(tool.index, "/inputSchema", f"at {fault.where}: {fault.why}")


@rule(
    "header-secret",
    "caution",
    "A parameter that sounds like a secret is mirrored into a header",
    why="Proxies and logs on the way see headers; the specification asks to keep secrets out of them.",
    remedy="Take x-mcp-header off the parameter.",
    spec=f"{_HEADERS} (security)",
)
def header_secret(subject: Subject) -> Iterator[Hit]:
    for tool in _annotated(subject):
        for node in tool.parameters:
            if ANNOTATION in node.schema and _SECRET.search(f"{node.name} {node.schema[ANNOTATION]}"):
                yield Hit(tool.index, f"{node.path}/{ANNOTATION}", f"`{node.name}` goes into a header")


def _annotated(subject: Subject) -> list[Tool]:
    return [tool for tool in subject.tools if ANNOTATION in tool.measure.text]


@rule(
    "field-retired",
    "note",
    "A field of an older revision is still sent",
    why="`execution.taskSupport` left the specification after 2025-11-25; modern clients ignore it.",
    remedy="Send `execution` to handshake clients only.",
    spec="MCP 2026-07-28 changelog; SEP-2663 (tasks extension)",
)
def field_retired(subject: Subject) -> Iterator[Hit]:
    if subject.era != MODERN:
        return
    for tool in subject.tools:
        if "execution" in tool.value:
            yield Hit(tool.index, "/execution", "`execution`")


@rule(
    "titles-differ",
    "note",
    "A tool has two titles that differ",
    why="Hosts show `title`, older ones `annotations.title`: people see two names for one tool.",
    remedy="Send one title, or the same twice.",
    spec="MCP 2026-07-28 server/tools (display name: title, annotations.title, name)",
)
def titles_differ(subject: Subject) -> Iterator[Hit]:
    for tool in subject.tools:
        one, other = text_of(tool.value.get("title")), text_of(tool.annotations.get("title"))
        if one and other and one != other:
            yield Hit(
                tool.index, "/annotations/title", f"title is {one[:60]!r}, annotations.title {other[:60]!r}"
            )
