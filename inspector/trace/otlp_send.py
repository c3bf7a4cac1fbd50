"""Posts what is told to one address of an OTLP collector, in batches. Thread `otlp-send` (`otlp-send-logs`), one a road.

`offer` never waits: what does not fit into the bounded queue, or is not taken, is dropped and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from inspector.later import Later

if TYPE_CHECKING:
    import httpx2
else:
    httpx2 = Later("httpx2")


TOGETHER: Final = 512
GATHER_S: Final = 1.0
ANSWER_S: Final = 10.0
TRIES: Final = 6
LONGEST_WAIT_S: Final = 30.0
RETRYABLE: Final = frozenset((429, 502, 503, 504))

Told = TypeVar("Told")


class Road(Generic[Told]):
    """The way to `url`. what: the items' name in sentences. encode: a batch as a body. rejected: reads an answer.

    most, most_bytes: of what may wait. hint: said with a refusal that will not change.
    """

    def __init__(
        self,
        url: str,
        what: str,
        headers: dict[str, str],
        encode: Callable[[Sequence[tuple[Told, str]]], bytes],
        rejected: Callable[[bytes], tuple[int, str]],
        *,
        most: int,
        most_bytes: int,
        thread: str,
        hint: str = "",
    ) -> None:
        self.url = url
        self.sent = self.dropped = 0
        self.error = ""
        self._what, self._headers, self._encode, self._rejected = what, headers, encode, rejected
        self._most, self._most_bytes, self._hint = most, most_bytes, hint
        self._ready: deque[tuple[Told, str, int]] = deque()
        self._bytes_in = self._bytes_out = 0
        self._sending = 0
        self._came, self._closing, self._giving_up = threading.Event(), threading.Event(), threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return len(self._ready) + self._sending

    def offer(self, one: Told, label: str, size: int) -> None:
        """Send it when its turn comes. label: of its connection. size: about how much memory it takes."""
        if len(self._ready) >= self._most or self._bytes_in - self._bytes_out > self._most_bytes:
            self.dropped += 1
            return
        self._bytes_in += size
        self._ready.append((one, label, size))
        if not self._came.is_set():
            self._came.set()

    def closing(self) -> None:
        """Do not gather any more, and do not try again."""
        self._closing.set()
        self._came.set()

    def end(self) -> None:
        """Nothing is offered any more: end when all is sent."""
        self._ended = True
        self.closing()

    def join(self, timeout: float) -> None:
        """Wait for the end for at most so long, then give up."""
        self._thread.join(timeout)
        self._giving_up.set()

    def _run(self) -> None:
        with httpx2.Client(timeout=ANSWER_S, headers=self._headers) as client:
            while not self._giving_up.is_set():
                self._came.wait()
                self._closing.wait(GATHER_S)
                self._came.clear()
                ended = self._ended
                while self._ready and not self._giving_up.is_set():
                    self._send(client, [self._next() for _ in range(min(TOGETHER, len(self._ready)))])
                if ended and not self._ready:
                    return

    def _next(self) -> tuple[Told, str]:
        one, label, size = self._ready.popleft()
        self._bytes_out += size
        return one, label

    def _send(self, client: httpx2.Client, batch: list[tuple[Told, str]]) -> None:
        """Post one batch, again while that may help; then it is sent, or dropped."""
        self._sending = len(batch)
        refused = len(batch)
        try:
            body = self._encode(batch)
        except Exception as problem:  # noqa: BLE001 - one odd batch must not end the streaming
            self.error = f"{len(batch)} {self._what} could not be exported: {type(problem).__name__}"
        else:
            refused = self._post(client, body, len(batch))
        self.sent += len(batch) - refused
        self.dropped += refused
        self._sending = 0

    def _post(self, client: httpx2.Client, body: bytes, count: int) -> int:
        """How many of the batch were refused in the end."""
        for attempt in range(TRIES):
            wait = min(2.0**attempt, LONGEST_WAIT_S)
            try:
                answer = client.post(self.url, content=body)
            except httpx2.HTTPError as problem:
                self.error = f"{self.url} cannot be reached: {problem}"
            else:
                if answer.is_success:
                    refused, said = self._rejected(answer.content)
                    self.error = f"The collector refused {refused} {self._what}: {said}" if refused else ""
                    return refused
                self.error = f"{self.url} answered HTTP {answer.status_code}"
                if answer.status_code not in RETRYABLE:
                    self.error += self._hint
                    return count
                wait = _asked_to_wait(answer.headers.get("retry-after", ""), wait)
            if attempt == TRIES - 1 or self._closing.wait(wait):
                break
        return count


def _asked_to_wait(retry_after: str, usual: float) -> float:
    return min(float(retry_after), LONGEST_WAIT_S) if retry_after.isdecimal() else usual
