from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from recordings import Recording

from inspector.trace.recorder import Recorder
from inspector.wire.events import Journal


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Recording]]:
    """Starts recordings into one database; closes them at the end."""
    started: list[Recording] = []

    def begin(title: str = "") -> Recording:
        journal = Journal()
        path = tmp_path / "store" / "trace.db"
        started.append(Recording(path, journal, Recorder(path, journal, title=title, tool_version="0.0")))
        return started[-1]

    yield begin
    for one in started:
        one.recorder.close()


@pytest.fixture
def recording(start: Callable[..., Recording]) -> Recording:
    return start()
