"""The live rows of the timeline and of the pinned column: what `web.live` pushes. WebSocket and request threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from flask import Flask, render_template
from flask.blueprints import BlueprintSetupState
from markupsafe import Markup

from inspector.console.console import Console
from inspector.trace.rows import Row as Stored
from inspector.trace.rows import row_of
from inspector.trace.store import Store
from inspector.web import query as queries
from inspector.web.frame import console, store
from inspector.web.listing import LIST_BYTES, Scale, rows_of
from inspector.web.live import WINDOWS, Args, Live
from inspector.web.query import Query
from inspector.web.rows import ITEMS
from inspector.web.verdicts import invalid_outputs
from inspector.wire.events import Event

ROWS: Final = "/rows"


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

    Live(shown.recorder.feed, render_events, render_gap, rows_path=ROWS, wanted=wanted).attach(app)


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


def render_events(events: Sequence[Event], args: Args) -> str:
    """The rows of announced events, for the view the page asked for."""
    session = console().recorder.session
    return render_rows([stored_of(event, session) for event in events], args)


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


def render_gap(url: str, args: Args) -> Markup:
    """A row that fetches what was missed and puts it in its own place. url: ends with `until=SEQ`."""
    full, until = args.get("view") == "full", url.rpartition("until=")[2]
    sides = args.get("sides") == "1"
    html = render_template("timeline/_gap.html", url=url, full=full, until=until, sides=sides)
    return Markup(html)  # noqa: S704 -- as above


def window(full: bool) -> int:
    """How many rows the page holds."""
    return WINDOWS["full" if full else "mini"].keep


def more_path(query: Query, args: Args, *more: tuple[str, object]) -> str:
    """The address that continues this page's rows."""
    page = [(name, args[name]) for name in ("view", "t0", "span", "sides") if name in args]
    return query.link(ROWS, *page, *more)
