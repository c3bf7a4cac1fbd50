"""Completion of one argument as a person types: `completion/complete` and what of its answer is shown. Any thread.

Source: MCP server/utilities/completion, the same in both eras; a server may send 100 values at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from inspector.console.invoking import PROMPTS, TEMPLATES
from inspector.wire.connection import Connection

COMPLETE_S: Final = 5.0
MOST_VALUES: Final = 100
MOST_CHARS: Final = 500
"""A longer value is left out of the choice; the timeline has it."""


def params_of(what: str, name: str, argument: str, value: str, others: Mapping[str, str]) -> dict[str, Any]:
    """The params of `completion/complete`. others: the arguments that are filled in already."""
    ref = {PROMPTS: {"type": "ref/prompt", "name": name}, TEMPLATES: {"type": "ref/resource", "uri": name}}[
        what
    ]
    params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
    if others:
        params["context"] = {"arguments": dict(others)}
    return params


def values_of(result: Mapping[str, Any]) -> list[str]:
    """The texts a server proposes, as many and as long as the specification allows."""
    completion = result.get("completion")
    values = completion.get("values") if isinstance(completion, Mapping) else None
    texts = [each for each in values if isinstance(each, str)] if isinstance(values, list) else []
    return [each for each in texts[:MOST_VALUES] if len(each) <= MOST_CHARS]


def complete(
    connection: Connection, what: str, name: str, argument: str, value: str, others: Mapping[str, str]
) -> list[str]:
    """Ask the server; raises LoupeError when it does not answer well."""
    params = params_of(what, name, argument, value, others)
    return values_of(connection.ask("completion/complete", params, timeout=COMPLETE_S).result)
