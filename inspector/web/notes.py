"""Notes pinned to an event: those written here and those that came in a file. Request threads."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.trace.store import Note
from inspector.web.frame import store


@dataclass(frozen=True, slots=True)
class Notes:
    """What is remarked on one event. own: written here, changeable. filed: texts out of the file. back: the page."""

    session: int
    seq: int
    own: list[Note]
    filed: list[str]
    back: str


def notes_on(session: int, seq: int, back: str) -> Notes:
    filed = [str(row.body.get("text", "")) for row in store().noted(session, seq)]
    return Notes(session, seq, store().notes(session, seq), filed, back)
