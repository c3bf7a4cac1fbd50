"""What an export of a recording hides, and the file it becomes. Runs in a worker process; the store is read there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from inspector import __version__
from inspector.console.redacting import redactor_for
from inspector.errors import UsageError
from inspector.trace.exporting import Source
from inspector.trace.file import cannot_write, create
from inspector.trace.har import har
from inspector.trace.html import html
from inspector.trace.otlp import otlp
from inspector.trace.redact import Preview, Redactor, Rules, preview
from inspector.trace.rewriting import markers_in
from inspector.trace.session_file import Range, exported, header_of, write_trace
from inspector.trace.store import Session, Store

T = TypeVar("T")
TELL_S: Final = 0.5
"""How often a long search says how far it is."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. pieces: makes it of a `Source`; None: it is written as a trace."""

    id: str
    label: str
    suffix: str
    media: str
    what: str
    pieces: Callable[..., Iterator[bytes]] | None = None


FORMATS: Final[tuple[Format, ...]] = (
    Format(
        "gz",
        "Trace, packed",
        ".mcptrace.jsonl.gz",
        "application/gzip",
        "everything; opens here, replays, compares",
    ),
    Format("trace", "Trace", ".mcptrace.jsonl", "application/x-ndjson", "the same as lines of text"),
    Format("html", "Web page", ".html", "text/html", "one page to read, for somebody without Loupe", html),
    Format("har", "HAR 1.2", ".har", "application/json", "HTTP only, for network panels", har),
    Format(
        "otlp", "OTLP JSON", ".otlp.json", "application/json", "spans and log records, without contents", otlp
    ),
    Format(
        "otlp-contents",
        "OTLP + contents",
        ".otlp.json",
        "application/json",
        "OTLP JSON with arguments and results of tool calls",
        partial(otlp, contents=True),
    ),
)
"""What an export can be; a further format is one more entry."""


@dataclass(frozen=True, slots=True)
class Work:
    """What to export. rules None: nothing is hidden. told: where a search says how many events it has seen."""

    session: int
    span: Range
    rules: Rules | None
    told: Path
    learned: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def format_of(id: str) -> Format:
    """Raises UsageError when there is none."""
    found = next((each for each in FORMATS if each.id == id), None)
    if found is None:
        raise UsageError(
            f"There is no export format {id!r}.", f"Choose one of: {', '.join(e.id for e in FORMATS)}."
        )
    return found


def searched(database: Path, work: Work) -> Preview:
    """What the rules find; nothing is written."""
    assert work.rules is not None
    with Store(database) as store:
        session = _session(store, work.session)
        said = {"t": "header", "seq": 0, "title": session.title, "note": session.note}
        events = _chained(said, exported(store, session, work.span))
        found = preview(_told(events, work.told), work.rules)
    return Preview(found.rules, found.events - 1, found.skipped, found.learned)


def written(database: Path, work: Work, format_id: str, target: Path) -> dict[str, Any]:
    """Write the file; {bytes, events, hidden, complete}. A target that could not be finished is removed."""
    kind = format_of(format_id)
    hidden = None
    with Store(database) as store:
        session = _session(store, work.session)
        opened = next(iter(store.opened(session.id)), None)
        header = opened.header if opened is not None and opened.header.get("tool") else None
        trailer = (opened.verdict or {}).get("trailer") if opened is not None else None
        before = header.get("redaction") if header else None
        redactor: Redactor | None = None
        if work.rules is not None:
            # Markers of an earlier redaction keep their numbers; new ones go on from there.
            first = markers_in(exported(store, session, work.span)) + 1 if before else 1
            redactor = redactor_for(rules=work.rules, before=before, first=first)
            redactor.learn(work.learned)
        events = _told(exported(store, session, work.span, digest=redactor is None), work.told)
        if redactor is not None:
            events = map(redactor.apply, events)
        with suppress(FileNotFoundError):
            target.unlink()
        try:
            with create(target) as file:
                first_line = header_of(session, redactor, header)
                if kind.pieces is not None:
                    counted: dict[str, Any] = {}
                    hidden = _copy(kind.pieces, store, session, work, file)
                else:
                    whole = opened is None or bool((trailer or {}).get("complete"))
                    counted = write_trace(file, first_line, events, redactor, trailer, complete=whole)
        except BaseException as problem:
            target.unlink(missing_ok=True)
            if isinstance(problem, OSError):
                raise cannot_write(target, problem) from problem
            raise
    return {
        "bytes": target.stat().st_size, "events": counted.get("events"), "complete": counted.get("complete"),
        "hidden": hidden if kind.pieces is not None else sum(redactor.counts().values()) if redactor else None,
    }  # fmt: skip


def _copy(
    pieces: Callable[..., Iterator[bytes]], store: Store, session: Session, work: Work, file: IO[bytes]
) -> int | None:
    """Write what an exporter makes of the recording; how many places were hidden."""
    redactors: list[Redactor] = []

    def make(*, before: dict[str, Any] | None, first: int) -> Redactor:
        redactors.append(redactor_for(rules=work.rules, before=before, first=first))
        redactors[-1].learn(work.learned)
        return redactors[-1]

    opened = next(iter(store.opened(session.id)), None)
    header = header_of(session, None, opened.header if opened is not None else None)
    source = Source(
        header,
        lambda _found: _told(exported(store, session, work.span), work.told),
        make if work.rules else None,
    )
    for piece in pieces(source, version=__version__):
        file.write(piece)
    return max((sum(one.counts().values()) for one in redactors), default=None)


def _session(store: Store, id: int) -> Session:
    found = next((each for each in store.sessions() if each.id == id), None)
    if found is None:
        raise UsageError(f"There is no recording number {id}.", "Choose one in the list of recordings.")
    return found


def _chained(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _told(events: Iterator[T], where: Path) -> Iterator[T]:
    """The same, saying now and then in a file how many there were."""
    next_at = time.monotonic() + TELL_S
    for count, event in enumerate(events, 1):
        yield event
        if count % 256 == 0 and time.monotonic() >= next_at:
            next_at = time.monotonic() + TELL_S
            with suppress(OSError):
                where.write_text(str(count))
