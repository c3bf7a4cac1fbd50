"""The Lab's address: catalogs, task, strategy, every choice made and where one looks. Pure, any thread."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

from inspector.catalog.jsontext import compact_value
from inspector.catalog.providers import PROVIDERS
from inspector.discovery.choices import Choice, choice_entry, choice_text, parse_choice
from inspector.discovery.context import NO_PROVIDER
from inspector.discovery.policies import POLICIES
from inspector.discovery.scenario import Scenario, parse_scenario
from inspector.discovery.search.search import METHODS
from inspector.discovery.strategies import strategies
from inspector.errors import UsageError

PANES: Final = ("moves", "call", "what")
VIEWS: Final = ("run", "cost")
MOST_CHARACTERS: Final = 24_000
"""Of an address. The server reads no longer request line than 64 kB."""
MOST_CATALOGS: Final = 8
_LIVE: Final = re.compile(r"[0-9a-f]{8}")
_WORDS: Final = (
    "baseline",
    "task",
    "query",
    "context",
    "contexts",
    "options",
    "expect",
    "call",
    "args",
    "wrong",
)
_NAMED: Final = {
    "provider": (*PROVIDERS, NO_PROVIDER), "search": METHODS, "auto": POLICIES, "pane": PANES, "view": VIEWS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """The whole state of the screen.

    catalog: tokens as on the Compare screen; baseline: one, or empty. contexts, options: JSON as typed. always: public
    names, spaces between. do: choices as JSON, oldest first; at: how many of them are made, None all. live: the id of
    a live run. pane: what is open at the bottom; call, args: what its form holds. piece: of the context, whose text is
    shown. all: every offer; grow: the growth curve was asked for. edit: the scenario's form is open. hold: work that
    was cancelled is not started by looking.
    """

    catalog: tuple[str, ...] = ()
    baseline: str = ""
    task: str = ""
    query: str = ""
    strategy: str = "search_stable"
    provider: str = "anthropic"
    window: int = 200_000
    context: str = ""
    contexts: str = ""
    search: str = "keyword"
    auto: str = "top1"
    expect: str = ""
    always: str = ""
    options: str = ""
    do: tuple[str, ...] = ()
    at: int | None = None
    live: str = ""
    view: str = "run"
    pane: str = "moves"
    call: str = ""
    args: str = ""
    piece: int | None = None
    all: bool = False
    grow: bool = False
    edit: bool = False
    hold: bool = False

    @classmethod
    def read(cls, args: Any) -> Query:
        """What the address asks for; anything it cannot mean is left at its default. args: a MultiDict."""
        tokens = list(dict.fromkeys([token for token in args.getlist("catalog") if token]))
        said: dict[str, Any] = {"catalog": tuple(tokens[:MOST_CATALOGS])}
        said |= {name: args[name].strip() for name in _WORDS if args.get(name, "").strip()}
        said |= {name: args[name] for name, values in _NAMED.items() if args.get(name) in values}
        if args.get("strategy") in strategies():
            said["strategy"] = args["strategy"]
        said["always"] = " ".join(args.get("always", "").split())
        said["do"] = tuple([text for text in args.getlist("do") if text])
        for name, most in (("window", 100_000_000), ("at", len(said["do"])), ("piece", 1_000_000)):
            text = args.get(name, "").replace(",", "")
            if text.isdecimal() and len(text) < 10 and (name != "window" or int(text) > 0):
                said[name] = min(int(text), most)
        if said.get("at") == len(said["do"]):
            del said["at"]
        if _LIVE.fullmatch(args.get("live", "")):
            said["live"] = args["live"]
        return cls(**said, **{name: args.get(name) == "1" for name in ("all", "grow", "edit", "hold")})

    @property
    def made(self) -> tuple[str, ...]:
        """The choices up to where one looks."""
        return self.do if self.at is None else self.do[: self.at]

    @property
    def step(self) -> int:
        return len(self.made)

    def choices(self) -> list[Choice]:
        """Those made. Raises UsageError for one that is none."""
        return [read_choice(text) for text in self.made]

    def href(self, **changes: Any) -> str:
        """The query string, from `?`, of this state with `changes`; defaults are left out."""
        state = replace(self, **changes)
        if state.at == len(state.do):
            state = replace(state, at=None)
        pairs = [(each.name, getattr(state, each.name)) for each in fields(Query)]
        said = [(name, value) for name, value in pairs if value != _DEFAULTS[name]]
        spelled = [(name, "1" if value is True else value) for name, value in said]
        return "?" + urlencode(spelled, doseq=True, safe="@:,{}[]", errors="backslashreplace")

    def chosen(self, *more: Choice, **changes: Any) -> str:
        """The address after further choices, from where one looks: what came later is another branch."""
        do = (*self.made, *[choice_text(each) for each in more])
        found = self.href(do=do, at=None, call="", args="", piece=None, all=False, **changes)
        if len(found) > MOST_CHARACTERS:
            raise UsageError(
                "This run has become too long for an address.", "Save the scenario and run it with simulate."
            )
        return found

    def scenario(self) -> Scenario:
        """What is simulated. Raises UsageError when contexts or options are no JSON."""
        return Scenario(
            catalogs=self.catalog, baseline=self.baseline, task=self.task, query=self.query,
            strategies=(self.strategy,), provider=self.provider, window=self.window, context=self.context,
            contexts=_object(self.contexts, "The authorization contexts"), search=self.search, auto=self.auto,
            expect=self.expect, always=tuple(self.always.split()), options=_object(self.options, "The options"),
        )  # fmt: skip

    def saved(self) -> Scenario:
        """The same with all choices, for a file."""
        return replace(self.scenario(), script=tuple([choice_entry(read_choice(text)) for text in self.do]))

    def named(self) -> bool:
        """Whether there is enough to simulate: catalogs and a task."""
        return bool(self.catalog and (self.task or self.query))


_DEFAULTS: Final = {each.name: each.default for each in fields(Query)}


def query_of(scenario: Scenario, tokens: Sequence[str], baseline: str) -> Query:
    """The address of a scenario. tokens, baseline: its catalogs as this console calls them."""
    known = strategies()
    return Query(
        catalog=tuple(tokens), baseline=baseline, task=scenario.task, query=scenario.query,
        strategy=next((each for each in scenario.strategies if each in known), "search_stable"),
        provider=scenario.provider, window=scenario.window, context=scenario.context,
        contexts=compact_value(dict(scenario.contexts)) if scenario.contexts else "", search=scenario.search,
        auto=scenario.auto, expect=scenario.expect, always=" ".join(scenario.always),
        options=compact_value(dict(scenario.options)) if scenario.options else "",
        do=tuple([choice_text(each) for each in scenario.choices]),
    )  # fmt: skip


def read_scenario_text(content: bytes, name: str) -> Scenario:
    """An uploaded scenario. Raises UsageError, one sentence."""
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise UsageError(
            f"{name} is no scenario: it is not JSON.", "Choose a file that Save wrote."
        ) from None
    return parse_scenario(found)


def read_choice(text: str) -> Choice:
    """A choice as it is written in an address or a form. Raises UsageError."""
    try:
        return parse_choice(json.loads(text))
    except (ValueError, RecursionError):
        raise UsageError(f"A choice of this run is no JSON: {text[:60]}", "Start the run again.") from None


def _object(text: str, what: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{what} are not JSON: {problem}", "Write an object, or leave it empty.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{what} are no JSON object.", 'Write {"NAME": {…}}, or leave it empty.')
    return found
