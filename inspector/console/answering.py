"""A person's answer to a server's question, from text to what is sent. Pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from inspector.errors import UsageError
from inspector.wire.questions import declined

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
MODEL: Final = "a person, through Loupe"
ACTIONS: Final = ("decline", "cancel")

Answer = tuple[str, Any]


def answer_of(method: str, text: str, params: Mapping[str, Any]) -> Answer:
    """`decline`, `cancel` (of elicitation), `accept` (of an address), or the answer itself. Raises UsageError.

    Elicitation: the content, a JSON object. Sampling: a text, or the whole result as a JSON object. Roots: a JSON
    array of URIs or root objects.
    """
    word = text.strip()
    if word == "cancel" and method == ELICIT:
        return "result", {"action": "cancel"}
    if word in ACTIONS:
        return declined(method)
    if method == ELICIT and params.get("mode") == "url":
        if word != "accept":
            raise UsageError("A web address is answered with accept, decline or cancel", "Write one of them")
        return "result", {"action": "accept"}
    if method == SAMPLE:
        return "result", sampled(text)
    value = _json(text)
    if method == ROOTS:
        return "result", {"roots": _roots(value)}
    if not isinstance(value, dict):
        raise UsageError("The answer is no JSON object", 'Write one such as {"name": "value"}, or decline')
    return "result", {"action": "accept", "content": value}


def sampled(text: str) -> dict[str, Any]:
    """The result that brings this text, or is it when it is a JSON object. Raises UsageError."""
    if text.lstrip().startswith("{"):
        value = _json(text)
        if isinstance(value, dict):
            return value
    content = {"type": "text", "text": text}
    return {"role": "assistant", "content": content, "model": MODEL, "stopReason": "endTurn"}


def _roots(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise UsageError("Roots are a JSON array", 'Write ["file:///folder"]')
    return [one if isinstance(one, dict) else {"uri": str(one)} for one in value]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        shown = text.strip()[:60]
        raise UsageError(f"“{shown}” is no JSON", "Write the answer as JSON, or decline") from None
