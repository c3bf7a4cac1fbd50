"""What a sandbox is to us: it runs code, and comes to its host for everything else. Pure declarations, any thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from inspector.discovery.code.limits import Limits
from inspector.errors import LoupeError

ExcName = Literal[
    "RuntimeError", "ValueError", "PermissionError", "LookupError", "OSError", "TimeoutError", "OverflowError",
    "TypeError",
]  # fmt: skip


class Raised(Exception):
    """The host answers a call with an exception that the script can catch."""

    def __init__(self, name: ExcName, message: str) -> None:
        super().__init__(message)
        self.name: ExcName = name
        self.message = message


class Stopped(LoupeError):
    """The person ended the run."""

    layer = "cancelled"
    exit_code = 130


class SandboxDied(LoupeError):
    """The worker process is gone, and the script with it; what was called stays recorded."""

    layer = "sandbox"
    exit_code = 4


class CheckFailed(LoupeError):
    """The type checker, or the parser, refused the script; nothing of it ran."""

    layer = "script"
    exit_code = 1


class ScriptFailed(LoupeError):
    """An exception the script did not catch. exc_name: its type; line: where it came out of the script."""

    layer = "script"
    exit_code = 1

    def __init__(self, exc_name: str, message: str, line: int | None, trace: str) -> None:
        super().__init__(f"{exc_name}: {message}" if message else exc_name, "")
        self.exc_name, self.line, self.trace = exc_name, line, trace


@dataclass(frozen=True, slots=True)
class Script:
    """What runs. names: of functions the host answers; types: names that stand for a type when they are read;
    stubs: what the checker knows of both; empty for no check."""

    code: str
    names: frozenset[str]
    types: frozenset[str] = frozenset()
    stubs: str = ""


@dataclass(slots=True)
class Clock:
    """Of one run, while it lasts. start_ms: until the sandbox had the script; compute_ms: inside the sandbox in all,
    the checker's share included; pid: of its worker process, None when it has none (any more)."""

    start_ms: float = 0.0
    compute_ms: float = 0.0
    pid: int | None = None


Answer = Callable[[str, tuple[Any, ...], dict[str, Any], int | None], Any]
"""(function, positional, keywords, line of the script) to the value; raises Raised for the script to catch, any
LoupeError to end the run."""
Print = Callable[[str], None]


class Runtime(Protocol):
    """One kind of sandbox, with its workers."""

    name: str
    counts_steps: bool

    def run(self, script: Script, limits: Limits, answer: Answer, print_: Print, clock: Clock) -> Any:
        """Run to the end on the calling thread; the value of the last expression. Raises LimitHit, CheckFailed,
        ScriptFailed, SandboxDied, or what `answer` and `print_` raised."""

    def end(self, pid: int) -> None:
        """End the worker of a run that computes."""

    def close(self) -> None:
        """End the workers."""
