"""How `call` answers a server's questions: `--answer` in order, then the terminal, else declined. Loop thread."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import anyio

from inspector.cli.terminal import printable, warn
from inspector.console.answering import ROOTS, Answer, answer_of
from inspector.errors import UsageError
from inspector.wire.questions import declined

SCHEMA_CHARS = 2_000


class Answerer:
    """Gives the answers of the command line one after the other; each question and its answer go to stderr."""

    def __init__(self, answers: tuple[str, ...]) -> None:
        self.left = list(answers)
        self.unanswered = 0

    async def ask(self, method: str, params: Mapping[str, Any], _member: str = "") -> Answer:
        warn(f"asked {printable(method)}: {printable(_about(params))}")
        if self.left:
            try:
                return self._said(answer_of(method, self.left.pop(0), params))
            except UsageError as problem:
                warn(f"  {problem.message}. {problem.remedy}. Declined.")
                return declined(method)
        if method == ROOTS:
            return self._said(declined(method))
        if sys.stdin.isatty():
            return await anyio.to_thread.run_sync(self._typed, method, params, abandon_on_cancel=True)
        self.unanswered += 1
        warn("  declined: no --answer is left")
        return declined(method)

    def _said(self, answer: Answer) -> Answer:
        kind, body = answer
        warn(
            f"  answered {printable(json.dumps(body, ensure_ascii=False))}"
            if kind == "result"
            else "  declined"
        )
        return answer

    def _typed(self, method: str, params: Mapping[str, Any]) -> Answer:
        """One line of the terminal, until it can be understood."""
        schema = params.get("requestedSchema")
        if schema is not None:
            warn(printable(json.dumps(schema, ensure_ascii=False))[:SCHEMA_CHARS])
        while True:
            warn("  your answer (JSON or text), or decline: ")
            line = sys.stdin.readline()
            if not line:
                return declined(method)
            try:
                return answer_of(method, line.strip(), params)
            except UsageError as problem:
                warn(f"  {problem.message}. {problem.remedy}.")


def _about(params: Mapping[str, Any]) -> str:
    parts = [str(params[name]) for name in ("message", "url") if name in params]
    return " ".join(parts) or json.dumps(params, ensure_ascii=False)[:SCHEMA_CHARS]
