"""One script, run: sandbox, broker, output, effects. Blocks its thread; stop it from another.

A run never raises what happened to the script: that is its result. It raises UsageError when it cannot begin.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from inspector.discovery.code.approvals import Approver
from inspector.discovery.code.broker import Broker, Rules
from inspector.discovery.code.calls import Call, Effects, effects_of
from inspector.discovery.code.extract import Extractor, Model
from inspector.discovery.code.limits import LimitHit
from inspector.discovery.code.names import BUILT_IN
from inspector.discovery.code.runtime import (
    CheckFailed,
    Clock,
    Runtime,
    SandboxDied,
    Script,
    ScriptFailed,
    Stopped,
)
from inspector.discovery.code.sending import Sender
from inspector.discovery.code.stubs import Stubs
from inspector.discovery.code.values import NotJson, jsonable
from inspector.discovery.registry import Registry
from inspector.errors import LoupeError, UsageError

LONGEST_SCRIPT = 200_000


@dataclass(slots=True)
class Result:
    """What a run came to. value: of its last expression, when JSON can carry it. error: what ended it, None when it
    ended well. line: of the script. start_ms: until the sandbox had the script; compute_ms: inside it, checking
    included; asked_ms: waiting for a person."""

    output: str = ""
    value: Any = None
    error: LoupeError | None = None
    line: int | None = None
    start_ms: float = 0.0
    compute_ms: float = 0.0
    asked_ms: float = 0.0
    total_ms: float = 0.0
    calls: list[Call] = field(default_factory=list)

    @property
    def effects(self) -> Effects:
        return effects_of(self.calls, ended_well=self.error is None)


class Run:
    """id: what the recorded frames carry as `op`. Use once: `play`, and meanwhile look at `broker.calls`, `printed`."""

    def __init__(
        self, id_: str, code: str, registry: Registry, stubs: Stubs, runtime: Runtime, rules: Rules,
        send: Sender | None, *, approver: Approver | None = None, model: Model | None = None, typed: bool = True,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        if not code.strip():
            raise UsageError("The script is empty", "Write Python; each tool is a function")
        if len(code) > LONGEST_SCRIPT or "\0" in code:
            raise UsageError(f"The script is no text of at most {LONGEST_SCRIPT:,} characters", "Shorten it")
        self.id, self.code, self.registry, self.stubs = id_, code, registry, stubs
        self._runtime, self._typed = runtime, typed
        shapes = {name: shape for stub in stubs.functions.values() for name, shape in stub.shapes.items()}
        self.broker = Broker(id_, code, registry, stubs, send, rules, approver=approver,
                             extractor=Extractor(shapes, code, model), on_change=on_change)  # fmt: skip
        self._types = frozenset(shapes)
        self.clock = Clock()
        self._printed: list[str] = []
        self._bytes = 0

    @property
    def printed(self) -> str:
        """The output so far."""
        return "".join(self._printed)

    def stop(self) -> None:
        """End it from another thread: at its next call, and at once when its worker is computing."""
        self.broker.stopping.set()
        pid = self.clock.pid
        if pid is not None:
            self._runtime.end(pid)

    def _print(self, text: str) -> None:
        cap = self.broker.rules.limits.output_bytes
        size = len(text.encode("utf-8", "surrogatepass"))
        if self._bytes + size > cap:
            kept = text.encode("utf-8", "surrogatepass")[: cap - self._bytes].decode("utf-8", "ignore")
            self._printed.append(kept)
            self._bytes = cap
            raise LimitHit("output_bytes", cap)
        self._bytes += size
        self._printed.append(text)

    def script(self) -> Script:
        """What the sandbox is given: for the checker, the stubs of what the script names."""
        used = self.stubs.used(self.code)
        stubs = self.stubs.text("python", "typed", used) if self._typed else ""
        return Script(self.code, frozenset(self.stubs.functions) | BUILT_IN, self._types, stubs)

    def play(self) -> Result:
        """To the end, however it ends."""
        began = time.perf_counter()
        result = Result(calls=self.broker.calls)
        try:
            script = self.script()
            limits, broker = self.broker.rules.limits, self.broker
            result.value = jsonable(self._runtime.run(script, limits, broker.answer, self._print, self.clock))
        except NotJson as problem:
            result.value = f"<{problem}>"
        except (LimitHit, ScriptFailed) as problem:
            result.error, result.line = problem, problem.line
        except (CheckFailed, SandboxDied) as problem:
            result.error, result.line = problem, problem.facts.get("line")
            if isinstance(problem, SandboxDied) and self.broker.stopping.is_set():
                result.error = Stopped("The run was stopped", "What was called so far stays recorded")
        except LoupeError as problem:
            result.error = problem
        result.start_ms, result.compute_ms = self.clock.start_ms, self.clock.compute_ms
        result.output, result.asked_ms = self.printed, self.broker.asked_ms
        result.total_ms = (time.perf_counter() - began) * 1000
        return result
