"""What the Traces screen shows of recordings, as values. Request threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flask import abort, current_app, url_for

from inspector.catalog.snapshot import TOOLS
from inspector.trace.store import Connection, Opened, Session
from inspector.web.frame import console, store
from inspector.web.render import resource_dir

LISTED: Final = 200
SHIPPED: Final = {
    "sqlite-crash.mcptrace.jsonl": "a server that dies at its start, with its stderr",
    "azure-noise.mcptrace.jsonl.gz": "235 tools, and a line on stdout that is no JSON",
    "everything-handshake.mcptrace.jsonl": "the handshake era, the probe refused",
    "git-modern.mcptrace.jsonl": "the modern era, a call with its stderr",
    "teradata-hints.mcptrace.jsonl.gz": "cache hints of five minutes",
    "git-refusals.mcptrace.jsonl": "two refusals: -32602 and -32022",
    "progressive-session.mcptrace.jsonl": "50 tools found through three",
    "cache-invalidation.mcptrace.jsonl.gz": "a list kept, ended by list_changed, asked for again",
    "sdk-rounds.mcptrace.jsonl": "a tool that asks twice before it answers",
    "everything-subscription.mcptrace.jsonl": "a resource subscribed to, and its update",
}
"""The recordings that come with Loupe, and what is worth seeing in each."""
_LABELS: Final = 4
ORDERS: Final[dict[str, Callable[[Session], int | str]]] = {
    "added": lambda one: one.id,
    "recorded": lambda one: one.wall0_us,
    "title": lambda one: title_of(one).casefold(),
    "events": lambda one: one.events,
    "errors": lambda one: one.errors,
    "size": lambda one: one.bytes,
}
"""What the list can be ordered by: a recording is added when it begins, or when its file is opened."""


@dataclass(frozen=True, slots=True)
class Line:
    """A recording in the list. servers: the first labels, `more` further ones. opened: of a file. mark: (sev, word)."""

    session: Session
    servers: list[str]
    more: int
    opened: Opened | None
    mark: tuple[str, str]
    current: bool


@dataclass(frozen=True, slots=True)
class Order:
    """How the list is ordered, and how many recordings stand before its first line. key: one of ORDERS."""

    key: str = "added"
    rising: bool = False
    at: int = 0

    def of(self, sessions: list[Session]) -> list[Session]:
        """The sessions in this order; equal ones by their number, which is the order they were added in."""
        return sorted(sessions, key=lambda one: (ORDERS[self.key](one), one.id), reverse=not self.rising)

    def href(self, *, key: str = "", at: int = 0) -> str:
        """The list's address: by `key` (the other way round when it is by that already), or a later page."""
        if key in ("", self.key):
            rising = self.rising != bool(key)
        else:
            rising = key == "title"
        return url_for(
            "traces.index", by=(key or self.key) if (key or self.key) != "added" else None,
            rising=1 if rising else None, at=at or None,
        )  # fmt: skip


def title_of(session: Session) -> str:
    return session.title or session.opened or f"Session {session.id}"


def read_order(args: Mapping[str, str]) -> Order:
    key, at = args.get("by", ""), args.get("at", "")
    return Order(
        key if key in ORDERS else "added",
        args.get("rising") == "1",
        int(at) if re.fullmatch(r"\d{1,9}", at) else 0,
    )


@dataclass(frozen=True, slots=True)
class Side:
    """One server of a recording and where it can be looked at. catalogs: (what, count, href)."""

    label: str
    line: str
    timeline: str
    catalogs: list[tuple[str, int, str]]
    compare: str


def recording_of(session: int) -> Session:
    """404 when there is no such recording (any more)."""
    found = next((each for each in store().sessions() if each.id == session), None)
    if found is None:
        abort(404, f"There is no recording number {session}; it may have been deleted.")
    return found


def shipped() -> list[tuple[str, str]]:
    """(name, words) of the recordings that are really there."""
    return [(name, words) for name, words in SHIPPED.items() if (resource_dir("traces") / name).is_file()]


def shipped_file(name: str) -> Path | None:
    path = resource_dir("traces") / name
    return path if name in SHIPPED and path.is_file() else None


def lines(order: Order) -> tuple[list[Line], int]:
    """A page of recordings in that order, and how many come after it."""
    reader, current = store(), console().recorder.session
    opened = {each.session: each for each in reader.opened()}
    sessions = order.of(reader.sessions())[order.at :]
    found = []
    for session in sessions[:LISTED]:
        labels = labels_of(reader.connections(session.id))
        file = opened.get(session.id)
        found.append(
            Line(
                session, labels[:_LABELS], max(0, len(labels) - _LABELS), file,
                mark_of(session, file, current), session.id == current,
            )
        )  # fmt: skip
    return found, len(sessions) - len(found)


