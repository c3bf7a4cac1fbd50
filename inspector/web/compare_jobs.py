"""Comparisons that run or are done, and the files uploaded to compare; for one run, bounded. Any thread."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from inspector.console.jobs import settled
from inspector.console.worker import Worker
from inspector.errors import TimedOut, UsageError
from inspector.web.compare_work import Compared, Given, Part, compared, parts

LARGEST: Final = 64 << 20
FILES_BYTES: Final = 256 << 20
"""Of all uploads together; the oldest go first."""
KEPT: Final = 12
"""Comparisons that are kept, finished or not."""
READ_S: Final = 60.0
REPORT_S: Final = 120.0
_LONGEST_NAME: Final = 120

T = TypeVar("T")
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file somebody gave us. id: a part of its digest; parts: the catalogs in it."""

    id: str
    name: str
    content: bytes = field(repr=False)
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Job(Generic[T]):
    """One comparison in the worker. began_ms: since the epoch, for the clock on the page."""

    future: Future[T]
    began_ms: int

    def result(self, wait_s: float) -> T | None:
        """What came out; None while it runs. Raises LoupeError: why nothing can."""
        return settled(self.future, wait_s, "The comparison", "Compare again, or a smaller pair.")


class Comparisons:
    """Keeps a comparison per pair of stamps, so that every part of the screen reads the same one."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._jobs: OrderedDict[Pair, Job[Compared]] = OrderedDict()
        self._files: OrderedDict[str, Uploaded] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, pair: Pair) -> Job[Compared] | None:
        with self._lock:
            found = self._jobs.get(pair)
            if found is not None:
                self._jobs.move_to_end(pair)
            return found

    def job(self, pair: Pair, givens: Callable[[], tuple[Given, Given]]) -> Job[Compared]:
        """The comparison of a pair, started when there is none. One that failed is not kept."""
        found = self.known(pair)
        if found is not None:
            return found
        before, after = givens()
        with self._lock:
            if pair not in self._jobs:
                future = self._worker.submit(compared, before, after)
                self._jobs[pair] = Job(future, int(time.time() * 1000))
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)[1].future.cancel()
            return self._jobs[pair]

    def drop(self, pair: Pair) -> None:
        """Forget a comparison; one that runs ends."""
        with self._lock:
            found = self._jobs.pop(pair, None)
        if found is not None:
            found.future.cancel()

    def upload(self, name: str, content: bytes) -> Uploaded:
        """Keep a file for this run. Raises UsageError or FileError, one sentence, when it cannot be compared."""
        name = re.split(r"[/\\]", name)[-1][:_LONGEST_NAME] or "file"
        if len(content) > LARGEST:
            raise UsageError(f"{name} is larger than {LARGEST >> 20} MiB.", "Give a smaller file.")
        reading = self._worker.submit(parts, content, name)
        try:
            found = reading.result(READ_S)
        except NotYet:
            reading.cancel()
            raise TimedOut(
                f"{name} was not read within {READ_S:.0f} s.", "Use mcp-loupe compare for it."
            ) from None
        digest = hashlib.blake2b(content, digest_size=6).hexdigest()
        uploaded = Uploaded(digest, name, content, tuple(found))
        with self._lock:
            self._files.pop(digest, None)
            self._files[digest] = uploaded
            while sum([len(each.content) for each in self._files.values()]) > FILES_BYTES:
                self._files.popitem(last=False)
        return uploaded

    def files(self) -> list[Uploaded]:
        """In the order they came."""
        with self._lock:
            return list(self._files.values())
