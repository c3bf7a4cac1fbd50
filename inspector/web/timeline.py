"""The timeline: every recorded event in order, filtered, followed live, and one of them explained. Request threads."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.errors import UsageError
from inspector.protocol import codes as error_codes
from inspector.replay.sessions import is_question
from inspector.settings.paths import living_consoles
from inspector.trace.rows import Row
from inspector.trace.store import Connection, Opened, Session
from inspector.web import follow, palette
from inspector.web import query as queries
from inspector.web.detail import detail, neighbours
from inspector.web.downloads import download
from inspector.web.frame import console, server_of_request, shell, store
from inspector.web.listing import Stretch, rows_of, scale_of, stretch
from inspector.web.notes import notes_on
from inspector.web.query import CAUSES, KINDS, NO_CONNECTION, Query
from inspector.web.render import is_partial
from inspector.web.taps import tapped
from inspector.web.verdicts import invalid_outputs

LOOKED_AT = 50
EARLIER = 5
OFFERED = 200
"""Recordings in the menu: the newest, and the one shown."""

blueprint = Blueprint("timeline", __name__)
blueprint.record_once(follow.attach)
blueprint.add_url_rule("/palette", "palette", palette.show)


@dataclass(frozen=True, slots=True)
class Chip:
    """A kind of event in the filter, with how many there are."""

    name: str
    label: str
    icon: str
    count: int
    on: bool


@blueprint.get("/timeline")
def show() -> AnyResponse | str:
    """The list with its filter; with `e` one event is open, and htmx gets just that one."""
    query = queries.read(request.args, console().recorder.session)
    seq = queries.number(request.args, "e")
    if seq is not None and is_partial():
        return event(seq)
    reader = store()
    recording = recording_of(query)
    newest = reader.last_seq(query.session)  # before the rows: what comes between is pushed, not lost
    connections = reader.connections(query.session)
    wanted = query.of(connections)
    before, after = (queries.number(request.args, name) for name in ("before", "after"))
    found = stretch(reader, query.session, wanted, before=before, after=after, around=seq)
    found_live = found.live and recording.id == console().recorder.session
    scale = scale_of(found.rows, found_live)
    keys = {each.server_key for each in connections} | (_keys() if recording.opened is None else set())
    with_sides = query.server is None and len(keys) > 1
    frame = shell("timeline", server_of_request(), pin=False)
    page = {"view": "full", "t0": scale.t0_us, "span": round(scale.span_ms)} | (
        {"sides": 1} if with_sides else {}
    )
    known = counts(query, connections)
    kinds = chips(known, query)
    since = max(newest, found.rows[-1].seq if found.rows else 0)
    context = {
        "shell": frame,
        "query": query,
        "found": found,
        "live": query.link("/live", *page.items(), ("after", since)) if found_live else "",
        "rows": rows_of(
            reader, found.rows, query, connections, scale, with_sides=with_sides, on=seq,
            invalid=invalid_outputs(console(), found.rows),
        ),
        "sides": with_sides,
        "span_ms": scale.span_ms,
        "older": _more(query, page, "before", found.older, found),
        "newer": _more(query, page, "after", found.newer, found),
        "chips": kinds,
        "errors": known.get("errors", 0),
        "causes": [("", "any cause"), *((each, each) for each in CAUSES)],
        "sessions": [each for n, each in enumerate(reader.sessions()) if n < OFFERED or each.id == recording.id],
        "recording": recording,
        "remark": remark(recording, newest),
        "title": title(query, connections, recording),
        "event": _opened(query, seq),
        "total": newest,
        "since": since,
        "current": recording.id == console().recorder.session,
        "taps": (watched := tapped(connections, current=recording.id == console().recorder.session)),
        "tap": next((one for one in watched if one.key == query.server), None),
        "mine": sum(kind.count for kind in kinds),
        "earlier": earlier(query) if not found.rows and query.server else [],
    }  # fmt: skip
    return render_template("timeline/page.html", **context)


def _keys() -> set[str | None]:
    return {server.key for server in console().servers()}


def _more(
    query: Query, page: dict[str, Any], way: str, seq: int | None, found: Stretch
) -> dict[str, Any] | None:
    """Where the list goes on: the part for htmx, a whole page without it, and the row to stay at."""
    if seq is None:
        return None
    return {
        "part": query.link(follow.ROWS, *page.items(), (way, seq)),
        "page": query.link("/timeline", (way, seq)),
        "first": found.rows[0].seq if found.rows else None,
    }


def recording_of(query: Query) -> Session:
    """The recording asked for. Raises UsageError when there is none of that number."""
    found = next((each for each in store().sessions() if each.id == query.session), None)
    if found is None:
        raise UsageError(
            f"There is no recording number {query.session}.", "Choose one in the list of recordings."
        )
    return found


def remark(recording: Session, newest: int) -> str:
    """What to know about a recording that has no end, or is a damaged file; empty for the one being made."""
    if recording.opened is not None:
        return remark_on_file(store().opened(recording.id), newest)
    if recording.ended_at is not None or recording.id == console().recorder.session:
        return ""
    others = [each for each in living_consoles(console().paths) if each.pid != os.getpid()]
    if others:
        why = "another console is writing it, or was killed"
        return f"Recording {recording.id} has no end: {why}. It goes up to #{newest}."
    return f"Recording {recording.id} was not closed cleanly (killed): complete up to #{newest}."


def remark_on_file(opened: list[Opened], newest: int) -> str:
    """What is wrong with a file that was opened, or an empty string."""
    verdict = (opened[0].verdict if opened else None) or {}
    if verdict.get("problem"):
        return str(verdict["problem"])
    if verdict.get("incomplete"):
        return f"This file is incomplete: it breaks off without its last line. What it holds goes up to #{newest}."
    if (verdict.get("trailer") or {}).get("complete") is False:
        return "This file says of itself that events are missing in it."
    return ""


def title(query: Query, connections: list[Connection], recording: Session) -> str:
    """`billing · 47 events`: the line beside the heading."""
    labels = dict.fromkeys(each.label or "?" for each in connections)
    if query.server is not None:
        names = next(
            (each.label or query.server for each in connections if each.server_key == query.server),
            query.server,
        )
    else:
        names = next(iter(labels)) if len(labels) == 1 else f"{len(labels)} servers"
    return f"{recording.title} · {names}" if recording.title else names


def earlier(query: Query) -> list[Session]:
    """The newest recordings, other than the one shown, that hold events of the server; EARLIER at most."""
    others = (each for each in store().sessions()[:LOOKED_AT] if each.id != query.session)
    held = (
        each for each in others if any(one.server_key == query.server for one in store().connections(each.id))
    )
    return list(islice(held, EARLIER))


def counts(query: Query, connections: list[Connection]) -> dict[str, int]:
    """Events by `t`, and `errors`, of the servers shown; other filters aside."""
    if query.server is None:
        return store().counts(query.session)
    total: dict[str, int] = {}
    for c in query.of(connections).c or NO_CONNECTION:
        for name, count in store().counts(query.session, c).items():
            total[name] = total.get(name, 0) + count
    return total


def chips(known: dict[str, int], query: Query) -> list[Chip]:
    """known: how many events there are, by `t`."""
    return [
        Chip(kind.name, kind.label, kind.icon, sum(known.get(t, 0) for t in kind.t), kind.name in query.kinds)
        for kind in KINDS
    ]


@blueprint.get("/timeline/counts")
def counting() -> AnyResponse | str:
    """The counts of a live list: 204 when nothing came after event `seen`. none: it knew of no errors."""
    query = queries.read(request.args, console().recorder.session)
    if not is_partial():
        return redirect(query.link("/timeline"), 303)
    reader = store()
    total = reader.last_seq(query.session)
    if total == queries.number(request.args, "seen"):
        return make_response("", 204)
    known = counts(query, reader.connections(query.session))
    kinds = chips(known, query)
    shown = [(kind.name, kind.count) for kind in kinds]
    shown.append(("errors-only", errors := known.get("errors", 0)))
    if query.server is not None:
        shown.append(("mine", sum(kind.count for kind in kinds)))
    first = errors > 0 and request.args.get("none") == "1"
    return render_template(
        "timeline/_counts.html", query=query, counts=shown, errors=errors, total=total, first=first
    )


@blueprint.get("/rows")
def rows() -> AnyResponse | str:
    """Rows that continue a page: older or newer."""
    args = request.args
    query = queries.read(args, console().recorder.session)
    before, after = (queries.number(args, name) for name in ("before", "after"))
    if not is_partial():
        return redirect(query.link("/timeline", ("before", before), ("after", after)), 303)
    reader = store()
    wanted = query.of(reader.connections(query.session))
    found = stretch(reader, query.session, wanted, before=before, after=after, around=None)
    page = {name: args[name] for name in ("view", "t0", "span", "sides") if name in args}
    return render_template(
        "timeline/_more_rows.html",
        html=follow.render_rows(found.rows, args),
        found=found,
        sides=args.get("sides") == "1",
        older=_more(query, page, "before", found.older, found) if after is None else None,
        newer=_more(query, page, "after", found.newer, found) if after is not None else None,
    )


@blueprint.get("/timeline/event/<int:seq>")
def event(seq: int) -> AnyResponse | str:
    """The pane of one event; a browser tab gets the whole page with it open."""
    query = queries.read(request.args, console().recorder.session)
    if not is_partial():
        return redirect(query.link("/timeline", ("e", seq), ("tab", request.args.get("tab"))), 303)
    return render_template("timeline/_event.html", **_opened(query, seq))


def _opened(query: Query, seq: int | None) -> dict[str, Any]:
    """Context of the pane: `found` is None while nothing is open."""
    if seq is None:
        names = ("found", "tabs", "previous_error", "next_error", "pair_href", "raw_href", "notes", "replay")
        return dict.fromkeys(names)
    reader = store()
    found = detail(console(), reader, query.session, seq, request.args.get("tab", "explain"))
    wanted = query.of(reader.connections(query.session))
    before, after = neighbours(reader, query.session, seq, wanted)
    return {
        "found": found,
        "tabs": [
            {
                "id": name,
                "label": name.capitalize(),
                "href": query.link("/timeline", ("e", seq), ("tab", name)),
            }
            for name in found.tabs
        ],
        "previous_error": query.link("/timeline", ("e", before)) if before is not None else "",
        "next_error": query.link("/timeline", ("e", after)) if after is not None else "",
        "pair_href": query.link("/timeline", ("e", found.pair.seq)) if found.pair is not None else "",
        "raw_href": query.link(f"/timeline/event/{seq}/raw"),
        "notes": notes_on(query.session, seq, query.link("/timeline", ("e", seq))),
        "replay": replay_links(found.stored, found.pair, query.session),
    }


def replay_links(row: Row, pair: Row | None, session: int) -> dict[str, str]:
    """`send`: the Replay screen with the request an event is, or belongs to; `of`, `of_word`: what it is a replay of."""
    asked = next((each for each in (row, pair) if each is not None and is_question(each)), None)
    found = {"send": "", "of": "", "of_word": ""}
    if asked is None:
        return found
    found |= {"send": url_for("replay.index", session=session, pick=asked.seq, e=asked.seq)}
    match = re.fullmatch(r"replay-(\d{1,18})-(\d{1,18})", asked.op or "")
    if match is not None and any(each.id == int(match[1]) for each in store().sessions()):
        found["of"] = url_for("timeline.show", session=match[1], e=match[2])
        found["of_word"] = f"#{match[2]}" + ("" if int(match[1]) == session else f" of recording {match[1]}")
    return found


@blueprint.get("/timeline/event/<int:seq>/raw")
def raw(seq: int) -> Response:
    """The exact bytes of an event, to be kept as a file. Raises UsageError when it has none."""
    query = queries.read(request.args, console().recorder.session)
    found = store().raw(query.session, seq)
    if found is None:
        raise UsageError(f"Event #{seq} has no bytes of its own.", "Its recorded fields are under Raw.")
    return download(found, f"event-{query.session}-{seq}.bin")


@blueprint.get("/timeline/error")
def next_error() -> AnyResponse:
    """The page with the first error after `after` open; from the beginning again when there is none."""
    query = queries.read(request.args, console().recorder.session)
    wanted = query.of(store().connections(query.session))
    after = queries.number(request.args, "after") or 0
    seq = store().next_error(query.session, after, wanted)
    if seq is None and after:
        seq = store().next_error(query.session, 0, wanted)
    return redirect(query.link("/timeline", ("e", seq)), 303)


@blueprint.get("/codes")
def codes() -> str:
    """Every error Loupe can show, a section each."""
    return render_template("timeline/codes.html", shell=shell("", None), entries=error_codes.ENTRIES)
