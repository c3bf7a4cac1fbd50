"""What a timeline URL asks for: which recording, which server, which events; and the links that keep it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from inspector.trace.filters import Filter
from inspector.trace.rows import is_bad
from inspector.trace.store import Connection
from inspector.wire.events import C2S, S2C, Event

Args = MultiDict[str, str]
Pairs = tuple[tuple[str, str], ...]

NO_CONNECTION: Final = (-1,)
"""Stands for a server that has no connection in this recording: nothing may be shown as its own."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A chip of the filter: the events (`t`) it stands for."""

    name: str
    label: str
    icon: str
    t: tuple[str, ...]


KINDS: Final = (
    Kind("frames", "Frames", "request", ("rpc",)),
    Kind("stderr", "Stderr", "stderr", ("stderr",)),
    Kind("noise", "Noise", "noise", ("noise",)),
    Kind("http", "HTTP", "http", ("http",)),
    Kind("process", "Process", "process", ("proc", "connection")),
    Kind("cache", "Cache", "cache", ("cache", "catalog")),
    Kind("errors", "Noted errors", "error", ("error",)),
)
CAUSES: Final = ("user", "housekeeping", "probe", "handshake", "answer", "replay")
_KEPT: Final = ("server", "kind", "dir", "method", "q", "errors", "cause")


@dataclass(frozen=True, slots=True)
class Query:
    """A timeline URL, understood. kinds: chips that are on; all of them when the URL names none.

    wanted: everything but the server. state: what every link of the screen carries on.
    """

    session: int
    server: str | None
    kinds: frozenset[str]
    wanted: Filter
    state: Pairs

    def link(self, path: str, *more: tuple[str, object]) -> str:
        """`path` with this state and `more`; pairs whose value is None are left out."""
        pairs = [*self.state, *((name, str(value)) for name, value in more if value is not None)]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def of(self, connections: Iterable[Connection]) -> Filter:
        """The whole filter, over the connections of the recording."""
        wanted = self.wanted
        if self.server is None:
            return wanted
        c = tuple(each.c for each in connections if each.server_key == self.server)
        return replace(wanted, c=c or NO_CONNECTION)


def read(args: Args, current: int) -> Query:
    """The query of a URL; what it says wrongly counts as not said. current: the session being recorded."""
    session = number(args, "session")
    session = current if session is None else session
    names = {kind.name for kind in KINDS}
    asked = frozenset(args.getlist("kind")) & names
    kinds = asked or frozenset(names)
    shown = frozenset(t for kind in KINDS if kind.name in kinds for t in kind.t)
    direction = args.get("dir")
    wanted = Filter(
        t=frozenset() if kinds == names else shown,
        dir=direction if direction in (C2S, S2C) else None,
        method=args.get("method", "").strip(),
        text=args.get("q", ""),
        errors_only=args.get("errors") == "1",
        cause=args.get("cause") or None,
    )
    kept = [(name, value) for name in _KEPT for value in args.getlist(name) if value]
    if kinds == names:
        kept = [pair for pair in kept if pair[0] != "kind"]
    if session != current:
        kept.append(("session", str(session)))
    return Query(session, args.get("server") or None, kinds, wanted, tuple(kept))


def number(args: Args, name: str) -> int | None:
    """A session, seq or time out of a URL; None when it is absent or no number SQLite takes."""
    return whole(args.get(name, ""))


def whole(text: str) -> int | None:
    """A number that SQLite takes, written in digits; None when the text is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def lets_through(wanted: Filter) -> Callable[[Event], bool]:
    """The filter, but its connections, as a test of announced events; the same answer as the database gives."""
    method = wanted.method.lower()
    needles = [spelled.encode("utf-8", "surrogatepass").lower() for spelled in _spellings(wanted.text)]

    def test(event: Event) -> bool:
        return (
            (not wanted.t or event.t in wanted.t)
            and (wanted.dir is None or event.dir == wanted.dir)
            and (wanted.cause is None or event.cause == wanted.cause)
            and (not method or method in (event.method or "").lower())
            and (not wanted.errors_only or is_bad(event))
            and (not wanted.text or any(needle in hay for hay in _texts(event) for needle in needles))
        )

    return test


def _spellings(text: str) -> set[str]:
    """The text as typed and as the inside of a JSON string."""
    return {text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}


def _texts(event: Event) -> Sequence[bytes]:
    return (event.raw or b"").lower(), json.dumps(event.body, separators=(",", ":")).encode().lower()


def sides(connections: Iterable[Connection]) -> dict[int, tuple[str, bool]]:
    """By connection number: the letter of its server, and whether it is drawn as an outline (every second one)."""
    letters: dict[str, tuple[str, bool]] = {}
    found = {}
    for each in connections:
        key = each.server_key or each.label or "?"
        if key not in letters:
            letters[key] = (
                _letter(each.label or key, [used for used, _ in letters.values()]),
                len(letters) % 2 == 1,
            )
        found[each.c] = letters[key]
    return found


def _letter(label: str, used: Sequence[str]) -> str:
    """A letter of the label (of its last part: `demo:flat` is F) no other server has; with none left, a number."""
    for char in re.split(r"[:/]", label)[-1].upper():
        if char.isalnum() and char not in used:
            return char
    return str(len(used) + 1)
