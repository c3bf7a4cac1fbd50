"""Settings of the whole suite: generated examples are never timed; what takes long comes first."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("loupe", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loupe")

LATE = (["catalog"], ["protocol"], ["settings"], ["trace"], ["discovery"], ["test_tree.py"])
"""Files of a second or so each: with them last, the workers end together."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browsers first, then whatever starts processes, then the rest; within a file the order stays."""

    def turn(item: pytest.Item) -> int:
        if item.get_closest_marker("browser"):
            return 0
        return 2 if item.nodeid.partition("::")[0].split("/")[1:][:1] in LATE else 1

    items.sort(key=turn)