def labels_of(connections: list[Connection]) -> list[str]:
    return list(dict.fromkeys(each.label or f"connection {each.c}" for each in connections))


def mark_of(session: Session, file: Opened | None, current: int) -> tuple[str, str]:
    """How whole it is, in a word."""
    if session.id == current:
        return "busy", "recording now"
    if file is None:
        return ("note", "session") if session.ended_at is not None else ("warn", "no end")
    verdict = file.verdict or {}
    if verdict.get("problem"):
        return "err", "damaged"
    if verdict.get("incomplete"):
        return "warn", "incomplete"
    return "note", "file"


def about(recording: Session) -> dict[str, Any]:
    """The whole context of traces/show.html."""
    reader = store()
    file = next(iter(reader.opened(recording.id)), None)
    connections = reader.connections(recording.id)
    return {
        "recording": recording, "file": file, "sides": sides(recording, connections),
        "mark": mark_of(recording, file, console().recorder.session),
        "verdict": verdict_of(file), "oddities": oddities_of(file), "manifest": manifest_of(file),
        "notes": reader.notes(recording.id), "filed": reader.noted(recording.id),
        "kept": console().recordings.why_kept(recording), "counts": reader.counts(recording.id),
        "last": reader.last_seq(recording.id),
        "event": lambda seq: url_for("timeline.show", session=recording.id, e=seq),
        "replay": url_for("replay.index", session=recording.id) if "replay.index" in current_app.view_functions else "",
    }  # fmt: skip


def sides(recording: Session, connections: list[Connection]) -> list[Side]:
    """The servers of a recording, with the links that have something behind them."""
    reader, found = store(), []
    configured = {server.key for server in console().servers()}
    for key in dict.fromkeys(each.server_key for each in connections if each.server_key):
        own = [each for each in connections if each.server_key == key]
        first = own[0]
        usable = key.startswith("~") or key in configured
        catalogs = []
        for what in ("tools", "prompts", "resources", "templates"):
            kept = (
                [each for each in reader.snapshots(key, what) if each.session == recording.id]
                if usable
                else []
            )
            if kept:
                href = url_for("catalog.show", key=key, what=what)
                href += "" if key.startswith("~") else f"?snapshot={kept[0].id}"
                catalogs.append((what, int(kept[0].totals.get("count", 0)), href))
        names = [each.era for each in own if each.era] + [
            each.protocol_version for each in own if each.protocol_version
        ]
        said = " · ".join(dict.fromkeys(filter(None, [first.transport, *names])))
        compare = url_for("compare.index", a=key) if any(what == TOOLS for what, *_ in catalogs) else ""
        timeline = url_for("timeline.show", session=recording.id, server=key)
        found.append(Side(first.label or f"connection {first.c}", said, timeline, catalogs, compare))
    return found


def verdict_of(file: Opened | None) -> tuple[str, str]:
    """(sev, sentence): what the trailer says of the file, and no more than it says."""
    if file is None:
        return "", ""
    verdict = file.verdict or {}
    if verdict.get("problem"):
        return "err", str(verdict["problem"])
    if verdict.get("incomplete"):
        return (
            "warn",
            "It has no last line: the recording broke off, or the file was cut. What came is all shown.",
        )
    if (verdict.get("trailer") or {}).get("complete") is False:
        return "warn", "Its checksum matches, and it says of itself that events are missing in it."
    return "ok", "It is whole: its checksum matches what it holds."


def oddities_of(file: Opened | None) -> list[str]:
    """What no writer of ours writes, each with where it was met first."""
    verdict = (file.verdict or {}) if file is not None else {}
    found = [f"{what}, first in line {line}" for what, line in (verdict.get("oddities") or {}).items()]
    return found + [
        f"{what}, first in event #{seq}" for what, seq in (verdict.get("odd_events") or {}).items()
    ]


def manifest_of(file: Opened | None) -> dict[str, Any] | None:
    """What a file says was hidden in it: rules [(id, kind, what, count)], and places that could not be searched."""
    redaction = file.header.get("redaction") if file is not None else None
    if file is None or not isinstance(redaction, dict):
        return None
    trailer = (file.verdict or {}).get("trailer") or {}
    counts, rules, skipped = (
        trailer.get("redaction_counts"),
        redaction.get("rules"),
        trailer.get("redaction_skipped"),
    )
    counts = counts if isinstance(counts, dict) else {}
    rules = rules if isinstance(rules, list) else []
    return {
        "rules": [
            (str(rule.get("id", ""))[:20], str(rule.get("kind", ""))[:80], str(rule.get("what", ""))[:200],
             _count(counts.get(str(rule.get("id", "")))))
            for rule in rules[:200] if isinstance(rule, dict)
        ],
        "skipped": len(skipped) if isinstance(skipped, list) else 0,
    }  # fmt: skip


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0
