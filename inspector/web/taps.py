"""Where taps of this machine post what they record, and how the timeline names what they watch. Request threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flask import Blueprint, Response, make_response, request
from werkzeug.wrappers import Response as AnyResponse

from inspector.console.tap_live import BUSY, UNKNOWN
from inspector.console.tapped import PREFIX, UnknownTap
from inspector.trace.store import Connection
from inspector.web.frame import console

blueprint = Blueprint("taps", __name__)
LONGEST = 40 << 20
"""Bytes of one line: a trace line is at most 32 MiB."""


@blueprint.post("/_tap")
def take() -> AnyResponse:
    """Record a batch. 503 while the recorder is behind, 409 for a tap that has to introduce itself."""
    if console().journal.pressure():
        return Response(status=BUSY)
    stream = request.stream
    head = stream.readline(LONGEST)
    try:
        taken = console().taps.take(head, iter(lambda: stream.readline(LONGEST), b""))
    except UnknownTap:
        return Response(status=UNKNOWN)
    return make_response({"taken": taken})


@dataclass(frozen=True, slots=True)
class Tapped:
    """A server that a tap watches, as the timeline names it. live: the tap runs and tells this console."""

    key: str
    name: str
    live: bool


def tapped(connections: Iterable[Connection], *, current: bool) -> list[Tapped]:
    """What is tapped in a recording. current: it is the one being made."""
    living = {tap.key for tap in console().taps.all() if tap.live} if current else set()
    keys = dict.fromkeys(each.server_key for each in connections if each.server_key)
    return [Tapped(key, key.removeprefix(PREFIX), key in living) for key in keys if key.startswith(PREFIX)]
