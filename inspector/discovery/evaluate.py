"""How well a search finds the right tool: recall, rank, misses, and what that costs. Any thread but the loop's."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from inspector.discovery import meta_tools
from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.context import Weigher
from inspector.discovery.registry import Registry, Tool
from inspector.discovery.search.method import Found, Method
from inspector.discovery.search.search import Search
from inspector.errors import FileError, UsageError

SCHEMA: Final = "mcp-loupe/evaluate/1"
DEPTH = 5


@dataclass(frozen=True, slots=True)
class Task:
    """What a model is asked. expect: the tools that serve it, own or public names; empty: none fits. half:
    `development`, `blind` or an empty string."""

    task: str
    expect: tuple[str, ...]
    query: str = ""
    context: str = ""
    half: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """One task by one method. ranks: of the expected tools, from 1, None when not among the first 50."""

    task: Task
    ranks: tuple[int | None, ...]
    first: str | None
    ms: float
    tokens_to_schema: int | None

    @property
    def best(self) -> int | None:
        return min([rank for rank in self.ranks if rank is not None], default=None)

    def recall(self, k: int) -> float:
        return sum([rank is not None and rank <= k for rank in self.ranks]) / len(self.ranks)


@dataclass(frozen=True, slots=True)
class Quality:
    """A method over a task set. fitting, unfit: tasks with and without a right tool. None where there is no such task.

    recall: mean share of the expected tools among the first k. mrr: mean of 1/rank of the best expected one.
    miss_rate: no expected tool among the first DEPTH. wrong_pick_rate: the first candidate is not expected.
    false_find_rate: of the tasks no tool fits, those for which something was found all the same.
    """

    search: str
    judged: tuple[Judged, ...] = field(repr=False)

    @property
    def fitting(self) -> list[Judged]:
        return [each for each in self.judged if each.task.expect]

    @property
    def unfit(self) -> list[Judged]:
        return [each for each in self.judged if not each.task.expect]

    def recall(self, k: int) -> float | None:
        return _mean([each.recall(k) for each in self.fitting])

    @property
    def mrr(self) -> float | None:
        return _mean([1 / each.best if each.best else 0.0 for each in self.fitting])

    @property
    def missed(self) -> list[Judged]:
        return [each for each in self.fitting if each.best is None or each.best > DEPTH]

    @property
    def miss_rate(self) -> float | None:
        return len(self.missed) / len(self.fitting) if self.fitting else None

    @property
    def wrong_pick_rate(self) -> float | None:
        return _mean([float(each.first is not None and each.best != 1) for each in self.fitting])

    @property
    def false_find_rate(self) -> float | None:
        return _mean([float(each.first is not None) for each in self.unfit])

    @property
    def tokens_to_schema(self) -> float | None:
        known = [each.tokens_to_schema for each in self.fitting if each.tokens_to_schema is not None]
        return _mean([float(each) for each in known])

    def milliseconds(self, percent: int) -> float | None:
        ordered = sorted([each.ms for each in self.judged])
        return ordered[max(-(-len(ordered) * percent // 100), 1) - 1] if ordered else None


def evaluate(
    method: Method, registry: Registry, tasks: Sequence[Task], contexts: dict[str, Access], weigher: Weigher
) -> Quality:
    """Search for every task. Raises UsageError for a task whose tool or context there is not."""
    search = Search(method)
    judged = []
    for task in sorted(tasks, key=lambda each: each.context):
        access = _access(task, contexts)
        expected = [_expected(registry, name, task) for name in task.expect]
        search.index(registry.visible(access))
        began = time.perf_counter()
        found = search.find(registry, access, task.query or task.task, 50)
        ms = (time.perf_counter() - began) * 1000
        judged.append(_judge(task, expected, found, ms, registry, weigher))
    return Quality(method.id, tuple(judged))


def _judge(
    task: Task,
    expected: Sequence[set[str]],
    found: Sequence[Found],
    ms: float,
    registry: Registry,
    weigher: Weigher,
) -> Judged:
    names = [each.tool.public for each in found]
    ranks = tuple(
        [next((rank for rank, name in enumerate(names, 1) if name in publics), None) for publics in expected]
    )
    best = min([rank for rank in ranks if rank is not None], default=None)
    tokens = None
    if best is not None and best <= DEPTH:
        tokens = _tokens_to_schema([each.tool for each in found[:DEPTH]], best, registry, weigher)
    return Judged(task, ranks, names[0] if names else None, ms, tokens)


def _tokens_to_schema(candidates: Sequence[Tool], rank: int, registry: Registry, weigher: Weigher) -> int:
    """Of the candidates' reply and of the details looked at, one by one, up to the right tool's (`search_stable`)."""
    replies = [meta_tools.candidates(candidates)]
    replies += [meta_tools.details(registry, tool) for tool in candidates[:rank]]
    return sum([weigher.tokens(each) for each in replies])


def _access(task: Task, contexts: dict[str, Access]) -> Access:
    if not task.context:
        return EVERYONE
    if task.context not in contexts:
        raise UsageError(
            f"A task names the context {task.context}, which is not defined", "Add --contexts FILE"
        )
    return contexts[task.context]


def _expected(registry: Registry, name: str, task: Task) -> set[str]:
    """The public names of an expected tool."""
    every = {
        tool.public
        for server in registry.servers
        for tool in server.tools
        if name in (tool.name, tool.public)
    }
    if not every:
        raise UsageError(
            f"The task “{task.task[:60]}” expects {name}, which the catalog does not list",
            "Give the tool's own name, or server__name",
        )
    return every


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def read_tasks(path: Path) -> list[Task]:
    """A JSON Lines file: {"task", "expect": [names], "query"?, "context"?, "half"?}. Raises FileError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as problem:
        raise FileError(f"{path} cannot be read as tasks: {problem}", "One JSON object a line") from None
    return parse_tasks(text, str(path))


