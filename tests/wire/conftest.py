from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from bench import Bench, chaos_http, self_signed


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


@pytest.fixture(scope="session")
def chaos_url() -> Iterator[str]:
    """One chaos server on HTTP without a standing fault, for every test that leaves it as it is."""
    with chaos_http() as url:
        yield url


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls") / "self.pem")
