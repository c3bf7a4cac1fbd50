"""One worker process for what would hold the GIL: measuring, tokens, schema checks. Called from any thread.

anyio's own process workers: they end when our end of the pipe closes, so a killed console leaves none behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_process
from anyio.from_thread import BlockingPortal

T = TypeVar("T")

CAREFUL_BYTES = 200_000
"""Payloads above this are measured in the worker: the work passes ~20 ms."""


class Worker:
    """Runs module-level functions on picklable values, one at a time, in a process started on first need."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self._limiter: anyio.CapacityLimiter | None = None
        self._processes: anyio.CapacityLimiter | None = None
        self._running: set[Future[Any]] = set()

    def submit(self, work: Callable[..., T], *args: object, **options: object) -> Future[T]:
        """Start `work` and return its future; cancelling the future kills the process, not the console."""

        async def run() -> T:
            return await self.run(work, *args, **options)

        future = self._portal.start_task_soon(run)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    async def run(self, work: Callable[..., T], *args: object, **options: object) -> T:
        """The same for the loop thread; cancelling it kills the process."""
        if self._limiter is None or self._processes is None:
            self._limiter, self._processes = anyio.CapacityLimiter(1), anyio.CapacityLimiter(1)
        async with self._limiter:
            with anyio.CancelScope(shield=True):
                # A start cancelled half-way leaves a process nobody ends: anyio kills only one that works.
                await anyio.to_process.run_sync(os.getpid, limiter=self._processes)
            call = partial(work, *args, **options)
            return await anyio.to_process.run_sync(call, cancellable=True, limiter=self._processes)

    def close(self) -> None:
        """Drop what still runs: a console that is being closed does not wait for a count nobody will read."""
        for future in list(self._running):
            future.cancel()
