"""A lab run as a file: catalogs, task, strategies, context, and a script of choices. Any thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from inspector.discovery.access import EVERYONE, Access, parse_contexts
from inspector.discovery.choices import Choice, parse_choice
from inspector.discovery.context import Weigher
from inspector.discovery.play import Setting
from inspector.discovery.presets import parse_preset
from inspector.discovery.prompt_cache import rules_for
from inspector.discovery.search.search import Search, method_of
from inspector.errors import FileError, UsageError

SCHEMA: Final = "mcp-loupe/scenario/1"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything a run needs. catalogs, baseline: targets as on the command line. contexts: authorization contexts as
    in docs/lab.md. script: what to choose first, as in choices.py; the policy `auto` goes on from there."""

    catalogs: tuple[str, ...] = ()
    baseline: str = ""
    task: str = ""
    query: str = ""
    strategies: tuple[str, ...] = ()
    provider: str = "anthropic"
    window: int = 200_000
    context: str = ""
    contexts: Mapping[str, Any] = field(default_factory=dict)
    search: str = "keyword"
    auto: str = "top1"
    expect: str = ""
    always: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    script: tuple[Mapping[str, Any], ...] = ()

    @property
    def access(self) -> Access:
        """The chosen authorization context. Raises UsageError when there is none of that name."""
        if not self.context:
            return EVERYONE
        known = self.known
        if self.context not in known:
            there = ", ".join(known) or "none"
            raise UsageError(f"There is no authorization context {self.context}", f"Known: {there}")
        return known[self.context]

    @property
    def known(self) -> dict[str, Access]:
        """All authorization contexts, by name. Raises UsageError."""
        return parse_contexts(dict(self.contexts))

    @property
    def choices(self) -> list[Choice]:
        """The script. Raises UsageError."""
        return [parse_choice(each) for each in self.script]


def setting_of(scenario: Scenario, weigher: Weigher | None = None, search: Search | None = None) -> Setting:
    """The dry setting of a scenario. weigher, search: kept from an earlier run of the same provider and method.
    Raises UsageError for what there is not."""
    own = dict(scenario.options)
    for name, (fits, wanted) in _OPTIONS.items():
        if name in own and not fits(own[name]):
            raise UsageError(
                f"The option {name} of this scenario cannot be {own[name]!r:.60}", f"Write {wanted}"
            )
    if "preset" in own:
        own["preset"] = parse_preset(own["preset"])
    return Setting(
        scenario.task or scenario.query, weigher or Weigher(scenario.provider), rules_for(scenario.provider),
        search or Search(method_of(scenario.search)), scenario.query, scenario.access, scenario.window,
        scenario.always, options=own,
    )  # fmt: skip


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _is_named_lists(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_names, value.values()))


_OPTIONS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "categories": (
        lambda value: value in ("server", "prefix", "meta") or _is_named_lists(value),
        'server, prefix, meta, or {"CATEGORY": ["TOOL"]}',
    ),
    "always_servers": (_is_names, 'such as ["SERVER"]'),
    "skills": (_is_named_lists, 'such as {"SKILL": ["SERVER"]}'),
    "skill": (lambda value: isinstance(value, str), "the name of a skill"),
}
"""What strategies cannot check for themselves before they use it: whether it fits, and how to write it."""


def parse_scenario(found: Any) -> Scenario:
    """A scenario from parsed JSON. Raises UsageError."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise UsageError("This is no scenario", f'Its first key is "schema": "{SCHEMA}"')
    known = {each.name: each for each in fields(Scenario)}
    unknown = sorted(set(found) - set(known) - {"schema"})
    if unknown:
        raise UsageError(f"A scenario has no key {unknown[0]}", f"It takes {', '.join(known)}")
    defaults = Scenario()
    values: dict[str, Any] = {}
    for key, value in found.items():
        if key == "schema":
            continue
        if isinstance(getattr(defaults, key), tuple):
            value = tuple(value) if isinstance(value, list) else value
        wanted = type(getattr(defaults, key))
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(f"{key} of this scenario has the wrong type", f"Write it as {wanted.__name__}")
        values[key] = value
    scenario = Scenario(**values)
    _ = scenario.choices
    return scenario


def read_scenario(path: Path) -> Scenario:
    """Raises FileError for a file that is none."""
    try:
        return parse_scenario(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as problem:
        raise FileError(f"{path} cannot be read as a scenario: {problem}", "Give a scenario file") from None
    except UsageError as problem:
        raise FileError(f"{path}: {problem.message}", problem.remedy) from None


def write_scenario(scenario: Scenario) -> str:
    """The file's text; what is as by default is left out."""
    defaults = asdict(Scenario())
    kept = {key: value for key, value in asdict(scenario).items() if value != defaults[key]}
    return json.dumps({"schema": SCHEMA, **kept}, ensure_ascii=False, indent=1) + "\n"
