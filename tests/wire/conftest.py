from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with start_blocking_portal("asyncio") as portal:
        made = Bench(portal, tmp_path / "children")
        yield made
        made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One loop and one journal for all tests of a module; their connections stay open."""
    with start_blocking_portal("asyncio") as portal:
        made = Bench(portal, tmp_path_factory.mktemp("shared") / "children")
        yield made
        made.close()
