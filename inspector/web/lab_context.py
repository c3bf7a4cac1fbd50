"""What the Lab's templates show of a run and of all strategies beside it. Request threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspector.console.jobs import Job
from inspector.console.lab import Bench, Lab, Node, Run
from inspector.console.lab_work import Grown, Side, growth
from inspector.discovery.advice import advise
from inspector.discovery.choices import Choice, parse_choice
from inspector.discovery.conversation import Course
from inspector.discovery.growth import SIZES
from inspector.discovery.ledger import Versus, percent, versus
from inspector.discovery.play import State, Strategy
from inspector.discovery.policies import choose, policy_of
from inspector.discovery.running import Run as Played
from inspector.discovery.scenario import Scenario
from inspector.discovery.strategies import strategies
from inspector.errors import LoupeError, UsageError
from inspector.web import lab_charts, lab_view
from inspector.web.frame import console, event_link
from inspector.web.lab_charts import Series
from inspector.web.lab_query import Query


def run_context(lab: Lab, bench: Bench, scenario: Scenario, query: Query) -> dict[str, Any]:
    """The chosen strategy's run: ledger, panels, what can be done next. Raises LoupeError."""
    strategy = strategies()[query.strategy]
    run = Run(scenario, strategy, query.live)
    every = Query(do=query.do).choices()
    made = every[: query.step]
    node, done = lab.at(bench, run, made)
    nodes = _nodes(lab, bench, run, every)
    state, end = node.state, nodes[-1].state if len(nodes) > done else node.state
    flat = bench.flat(scenario)
    context: dict[str, Any] = {
        "run": run, "state": state, "lines": lab_view.ledger(end, done, lab_view.extras(nodes)), "done": done,
        "missing": len(made) - done, "last": len(nodes) - 1, "host": lab_view.host_cache(state),
        "context": lab_view.context(state), "figures": lab_view.figures(state, flat), "flat": flat,
        "left_out": strategy.left_out(state), "offers": [], "events": [], "policy": False,
        "frame_href": frame_href(bench), "others": sorted(scenario.known),
        "problems": [problem for server in bench.registry.servers for problem in server.problems],
        "collisions": bench.registry.collisions, "mark": lab_charts.mark, "percent": percent,
        "bars": lab_charts.bars, "uses": lab_view.uses(state), "shown_text": None,
        "clock_s": (state.registry.now_us - bench.registry.now_us) / 1e6,
    }  # fmt: skip
    if query.piece is not None:
        context["shown_text"] = lab_view.piece_text(state, query.piece)
    if query.pane == "what":
        context["events"] = lab_view.what_ifs(
            bench, state, sorted(scenario.known), pricer(lab, bench, run, made, state)
        )
    else:
        context["offers"] = lab_view.offers(strategy, state, live=bool(query.live))
        context["policy"] = _policy_plays(strategy, state, query, context["offers"])
    return context


def _policy_plays(strategy: Strategy, state: State, query: Query, offers: Sequence[Any]) -> bool:
    """Whether the policy has a move left."""
    if query.auto == "top1":
        return bool(offers)
    if query.auto == "expected" and not query.expect:
        return False
    return choose(strategy, state, policy_of(query.auto), query.expect) is not None


def _nodes(lab: Lab, bench: Bench, run: Run, every: Sequence[Choice]) -> list[Node]:
    """The states from the start on, as far as they can be had: a later choice may not fit any more."""
    found = []
    for number in range(len(every) + 1):
        try:
            node, done = lab.at(bench, run, every[:number])
        except UsageError:
            break
        if done < number:
            break
        found.append(node)
    return found


def pricer(lab: Lab, bench: Bench, run: Run, made: Sequence[Choice], state: State) -> Any:
    """What an event would add to the next request."""

    def price(entry: dict[str, Any]) -> float | None:
        try:
            return lab.price(bench, run, state, parse_choice(entry))
        except UsageError:
            return None

    return price


def frame_href(bench: Bench) -> Any:
    """The link to a real frame in the timeline."""

    def href(seq: int, asked: str = "") -> str:
        key = next((bench.live[name] for name in bench.live if f'"{name}__' in asked), None)
        server = next((each for each in console().servers() if each.key == key), None)
        return event_link(server, seq)

    return href


# --- all strategies


def side_key(bench: Bench, query: Query) -> tuple[Any, ...]:
    alike = query.href(do=(), at=None, live="", strategy="full", view="run", pane="moves", call="", args="",
                       piece=None, all=False, grow=False, edit=False, hold=False)  # fmt: skip
    return ("side", bench.stamp, alike)


