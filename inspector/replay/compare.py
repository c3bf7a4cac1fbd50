"""When two questions are the same one, and where two answers differ; parts may be ignored. Pure, any thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from inspector.errors import UsageError
from inspector.protocol.numbers import LongInteger
from inspector.replay.exchanges import REDACTED

OPENERS: Final = ("initialize", "server/discover")
"""Who asks, and what it can, is in their params: no part of the question."""
ROOTS: Final = ("params", "result", "error")
IDENTITIES: Final = ("name", "uri", "uriTemplate")
MOST_CHANGES: Final = 200

Path = tuple[str | int, ...]

_VOLATILE: Final = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
)
"""UUIDs and ISO 8601 times: what differs from one run to the next and means nothing."""
_REPLACED: Final = re.compile(r"\[redacted:[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Ignore:
    """Which parts do not count: JSON pointers from `/params`, `/result` or `/error` (`*` is any member or index).

    volatile: whether ids (UUIDs) and times (ISO 8601) inside strings count as equal to any other.
    """

    pointers: tuple[tuple[str, ...], ...]
    volatile: bool = False

    @classmethod
    def of(cls, texts: Iterable[str], *, volatile: bool = False) -> Ignore:
        """Raises UsageError for what is no such pointer."""
        return cls(tuple(_pointer(text) for text in texts), volatile)

    def covers(self, path: Path) -> bool:
        return any(
            len(one) == len(path) and all(a in ("*", str(b)) for a, b in zip(one, path, strict=True))
            for one in self.pointers
        )

    def without(self, value: Any, path: Path) -> Any:
        """A copy of `value`, which stands at `path`, without the parts that do not count."""
        if isinstance(value, dict):
            kept = ((key, inner) for key, inner in value.items() if not self.covers((*path, key)))
            return {key: self.without(inner, (*path, key)) for key, inner in kept}
        if isinstance(value, list):
            spots = (spot for spot in enumerate(value) if not self.covers((*path, spot[0])))
            return [self.without(inner, (*path, index)) for index, inner in spots]
        return value


PLAYED: Final = ("/params/_meta",)
"""What the stand-in ignores of a question."""
COMPARED: Final = (
    "/params/_meta", "/params/cursor", "/params/requestState", "/result/_meta", "/result/nextCursor",
    "/result/requestState",
)  # fmt: skip
"""What a comparison of two runs ignores: ids and versions of the run, cursors, and the state of rounds."""


def ignoring(texts: Iterable[str] = (), *, strict: bool = False) -> Ignore:
    """What comparing two runs leaves out: these pointers and, unless `strict`, cursors, states, `_meta`, ids, times."""
    return Ignore.of((*(PLAYED if strict else COMPARED), *texts), volatile=not strict)


def _pointer(text: str) -> tuple[str, ...]:
    parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])
    if not text.startswith("/") or not parts or parts[0] not in ROOTS:
        raise UsageError(
            f"{text} is no JSON pointer into a request or an answer",
            "Begin it with /params, /result or /error, such as /params/arguments/now or /result/content/*/text",
        )
    return parts


# --- questions


def question(method: str, params: Any, ignore: Ignore) -> str:
    """A text that is equal for equal questions: member order, `1.0` for `1`, and empty members do not matter.

    Raises RecursionError for params nested hundreds deep.
    """
    if method in OPENERS:
        return method
    kept = ignore.without(params, ("params",)) if params is not None else {}
    if isinstance(kept, dict):  # clients write `"arguments": {}`, `null` or nothing, and mean the same
        kept = {key: value for key, value in kept.items() if value is not None and value != {}}
    return f"{method} {json.dumps(plain(kept), sort_keys=True, ensure_ascii=True)}"


def question_or_depth(method: str, params: Any, ignore: Ignore) -> str:
    """`question`; of params nested too deeply for it, a text that all such params of the method share."""
    try:
        return question(method, params, ignore)
    except RecursionError:
        return f"{method}, nested too deeply to compare"


def plain(value: Any) -> Any:
    """The same value where `1.0` is 1, and an integer too long for Python stands as a text of its digits."""
    if isinstance(value, LongInteger):
        return f"\0{value.text}"
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def fits(recorded: Any, asked: Any) -> bool:
    """Whether `asked` may be what `recorded` was before redaction: a replaced value fits any string or number."""
    if isinstance(recorded, str) and REDACTED in recorded:
        parts = _REPLACED.split(recorded)
        if isinstance(asked, str):
            return _holds_in_order(parts, asked)
        return parts == ["", ""] and isinstance(asked, int | float)
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return recorded.keys() == asked.keys() and all(fits(recorded[key], asked[key]) for key in recorded)
    if isinstance(recorded, list) and isinstance(asked, list):
        return len(recorded) == len(asked) and all(map(fits, recorded, asked))
    return same_scalar(recorded, asked)


def _holds_in_order(parts: list[str], text: str) -> bool:
    """Whether `text` is these parts with anything between them; linear, for the parts come from a file."""
    first, *inner, last = parts
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in inner:
        at = text.find(part, at, end) + len(part)
        if at < len(part):
            return False
    return True


def same_scalar(before: Any, after: Any) -> bool:
    """JSON equality: true is not 1, 1.0 is 1."""
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)


# --- answers


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. path: a JSON pointer. kind: added, removed, changed, or reordered (an array of named things)."""

    path: str
    kind: str
    before: Any = None
    after: Any = None

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"path": self.path, "kind": self.kind}
        if self.kind in ("changed", "removed"):
            found["before"] = self.before
        if self.kind in ("changed", "added"):
            found["after"] = self.after
        return found


