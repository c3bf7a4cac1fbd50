"""Work of the lab that takes longer than a page may wait: a thread each, with progress and an end. Any thread."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from inspector.errors import Cancelled, FileError, LoupeError

T = TypeVar("T")
KEPT: Final = 24
"""Jobs that are kept, finished or not."""
SETTLE_S: Final = 600.0


class Progress:
    """How far a job is, in words and as a share. A job calls `at` between its steps; it ends there when cancelled."""

    def __init__(self) -> None:
        self.began_ms = int(time.time() * 1000)
        self.says = "Starting."
        self.share: float | None = None
        self._ended = threading.Event()
        self._waits: Future[Any] | None = None

    def at(self, says: str, share: float | None = None) -> None:
        """Raises Cancelled when somebody ended the job."""
        if self._ended.is_set():
            raise Cancelled("It was cancelled.", "Start it again when it suits.")
        self.says, self.share = says, share

    def wait(self, future: Future[T]) -> T:
        """What the worker finds; ending the job ends the worker's part."""
        self._waits = future
        if self._ended.is_set():
            future.cancel()
        try:
            return future.result(SETTLE_S)
        except CancelledError:
            raise Cancelled("It was cancelled.", "Start it again when it suits.") from None
        except TimeoutError:
            future.cancel()
            raise
        finally:
            self._waits = None

    def end(self) -> None:
        self._ended.set()
        waits = self._waits
        if waits is not None:
            waits.cancel()


def settled(future: Future[T], wait_s: float, what: str, remedy: str) -> T | None:
    """What came out of a worker; None while it runs. Raises LoupeError: it was cancelled, or `what` broke off."""
    if not wait([future], wait_s).done:
        return None
    try:
        return future.result()
    except LoupeError:
        raise
    except CancelledError:
        raise Cancelled(f"{what} was cancelled.", "Start it again when it suits.") from None
    except Exception as problem:
        raise FileError(f"{what} broke off ({type(problem).__name__}).", remedy) from problem


@dataclass(slots=True)
class Job(Generic[T]):
    """Something under way or done."""

    progress: Progress = field(default_factory=Progress)
    future: Future[T] = field(default_factory=Future, repr=False)

    def result(self, wait_s: float) -> T | None:
        """What came out; None while it runs. Raises LoupeError: why nothing can."""
        return settled(self.future, wait_s, "The lab", "Try a smaller catalog.")


class Jobs:
    """A job per key; the oldest go first."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Any, Job[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: Any) -> Job[Any] | None:
        with self._lock:
            return self._jobs.get(key)

    def start(self, key: Any, work: Callable[[Progress], T]) -> Job[T]:
        """The job of that key, started when there is none."""
        with self._lock:
            found = self._jobs.get(key)
            if found is not None:
                self._jobs.move_to_end(key)
                return found
            job: Job[T] = Job()
            self._jobs[key] = job
            while len(self._jobs) > KEPT:
                self._jobs.popitem(last=False)[1].progress.end()
        threading.Thread(target=_run, args=(job, work), name="lab", daemon=True).start()
        return job

    def drop(self, key: Any) -> None:
        """Forget a job; one that runs ends at its next step."""
        with self._lock:
            found = self._jobs.pop(key, None)
        if found is not None:
            found.progress.end()


def _run(job: Job[T], work: Callable[[Progress], T]) -> None:
    try:
        job.future.set_result(work(job.progress))
    except BaseException as problem:  # noqa: BLE001 - whoever asks is told
        job.future.set_exception(problem)
