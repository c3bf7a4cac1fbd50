"""The live rows of the timeline and of the pinned column: what `web.live` pushes. WebSocket and request threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from flask import Flask, render_template
from flask.blueprints import BlueprintSetupState
from markupsafe import Markup

from inspector.console.console import Console
from inspector.trace.filters import Filter
from inspector.trace.rows import Row as Stored
from inspector.trace.rows import row_of
from inspector.trace.store import Store
from inspector.web import query as queries
from inspector.web.frame import console, store
from inspector.web.listing import LIST_BYTES, Scale, rows_of
from inspector.web.live import Live
from inspector.web.pushing import Args, Drawing
from inspector.web.rows import ITEMS
from inspector.web.verdicts import invalid_outputs
from inspector.wire.events import Event

ROWS: Final = "/rows"
PAGE: Final = "/timeline"


def attach(state: BlueprintSetupState) -> None:
    """Put `/live` beside the timeline's routes when its blueprint is registered."""
    app = state.app
    assert isinstance(app, Flask)
    shown: Console = app.extensions["console"]
    owners = Owners(shown.store, shown.recorder.session)

    def wanted(args: Args) -> Callable[[Event], bool]:
        query = queries.read(args, shown.recorder.session)
        test = queries.lets_through(query.wanted)
        if query.session != shown.recorder.session:
            return lambda event: False
        if query.server is None:
            return test
        return lambda event: owners.of(event.c) == query.server and test(event)

    session = shown.recorder.session
    drawing = Drawing(
        row=lambda event: stored_of(event, session), newest=newest, rows=render_rows, older=render_older,
        note=render_note, every=wants_every,
    )  # fmt: skip
    Live(shown.recorder.feed, drawing, wanted=wanted).attach(app)


class Owners:
    """Which server a connection number belongs to. A number is never used twice, so one reading is for good.

    The recorder keeps a connection before it announces any event of it: what the database does not know has none.
    """

    def __init__(self, open_store: Callable[[], Store], session: int) -> None:
        self._open = open_store
        self._session = session
        self._keys: dict[int, str | None] = {0: None}

    def of(self, c: int) -> str | None:
        """The key of the server; None when the connection has none."""
        if c not in self._keys:
            with self._open() as reader:
                known = {each.c: each.server_key for each in reader.connections(self._session)}
            self._keys.update({c: None} | known)
        return self._keys[c]


def scale(args: Args) -> Scale | None:
    """The axis of the page a row goes to."""
    t0, span = queries.number(args, "t0"), queries.number(args, "span")
    return Scale(t0, float(span)) if t0 is not None and span else None


def stored_of(event: Event, session: int) -> Stored:
    """The announced event as a listing would give it, list answers whole."""
    row = row_of(session, event)
    whole = row.cut and row.method in ITEMS and row.kind == "result" and (row.bytes or 0) <= LIST_BYTES
    return replace(row, raw_head=event.raw) if whole else row


def newest(args: Args, most: int) -> Sequence[Stored]:
    """The last rows of the recording that this page wants to see."""
    query = queries.read(args, console().recorder.session)
    reader = store()
    return reader.page(query.session, query.of(reader.connections(query.session)), limit=most)


def wants_every(args: Args) -> bool:
    """Whether the page has no filter: then the seqs it has not shown are as many events."""
    query = queries.read(args, console().recorder.session)
    return query.wanted == Filter() and query.server is None


def render_rows(stored: Sequence[Stored], args: Args) -> Markup:
    """HTML of rows for the full list or the pinned column."""
    query = queries.read(args, console().recorder.session)
    full = args.get("view") == "full"
    reader = store()
    connections = reader.connections(query.session)
    with_sides = full and args.get("sides") == "1"
    axis, invalid = scale(args) if full else None, invalid_outputs(console(), stored)
    rows = rows_of(reader, stored, query, connections, axis, with_sides=with_sides, invalid=invalid)
    template = "timeline/_rows.html" if full else "timeline/_minis.html"
    return Markup(render_template(template, rows=rows, sides=with_sides))  # noqa: S704 -- the template escapes


def render_older(args: Args, before: int, passed: int) -> Markup:
    """What stands above rows that begin the list anew: how many were passed over, and the way to what came before."""
    query = queries.read(args, console().recorder.session)
    full = args.get("view") == "full"
    if before <= 1 or not (full or passed):
        return Markup()
    page = [(name, args[name]) for name in ("view", "t0", "span", "sides") if name in args]
    older = {
        "part": query.link(ROWS, *page, ("before", before)),
        "page": query.link(PAGE, ("before", before)),
        "first": before,
    }
    template = "timeline/_passed.html" if full else "timeline/_passed_mini.html"
    html = render_template(template, older=older, passed=passed, sides=args.get("sides") == "1")
    return Markup(html)  # noqa: S704 -- the template escapes


def render_note(passed: int) -> Markup:
    """What stands under the list while events are passed over."""
    return Markup(render_template("timeline/_note.html", passed=passed))  # noqa: S704 -- as above
