"""The recorded sessions, and connections of them, that a difference can be made of. Flask request threads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from inspector.replay.aligned import Place
from inspector.trace.store import Connection, Session, Store


@dataclass(frozen=True, slots=True)
class Side:
    """One side. token: `12`, or `12.3` for connection 3 of session 12. stamp: changes with what is recorded.

    place is None while nothing is chosen, and where there is none such: then `problem` says so.
    """

    token: str
    label: str = ""
    line: str = ""
    place: Place | None = None
    stamp: int = 0
    problem: str = ""

    @property
    def session(self) -> int | None:
        return self.place.session if self.place is not None else None


@dataclass(frozen=True, slots=True)
class Token:
    """Something to choose."""

    token: str
    label: str


def side_of(store: Store, token: str) -> Side:
    """What the address names."""
    if not token:
        return Side("")
    match = re.fullmatch(r"(\d{1,18})(?:\.(\d{1,9}))?", token)
    session = next((each for each in store.sessions() if match and each.id == int(match[1])), None)
    if match is None or session is None:
        return Side(token[:40], problem="There is no such recording.")
    connections = store.connections(session.id)
    c = int(match[2]) if match[2] else None
    one = next((each for each in connections if each.c == c), None)
    if c is not None and one is None:
        return Side(token, problem=f"Session {session.id} has no connection {c}.")
    last = store.last_seq(session.id)
    shown = [one] if one is not None else connections
    named = ", ".join(dict.fromkeys(each.label or "?" for each in shown)) or "no connection"
    eras = ", ".join(dict.fromkeys(each.era for each in shown if each.era))
    label = f"{named} {_moment(session)}"
    line = " · ".join(filter(None, (f"session {token}", _called(session), eras, f"up to #{last:,}")))
    return Side(token, label, line, Place(session.id, c), last)


def tokens_of(store: Store, sessions: Sequence[Session]) -> list[Token]:
    """Each session as a whole and, where it has several, each of its connections."""
    found = []
    for session in sessions:
        if not session.events:
            continue
        connections = store.connections(session.id)
        found.append(Token(str(session.id), _label(session, connections)))
        if len(connections) > 1:
            found += [
                Token(f"{session.id}.{one.c}", f"{_moment(session)} only {_name(one)} (connection {one.c})")
                for one in connections
            ]
    return found


def newest(tokens: Sequence[Token]) -> list[str]:
    """The two newest whole sessions, the newest first; empty when there are not two."""
    found = [each.token for each in tokens if "." not in each.token][:2]
    return found if len(found) == 2 else []


def _label(session: Session, connections: Sequence[Connection]) -> str:
    names = list(dict.fromkeys(one.label or "?" for one in connections))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return " · ".join(
        filter(
            None, (_moment(session), _called(session), shown or "no connection", f"{session.events:,} events")
        )
    )


def _name(one: Connection) -> str:
    return f"{one.label or '?'}, {one.era}" if one.era else one.label or "?"


def _called(session: Session) -> str:
    """The file's name, or the title somebody gave."""
    return f"file {session.opened[:60]}" if session.opened is not None else session.title[:60]


def _moment(session: Session) -> str:
    return session.started_at[:16].replace("T", " ")
