"""Judging values by schemas a server chose, whose cost is therefore the server's choice too. Loop and any thread.

A regular expression, a fan of `$ref`s or `uniqueItems` can run for ever, and Python cannot be interrupted: such a
schema is tried in a process of its own with a deadline. What is plainly linear is checked in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import TimeoutError as TooSlow
from typing import Any

import anyio
import anyio.to_thread

from inspector.catalog.snapshot import ABSENT
from inspector.catalog.validation import UNUSABLE, FieldError, Verdict, check_output, is_linear, validate
from inspector.console.worker import CAREFUL_BYTES, Worker

CHECK_S = 5.0
START_S = 60.0
"""For the worker process to start and load the validator, which on a busy machine takes longer than many a check."""


class Checker:
    """Uses a worker of its own: the other one may be counting tokens for seconds."""

    def __init__(self, worker: Worker, limit_s: float = CHECK_S) -> None:
        self._worker = worker
        self._limit_s = limit_s

    async def output(self, definition: Mapping[str, Any], result: Mapping[str, Any], size: int) -> Verdict:
        """The verdict on a result's structuredContent. size: of the raw answer, in bytes."""
        schema = definition.get("outputSchema", ABSENT)
        structured = result.get("structuredContent", ABSENT)
        if schema is ABSENT or structured is ABSENT:
            return check_output(schema, structured)
        if size < CAREFUL_BYTES and is_linear(schema):
            return await anyio.to_thread.run_sync(check_output, schema, structured)
        with anyio.move_on_after(START_S):
            await self._worker.run(validate, True, None)
        with anyio.move_on_after(self._limit_s):
            return await self._worker.run(check_output, schema, structured)
        return Verdict(UNUSABLE, why=f"checking against it took more than {self._limit_s:g} s")

    def arguments(self, schema: Any, value: Any, size: int) -> list[FieldError]:
        """What breaks the input schema; called from a request thread."""
        if size < CAREFUL_BYTES and is_linear(schema):
            return validate(schema, value)
        try:
            self._worker.submit(validate, True, None).result(START_S)
        except TooSlow:
            return [FieldError("", f"The process that checks did not start within {START_S:g} s.")]
        future = self._worker.submit(validate, schema, value)
        try:
            return future.result(self._limit_s)
        except TooSlow:
            future.cancel()
            return [FieldError("", f"The check against the schema took more than {self._limit_s:g} s.")]
