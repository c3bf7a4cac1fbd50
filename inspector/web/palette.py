"""The command palette: screens, servers, tools, recordings and commands by a few letters of a name. Request threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from flask import render_template, request, url_for

from inspector.catalog.snapshot import PROMPTS, RESOURCES, TOOLS
from inspector.console.console import Server
from inspector.web.calls_view import has_utf8
from inspector.web.frame import console, screens, shell, store
from inspector.web.labels import labels
from inspector.web.render import is_partial

MOST: Final = 14
"""Lines of one group in the dialog."""
MOST_ON_PAGE: Final = 60
RECENT: Final = 5
"""Recordings offered before anything is typed."""
SEARCHED: Final = 500
ASKED: Final = 80
"""Characters of what is typed that are looked for, and with `LOOKED_AT` what one option can cost."""
LOOKED_AT: Final = 300
"""Characters of a name that are looked at: a server may choose one of a megabyte."""


@dataclass(frozen=True, slots=True)
class Option:
    """A line of the palette. post: it is sent with POST and `fields`, for it starts something.

    to: its address, or what makes it: of ten thousand tools fourteen are shown.
    """

    group: str
    label: str
    to: str | Callable[[], str]
    icon: str
    note: str = ""
    post: bool = False
    fields: Sequence[tuple[str, str]] = ()

    @property
    def href(self) -> str:
        return self.to if isinstance(self.to, str) else self.to()


Groups = list[tuple[str, list[Option]]]


def show() -> str:
    """Options for `q`. The dialog has screens and servers already: htmx gets the rest only."""
    text = request.args.get("q", "").strip()[:ASKED].lower()
    servers = console().servers()
    if is_partial():
        recent = list(_recordings())[:RECENT] if not text else []
        found = grouped("", recent) if not text else grouped(text, _others(servers))
        return render_template("timeline/_palette.html", groups=found)
    found = grouped(text, [*_places(servers), *_others(servers)], MOST_ON_PAGE)
    return render_template("timeline/palette.html", shell=shell("", None), groups=found, q=text)


def grouped(text: str, options: Iterable[Option], most: int = MOST) -> Groups:
    """What fits, the best first; the groups by the best of each."""
    ranked = [
        (rank, at, each) for at, each in enumerate(options) if (rank := rank_of(text, each)) is not None
    ]
    groups = dict[str, list[Option]]()
    for _, _, each in sorted(ranked, key=lambda one: one[:2]):
        kept = groups.setdefault(each.group, [])
        if len(kept) < most:
            kept.append(each)
    return list(groups.items())


def rank_of(text: str, option: Option) -> int | None:
    """How well an option fits every word: 0 at the start of its name, more for less; None when one does not fit."""
    label, note = option.label[:LOOKED_AT].lower(), option.note[:LOOKED_AT].lower()
    total = 0
    for word in text.split():
        rank = _rank(word, label, note)
        if rank is None:
            return None
        total += rank
    return total


def _rank(word: str, label: str, note: str) -> int | None:
    at = label.find(word)
    if at == 0:
        return 0
    if at > 0:
        return 2 if label[at - 1].isalnum() else 1
    if word in note:
        return 4
    return 8 if len(word) > 1 and _in_order(word, label) else None


def _in_order(word: str, label: str) -> bool:
    """Whether the letters of the word stand in the label in this order, with others between: skb in search_kb."""
    letters = iter(label)
    return all(letter in letters for letter in word)


def _places(servers: list[Server]) -> Iterator[Option]:
    for screen in screens(None):
        yield Option("Screens", screen.label, screen.href, screen.icon, f"g {screen.key}")
    named = labels(servers)
    for server in servers:
        yield Option(
            "Servers", named[server.key], url_for("servers.show", key=server.key), "servers", server.state
        )


def _others(servers: list[Server]) -> Iterator[Option]:
    yield from _pages()
    named = labels(servers)
    for server in servers:
        yield from _commands(server, named[server.key])
        yield from _pages_of(server, named[server.key])
    for server in servers:
        yield from _items(server, named[server.key])
    yield from _recordings()


def _pages() -> Iterator[Option]:
    """What has no place of its own in the rail."""
    yield Option("Pages", "Add a server", url_for("servers.index") + "#add", "plus", "command, URL or demo")
    yield Option("Pages", "Error codes", url_for("timeline.codes"), "error", "what each one means")
    yield Option("Pages", "Finding rules", url_for("findings.index"), "caution", "each can be switched off")
    kept = url_for("traces.retention")
    yield Option("Pages", "How long recordings are kept", kept, "settings", "settings: retention, delete")
    yield Option("Pages", "Diff of two recordings", url_for("replay_runs.difference"), "diff", "Replay")
    yield Option(
        "Pages", "Stand-in", url_for("replay.stand_in"), "replay", "a recording in its server's place"
    )
    yield Option("Pages", "When it pays", url_for("lab.index", view="cost"), "lab", "Lab")
    yield Option("Pages", "Evaluate", url_for("lab_evaluate.index"), "lab", "Lab: which tool a search finds")


def _pages_of(server: Server, name: str) -> Iterator[Option]:
    key = server.key
    yield Option("Pages", f"Catalog of {name}", url_for("catalog.show", key=key, what="tools"), "catalog")
    yield Option("Pages", f"Call {name}", url_for("calls.show", key=key), "call")
    yield Option("Pages", f"Timeline of {name}", url_for("timeline.show", server=key), "timeline")
    yield Option("Pages", f"Doctor of {name}", url_for("doctor.show", key=key), "search", "step by step")
    yield Option("Pages", f"Raw frames to {name}", url_for("raw.show", key=key), "call", "byte for byte")
    client = url_for("listen.show", key=key)
    said = "settings: log level, roots, saved answers"
    yield Option("Pages", f"Client for {name}", client, "settings", said)
    edit = url_for("servers.edit", key=key)
    yield Option("Pages", f"Edit {name}", edit, "pencil", "settings: command, env, era, time-outs")


def _commands(server: Server, name: str) -> Iterator[Option]:
    connected = server.state == "connected"
    again, connect = "Reconnect" if connected else "Connect", url_for("servers.connect")
    yield Option(
        "Commands", f"{again} {name}", connect, "connection", post=True, fields=[("key", server.key)]
    )
    if connected:
        refresh = url_for("catalog.refresh", key=server.key, what="tools")
        yield Option("Commands", f"Refresh {name}", refresh, "refresh", "tools/list over the wire", post=True)
        stop = url_for("servers.stop", key=server.key)
        yield Option("Commands", f"Disconnect {name}", stop, "stop", post=True)


def _items(server: Server, name: str) -> Iterator[Option]:
    """What is in the last lists of this run; older ones are not read back for this."""
    for what, group in ((TOOLS, "Tools"), (PROMPTS, "Prompts"), (RESOURCES, "Resources")):
        catalog = console().catalogs.known(server.key, what) if server.tools is not None else None
        for measure in catalog.measured.measures if catalog is not None else ():
            if measure.name is not None:
                yield Option(
                    group, measure.name, partial(_item, server.key, what, measure.name), "tool", name
                )


def _item(key: str, what: str, name: str) -> str:
    if what != RESOURCES and len(name) <= LOOKED_AT and has_utf8(name):
        return url_for("calls.show", key=key, what=what if what != TOOLS else None, tool=name)
    # No address can carry the name, or it is not what is asked for; its definition is in the catalog.
    return url_for("catalog.show", key=key, what=what)


def _recordings() -> Iterator[Option]:
    """The newest recordings but the one being made, which is the Timeline itself."""
    current = console().recorder.session
    for one in store().sessions()[:SEARCHED]:
        if one.id != current:
            label = one.title or one.opened or f"Session {one.id}"
            note = f"{one.started_at[:16].replace('T', ' ')} · {one.events:,} events"
            where = partial(url_for, "timeline.show", session=one.id)
            yield Option("Recordings", label, where, "traces", note)
