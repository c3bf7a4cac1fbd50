"""Ways out of the sandbox that are none: every attempt ends with its own error, and the console carries on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from escapes import ATTEMPTS
from test_code_stubs import registry_with, tool

from inspector.discovery.access import Access
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.limits import LimitHit, Limits
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.run import Result, Run
from inspector.discovery.code.runtime import CheckFailed, ScriptFailed
from inspector.discovery.code.sending import Sent
from inspector.discovery.code.stubs import stubs_of
from inspector.discovery.registry import Tool
from inspector.errors import PeerError

LIMITS = Limits(
    run_s=1.5, turn_s=0.4, memory_bytes=32 << 20, calls=30, recursion=200, output_bytes=4096, rate=1000.0
)
SECRET = "bearer-7f3a-canary"
WRITTEN = Path("/tmp/loupe-escape")
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
REGISTRY = registry_with(tool("echo", TEXT), tool("fail", TEXT), tool("forbidden"), label="t")
ACCESS = Access(deny=("*forbidden",))


@pytest.fixture(scope="module")
def runtime() -> Iterator[MontyRuntime]:
    os.environ["LOUPE_CANARY"] = SECRET
    made = MontyRuntime()
    made.warm()
    yield made
    made.close()
    del os.environ["LOUPE_CANARY"]


def played(runtime: MontyRuntime, code: str) -> Result:
    """Run it untyped, so that nothing but the sandbox stands in the way. The sending side holds a secret."""
    credentials = {"Authorization": SECRET}

    def send(tool: Tool, arguments: Mapping[str, Any], op: str) -> Sent:
        assert credentials["Authorization"] == SECRET and tool.name in ("echo", "fail")
        if tool.name == "fail":
            raise PeerError(-32000, "no")
        return Sent({"content": [{"type": "text", "text": arguments["text"]}]}, 0, 50, 0.1, (1, 2))

    rules = Rules(LIMITS, ACCESS, ("*",))
    return Run("code-1", code, REGISTRY, stubs_of(REGISTRY, ACCESS), runtime, rules, send, typed=False).play()


def ending(result: Result) -> str:
    error = result.error
    if isinstance(error, LimitHit):
        return error.kind
    if isinstance(error, ScriptFailed):
        return error.exc_name
    return type(error).__name__ if error is not None else ""


def test_there_are_more_than_forty_of_them() -> None:
    assert len({code for _, code, _ in ATTEMPTS}) > 80


@pytest.mark.parametrize(
    ("code", "ends"), [(code, ends) for _, code, ends in ATTEMPTS], ids=[name for name, *_ in ATTEMPTS]
)
def test_no_attempt_leaves_the_sandbox(runtime: MontyRuntime, code: str, ends: str) -> None:
    result = played(runtime, code)
    assert ending(result) == ends
    shown = result.output + (result.error.message if result.error else "") + str(result.value)
    assert SECRET not in shown and "root:x:" not in shown and "uid=" not in shown
    assert not WRITTEN.exists()
    assert all(call.tool in ("t__echo", "t__fail") for call in result.calls)
    assert played(runtime, "print('still here')").output == "still here\n"


def test_a_limit_says_the_number_that_was_hit(runtime: MontyRuntime) -> None:
    error = played(runtime, "x = 'x' * 10 ** 10").error
    assert isinstance(error, LimitHit)
    assert (
        (error.kind, error.allowed) == ("memory_bytes", 32 << 20)
        and error.used is not None
        and error.used >= 10**10
    )


def test_a_syntax_error_names_its_line_and_nothing_runs(runtime: MontyRuntime) -> None:
    result = played(runtime, "print('x')\ndef (")
    assert isinstance(result.error, CheckFailed) and result.line == 2 and result.output == ""
