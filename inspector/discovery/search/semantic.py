"""Search by meaning, with wordllama's small vectors loaded offline (extra `[semantic]`). Build it in the worker."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspector.discovery.registry import Tool
from inspector.discovery.search.method import Found
from inspector.discovery.search.words import fields
from inspector.errors import UsageError
from inspector.settings.extras import install_command


class Semantic:
    """Cosine likeness of the query to name and description. Raises UsageError without the extra."""

    id = "semantic"

    def __init__(self) -> None:
        self._model: Any = None

    def build(self, tools: Sequence[Tool]) -> SemanticIndex:
        if self._model is None:
            self._model = _load()
        return SemanticIndex(self._model, tools)


class SemanticIndex:
    def __init__(self, model: Any, tools: Sequence[Tool]) -> None:
        self._model = model
        self._tools = tools
        texts = [f"{name.replace('_', ' ')}: {said}" for name, said, _ in map(fields, tools)]
        self._einsum: Any = importlib.import_module("numpy").einsum
        self._vectors = model.embed(texts, norm=True) if texts else None

    def ranked(self, query: str, limit: int) -> list[Found]:
        """Every tool has some likeness: the nearest, however far."""
        if self._vectors is None:
            return []
        # Not `@`: that wakes a pool of threads, which spin for longer than the whole product takes.
        scores = self._einsum("ij,j->i", self._vectors, self._model.embed([query], norm=True)[0])
        order = _best(scores, limit)
        return [
            Found(self._tools[at], float(scores[at]), (), {"semantic": rank})
            for rank, at in enumerate(order, 1)
        ]

    def explained(self, query: str, found: Sequence[Found]) -> list[Found]:
        """No word is known to have done it."""
        return list(found)


def _best(scores: Any, limit: int) -> list[int]:
    """Positions of the highest scores, best first, the earlier of equal ones first; without sorting them all."""
    near = scores.argpartition(-limit)[-limit:] if limit < len(scores) else scores.argsort()
    near = (scores >= scores[near].min()).nonzero()[0]
    order: list[int] = near[(-scores[near]).argsort(kind="stable")][:limit].tolist()
    return order


def available() -> bool:
    return importlib.util.find_spec("wordllama") is not None


def _load() -> Any:
    """wordllama's default load looks for its tokenizer on the network; this folder has everything."""
    try:
        wordllama: Any = importlib.import_module("wordllama")
    except ImportError:
        raise UsageError(
            "Search by meaning needs the extra [semantic], which is not installed",
            f"{install_command('semantic')}, or choose keyword",
        ) from None
    folder = Path(str(wordllama.__file__)).parent
    return wordllama.WordLlama.load(cache_dir=str(folder), disable_download=True)
