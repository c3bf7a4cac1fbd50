"""A catalog's report on one page: what each disclosure costs and finds, and the advice. Pure, any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inspector.discovery.advice import StageAdvice
from inspector.discovery.conversation import ASIDE_TOKENS, RESULT_TOKENS, TURNS, Course
from inspector.discovery.evaluate import Quality
from inspector.discovery.ledger import percent
from inspector.discovery.running import Flat, Run
from inspector.discovery.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and a table: the first column words, the others figures."""

    title: str
    said: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class FlatCost:
    """What full disclosure costs with one provider. share: of the window; first, later: billed for a request that
    begins a conversation, and for one that finds it cached."""

    provider: str
    tokens: int
    share: float
    first: float
    later: float
    role: str


def one_page(
    scenario: Scenario, label: str, flat: Flat, costs: Sequence[FlatCost], runs: Sequence[Run],
    not_run: Sequence[tuple[str, str]], courses: Mapping[str, Course], quality: Sequence[Quality], advice: StageAdvice,
) -> list[Section]:  # fmt: skip
    """Everything the page says, in order. quality: empty when no task set fits the catalog."""
    return [
        _about(scenario, label, flat),
        _flat(costs, scenario),
        _strategies(runs, not_run, flat),
        _conversation(courses),
        _found(quality),
        _advice(advice, runs),
    ]


def _about(scenario: Scenario, label: str, flat: Flat) -> Section:
    how = "measured" if flat.measured else "derived"
    return Section(
        f"Disclosing {label}",
        (
            f"Task: {scenario.task or scenario.query}",
            f"Flat list: {flat.entry_bytes:,} B ({how}), {flat.state.entry_tools:,} tools. Provider of the tables"
            f" below: {scenario.provider}; window {scenario.window:,} tokens; policy {scenario.auto}.",
            "Bytes of lists and replies that servers sent are measured, those of host-made ones derived. Tokens are"
            " derived, by o200k_base: a proxy for Anthropic and Gemini. Billed is input tokens through the prompt"
            " cache, in units of one uncached token.",
        ),
    )


def _flat(costs: Sequence[FlatCost], scenario: Scenario) -> Section:
    rows = [
        (
            each.provider,
            f"{each.tokens:,}",
            percent(each.share),
            f"{each.first:,.0f}",
            f"{each.later:,.0f}",
            each.role,
        )
        for each in costs
    ]
    columns = (
        "Provider",
        "Tokens",
        f"Of {scenario.window:,}",
        "Billed, first",
        "Billed, cached",
        "The token count is",
    )
    return Section("What the flat list costs", (), columns, tuple(rows))


def _strategies(runs: Sequence[Run], not_run: Sequence[tuple[str, str]], flat: Flat) -> Section:
    rows = []
    for run in runs:
        totals = run.state.totals
        rows.append((
            run.strategy.id, percent(run.versus.net_saved), f"{totals.entry_bytes:,}", f"{totals.discovery_bytes:,}",
            f"{totals.total_bytes:,}", percent(run.versus.entry_reduction), f"{totals.model_turns}",
            f"{totals.context_tokens:,}", f"{totals.billed:,.0f}", run.state.called or _why_not(run),
        ))  # fmt: skip
    columns = (
        "Strategy", "Net saved", "Entry B", "Discovery B", "Total B", "Entry less", "Turns", "Tokens", "Billed",
        "Called",
    )  # fmt: skip
    said = [f"{name} was not run: {why}." for name, why in not_run]
    said += [f"{run.strategy.id}: {run.left_out}." for run in runs if run.left_out]
    return Section("What each strategy costs and saves", tuple(said), columns, tuple(rows))


def _why_not(run: Run) -> str:
    return "entry only" if run.outcome == "entry" else "no tool"


def _conversation(courses: Mapping[str, Course]) -> Section:
    rows = []
    for name, each in courses.items():
        read, write = sum([use.read for use in each.uses]), sum([use.write for use in each.uses])
        fresh = sum([use.fresh for use in each.uses])
        rows.append(
            (name, f"{each.total:,.0f}", f"{read:,}", f"{write:,}", f"{fresh:,}", f"{len(each.uses)}")
        )
    said = (
        f"Assumed: {TURNS} turns, one discovery; in each {ASIDE_TOKENS} tokens from a person and {RESULT_TOKENS} from"
        " a tool.",
    )
    columns = ("Strategy", "Billed", "Read", "Written", "Fresh", "Requests")
    return Section(f"The prompt cache over {TURNS} turns", said, columns, tuple(rows))


def _found(quality: Sequence[Quality]) -> Section:
    title = "What the search finds at that cost"
    if not quality:
        return Section(title, ("Not measured: no task set fits this catalog. Write one and run Evaluate.",))
    rows = []
    for each in quality:
        mrr = "–" if each.mrr is None else f"{each.mrr:.2f}"
        cost = "–" if each.tokens_to_schema is None else f"{each.tokens_to_schema:,.0f}"
        rows.append((
            each.search, percent(each.recall(1)), percent(each.recall(3)), percent(each.recall(5)), mrr,
            percent(each.miss_rate), percent(each.wrong_pick_rate), cost,
        ))  # fmt: skip
    missed = [
        f"{each.search} missed: {', '.join(dict.fromkeys([name for one in each.missed for name in one.task.expect]))}."
        for each in quality
        if each.missed
    ]
    columns = ("Search", "Recall@1", "@3", "@5", "MRR", "Miss", "Wrong pick", "Tokens to schema")
    return Section(title, (f"{len(quality[0].judged)} tasks.", *missed), columns, tuple(rows))


def _advice(advice: StageAdvice, runs: Sequence[Run]) -> Section:
    called = [
        run
        for run in runs
        if run.state.called and run.strategy.id != "full" and run.versus.net_saved is not None
    ]
    best = max(called, key=lambda run: run.versus.net_saved or 0.0, default=None)
    said = [f"Stage {advice.stage}: {advice.text}."]
    said += ["The share lies between the thresholds: a matter of judgement."] if advice.judgement else []
    if best is not None and (best.versus.net_saved or 0.0) > 0:
        said.append(f"On this task {best.strategy.id} saves most: {percent(best.versus.net_saved)} net.")
    elif called:
        said.append("On this task no strategy saves anything against the flat list.")
    return Section("The recommendation", (*said, f"It rests on: {'; '.join(advice.because)}."))


def markdown(sections: Sequence[Section]) -> str:
    """The page as Markdown; what servers wrote cannot end a cell or become markup."""
    parts: list[str] = []
    for at, section in enumerate(sections):
        parts += [f"{'#' if at == 0 else '##'} {_plain(section.title)}", ""]
        for each in section.said:
            parts += [_plain(each), ""]
        if section.rows:
            parts.append(f"| {' | '.join([_plain(each) for each in section.columns])} |")
            parts.append(f"|---|{'--:|' * (len(section.columns) - 1)}")
            parts += [f"| {' | '.join([_plain(cell) for cell in row])} |" for row in section.rows]
            parts.append("")
    return "\n".join(parts)


_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*[]<>|#"} | {"\n": " ", "\r": " "})


def _plain(text: str) -> str:
    return text.translate(_SPECIAL)
