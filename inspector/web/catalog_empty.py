"""What the catalog screen says where there is no list: why, how far it is, or what failed. Flask request threads."""

from __future__ import annotations

from dataclasses import dataclass

from flask import url_for

from inspector.console.console import Server
from inspector.web.catalog_facts import NOUNS, pages_so_far
from inspector.web.frame import console, current_label, event_link
from inspector.wire.listing import offers


@dataclass(frozen=True, slots=True)
class Empty:
    """Why nothing is shown, and the next thing to do: a link, or listing now. since_ms: of what is waited for."""

    sentence: str
    action: str = ""
    href: str = ""
    list_now: bool = False
    since_ms: int = 0


def empty(server: Server, what: str) -> Empty:
    """The sentence of a list that is not there, and the next action."""
    name, plural = current_label(server.key), NOUNS[what][1]
    if server.session is not None:
        sentence = f"The file {server.spec.source} records no list of the {plural} of {name}."
        return Empty(sentence, "See what it records", url_for("timeline.show", session=server.session))
    if server.state == "connecting":
        return Empty(f"Connecting to {name}…")
    if server.state != "connected" or server.connection is None:
        sentence = f"{name} is not connected, and no list of its {plural} was recorded."
        return Empty(sentence, "Connect it on the Servers screen", url_for("servers.show", key=server.key))
    peer = server.connection.peer
    if (underway := console().catalogs.underway(server.key, what)) is not None:
        came = pages_so_far(underway.pages, underway.bytes)
        return Empty(f"Listing the {plural} of {name}… {came}", since_ms=underway.began_us // 1000)
    if peer is None or offers(server.connection, what):
        return Empty(f"The {plural} of {name} are not listed yet.", list_now=True)
    hello = "server/discover" if peer.era == "modern" else "initialize"
    sentence = f"No {plural} listed. The server declares no {'resources' if what == 'templates' else what} capability."
    href = event_link(server, peer.hello_seq) if peer.hello_seq is not None else ""
    return Empty(sentence, f"View {hello}", href, list_now=True)
