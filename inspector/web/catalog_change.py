"""How a listing differs from the one before it. Pure, any thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from inspector.catalog.report import MeasuredListing


@dataclass(frozen=True, slots=True)
class Change:
    """What a listing has that the one before had not. The names are those of the items; None has none."""

    added: tuple[str | None, ...]
    removed: tuple[str | None, ...]
    altered: tuple[str | None, ...]
    reordered: bool
    bytes: int

    @property
    def nothing(self) -> bool:
        return not (self.added or self.removed or self.altered or self.reordered or self.bytes)


def compare(before: MeasuredListing, after: MeasuredListing) -> Change:
    """By name, repeated names counted; an item whose definition differs under the same name is altered."""
    old, new = ([each.name for each in listing.measures] for listing in (before, after))
    gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
    before_texts, after_texts = (
        Counter((each.name, each.text) for each in listing.measures) for listing in (before, after)
    )
    differing = Counter(name for name, _ in (after_texts - before_texts).elements()) - came
    return Change(
        tuple(came.elements()),
        tuple(gone.elements()),
        tuple(differing.elements()),
        before.order_sha256 != after.order_sha256 and not gone and not came,
        after.definition_bytes - before.definition_bytes,
    )


def token_delta(before: MeasuredListing, after: MeasuredListing, provider: str) -> int | None:
    """Tokens more, as `provider` would be sent the lists (as defined, where it is sent none); None: not counted."""
    if before.tokens is None or after.tokens is None:
        return None
    old, new = (each.rendered.get(provider, each.definitions) for each in (before.tokens, after.tokens))
    return new.value - old.value
