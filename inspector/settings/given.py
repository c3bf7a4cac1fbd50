"""What servers were given in the recordings there are, so that exports of them hide it for as long. Any thread.

A server may have been changed, removed or signed out of since. One file a recording, 0600, gone with it. What came
from the environment is kept as its placeholder, never as its value.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from inspector.errors import ConfigError
from inspector.settings.files import read_text, write_private
from inspector.settings.variables import expand_text


class Given:
    """Values by recording, in files of `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def remember(self, session: int, values: Iterable[str]) -> None:
        """Keep these too. Raises StorageError."""
        with self._lock:
            known = self._kept(session)
            wanted = sorted({*known, *values})
            if wanted != known:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_private(self._file(session), json.dumps(wanted, indent=1) + "\n")

    def of(self, session: int) -> list[str]:
        """Everything that was given in a recording; placeholders as the environment has them now."""
        kept = self._kept(session)
        return sorted({*kept, *map(expand_text, kept)})

    def forget(self, session: int) -> None:
        """The recording is gone."""
        with suppress(OSError):
            self._file(session).unlink()

    def only(self, sessions: Iterable[int]) -> None:
        """Forget all others: of a database that is not there any more."""
        wanted = {self._file(session).name for session in sessions}
        for file in self._folder.glob("*.json"):
            if file.name not in wanted:
                with suppress(OSError):
                    file.unlink()

    def _file(self, session: int) -> Path:
        return self._folder / f"{session}.json"

    def _kept(self, session: int) -> list[str]:
        try:
            found = json.loads(read_text(self._file(session)))
        except (ConfigError, ValueError):
            return []
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
