"""Values of environment variables back into placeholders, in whatever is shown or recorded of a start. Any thread."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from inspector.errors import LoupeError, PeerError

T = TypeVar("T")
SHORTEST: Final = 4
"""Characters. A shorter value is no secret worth the name, and would be found in every other word."""
_PEERS: Final = frozenset(("stderr", "body", "www_authenticate"))
"""Facts of an error that are the server's own words: those are never changed."""


class Hider:
    """Replaces values, as they are and as URLs and headers spell them, by the placeholders they came from."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._given = dict(known)
        self._known = {
            spelled.lower(): placeholder
            for value, placeholder in known.items()
            if len(value) >= SHORTEST
            for spelled in _spellings(value)
        }
        longest_first = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def also(self, known: Mapping[str, str]) -> Hider:
        """One that hides these values too."""
        return Hider({**self._given, **known})

    def text(self, text: str) -> str:
        if not self._known:
            return text
        return self._pattern.sub(lambda match: self._known.get(match[0].lower(), match[0]), text)

    def tree(self, value: T) -> T:
        """The same in lists, tuples, objects and dataclasses; their keys and field names stay."""
        found: Any = value
        if not self._known:
            return value
        if isinstance(value, str):
            found = self.text(value)
        elif isinstance(value, dict):
            found = {key: self.tree(one) for key, one in value.items()}
        elif isinstance(value, list | tuple):
            found = type(value)(self.tree(one) for one in value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            changes = {each.name: self.tree(getattr(value, each.name)) for each in dataclasses.fields(value)}
            found = dataclasses.replace(value, **changes)
        return found  # type: ignore[no-any-return]

    def error(self, problem: LoupeError) -> LoupeError:
        """An error of ours, changed in place; what the server said of itself stays."""
        if self._known and not isinstance(problem, PeerError):
            problem.message, problem.remedy = self.text(problem.message), self.text(problem.remedy)
            problem.args = (problem.message,)
            problem.facts.update({k: self.tree(v) for k, v in problem.facts.items() if k not in _PEERS})
        return problem


def _spellings(value: str) -> set[str]:
    """Bytes of the environment that are no UTF-8 are surrogates in Python's text, and stay those bytes here."""
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, out of JSON: nothing can be sent of it
        return {value}
    return {value, quote(raw), quote(raw, safe=""), raw.decode("latin-1")}
