"""The report on one page: what it must state, and that what servers wrote cannot become markup."""

from __future__ import annotations

from lab_parts import BILLING, LOGS, server, setting, shop, tool

from inspector.discovery.conversation import course
from inspector.discovery.evaluate import Task, evaluate, task_sets
from inspector.discovery.one_page import FlatCost, Section, markdown, one_page
from inspector.discovery.registry import registry_of
from inspector.discovery.running import flat_of, run_all
from inspector.discovery.scenario import Scenario
from inspector.discovery.search.keyword import Keyword
from inspector.discovery.strategies import strategies


def page(task: str = "give the customer money back", *, tasks: bool = True) -> list[Section]:
    at, registry = setting(task), shop()
    flat = flat_of(at, registry)
    runs, not_run = run_all(list(strategies().values()), at, registry, flat, "top1")
    courses = {each.strategy.id: course(each.state, at.rules) for each in runs if each.state.called}
    wanted = [Task("money back", ("refund_payment",)), Task("log lines", ("list_invoices",))]
    quality = [evaluate(Keyword(), registry, wanted, {}, at.weigher)] if tasks else []
    costs = [FlatCost("anthropic", 900, 0.0045, 1125.0, 90.0, "a proxy")]
    return one_page(Scenario(task=task), "shop", flat, costs, runs, not_run, courses, quality, runs[0].advice)


def test_every_strategy_has_its_entry_discovery_total_and_net_figure() -> None:
    found = page()
    at = setting("give the customer money back")
    flat = flat_of(at, shop())
    table = next(each for each in found if each.title == "What each strategy costs and saves")
    rows = {row[0]: row for row in table.rows}
    assert set(rows) == set(strategies())
    assert table.columns[1] == "Net saved"
    for name, row in rows.items():
        entry, discovery, total = [int(row[number].replace(",", "")) for number in (2, 3, 4)]
        assert total == entry + discovery, name
        assert row[1] == f"{(1 - total / flat.entry_bytes) * 100:.1f} %", name
    assert rows["full"][4] == f"{flat.entry_bytes:,}"
    assert rows["server_driven"][-1] == "entry only"


def test_misses_are_named_and_without_a_task_set_nothing_is_claimed() -> None:
    said = next(each for each in page() if each.title.startswith("What the search finds")).said
    assert said == ("2 tasks.", "keyword missed: list_invoices.")
    none = next(each for each in page(tasks=False) if each.title.startswith("What the search finds"))
    assert none.rows == () and none.said[0].startswith("Not measured")


def test_the_recommendation_names_what_it_rests_on() -> None:
    last = page()[-1]
    assert last.said[0].startswith("Stage 1")
    assert last.said[-1].startswith("It rests on: all 5 tools take ")


def test_markdown_keeps_its_cells_whatever_a_task_says() -> None:
    text = markdown(page("a | b\n# <b>*x*</b> [l](u)"))
    assert "Task: a \\| b \\# \\<b\\>\\*x\\*\\</b\\> \\[l\\](u)" in text
    tables = [line for line in text.split("\n") if line.startswith("|")]
    assert len(tables) > 20
    assert all(line.endswith("|") for line in tables)


def test_the_shipped_sets_name_tools_of_one_catalog_and_have_two_halves() -> None:
    sets = {each.id: each for each in task_sets()}
    assert list(sets) == ["demo", "github"]
    assert len(sets["demo"].tasks) >= 60
    for each in sets.values():
        halves = [task.half for task in each.tasks]
        assert abs(halves.count("development") - halves.count("blind")) <= 1
        assert any(not task.expect for task in each.tasks)
        assert not each.fits(registry_of([server("billing", *BILLING), server("logs", *LOGS)]))
    names = sorted({name for task in sets["github"].tasks for name in task.expect})
    assert sets["github"].fits(registry_of([server("hub", *[tool(name) for name in names])]))
