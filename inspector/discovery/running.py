"""Strategies run on a registry, each against the flat baseline. Slow for big catalogs: any thread but the loop's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from inspector.discovery.access import Access
from inspector.discovery.advice import StageAdvice, advise
from inspector.discovery.choices import Choice, follow
from inspector.discovery.conversation import Course, cheaper_from, course, discoveries_until_flat
from inspector.discovery.ledger import Versus, versus
from inspector.discovery.play import Setting, State, Strategy, begin
from inspector.discovery.policies import Policy, goal_of, play_out
from inspector.discovery.prompt_cache import Rules
from inspector.discovery.registry import Registry
from inspector.discovery.strategies.full import Full
from inspector.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """What everything is compared with: full disclosure of the baseline, played to its call."""

    state: State
    entry_bytes: int
    measured: bool
    _courses: dict[Rules | None, Course] = field(default_factory=dict, init=False, repr=False)

    def course(self, rules: Rules | None) -> Course:
        """Of its conversation; each strategy is held against the same one."""
        if rules not in self._courses:
            self._courses[rules] = course(self.state, rules)
        return self._courses[rules]

    @property
    def tokens(self) -> int:
        """Of tools, hidden prompt and instructions: the task is not the catalog's doing."""
        context = (self.state.requests or (self.state.model,))[0]
        return context.tokens - sum([piece.tokens for piece in context.messages])


@dataclass(frozen=True, slots=True)
class BreakEven:
    """discoveries: that cost as much on the wire as the flat list. once, each: the turn from which on full
    disclosure has cost no more in all, when one discovery serves the conversation and when every turn needs its
    own; cold: the same as `once` without any prompt cache. None: not within the turns looked at."""

    discoveries: int | None
    turns: int
    once: int | None
    each: int | None
    cold: int | None
    billed_once: float
    billed_each: float
    billed_full: float


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One strategy played out. outcome: `called`, `wrong` (another tool than expected was called), `missed`
    (none was) or `entry` (left_out says why)."""

    strategy: Strategy
    state: State
    versus: Versus
    outcome: str
    left_out: str
    break_even: BreakEven | None
    advice: StageAdvice


def flat_of(setting: Setting, registry: Registry) -> Flat:
    """The baseline, dry, whatever the setting's own connections."""
    dry = replace(setting, call=None, always=())
    state = play_out(Full(), begin(Full(), dry, registry), "top1")
    entry = state.ledger.rows[0]
    return Flat(state, entry.reply_bytes, entry.provenance == "measured")


def run(
    strategy: Strategy,
    setting: Setting,
    registry: Registry,
    flat: Flat,
    *,
    policy: Policy = "top1",
    expect: str = "",
    script: Sequence[Choice] = (),
    contexts: Mapping[str, Access] | None = None,
) -> Run:
    """Play the script, then the policy. Raises UsageError when the strategy cannot be had here."""
    state = begin(strategy, setting, registry)
    for choice in script:
        state = follow(strategy, state, choice, contexts)
    return judged(strategy, play_out(strategy, state, policy, expect), flat, expect)


def judged(strategy: Strategy, state: State, flat: Flat, expect: str = "") -> Run:
    """A run as far as it has come, against the flat baseline."""
    setting = state.setting
    left_out = strategy.left_out(state)
    outcome = _outcome(state, left_out, expect)
    totals = state.totals
    billed = flat.state.totals.billed if state.called else None
    against = versus(totals, flat.entry_bytes, billed)
    break_even = _break_even(state, flat) if state.called else None
    advice = advise(flat.state.registry, setting.access, flat.tokens, setting.window)
    return Run(strategy, state, against, outcome, left_out, break_even, advice)


def _outcome(state: State, left_out: str, expect: str) -> str:
    if state.called is None:
        return "entry" if left_out and state.moves == 0 else "missed"
    return "called" if not expect or state.called in goal_of(state, expect) else "wrong"


def _break_even(state: State, flat: Flat) -> BreakEven:
    rules, totals = state.setting.rules, state.totals
    full = flat.course(rules)
    once, each = course(state, rules), course(state, rules, rediscover=True)
    return BreakEven(
        discoveries_until_flat(totals.entry_bytes, totals.discovery_bytes, flat.entry_bytes),
        len(full.billed),
        cheaper_from(full, once),
        cheaper_from(full, each),
        cheaper_from(flat.course(None), course(state, None)),
        once.total,
        each.total,
        full.total,
    )


def run_all(
    strategies: Sequence[Strategy], setting: Setting, registry: Registry, flat: Flat, policy: Policy,
    expect: str = "", script: Sequence[Choice] = (), contexts: Mapping[str, Access] | None = None,
) -> tuple[list[Run], list[tuple[str, str]]]:  # fmt: skip
    """Side by side on the same task; (runs, (strategy, why not) of those that cannot be had here)."""
    runs, not_run = [], []
    for strategy in strategies:
        try:
            found = run(
                strategy,
                setting,
                registry,
                flat,
                policy=policy,
                expect=expect,
                script=script,
                contexts=contexts,
            )
            runs.append(found)
        except UsageError as problem:
            if len(strategies) == 1:
                raise
            not_run.append((strategy.id, problem.message))
    return runs, not_run
