"""The providers' own token counters: which request would count a catalog exactly, and what its answer means. Pure.

Nothing is sent here (`console.counting` does, when a person says so). Two requests count one catalog: with its tools
and without any; the difference is what the tools cost, the provider's hidden tool prompt included.
Sources: platform.claude.com messages/count_tokens, platform.openai.com responses/input_tokens, ai.google.dev
models.countTokens; as of 2026-11 (docs/exact-counts.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from inspector.catalog import providers
from inspector.catalog.jsontext import compact_value, utf8
from inspector.catalog.measure import Measure

TEXT: Final = "x"
"""The one message both requests carry: a request without any is refused."""


@dataclass(frozen=True, slots=True)
class Counter:
    """How one provider counts. url: the default base; keys, base: variables of the environment; path may hold {model};
    header: carries the key, after `prefix`; answer: the member that holds the count."""

    provider: str
    url: str
    keys: tuple[str, ...]
    base: str
    path: str
    header: str
    prefix: str
    headers: Mapping[str, str]
    answer: str


COUNTERS: Final = {
    each.provider: each
    for each in (
        Counter(
            providers.ANTHROPIC, "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL",
            "/v1/messages/count_tokens", "x-api-key", "", {"anthropic-version": "2023-06-01"}, "input_tokens",
        ),
        Counter(
            providers.OPENAI, "https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL",
            "/responses/input_tokens", "Authorization", "Bearer ", {}, "input_tokens",
        ),
        Counter(
            providers.GEMINI, "https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            "GOOGLE_GEMINI_BASE_URL", "/v1beta/models/{model}:countTokens", "x-goog-api-key", "", {}, "totalTokens",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CountRequest:
    """What would be sent, but for the key. url: with the model in it where it belongs; left_out: tools that are not
    in it and why, a sentence each, because one of them would make the provider refuse all."""

    provider: str
    model: str
    url: str
    body: bytes = field(repr=False)
    bare: bytes = field(repr=False)
    tools: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of the headers that say something; the first one carries the key."""
        counter = COUNTERS[self.provider]
        return (counter.header, *counter.headers, "Content-Type")


def request_of(measures: Sequence[Measure], provider: str, model: str, base: str = "") -> CountRequest:
    """The two bodies that count the tools of a list for one model."""
    counter = COUNTERS[provider]
    sent, left_out, taken = [], [], set()
    for each in measures:
        if each.broken:
            left_out.append(f"{each.name or '(no name)'}: {each.broken}")
            continue
        rendering = providers.render(each.text, provider)
        if rendering.refused:
            left_out.append(f"{each.name}: {rendering.refused[0]}")
        elif rendering.name in taken:
            left_out.append(f"{each.name}: another tool is sent as {rendering.name} already")
        else:
            taken.add(rendering.name)
            sent.append(rendering.text)
    url = (base or counter.url).rstrip("/") + counter.path.format(model=quote(model, safe=""))
    return CountRequest(
        provider,
        model,
        url,
        _body(provider, model, sent),
        _body(provider, model, []),
        len(sent),
        tuple(left_out),
    )


def _body(provider: str, model: str, tools: Sequence[str]) -> bytes:
    """Compact JSON; the tools are spliced in as rendered, byte for byte."""
    listed = "[" + ",".join(tools) + "]"
    if provider == providers.GEMINI:
        contents = compact_value([{"role": "user", "parts": [{"text": TEXT}]}])
        inner = f'"model":{compact_value("models/" + model)},"contents":{contents}'
        inner += f',"tools":[{{"functionDeclarations":{listed}}}]' if tools else ""
        return utf8(f'{{"generateContentRequest":{{{inner}}}}}')
    message = compact_value([{"role": "user", "content": TEXT}])
    said = f'"messages":{message}' if provider == providers.ANTHROPIC else f'"input":{compact_value(TEXT)}'
    return utf8(f'{{"model":{compact_value(model)},{said}' + (f',"tools":{listed}' if tools else "") + "}")


def count_in(answer: Any, provider: str) -> int | None:
    """The count an answer holds; None when it holds none."""
    found = answer.get(COUNTERS[provider].answer) if isinstance(answer, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def said_in(answer: Any) -> str:
    """The provider's own sentence in an error body (all three: `error.message`), at most 300 characters."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    found = error.get("message") if isinstance(error, Mapping) else error
    text = " ".join(found.split()) if isinstance(found, str) else ""
    return text if len(text) <= 300 else text[:299] + "…"
