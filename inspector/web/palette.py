"""The command palette: screens, servers, tools and commands by a few letters of their name. Request threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from flask import render_template, request, url_for

from inspector.console.console import Server
from inspector.web.calls_view import has_utf8
from inspector.web.frame import console, screens, shell
from inspector.web.labels import labels

MOST: Final = 40


@dataclass(frozen=True, slots=True)
class Option:
    """A line of the palette. post: it is sent with POST and `fields`, for it starts something."""

    group: str
    label: str
    href: str
    icon: str
    note: str = ""
    post: bool = False
    fields: Sequence[tuple[str, str]] = ()


def show() -> str:
    """Options for `q`. The dialog has screens and servers already: htmx gets tools and commands only."""
    text = request.args.get("q", "").strip().lower()
    servers = console().servers()
    if request.headers.get("HX-Request-Type") == "partial":
        found = list(islice(_matching(text, _acts(servers)), MOST)) if text else []
        return render_template("timeline/_palette.html", options=found)
    everything = [*_places(servers), *_acts(servers)]
    found = list(islice(_matching(text, everything), 4 * MOST))
    return render_template("timeline/palette.html", shell=shell("", None), options=found, q=text)


def _matching(text: str, options: Iterable[Option]) -> Iterator[Option]:
    """The options that have every word of `text` in their name or note."""
    words = text.split()
    return (each for each in options if all(word in f"{each.label} {each.note}".lower() for word in words))


def _places(servers: list[Server]) -> Iterator[Option]:
    for screen in screens(None):
        yield Option("Screens", screen.label, screen.href, screen.icon, f"g {screen.key}")
    named = labels(servers)
    for server in servers:
        yield Option(
            "Servers", named[server.key], url_for("servers.show", key=server.key), "servers", server.state
        )


def _acts(servers: list[Server]) -> Iterator[Option]:
    yield Option("Commands", "Error codes", url_for("timeline.codes"), "error", "what each one means")
    named = labels(servers)
    for server in servers:
        yield from _commands(server, named[server.key])
    for server in servers:
        yield from _tools(server, named[server.key])


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


def _tools(server: Server, name: str) -> Iterator[Option]:
    """The tools of the last list of this run; an older one is not read back for this."""
    catalog = console().catalogs.known(server.key, "tools") if server.tools is not None else None
    for measure in catalog.measured.measures if catalog is not None else ():
        if measure.name is None:
            continue
        if has_utf8(measure.name):
            href = url_for("calls.show", key=server.key, tool=measure.name)
        else:  # no address can carry it; its definition stands in the catalog
            href = url_for("catalog.show", key=server.key, what="tools")
        yield Option("Tools", measure.name, href, "tool", name)
