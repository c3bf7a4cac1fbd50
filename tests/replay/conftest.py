from __future__ import annotations

from pathlib import Path

import pytest
from replaying import record_git


@pytest.fixture(scope="session", params=["handshake", "modern"])
def git(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """(era, trace, repository) of the real mcp-server-git."""
    era = str(request.param)
    return (era, *record_git(tmp_path_factory.mktemp(era), era))
