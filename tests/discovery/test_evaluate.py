"""Retrieval figures on a set small enough to count by hand; task files that are none; the shipped set."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from lab_parts import shop

from inspector.demo.catalog import categories
from inspector.discovery.access import Access
from inspector.discovery.context import Weigher
from inspector.discovery.evaluate import Task, evaluate, quality_entry, read_tasks
from inspector.discovery.search.keyword import Keyword
from inspector.errors import FileError, UsageError

TASKS = (
    Task("void an invoice", ("void_invoice",)),  # first
    Task("invoice", ("refund_payment",)),  # not found: neither its name nor its description has the word
    Task("void unpaid invoice", ("void_invoice", "list_services")),  # first and not found
    Task("bake bread", ()),  # nothing fits and nothing is found
    Task("services", ()),  # nothing fits, something is found
)


def test_recall_rank_misses_and_wrong_picks_are_as_counted_by_hand() -> None:
    found = evaluate(Keyword(), shop(), TASKS, {}, Weigher())
    ranks = {each.task.task: each.ranks for each in found.judged}
    assert ranks["void an invoice"] == (1,)
    assert ranks["invoice"] == (None,)
    assert ranks["void unpaid invoice"] == (1, None)
    assert found.recall(1) == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.mrr == pytest.approx((1 + 0 + 1) / 3)
    assert found.miss_rate == pytest.approx(1 / 3)
    assert found.wrong_pick_rate == pytest.approx(1 / 3)
    assert found.false_find_rate == pytest.approx(1 / 2)
    assert [each.task.task for each in found.missed] == ["invoice"]


def test_a_task_for_which_nothing_is_found_is_a_miss_and_no_wrong_pick() -> None:
    found = evaluate(Keyword(), shop(), [Task("bake bread", ("void_invoice",))], {}, Weigher())
    assert (found.miss_rate, found.wrong_pick_rate, found.mrr) == (1.0, 0.0, 0.0)


def test_tokens_are_of_the_replies_until_the_right_schema() -> None:
    entry = quality_entry(evaluate(Keyword(), shop(), TASKS[:1], {}, Weigher()))
    assert 100 < entry["tokens_to_schema"] < 250
    assert (entry["recall@1"], entry["missed"]) == (1.0, [])
    nothing = quality_entry(evaluate(Keyword(), shop(), TASKS[1:2], {}, Weigher()))
    assert nothing["tokens_to_schema"] is None


def test_a_set_without_fitting_tasks_has_no_recall() -> None:
    entry = quality_entry(evaluate(Keyword(), shop(), TASKS[3:], {}, Weigher()))
    assert (entry["recall@5"], entry["mrr"], entry["miss_rate"], entry["fitting"]) == (None, None, None, 0)


def test_a_task_under_a_context_sees_only_what_that_may() -> None:
    task = Task("void an invoice", ("void_invoice",), context="clerk")
    seen = evaluate(Keyword(), shop(), [task], {"clerk": Access("", deny=("*void*",))}, Weigher())
    assert seen.miss_rate == 1.0
    with pytest.raises(UsageError, match="context clerk"):
        evaluate(Keyword(), shop(), [task], {}, Weigher())


def test_a_tool_the_catalog_does_not_list_is_an_error_in_the_task_set() -> None:
    with pytest.raises(UsageError, match="expects no_such"):
        evaluate(Keyword(), shop(), [Task("x", ("no_such",))], {}, Weigher())


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"task": 3, "expect": []}', '{"task": "x"}', '{"task": "x", "expect": "y"}']
)
def test_a_file_that_holds_no_tasks_says_so(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(text)
    with pytest.raises(FileError):
        read_tasks(path)


def test_the_shipped_set_has_two_equal_halves_of_known_tools_and_some_that_nothing_fits() -> None:
    path = files("inspector.discovery").joinpath("data/tasks/demo.jsonl")
    tasks = read_tasks(Path(str(path)))
    names = {tool.name for category in categories() for tool in category.tools}
    assert {name for task in tasks for name in task.expect} <= names
    for half in ("development", "blind"):
        own = [task for task in tasks if task.half == half]
        assert len(own) >= 30
        assert any(not task.expect for task in own)
        assert any(len(task.expect) > 1 for task in own)
        assert any(not task.task.isascii() for task in own)
    assert len({json.dumps(task.task) for task in tasks}) == len(tasks)
