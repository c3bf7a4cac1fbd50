"""Questions a handshake server wants answered as tasks: declared by a switch, polled by it, answered by a person."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalog_screen import WAIT_S, console_of

from inspector.console.console import Console
from inspector.settings.spec import ServerSpec

POLLING = Path(__file__).resolve().parents[1] / "servers" / "polling.py"
ARGV = (sys.executable, str(POLLING))


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("tasks")
    folder.chmod(0o700)
    specs = {
        "on": ServerSpec("on", argv=ARGV, declare=("elicitation", "tasks"), era="handshake"),
        "off": ServerSpec("off", argv=ARGV, declare=("elicitation",), era="handshake"),
    }
    with console_of(folder, specs) as (console, _):
        for key in specs:
            console.connect(key)
        yield console


def heard(console: Console, key: str, tool: str, answer: Any = None) -> list[Any]:
    """What the server was told, in order; its question answered when it stands."""
    call = console.call(key, tool, "{}")
    deadline = time.monotonic() + WAIT_S
    while answer is not None and not call.done:
        assert time.monotonic() < deadline
        for question in console.asking.waiting(key):
            console.asking.answer(question.id, answer)
            answer = None
        time.sleep(0.01)
    call.future.result(WAIT_S)
    assert call.outcome is not None and call.outcome.result is not None
    found: list[Any] = json.loads(call.outcome.result["content"][0]["text"])
    return found


def test_the_switch_declares_tasks_for_the_questions_that_are_on(console: Console) -> None:
    assert heard(console, "on", "declared") == [
        {"elicitation": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}}
    ]
    assert heard(console, "off", "declared") == [{"elicitation": {}}]


def test_a_question_asked_as_a_task_stands_at_once_and_brings_the_answer_when_a_person_gave_it(
    console: Console,
) -> None:
    said = {"action": "accept", "content": {"name": "Ada"}}
    begun, stands, result, listed = heard(console, "on", "ask", ("result", said))
    task = begun["elicitation/create"]["task"]
    assert (task["status"], task["ttl"], task["statusMessage"]) == ("working", 60_000, "Waits for a person")
    assert stands["tasks/get"]["taskId"] == task["taskId"]
    related = {"io.modelcontextprotocol/related-task": {"taskId": task["taskId"]}}
    assert result["tasks/result"] == said | {"_meta": related}
    (ended,) = [one for one in listed["tasks/list"]["tasks"] if one["taskId"] == task["taskId"]]
    assert ended["status"] == "completed"


def test_a_task_the_server_cancels_takes_its_question_back(console: Console) -> None:
    _, cancelled, again, result, _ = heard(console, "on", "withdraw")
    assert cancelled["tasks/cancel"]["status"] == "cancelled"
    assert again["tasks/cancel"] == {"code": -32602, "message": "The task is cancelled already"}
    assert result["tasks/result"] == {"code": -32602, "message": "The task was cancelled"}
    assert console.asking.waiting("on") == []


def test_a_task_that_is_none_is_an_error_and_without_the_switch_there_are_none(console: Console) -> None:
    assert heard(console, "on", "odd")[0]["tasks/get"] == {"code": -32602, "message": "There is no such task"}
    assert [next(iter(one.values()))["code"] for one in heard(console, "off", "odd")] == [-32601, -32601]