@dataclass(slots=True)
class Comparison:
    """Where two answers differ, at most MOST_CHANGES places (`more` counts the rest), and what was ignored."""

    changes: list[Change] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    more: int = 0

    @property
    def same(self) -> bool:
        return not self.changes


def compare(before: Any, after: Any, ignore: Ignore) -> Comparison:
    """Compare two answers without their envelopes, `{"result": …}` or `{"error": …}`."""
    found = Comparison()
    try:
        for change in _Walk(ignore, found.ignored).differences(before, after, ()):
            if len(found.changes) < MOST_CHANGES:
                found.changes.append(change)
            else:
                found.more += 1
    except RecursionError:
        found.changes.append(Change("", "changed", "nested too deeply to compare", None))
    return found


class _Walk:
    def __init__(self, ignore: Ignore, ignored: list[str]) -> None:
        self.ignore = ignore
        self.ignored = ignored

    def differences(self, before: Any, after: Any, path: Path) -> Iterator[Change]:
        if self.ignore.covers(path):
            if before != after:
                self.ignored.append(pointer(path))
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from self._members(before, after, path)
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._elements(before, after, path)
        elif isinstance(before, str) and isinstance(after, str):
            yield from self._texts(before, after, path)
        elif not same_scalar(before, after):
            yield Change(pointer(path), "changed", before, after)

    def _members(self, before: dict[str, Any], after: dict[str, Any], path: Path) -> Iterator[Change]:
        for key, value in before.items():
            if key in after:
                yield from self.differences(value, after[key], (*path, key))
            else:
                yield from self._one_sided("removed", value, (*path, key))
        for key, value in after.items():
            if key not in before:
                yield from self._one_sided("added", value, (*path, key))

    def _one_sided(self, kind: str, value: Any, path: Path) -> Iterator[Change]:
        if self.ignore.covers(path):
            self.ignored.append(pointer(path))
        else:
            yield Change(pointer(path), kind, *((value, None) if kind == "removed" else (None, value)))

    def _elements(self, before: list[Any], after: list[Any], path: Path) -> Iterator[Change]:
        names, new_names = _aligned(before, after)
        at = {name: index for index, name in enumerate(new_names)}
        for index, name in enumerate(names):
            if name in at:
                yield from self.differences(before[index], after[at[name]], (*path, index))
            else:
                yield from self._one_sided("removed", before[index], (*path, index))
        old = set(names)
        for index, name in enumerate(new_names):
            if name not in old:
                yield from self._one_sided("added", after[index], (*path, index))
        if [name for name in names if name in at] != [name for name in new_names if name in old]:
            yield Change(pointer(path), "reordered")

    def _texts(self, before: str, after: str, path: Path) -> Iterator[Change]:
        if before == after:
            return
        if self.ignore.volatile and _VOLATILE.sub("*", before) == _VOLATILE.sub("*", after):
            self.ignored.append(pointer(path))
        else:
            yield Change(pointer(path), "changed", before, after)


def _aligned(before: list[Any], after: list[Any]) -> tuple[list[Any], list[Any]]:
    """What the elements go by: a name of their own where all have one, else where they stand."""
    old, new = _identities(before), _identities(after)
    if old is None or new is None or old[0] != new[0]:
        return list(range(len(before))), list(range(len(after)))
    return old[1], new[1]


def _identities(items: list[Any]) -> tuple[str, list[Any]] | None:
    """By which member these objects are told apart, and its values; None when there is no such member."""
    for member in IDENTITIES:
        found = [item.get(member) if isinstance(item, dict) else None for item in items]
        if found and all(isinstance(one, str) for one in found) and len(set(found)) == len(found):
            return member, found
    return None


def pointer(path: Path) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
