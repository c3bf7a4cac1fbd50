"""The `--ttl` and `--scope` arguments of the demo server `cache-hints`, and what they do to a result; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.errors import UsageError

ABSENT: Final = object()
"""Stands for a field the result is to be sent without."""


@dataclass(frozen=True)
class Hints:
    """What to send as `ttlMs` and `cacheScope`, by method and page; a method not named is left to the SDK."""

    ttl: Mapping[str, tuple[Any, ...]]
    scope: Mapping[str, tuple[Any, ...]]

    def stamp(self, reply: Mapping[str, Any], method: str, page: int) -> dict[str, Any]:
        """The result with the hints asked for, right or wrong; `page` counts from 0."""
        stamped = dict(reply)
        for field, by_method in (("ttlMs", self.ttl), ("cacheScope", self.scope)):
            if values := by_method.get(method):
                value = values[min(page, len(values) - 1)]
                stamped.pop(field, None)
                if value is not ABSENT:
                    stamped[field] = value
        return stamped


def parse_hints(ttl: Sequence[str] = (), scope: Sequence[str] = ()) -> Hints:
    """Reads `METHOD=VALUE[,VALUE…]`; the last of several for one method counts. Raises `UsageError`."""
    return Hints(_by_method("--ttl", ttl), _by_method("--scope", scope))


def _by_method(option: str, written: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for one in written:
        method, equals, values = one.partition("=")
        if not (method and equals and values):
            raise UsageError(
                f"{option} {one} is not METHOD=VALUE.", f"Write for example {option} tools/list=60000."
            )
        found[method] = tuple(_value(value) for value in values.split(","))
    return found


def _value(written: str) -> Any:
    if written == "absent":
        return ABSENT
    try:
        return json.loads(written, parse_constant=_refuse)
    except ValueError:
        return written


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