def parse_tasks(text: str, name: str) -> list[Task]:
    """The same of text at hand; errors call it `name`."""
    try:
        # Not splitlines: a line separator may stand inside a task.
        lines = text.removeprefix("\ufeff").split("\n")
        tasks = [_task(json.loads(line), number) for number, line in enumerate(lines, 1) if line.strip()]
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{name} cannot be read as tasks: {problem}", "One JSON object a line") from None
    if not tasks:
        raise FileError(f"{name} holds no task", 'Write {"task": "…", "expect": ["tool"]}')
    return tasks


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A task set that ships. catalog: what it was written for, in words."""

    id: str
    catalog: str
    tasks: tuple[Task, ...] = field(repr=False)

    def fits(self, registry: Registry) -> bool:
        """Whether every expected tool is listed."""
        names = {
            name for server in registry.servers for tool in server.tools for name in (tool.name, tool.public)
        }
        return all(name in names for task in self.tasks for name in task.expect)


SHIPPED: Final = {
    "demo": "the demo catalog, 50 tools (demo:flat)",
    "github": "@modelcontextprotocol/server-github 2025.4.8, 26 tools",
}


@functools.cache
def task_sets() -> tuple[TaskSet, ...]:
    """Those of data/tasks."""
    folder = Path(__file__).with_name("data") / "tasks"
    return tuple([
        TaskSet(id_, catalog, tuple(parse_tasks(folder.joinpath(f"{id_}.jsonl").read_text("utf-8"), id_)))
        for id_, catalog in SHIPPED.items()
    ])  # fmt: skip


def _task(row: Any, number: int) -> Task:
    if not isinstance(row, dict) or not isinstance(row.get("task"), str):
        raise ValueError(f"line {number} has no task")
    expect = row.get("expect")
    if not isinstance(expect, list) or not all(isinstance(name, str) for name in expect):
        raise ValueError(f"line {number}: expect is a list of tool names, empty when no tool fits")
    rest = {key: str(row.get(key, "")) for key in ("query", "context", "half", "note")}
    return Task(row["task"], tuple(expect), **rest)


def quality_entry(found: Quality) -> dict[str, Any]:
    """One of `methods[]`."""
    return {
        "search": found.search, "tasks": len(found.judged), "fitting": len(found.fitting),
        "recall@1": found.recall(1), "recall@3": found.recall(3), "recall@5": found.recall(5),
        "mrr": found.mrr, "miss_rate": found.miss_rate, "wrong_pick_rate": found.wrong_pick_rate,
        "false_find_rate": found.false_find_rate,
        "search_ms": {"p50": found.milliseconds(50), "p95": found.milliseconds(95)},
        "tokens_to_schema": found.tokens_to_schema,
        "missed": [{"task": each.task.task, "expect": list(each.task.expect)} for each in found.missed],
    }  # fmt: skip
