"""One call as the result pane shows it, gathered from the call and the recording. Flask request threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from inspector.catalog.jsontree import Document
from inspector.console import outcome as outcomes
from inspector.console.calls import MOST_RUNS, Call
from inspector.console.console import Server
from inspector.console.invoking import RESOURCES, TOOLS
from inspector.console.outcome import Outcome
from inspector.console.skills import verdict_on
from inspector.errors import Cancelled, UsageError
from inspector.trace.filters import Filter
from inspector.trace.rows import Row
from inspector.web.apps import runnable
from inspector.web.calls_cache import CacheSaid, cache_said
from inspector.web.calls_series import Series, series_of
from inspector.web.calls_view import Progress, progress_of
from inspector.web.causes import http_causes, tool_error_causes
from inspector.web.frame import console, event_link, store
from inspector.web.headlines import Headline, headline
from inspector.web.listing import text_of
from inspector.web.parts import with_parts
from inspector.web.questions import QuestionView, Turn, turns_of, turns_of_task, view_of
from inspector.web.results import Contents, Text, contents_of, error_object, octets_of, shown
from inspector.wire.events import C2S

FLUSH_S: Final = 0.5
LATE_S: Final = 60.0
"""How long the page of a call that was given up looks for an answer that still comes."""
LINES: Final = 100
RAW_CHARS: Final = 40_000
LARGE: Final = 1_000_000
"""Bytes of an answer from which on it is not taken apart anew for each page."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the recording knows of a call: the rows of its frames, and what the server printed meanwhile."""

    request: Row | None = None
    reply: Row | None = None
    printed: tuple[tuple[str, str], ...] = ()
    """(`stderr` or `noise`, line), from the request on; the last LINES of them."""

    @property
    def stderr(self) -> list[str]:
        return [line for kind, line in self.printed if kind == "stderr"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A call, running or ended. outcome and what follows from it are None while the only run is still going."""

    call: Call
    running: bool
    outcome: Outcome | None
    head: Headline | None
    contents: Contents | None
    error: Text | None
    raw: Text | None
    raw_bytes: int | None
    ms: float | None
    facts: Facts
    request_href: str
    reply_href: str
    progress: Progress | None
    series: Series | None
    confirm: str
    causes: tuple[str, ...] = ()
    questions: tuple[QuestionView, ...] = ()
    turns: tuple[Turn, ...] = ()
    app: bool = False
    manifest: str | None = None
    """What a skill's manifest says of the file that was read: empty when it fits, None when there is none."""
    given_up: bool = False
    """Cancelled or timed out, not long ago: an answer may still come."""
    late: Row | None = None
    late_href: str = ""
    cache: CacheSaid | None = None

    @property
    def asked(self) -> str:
        """The questions that wait, as the page names them when it asks again."""
        return ",".join(view.question.id for view in self.questions)


def shown_call(server: Server, call: Call, confirm: str) -> Shown:
    """Everything the result pane needs. confirm: what to ask before the same call runs again."""
    running = not call.done
    outcome = last_outcome(call)
    ended = list(call.outcomes)
    facts = _facts(call, outcome)
    series = series_of(call.timings(), ended) if call.runs > 1 else None
    raw = raw_answer(call, outcome) if outcome is not None else None
    document = (
        document_of(call, outcome) if raw is not None and outcome is not None and len(raw) > LARGE else None
    )
    text = raw.decode("utf-8", "backslashreplace") if raw is not None and document is None else None
    text = document.text if document is not None else text
    given_up = outcome is not None and outcome.what in (outcomes.CANCELLED, outcomes.TIMEOUT)
    late = _late(call, facts) if given_up else None
    failed = outcome is not None and outcome.what == outcomes.PROTOCOL_ERROR
    error = error_object(raw) if failed else None
    return Shown(
        call=call,
        running=running,
        outcome=outcome,
        head=headline(outcome, call.what) if outcome is not None else None,
        contents=_contents(call, outcome, raw, document)
        if outcome is not None and outcome.result is not None
        else None,
        error=shown(error) if error is not None else None,
        raw=Text(text[:RAW_CHARS], left_out=max(0, len(text) - RAW_CHARS)) if text is not None else None,
        raw_bytes=len(raw) if raw is not None else None,
        ms=_ms(outcome, facts),
        facts=facts,
        request_href=event_link(server, facts.request.seq) if facts.request else "",
        reply_href=event_link(server, facts.reply.seq) if facts.reply else "",
        progress=progress_of(call.progress),
        series=series,
        confirm=confirm,
        causes=_causes(outcome, facts) if outcome is not None else (),
        questions=tuple([view_of(one) for one in console().asking.waiting(server.key)]) if running else (),
        given_up=given_up and late is None and time.time() - (call.ended_at or 0) < LATE_S,
        late=late,
        late_href=event_link(server, late.seq) if late is not None else "",
        turns=tuple(
            turns_of(
                list(call.rounds), console().asking.during(call.c, call.id, call.started_at, call.ended_at)
            )
            + turns_of_task(list(call.states))
        ),
        app=runnable(outcome) is not None,
        cache=cache_said(server, outcome.reply_seq) if outcome is not None else None,
        manifest=_manifest(call, outcome) if outcome is not None else None,
    )


def _manifest(call: Call, outcome: Outcome) -> str | None:
    file = console().skills.file(call.server_key, call.tool) if call.what == RESOURCES else None
    octets = octets_of(outcome, 0) if file is not None else None
    return None if file is None or octets is None else verdict_on(file, octets)


def _contents(call: Call, outcome: Outcome, raw: bytes | None, document: Document | None) -> Contents:
    of_tool = call.what == TOOLS and (not call.states or outcome.of_task)
    found = contents_of(raw, of_tool=of_tool, of_task=outcome.of_task, document=document)
    return with_parts(found, partial(opened, call))


def document_of(call: Call, outcome: Outcome) -> Document | None:
    """The last answer's text, as far as it is JSON that can be opened; remembered. None when it is none."""
    try:
        found = opened(call, "answer")
        found.find(("result",))
    except (UsageError, ValueError, RecursionError):
        return None
    return found


def opened(call: Call, name: str) -> Document:
    """The document `name` (web.places) of a call's last answer. Raises UsageError when there is none."""
    outcome = last_outcome(call)
    if outcome is None:
        raise UsageError("This call has no answer yet", "Wait for it")
    return console().documents.get(
        (call.id, len(call.outcomes), name), partial(_text_of, call, outcome, name)
    )


def _text_of(call: Call, outcome: Outcome, name: str) -> str:
    number = name.removeprefix("item-")
    octets = raw_answer(call, outcome) if name == "answer" else None
    if number != name and number.isdecimal() and len(number) < 6:
        octets = octets_of(outcome, int(number))
    if octets is None:
        raise UsageError("This answer has no such part", "Open the answer and choose a part")
    return octets.decode("utf-8", "backslashreplace")


def _late(call: Call, facts: Facts) -> Row | None:
    """The answer that came after we had given up, if one did."""
    if facts.request is None:
        return None
    wanted = Filter(c=(call.c,), t=frozenset({"error"}))
    for row in store().page(console().recorder.session, wanted, after=facts.request.seq, limit=LINES):
        if row.body.get("class") == "late-answer" and row.body.get("request") == facts.request.seq:
            return store().row(console().recorder.session, row.pair) if row.pair else None
    return None


def _causes(outcome: Outcome, facts: Facts) -> tuple[str, ...]:
    """Likely causes, likeliest first; of a tool error only when its stderr adds to what its text says."""
    if outcome.explain is None or outcome.what == outcomes.CANCELLED:
        return ()
    if outcome.what == outcomes.TOOL_ERROR:
        return tool_error_causes(facts.stderr) if facts.stderr else ()
    known = outcome.error.facts if outcome.error is not None else {}
    return http_causes(outcome.explain, known.get("status"), body=str(known.get("body") or ""))


def last_outcome(call: Call) -> Outcome | None:
    """The last end; a cancelled call has one even before the loop has noted it."""
    last = call.outcome
    if call.done and call.future.cancelled() and (last is None or last.what != outcomes.CANCELLED):
        return outcomes.of_error(Cancelled(""), None)
    return last


def raw_answer(call: Call, outcome: Outcome | None = None) -> bytes | None:
    """The answer's exact bytes: the result's, or those of the frame an error came in."""
    ended = outcome or last_outcome(call)
    if ended is None or ended.raw is not None or ended.reply_seq is None:
        return ended.raw if ended is not None else None
    console().recorder.flush(FLUSH_S)
    return store().raw(console().recorder.session, ended.reply_seq)


def _ms(outcome: Outcome | None, facts: Facts) -> float | None:
    if outcome is not None and outcome.ms is not None:
        return outcome.ms
    return facts.reply.ms if facts.reply is not None else None


def _facts(call: Call, outcome: Outcome | None) -> Facts:
    """The frames and lines of the last run, from the recording; it lags by milliseconds, hence the flush."""
    console().recorder.flush(FLUSH_S)
    session = console().recorder.session
    seq = outcome.request_seq if outcome is not None and outcome.request_seq else _request_seq(session, call)
    if not seq:
        return Facts()
    request = store().row(session, seq)
    reply_seq = outcome.reply_seq if outcome is not None else None
    reply = store().row(session, reply_seq) if reply_seq else None
    end = reply or (store().pair_of(session, seq) if outcome is not None else None)
    return Facts(request, reply, _printed(session, call.c, seq, end.seq if end is not None else None))


def _request_seq(session: int, call: Call) -> int | None:
    """The last request that carries the call's id; an end without an answer does not name it."""
    sent = Filter(c=(call.c,), t=frozenset({"rpc"}), dir=C2S)
    rows = store().page(session, sent, after=call.first_seq - 1, limit=2 * MOST_RUNS)
    return next((row.seq for row in reversed(rows) if row.op == call.id and row.kind == "request"), None)


def _printed(session: int, c: int, after: int, before: int | None) -> tuple[tuple[str, str], ...]:
    wanted = Filter(c=(c,), t=frozenset({"stderr", "noise"}))
    rows: Sequence[Row] = store().page(session, wanted, before=before, limit=LINES)
    return tuple([(row.t, text_of(row)) for row in rows if row.seq > after])
