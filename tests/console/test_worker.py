"""A count nobody waits for any more leaves no process, at whatever moment it was dropped."""

from __future__ import annotations

import psutil
import pytest
from anyio.from_thread import start_blocking_portal

from inspector.console.worker import Worker


@pytest.mark.parametrize("moment", range(6))
def test_a_dropped_count_leaves_no_process(moment: int) -> None:
    before = {child.pid for child in psutil.Process().children()}
    with start_blocking_portal() as portal:
        worker = Worker(portal)
        dropped = worker.submit(sum, range(50_000_000))
        for _ in range(moment):
            portal.call(int)  # one more turn of the loop: the start is a little further on
        dropped.cancel()
        worker.close()
        assert worker.submit(sum, (1, 2)).result(30) == 3
    left = [child for child in psutil.Process().children() if child.pid not in before]
    assert psutil.wait_procs(left, timeout=30)[1] == []


def test_one_count_at_a_time_and_the_next_uses_the_same_process() -> None:
    with start_blocking_portal() as portal:
        worker = Worker(portal)
        first = worker.submit(_pid)
        second = worker.submit(_pid)
        assert first.result(30) == second.result(30) != psutil.Process().pid
        worker.close()


def test_a_process_with_nothing_to_do_is_ended_and_the_next_count_has_another() -> None:
    with start_blocking_portal() as portal:
        worker = Worker(portal, idle_s=0.05)
        first = psutil.Process(worker.submit(_pid).result(30))
        first.wait(20)
        assert not first.is_running()
        assert worker.submit(sum, (1, 2)).result(30) == 3
        worker.close()


def _pid() -> int:
    return psutil.Process().pid
