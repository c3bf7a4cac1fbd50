"""What a console keeps of calls, questions and jobs: what goes on is never forgotten, and what has ended has ended."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from inspector.catalog.snapshot import Snapshot
from inspector.console import asking, calls, jobs
from inspector.console.asking import Asking
from inspector.console.calls import Call, Calls
from inspector.console.catalogs import Catalog, Catalogs
from inspector.console.jobs import Jobs, Progress, settled
from inspector.console.lab import asked_of
from inspector.console.scripts import Waiting
from inspector.discovery.code.approvals import Ask
from inspector.discovery.code.calls import Call as ScriptCall
from inspector.errors import Cancelled, FileError, UsageError
from inspector.settings.answers import Answers

BOUND = 20.0


def test_a_question_that_waits_is_kept_whatever_is_asked_meanwhile(tmp_path: Path) -> None:
    with start_blocking_portal() as portal:
        kept = Asking(portal, Answers(tmp_path / "answers.json"))
        waits = portal.start_task_soon(kept.ask, "s", 1, "elicitation/create", {"message": "Who?"})
        while not kept.waiting("s"):  # bounded by the test's own time-out
            portal.call(int)
        for _ in range(asking.KEPT + 1):
            portal.call(kept.ask, "s", 1, "roots/list", {})
        answer = ("result", {"action": "cancel"})
        assert kept.answer("q1", answer).word == "cancelled"
        assert waits.result(BOUND) == answer
        portal.call(kept.ask, "s", 1, "roots/list", {})
        with pytest.raises(UsageError, match="no question q1 any more"):
            kept.get("q1")


def test_a_call_that_runs_is_kept_whatever_is_called_meanwhile() -> None:
    kept = Calls(None, None)  # type: ignore[arg-type]
    for number in range(calls.KEPT + 2):
        call = Call(f"call-{number}", "s", 1, "t", "{}", 1, 0.0)
        if number:
            call.future.set_result(None)
        kept._keep(call)
    assert not kept.get("call-0").done
    with pytest.raises(UsageError, match="no call call-1 any more"):
        kept.get("call-1")
    assert len(kept.recent("s")) == calls.KEPT + 1


def test_a_call_that_is_asked_for_after_its_run_was_stopped_waits_for_nobody() -> None:
    waiting, said = Waiting(), list[str]()
    waiting.give_up()
    ask = Ask(ScriptCall(1, "f", "s__f", "s", {}, 1))
    late = threading.Thread(target=lambda: said.append(waiting.decide(ask)), daemon=True)
    late.start()
    late.join(BOUND)
    assert (said, waiting.ask) == (["deny"], None)


def test_the_oldest_job_ends_at_its_next_step_when_there_are_too_many() -> None:
    kept, let_go = Jobs(), threading.Event()

    def work(progress: Progress) -> None:
        while not let_go.wait(0.01):
            progress.at("Working.")

    first = kept.start(0, work)
    for number in range(1, jobs.KEPT + 1):
        kept.start(number, lambda _progress: None)
    with pytest.raises(Cancelled):
        first.future.result(BOUND)
    let_go.set()
    assert kept.known(0) is None and kept.known(jobs.KEPT) is not None


def test_work_that_ran_out_of_time_has_ended_and_does_not_run_for_ever() -> None:
    ended: Future[int] = Future()
    assert settled(ended, 0, "The lab", "Try less.") is None
    ended.set_exception(TimeoutError())
    with pytest.raises(FileError, match=r"The lab broke off \(TimeoutError\)"):
        settled(ended, 0, "The lab", "Try less.")


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ('{"name":"github__create_issue","input":{}}', "of-github"),
        ('{"name":"call_tool","input":{"name":"hub__find"}}', "of-hub"),
        ('{"name":"search_tools","input":{"query":"x"}}', None),
    ],
)
def test_a_step_belongs_to_the_server_it_names_and_not_to_one_whose_name_ends_alike(
    asked: str, key: str | None
) -> None:
    assert asked_of({"hub": "of-hub", "github": "of-github"}, asked) == key


def test_what_is_forgotten_of_a_server_is_not_shown_as_it_was_then_either() -> None:
    kept = Catalogs(None, None, None, None)  # type: ignore[arg-type]
    for id_, key in ((1, "~3.1"), (2, "other")):
        catalog = Catalog(key, Snapshot("tools", ()), None, Future(), Future())  # type: ignore[arg-type]
        kept._known[key, "tools"] = kept._opened[id_] = catalog
    kept.forget("~3.1")
    assert (list(kept._known), list(kept._opened)) == ([("other", "tools")], [2])
