"""What a server may ask of its client, what that takes, and how it is turned down. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

ASKS_FOR: Final = {
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}
"""The client capability a server needs for each of its questions."""


def is_declared(declared: Sequence[str], method: str, params: Mapping[str, Any]) -> bool:
    """Whether a client that declared these may be asked this."""
    wanted = "tasks" if method.startswith("tasks/") else ASKS_FOR.get(method, "")
    if wanted == "elicitation" and params.get("mode") == "url":
        wanted = "elicitation.url"
    return wanted in declared


def declined(method: str) -> tuple[str, Any]:
    """How a question is turned down: an empty list, `decline`, or the error the specification has for it."""
    if method == "roots/list":
        return "result", {"roots": []}
    if method == "elicitation/create":
        return "result", {"action": "decline"}
    return "error", {"code": -1, "message": "The user rejected the sampling request"}
