"""What one provider request carries, as an ordered value: tools, system, then messages. Pure, any thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from inspector.catalog import providers
from inspector.catalog.jsontext import utf8
from inspector.catalog.tokens import O200K, count
from inspector.discovery.registry import Tool

NO_PROVIDER: Final = "none"

Kind = Literal["hidden", "tool", "system", "user", "call", "result", "injected"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One part of the request. label: for people, a tool's public name among them. text: exactly what is sent; the
    hidden tool prompt has none but its tokens. breakpoint: the host marks the cache here."""

    kind: Kind
    label: str
    text: str = field(repr=False)
    tokens: int
    bytes: int
    breakpoint: bool = False


class Weigher:
    """Counts tokens and renders tools for one provider, each text once. Not for two threads at a time."""

    def __init__(self, provider: str = providers.ANTHROPIC, tokenizer: str = O200K) -> None:
        self.provider = provider
        self.tokenizer = tokenizer
        self.exact = True
        self._tools: dict[str, Piece] = {}

    def fork(self) -> Weigher:
        """Another one with the same counts so far, for another thread."""
        other = Weigher(self.provider, self.tokenizer)
        other.exact, other._tools = self.exact, dict(self._tools)
        return other

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Definitions not weighed yet, each once."""
        return [text for text in dict.fromkeys(texts) if text not in self._tools]

    def learn(self, tools: Iterable[Tool], weighed: Mapping[str, Piece]) -> None:
        """Take over what was weighed elsewhere (`weigh`), by the definitions' texts."""
        for tool in tools:
            piece = weighed.get(tool.text)
            if piece is not None:
                self._tools[tool.text] = replace(piece, label=tool.public)

    def tokens(self, text: str) -> int:
        """By the tokenizer; `exact` turns False once a count was an estimate."""
        found = count(text, self.tokenizer)
        self.exact = self.exact and found.exact
        return found.value

    def piece(self, kind: Kind, label: str, text: str) -> Piece:
        return Piece(kind, label, text, self.tokens(text), len(utf8(text)))

    def tool(self, tool: Tool) -> Piece:
        """The definition as the provider is sent it (for no provider, as defined)."""
        return self.definition(tool.public, tool.text)

    def definition(self, label: str, text: str) -> Piece:
        found = self._tools.get(text)
        if found is None:
            sent = text if self.provider == NO_PROVIDER else providers.render(text, self.provider).text
            found = self._tools[text] = self.piece("tool", label, sent)
        return found

    def hidden(self) -> Piece:
        """The provider's own tool prompt; 0 tokens where none is published."""
        known = None if self.provider == NO_PROVIDER else providers.hidden_prompt_tokens(self.provider)
        return Piece("hidden", "the provider's tool prompt", "", known or 0, 0)


def weigh(provider: str, texts: Sequence[str]) -> tuple[list[Piece], bool]:
    """Definitions as the provider is sent them, and whether every count is exact. Runs in the worker."""
    weigher = Weigher(provider)
    return [weigher.definition("", text) for text in texts], weigher.exact


@dataclass(frozen=True, slots=True)
class ModelContext:
    """The request's parts in the order they are cached: hidden prompt, tools array, system, messages."""

    hidden: Piece
    tools: tuple[Piece, ...] = ()
    system: tuple[Piece, ...] = ()
    messages: tuple[Piece, ...] = ()

    def pieces(self) -> tuple[Piece, ...]:
        """All of it, a mark after the tools, after the system part and at the end."""
        hidden = (self.hidden,) if self.tools else ()
        parts = (*hidden, *_marked(self.tools), *_marked(self.system))
        return (*parts, *_marked(self.messages))

    @property
    def tokens(self) -> int:
        return sum([piece.tokens for piece in self.pieces()])

    @property
    def bytes(self) -> int:
        return sum([piece.bytes for piece in self.pieces()])

    @property
    def native(self) -> frozenset[str]:
        """Tools that can be called natively: in the array, or injected at the end."""
        injected = [piece.label for piece in self.messages if piece.kind == "injected"]
        return frozenset([*injected, *[piece.label for piece in self.tools]])

    # --- transitions

    def appended(self, pieces: Iterable[Piece]) -> ModelContext:
        """Definitions at the end of the tools array; one that is there already stays where it is."""
        pieces = tuple(pieces)
        if not pieces:
            return self
        known = self.native
        return replace(self, tools=(*self.tools, *[piece for piece in pieces if piece.label not in known]))

    def injected(self, pieces: Iterable[Piece]) -> ModelContext:
        """Definitions that the provider expands at the end of the context (deferred tools)."""
        known = self.native
        new = [replace(piece, kind="injected") for piece in pieces if piece.label not in known]
        return replace(self, messages=(*self.messages, *new))

    def without(self, labels: Iterable[str]) -> ModelContext:
        """The tools array without these, the rest in order."""
        gone = set(labels)
        return replace(self, tools=tuple([piece for piece in self.tools if piece.label not in gone]))

    def reordered(self) -> ModelContext:
        """The tools array sorted by name, as a host that re-sorts would send it."""
        return replace(self, tools=tuple(sorted(self.tools, key=lambda piece: piece.label)))

    def said(self, *pieces: Piece) -> ModelContext:
        return replace(self, messages=(*self.messages, *pieces))


def _marked(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    return (*pieces[:-1], replace(pieces[-1], breakpoint=True)) if pieces else ()
