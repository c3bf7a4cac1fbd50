"""Deletes a session in slices, so that the recorder never waits long for the database. Any thread, in a transaction each.

A session gets the state `deleting` first: nothing shows it from then on, and a console that was killed meanwhile goes
on at its next start. SQLite uses the space again; the file itself does not shrink.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlite_utils import Database

SLICE: Final = 4000
_SLICE = "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE session = ? LIMIT ?)"


def mark(db: Database, session: int) -> None:
    """Take the session out of every list."""
    db.conn.execute("UPDATE session SET state = 'deleting' WHERE id = ?", (session,))


def delete_some(db: Database, session: int) -> bool:
    """One slice of a marked session; False when that was the last and the session is gone."""
    if db.conn.execute(_SLICE, (session, SLICE)).rowcount:
        return True
    db.conn.execute("DELETE FROM session WHERE id = ?", (session,))
    return False


def delete_slices(db: Database, session: int) -> Iterator[None]:
    """Mark it, then delete it slice by slice, each in a transaction of its own."""
    with db.atomic():
        mark(db, session)
    more = True
    while more:
        with db.atomic():
            more = delete_some(db, session)
        yield
