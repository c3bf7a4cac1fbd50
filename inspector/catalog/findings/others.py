"""Rules about prompts, resources and resource templates. Pure; run them in the worker process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from inspector.catalog.findings.rule import Hit, rule
from inspector.catalog.findings.subject import Subject, list_of, object_of, some, text_of
from inspector.catalog.snapshot import PROMPTS, RESOURCES, TEMPLATES

_RESOURCES: Final = "MCP 2026-07-28 server/resources"
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_TEMPLATE: Final = re.compile(
    r"(?:[^{}\s]|\{[+#./;?&]?[A-Za-z0-9_.%]+(?::[0-9]+|\*)?(?:,[A-Za-z0-9_.%]+(?::[0-9]+|\*)?)*\})+"
)


@rule(
    "resource-uri-invalid",
    "caution",
    "A resource has no valid URI",
    why="Clients that parse it cannot read the resource; a path alone is no URI.",
    remedy="Send an absolute URI with a scheme; encode spaces and other reserved characters.",
    spec=f"{_RESOURCES}; RFC 3986",
)
def resource_uri_invalid(subject: Subject) -> Iterator[Hit]:
    if subject.what == RESOURCES:
        for entry in subject.entries:
            name = entry.measure.name
            if name is not None and not _URI.fullmatch(name):
                yield Hit(entry.index, "/uri", f"{name[:80]!r} is no absolute URI")


@rule(
    "template-invalid",
    "caution",
    "A URI template cannot be expanded",
    why="Hosts fill in the variables to read the resource; unbalanced or odd braces stop them.",
    remedy="Write variables as {name} and percent-encode other braces.",
    spec=f"{_RESOURCES}#resource-templates; RFC 6570",
)
def template_invalid(subject: Subject) -> Iterator[Hit]:
    if subject.what == TEMPLATES:
        for entry in subject.entries:
            name = entry.measure.name
            if name is not None and not _TEMPLATE.fullmatch(name):
                yield Hit(entry.index, "/uriTemplate", f"{name[:80]!r} is no URI template")


@rule(
    "resource-type-missing",
    "note",
    "A resource does not say its MIME type",
    why="Hosts cannot tell text from an image before reading it.",
    remedy="Send mimeType when it is known.",
    spec=_RESOURCES,
)
def resource_type_missing(subject: Subject) -> Iterator[Hit]:
    if subject.what == RESOURCES:
        for entry in subject.entries:
            if isinstance(entry.value, dict) and not text_of(entry.value.get("mimeType")):
                yield Hit(entry.index, "", "")


@rule(
    "prompt-argument-undescribed",
    "note",
    "Arguments of a prompt have no description",
    why="People fill them in by hand; the name is all they see.",
    remedy="Say in a few words what to type.",
    spec="MCP 2026-07-28 server/prompts (PromptArgument)",
)
def prompt_argument_undescribed(subject: Subject) -> Iterator[Hit]:
    if subject.what == PROMPTS:
        for entry in subject.entries:
            arguments = [object_of(each) for each in list_of(object_of(entry.value).get("arguments"))]
            bare = [
                text_of(each.get("name"))
                for each in arguments
                if not text_of(each.get("description")).strip()
            ]
            if bare:
                yield Hit(entry.index, "/arguments", f"no description: {some(bare)}")
