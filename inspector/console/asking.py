"""What servers ask of the person: elicitation, sampling, roots; who answered, and how. Questions wait on the loop.

A question is answered by a saved answer, turned down by the server's switch, or waits for a person, in both eras:
as a request of the server (handshake) or as an entry of `inputRequests` (modern).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.from_thread import BlockingPortal

from inspector.errors import ConfigError, ConnectionLost, UsageError
from inspector.settings.answers import Answers
from inspector.wire.questions import declined

KEPT: Final = 200
WAITING, ANSWERED, GONE = "waiting", "answered", "gone"
PERSON, SAVED, SWITCH, NOBODY = (
    "you",
    "a saved answer",
    "the switch “decline without asking”",
    "nobody had to",
)

Answer = tuple[str, Any]
"""("result", {...}) or ("error", {...})."""


@dataclass(slots=True)
class Question:
    """One question. call: the call it belongs to, when that is known; member: its key in inputRequests.

    state: waiting, answered or gone (the server took it back, the call or the connection ended). by: who answered.
    """

    id: str
    server_key: str
    c: int
    method: str
    params: Mapping[str, Any]
    asked_at: float
    call: str = ""
    member: str = ""
    state: str = WAITING
    by: str = ""
    answer: Answer | None = None
    settled: anyio.Event | None = field(default=None, repr=False)

    @property
    def waiting(self) -> bool:
        """For a person: not while a saved answer is looked for."""
        return self.state == WAITING and self.settled is not None

    @property
    def word(self) -> str:
        """What became of it."""
        if self.answer is None:
            return self.state
        kind, body = self.answer
        if kind == "error":
            return "declined"
        action = body.get("action") if isinstance(body, Mapping) else None
        return {"decline": "declined", "cancel": "cancelled"}.get(str(action), ANSWERED)


class Asking:
    """The questions of one console: all that wait, and the last KEPT of the others."""

    def __init__(self, portal: BlockingPortal, answers: Answers) -> None:
        self.answers = answers
        self._portal = portal
        self._questions: OrderedDict[str, Question] = OrderedDict()
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    async def ask(
        self,
        server_key: str,
        c: int,
        method: str,
        params: Mapping[str, Any],
        *,
        call: str = "",
        member: str = "",
    ) -> Answer:
        """The answer to a question, when there is one; may wait for a person. On the loop."""
        with self._lock:
            number = next(self._ids)
            found = Question(f"q{number}", server_key, c, method, params, time.time(), call, member)
            self._questions[found.id] = found
            for old in [each for each in self._questions.values() if each.state != WAITING][:-KEPT]:
                del self._questions[old.id]
        at_once = await anyio.to_thread.run_sync(self._unasked, server_key, method, params)
        if at_once is not None:
            found.state, (found.answer, found.by) = ANSWERED, at_once
            return at_once[0]
        try:
            if found.state == WAITING:
                found.settled = anyio.Event()
                await found.settled.wait()
        finally:
            if found.answer is None:
                found.state = GONE
        if found.answer is None:
            raise ConnectionLost("The connection ended before its question was answered", "Connect again")
        return found.answer

    def _unasked(self, server_key: str, method: str, params: Mapping[str, Any]) -> tuple[Answer, str] | None:
        """An answer that needs nobody. A file that cannot be read keeps no question from being asked."""
        try:
            kept = self.answers.find(server_key, method, params)
            declines = self.answers.declines(server_key)
        except ConfigError:
            kept, declines = None, False
        if kept is not None:
            return (kept.kind, kept.body), SAVED
        if method == "roots/list":
            return declined(method), NOBODY
        return (declined(method), SWITCH) if declines else None

    def answer(self, id_: str, answer: Answer) -> Question:
        """A person's answer. Raises UsageError when the question waits no more."""
        found = self.get(id_)

        def settle() -> bool:
            if not found.waiting or found.settled is None:
                return False
            found.state, found.answer, found.by = ANSWERED, answer, PERSON
            found.settled.set()
            return True

        if not self._portal.call(settle):
            raise UsageError(
                "This question waits for no answer any more", "See in the timeline what became of it"
            )
        return found

    def dropped(self, c: int) -> None:
        """Connection `c` is gone: the questions of its calls' rounds end. On the loop."""
        with self._lock:
            gone = [
                one for one in self._questions.values() if one.c == c and one.state == WAITING and one.member
            ]
        for one in gone:
            one.state = GONE
            if one.settled is not None:
                one.settled.set()

    def get(self, id_: str) -> Question:
        with self._lock:
            found = self._questions.get(id_)
        if found is None:
            raise UsageError(f"There is no question {id_} any more", "Its frames are in the timeline")
        return found

    def waiting(self, server_key: str) -> list[Question]:
        """What waits for a person, oldest first."""
        with self._lock:
            return [one for one in self._questions.values() if one.server_key == server_key and one.waiting]

    def during(self, c: int, call: str, start: float, end: float | None) -> list[Question]:
        """The questions of a call: those of its rounds, and those its server asked while it ran."""
        with self._lock:
            return [
                one
                for one in self._questions.values()
                if one.call == call
                or (not one.call and one.c == c and start <= one.asked_at <= (end or one.asked_at))
            ]
