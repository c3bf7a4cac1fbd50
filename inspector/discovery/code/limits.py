"""What a run may use, and the error for each thing it used up. Pure values, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, cast

from inspector.errors import LoupeError, UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """turn_s: computing between two calls. run_s: of the whole run, waiting for servers and people left out.
    steps: loop steps, where the runtime counts them (Monty does not: turn_s stands in, and the result says so).
    memory_bytes: the sandbox's heap. recursion: call depth. calls: of tools. output_bytes: printed.
    result_bytes: of one result as handed to the script. concurrency: runs at the same time. rate: calls a second."""

    turn_s: float = 5.0
    run_s: float = 30.0
    steps: int = 10_000_000
    memory_bytes: int = 256 * 1024 * 1024
    recursion: int = 400
    calls: int = 200
    output_bytes: int = 64 * 1024
    result_bytes: int = 4 * 1024 * 1024
    concurrency: int = 2
    rate: float = 200.0

    def entry(self) -> dict[str, Any]:
        """By name, as `code --json` has it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


HARDEST: Final = Limits(
    turn_s=60.0, run_s=300.0, steps=1_000_000_000, memory_bytes=1024 * 1024 * 1024, recursion=1000, calls=10_000,
    output_bytes=4 * 1024 * 1024, result_bytes=64 * 1024 * 1024, concurrency=8, rate=1000.0,
)  # fmt: skip
"""No setting goes beyond these."""

TITLES: Final[Mapping[str, tuple[str, str]]] = {
    "turn_s": ("time between two calls", "s"), "run_s": ("time of the run", "s"), "steps": ("loop steps", ""),
    "memory_bytes": ("memory", "B"), "recursion": ("call depth", ""), "calls": ("calls of tools", ""),
    "output_bytes": ("printed output", "B"), "result_bytes": ("one result", "B"),
    "concurrency": ("runs at the same time", ""), "rate": ("calls a second", ""),
}  # fmt: skip


class LimitHit(LoupeError):
    """A run used up one of its limits. kind: the limit's name; allowed: the number that was hit; used: what was
    asked for, None when the runtime does not tell."""

    layer = "limit"
    exit_code = 1

    def __init__(self, kind: str, allowed: float, used: float | None = None, line: int | None = None) -> None:
        what, unit = TITLES[kind]
        reached = "" if used is None else f" ({_number(used)}{unit and ' '}{unit} asked for)"
        super().__init__(
            f"The script hit its limit on {what}: {_number(allowed)}{unit and ' '}{unit}{reached}",
            f"Ask for less, or raise {kind} (at most {_number(getattr(HARDEST, kind))})",
        )
        self.kind, self.allowed, self.used, self.line = kind, allowed, used, line

    def as_json(self) -> dict[str, Any]:
        return {**LoupeError.as_json(self), "kind": self.kind, "allowed": self.allowed, "used": self.used}


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def limits_of(words: Sequence[str], base: Limits | None = None) -> Limits:
    """`K=V` words over the defaults. Raises UsageError for a name or number that cannot be."""
    found = base or Limits()
    for word in words:
        name, equals, text = word.partition("=")
        if name not in TITLES or not equals:
            raise UsageError(f"{word} is no limit", f"Write K=V with K among {', '.join(TITLES)}")
        found = replace(found, **{name: cast(Any, _value(name, text))})
    return found


def _value(name: str, text: str) -> float:
    whole = isinstance(getattr(HARDEST, name), int)
    hardest = getattr(HARDEST, name)
    try:
        value: float = int(text.replace("_", "")) if whole else float(text)
    except ValueError:
        value = -1
    if not 0 < value <= hardest:
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{name}={text} cannot be", f"Give {kind} above 0, at most {_number(hardest)}")
    return value
