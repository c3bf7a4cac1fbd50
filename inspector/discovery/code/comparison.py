"""A run beside the ordinary tool loop on the same calls: what each puts into the model's context. Slow for big results.

Both sides are derived from the run's real calls: in the loop every result a model would be shown enters the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog.jsontext import compact_value, utf8
from inspector.catalog.providers import ANTHROPIC
from inspector.discovery import meta_tools
from inspector.discovery.access import EVERYONE, Access
from inspector.discovery.code.calls import Call, many
from inspector.discovery.code.run import Result
from inspector.discovery.code.stubs import Stubs
from inspector.discovery.context import Weigher
from inspector.discovery.registry import Registry

PARTS: Final = ("definitions", "what the model writes", "what it is given back")
RESULT_SHOWN: Final = 4000


@dataclass(frozen=True, slots=True)
class Side:
    """bytes, tokens: of each of PARTS. turns: model round trips. exact: whether the tokenizer counted all of it."""

    title: str
    bytes: tuple[int, int, int]
    tokens: tuple[int, int, int]
    turns: int

    @property
    def total_bytes(self) -> int:
        return sum(self.bytes)

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens)


@dataclass(frozen=True, slots=True)
class Comparison:
    """code: with every stub in the context. loop: full listing, native calls. kept_out: tokens of the results that
    stayed in the sandbox."""

    code: Side
    loop: Side
    kept_out_tokens: int
    kept_out_bytes: int
    tokenizer: str
    exact: bool
    window: int

    @property
    def saved(self) -> float | None:
        """1 − code/loop in context tokens; None without a loop."""
        return 1 - self.code.total_tokens / self.loop.total_tokens if self.loop.total_tokens else None

    def rows(self) -> list[tuple[str, int, int, int, int]]:
        """(part, code tokens, loop tokens, code bytes, loop bytes), the total last."""
        found = [
            (part, self.code.tokens[at], self.loop.tokens[at], self.code.bytes[at], self.loop.bytes[at])
            for at, part in enumerate(PARTS)
        ]
        total = (self.code.total_tokens, self.loop.total_tokens, self.code.total_bytes, self.loop.total_bytes)
        return [*found, ("in the context", *total)]

    def entry(self) -> dict[str, Any]:
        """As `code --json` has it."""
        return {
            "columns": ["part", "code tokens", "loop tokens", "code bytes", "loop bytes"],
            "rows": [list(row) for row in self.rows()], "code_turns": self.code.turns, "loop_turns": self.loop.turns,
            "saved": self.saved, "kept_out_tokens": self.kept_out_tokens, "kept_out_bytes": self.kept_out_bytes,
            "tokenizer": {"name": self.tokenizer, "exact": self.exact}, "window": self.window,
            "loop_fits_window": self.loop.total_tokens <= self.window, "provenance": "derived",
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Texts:
    """What there is to weigh, as plain text, so that a worker process can. tools: definitions as listed; stubs, code
    and said: of the script's side; asked, given: of each call of the loop."""

    tools: tuple[str, ...]
    stubs: str
    code: str
    said: str
    asked: tuple[str, ...]
    given: tuple[str, ...]


def texts_of(
    registry: Registry, stubs: Stubs, code: str, result: Result, *, access: Access = EVERYONE
) -> Texts:
    """The loop makes the same calls in the same order; a refused one costs its error there too."""
    return Texts(
        tuple([tool.text for tool in registry.visible(access)]), stubs.text(), code, model_text(result),
        tuple([compact_value({"name": call.tool, "input": dict(call.arguments)}) for call in result.calls]),
        tuple([call.text or call.why for call in result.calls]),
    )  # fmt: skip


def compare(texts: Texts, provider: str = ANTHROPIC, window: int = 200_000) -> Comparison:
    """Weigh one run, the definitions as that provider is sent them."""
    weigher = Weigher(provider)
    tools = [weigher.definition("", text) for text in texts.tools]
    wrote = compact_value({"name": "run_code", "input": {"code": texts.code}})
    shown = (meta_tools.definition("run_code"), texts.stubs)
    code = Side("code mode", *_sums(weigher, shown, (wrote,), (texts.said,)), 2)
    sizes, counts = _sums(weigher, (), texts.asked, texts.given)
    loop = Side(
        "tool loop",
        (sum([piece.bytes for piece in tools]), sizes[1], sizes[2]),
        (sum([piece.tokens for piece in tools]), counts[1], counts[2]),
        len(texts.asked) + 1,
    )
    return Comparison(code, loop, counts[2], sizes[2], weigher.tokenizer, weigher.exact, window)


Sums = tuple[int, int, int]


def _sums(weigher: Weigher, *groups: Sequence[str]) -> tuple[Sums, Sums]:
    """(bytes of each group, tokens of each group)."""
    sizes = [sum([len(utf8(text)) for text in group]) for group in groups]
    counts = [sum([weigher.tokens(text) for text in group]) for group in groups]
    return (sizes[0], sizes[1], sizes[2]), (counts[0], counts[1], counts[2])


def model_text(result: Result) -> str:
    """What the model is given of a run: output, the last value, and, when it failed, what is done and what is not."""
    parts = [result.output.rstrip("\n")] if result.output else []
    if result.error is None:
        if result.value is not None:
            parts.append(compact_value(result.value)[:RESULT_SHOWN])
        return "\n".join(parts)
    where = f" (line {result.line})" if result.line is not None else ""
    parts.append(f"{result.error.message}{where}")
    effects = result.effects
    parts.append(
        f"{many(len(effects.done), 'change')} done, {len(effects.failed)} failed, {len(effects.unknown)} unknown."
    )
    parts += [
        f"failed: {_named(call)}" for call in effects.failed[:5] if call.why not in result.error.message
    ]
    parts += [f"unknown: {_named(call)}" for call in effects.unknown[:5]]
    parts += [f"{advice}." for advice in effects.advice]
    return "\n".join(parts)


def _named(call: Call) -> str:
    return f"call {call.n}, {call.tool}: {call.why}" if call.why else f"call {call.n}, {call.tool}"