def side_context(
    lab: Lab, bench: Bench, scenario: Scenario, query: Query, side: Side, run: Run
) -> dict[str, Any]:
    """Chart and table; with the view `cost` also break-even, conversation and growth."""
    node, _ = lab.at(bench, run, query.choices())
    own = node.state if query.do else None
    series = lab_view.token_series(side, query.strategy, own)
    here = len(node.state.requests) if own is not None else -1
    says = (
        f"Context tokens at each request: {'; '.join([f'{each.id} {each.values[-1]:,}' for each in series])}."
    )
    context: dict[str, Any] = {
        "chart": lab_charts.lines(series, says, log=True, window=scenario.window, at=here), "series": series,
        "rows": _ordered(side), "verdict": verdict(side), "own": _own(node, side),
    }  # fmt: skip
    if query.view == "cost":
        flat, access = bench.flat(scenario), node.state.setting.access
        context["advice"] = advise(bench.flat_registry, access, flat.tokens, scenario.window)
        context |= _courses(side, query) | grown_context(lab, bench, scenario, query)
    return context


def _own(node: Node, side: Side) -> Versus | None:
    """The stepped run against the flat list; None before its first move."""
    return versus(node.state.totals, side.flat.entry_bytes) if node.state.moves else None


def _ordered(side: Side) -> list[Played]:
    """Full disclosure first, then by net saved, the runs that go as far as a call before the others."""

    def place(each: Played) -> tuple[bool, bool, float]:
        return each.strategy.id != "full", each.state.called is None, -(each.versus.net_saved or 0.0)

    return sorted(side.runs, key=place)


def verdict(side: Side) -> tuple[str, str]:
    """(who, sentence): the strategy that saves most, and what it costs besides."""
    called = [each for each in side.runs if each.state.called and each.strategy.id != "full"]
    if not called or side.run_of("full") is None:
        return "", "No strategy reaches a call on this task."
    best = max(called, key=lambda each: each.versus.net_saved if each.versus.net_saved is not None else -9.0)
    saved = best.versus.net_saved
    if saved is None or saved <= 0:
        return (
            "full",
            f"is cheapest: {best.strategy.id}, the next, costs {percent(-(saved or 0))} more bytes.",
        )
    broken = best.break_even
    says = f"saves {percent(saved)} of the flat list's bytes"
    if broken is not None and broken.once is not None:
        says += f"; through the prompt cache full disclosure is cheaper from turn {broken.once} on"
    elif broken is not None:
        says += f"; it stays cheaper over {broken.turns} turns"
    others = {each.state.called for each in called} - {best.state.called}
    return best.strategy.id, says + ("." if not others else f". It calls {best.state.called}; not all do.")


def _courses(side: Side, query: Query) -> dict[str, Any]:
    """Billed tokens over twenty turns."""
    courses: dict[str, Course] = side.courses
    series = [Series(name, each.running, name == query.strategy) for name, each in courses.items()]
    says = (
        "Billed tokens over 20 turns: "
        + "; ".join([f"{each.id} {each.values[-1]:,.0f}" for each in series])
        + "."
    )
    return {"course_chart": lab_charts.lines(series, says, log=False), "courses": courses}


def grown_context(lab: Lab, bench: Bench, scenario: Scenario, query: Query) -> dict[str, Any]:
    """The growth curve, or its job: it runs when asked for, as it makes catalogs of thousands of tools."""
    key = ("growth", *side_key(bench, query))
    context: dict[str, Any] = {"grown": None, "grown_job": None, "grown_problem": None, "SIZES": SIZES}
    job: Job[list[Grown]] | None = lab.jobs.known(key)
    if job is None and query.grow:
        job = lab.jobs.start(key, lambda progress: growth(lab, bench, scenario, progress))
    if job is None:
        return context
    try:
        found = job.result(0.3)
    except LoupeError as problem:
        lab.jobs.drop(key)
        return context | {"grown_problem": problem}
    if found is None:
        return context | {"grown_job": job}
    by: dict[str, list[Grown]] = {}
    for each in found:
        by.setdefault(each.strategy, []).append(each)
    series = [
        Series(name, [(each.net_saved or 0.0) * 100 for each in points], name == query.strategy)
        for name, points in by.items()
        if name != "full"
    ]
    says = "Net saved by catalog size, per cent: " + "; ".join(
        [f"{each.id} {each.values[-1]:.1f}" for each in series]
    )
    labels = [f"{size:,} tools" for size in SIZES]
    return context | {"grown": by, "grown_chart": lab_charts.lines(series, says, log=False, labels=labels)}
