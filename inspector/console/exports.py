"""Exports that are being prepared: what each hides, its preview, its file; for one run, bounded. Any thread.

A rule of one's own may be the very secret it hides, so plans live here and never in an address or on the disk.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from inspector.console.exporting import Format, Work, format_of, searched, written
from inspector.console.jobs import settled
from inspector.console.worker import Worker
from inspector.errors import UsageError
from inspector.trace.redact import Preview, Rules
from inspector.trace.redact.rules import OPTIONAL, WHAT
from inspector.trace.session_file import Range

T = TypeVar("T")
KEPT: Final = 8
RULES_MOST: Final = 50
_LONGEST: Final = 2000
KINDS: Final = {"key": "keys", "pattern": "patterns", "text": "texts"}


@dataclass(slots=True)
class Task:
    """A search or a writing under way. began_ms: since the epoch; told: where it says how far it is."""

    future: Future[Any] = field(repr=False)
    told: Path
    began_ms: int

    def result(self, wait_s: float) -> Any:
        """What came out; None while it runs. Raises LoupeError: why nothing can."""
        return settled(self.future, wait_s, "It", "Try a smaller range, or without your own patterns.")

    @property
    def seen(self) -> int | None:
        """Events looked at so far, as far as it was told."""
        try:
            return int(self.told.read_text())
        except (OSError, ValueError):
            return None


@dataclass(slots=True)
class Made:
    """A finished or growing file. token: its part of the address; name: what the browser calls it."""

    token: str
    task: Task
    kind: Format
    path: Path
    name: str


@dataclass(slots=True)
class Plan:
    """What one session's export hides. redact: False only after an explicit yes. found: the search, once begun.

    until: the newest event when it was searched: what is recorded later has been seen by nobody and stays out.
    """

    session: int
    rules: Rules
    span: Range = field(default_factory=Range)
    redact: bool = True
    found: Task | None = None
    made: Made | None = None
    until: int = 0


class Exports:
    """The plans of one console, by session; KEPT at most.

    folder: for the files until they are downloaded. last_seq: the newest event of a session.
    """

    def __init__(self, database: Path, folder: Path, worker: Worker, last_seq: Callable[[int], int]) -> None:
        self._last_seq = last_seq
        self._database = database
        self._folder = folder
        self._worker = worker
        self._plans: OrderedDict[int, Plan] = OrderedDict()
        self._lock = threading.RLock()

    def plan(self, session: int, secrets: Callable[[], Iterable[str]]) -> Plan:
        """The plan of a session. It knows these values, which were passed to servers; with more it searches anew."""
        with self._lock:
            found, known = self._plans.pop(session, None), Rules.default(secrets()).known
            if found is None:
                found = Plan(session, Rules.default(known))
            elif not set(known) <= set(found.rules.known):
                self.change(found, rules=replace(found.rules, known=tuple({*found.rules.known, *known})))
            self._plans[session] = found
            while len(self._plans) > KEPT:
                self._drop(self._plans.popitem(last=False)[1])
            return found

    def search(self, plan: Plan) -> Task:
        """The search of a plan as it is now, begun when it was not."""
        with self._lock:
            if plan.found is None:
                plan.until = self._last_seq(plan.session)
                plan.found = self._begin(searched, self._work(plan))
            return plan.found

    def preview(self, plan: Plan, wait_s: float) -> Preview | None:
        """What would be hidden; None while it is searched. Raises LoupeError."""
        found = self.search(plan).result(wait_s)
        assert found is None or isinstance(found, Preview)
        return found

    def add_rule(self, plan: Plan, kind: str, text: str) -> None:
        """Hide a key's values, what a pattern matches, or a text. Raises UsageError when it cannot be a rule."""
        text = text.strip() if kind != "text" else text
        if kind not in KINDS or not text:
            raise UsageError("The rule is empty.", "Type a key, a regular expression or a text.")
        own = [*plan.rules.keys, *plan.rules.patterns, *plan.rules.texts]
        if len(text) > _LONGEST or len(own) >= RULES_MOST:
            raise UsageError(
                f"A rule has at most {_LONGEST:,} characters, and there are at most {RULES_MOST}.",
                "Shorten it.",
            )
        name = KINDS[kind]
        Rules.default(patterns=[text] if kind == "pattern" else [])  # says what is wrong with it
        changed: dict[str, Any] = {name: (*getattr(plan.rules, name), text)}
        self.change(plan, rules=replace(plan.rules, **changed))

    def drop_rule(self, plan: Plan, id: str) -> None:
        """Take one of a person's own rules (K1, X2, T3) back."""
        name = {"K": "keys", "X": "patterns", "T": "texts"}.get(id[:1])
        at = int(id[1:]) - 1 if id[1:].isascii() and id[1:].isdecimal() and len(id) < 5 else -1
        if name is None or not 0 <= at < len(getattr(plan.rules, name)):
            raise UsageError(f"There is no rule {id}.", "It may have been taken away already.")
        left: dict[str, Any] = {name: tuple(t for n, t in enumerate(getattr(plan.rules, name)) if n != at)}
        self.change(plan, rules=replace(plan.rules, **left))

    def switch(self, plan: Plan, id: str, *, on: bool) -> None:
        """Apply one of the rules, or leave it out."""
        if id not in WHAT:
            raise UsageError(f"There is no rule {id}.", "Choose one in the list.")
        chosen, left_out = set(plan.rules.on), set(plan.rules.off)
        if id in OPTIONAL:
            chosen = chosen | {id} if on else chosen - {id}
        else:
            left_out = left_out - {id} if on else left_out | {id}
        self.change(plan, rules=replace(plan.rules, on=frozenset(chosen), off=frozenset(left_out)))

    def change(self, plan: Plan, **values: Any) -> None:
        """Another range or other rules: what was found and written before counts no more."""
        with self._lock:
            self._drop(plan)
            for name, value in values.items():
                setattr(plan, name, value)

    def write(self, plan: Plan, format_id: str, stem: str) -> Made:
        """Begin the file. Raises UsageError while the search is not done: nothing leaves unseen."""
        kind = format_of(format_id)
        learned: tuple[tuple[str, str], ...] = ()
        if plan.redact:
            seen = self.preview(plan, 0)
            if seen is None:
                raise UsageError("The search for secrets is still running.", "Wait until it is done.")
            learned = seen.learned
        else:
            plan.until = self._last_seq(plan.session)
        with self._lock:
            self._forget_file(plan)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            token = secrets.token_hex(8)
            path = self._folder / f"{token}{kind.suffix}"
            task = self._begin(written, replace(self._work(plan), learned=learned), format_id, path)
            plan.made = Made(token, task, kind, path, stem + kind.suffix)
            return plan.made

    def close(self) -> None:
        """Take the files away."""
        with self._lock:
            for plan in self._plans.values():
                self._drop(plan)
            with suppress(OSError):
                self._folder.rmdir()

    # -- inside, under the lock

    def _begin(self, work: Callable[..., Any], what: Work, *more: object) -> Task:
        future = self._worker.submit(work, self._database, what, *more)
        return Task(future, what.told, time.time_ns() // 1_000_000)

    def _work(self, plan: Plan) -> Work:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        told = self._folder / f"{secrets.token_hex(8)}.seen"
        span = Range(plan.span.first, min(plan.span.last, plan.until))
        return Work(plan.session, span, plan.rules if plan.redact else None, told)

    def _drop(self, plan: Plan) -> None:
        if plan.found is not None:
            plan.found.future.cancel()
            plan.found.told.unlink(missing_ok=True)
            plan.found = None
        self._forget_file(plan)

    def _forget_file(self, plan: Plan) -> None:
        if plan.made is not None:
            plan.made.task.future.cancel()
            plan.made.task.told.unlink(missing_ok=True)
            plan.made.path.unlink(missing_ok=True)
            plan.made = None
