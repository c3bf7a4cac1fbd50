"""Pairs of exchanges for reading: rows, counts, both answers beside each other, reports. Pure, any thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from statistics import median
from typing import Any, Final

from markupsafe import Markup

from inspector.catalog.jsontext import compact_value
from inspector.replay.aligned import (
    ADDED,
    CHANGED,
    ERROR_CHANGED,
    MISSING,
    SAME,
    UNANSWERED,
    Aligned,
    ChangeText,
    Told,
)
from inspector.web.calls_view import indented
from inspector.web.compare_diff import words
from inspector.web.highlight import visible
from inspector.web.replay_query import Asked

WINDOW: Final = 100
MOST_LINES: Final = 1_500
MOST_CHANGES: Final = 50
AROUND: Final = 3
LONG: Final = 60
WIDEST: Final = 2_000
DEEPEST: Final = 80
HTML: Final = 120_000
"""Characters of HTML that one comparison of texts, or the list of changes, may take: hidden characters grow tenfold."""
NAME: Final = 200
WHY: Final = 300
_LINE_END: Final = re.compile(r"(?<!\\)((?:\\\\)*\\n)(?=.)")
VERDICTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "waiting": ("busy", "busy", "not sent yet"),
    SAME: ("ok", "ok", "nothing that counts differs"),
    CHANGED: ("warn", "diff", "both answered, the answers differ"),
    ERROR_CHANGED: ("err", "error", "one answer or both are errors, and they differ"),
    UNANSWERED: ("warn", "unknown", "one side or both got no answer"),
    MISSING: ("err", "minus", "asked only in A"),
    ADDED: ("note", "plus", "asked only in B"),
    "failed": ("err", "error", "no answer came this time"),
    "refused": ("note", "stop", "not sent"),
    "cancelled": ("off", "stop", "not sent, or not waited for"),
}
"""By verdict: severity, icon, and what it says."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row: `index` among all pairs. why, remedy: of what was not sent."""

    index: int
    pair: Aligned
    why: str = ""
    remedy: str = ""
    on: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """What a page shows. counts: (verdict, how many) of all pairs; total: of those the filter leaves."""

    lines: Sequence[Line]
    total: int
    all: int
    counts: Sequence[tuple[str, int]]
    before: int | None
    after: int | None
    bytes: int
    ms: float | None
    opened: Line | None


def window(pairs: Sequence[Aligned], asked: Asked, whys: Sequence[tuple[str, str]] = ()) -> Window:
    """The rows of a page. whys: (why, remedy) of each pair."""
    needles = asked.q.lower().split()
    kept = [
        index
        for index, pair in enumerate(pairs)
        if (not asked.verdict or pair.verdict == asked.verdict)
        and all(needle in f"{pair.method} {pair.name}".lower() for needle in needles)
    ]

    def line(index: int) -> Line:
        why, remedy = whys[index] if whys else ("", "")
        pair = pairs[index]
        short = replace(pair, method=pair.method[:NAME], name=pair.name[:NAME])
        return Line(index, short, why[:WHY], remedy[:WHY], index == asked.e)

    at = asked.at if asked.at < len(kept) else 0
    after = at + WINDOW
    times = [pair.ms for pair in pairs if pair.ms is not None]
    found = dict.fromkeys(VERDICTS, 0)
    for pair in pairs:
        found[pair.verdict] = found.get(pair.verdict, 0) + 1
    return Window(
        [line(index) for index in kept[at:after]], len(kept), len(pairs),
        [(verdict, n) for verdict, n in found.items() if n],
        max(0, at - WINDOW) if at else None, after if after < len(kept) else None,
        sum(pair.bytes or 0 for pair in pairs), median(times) if times else None,
        line(asked.e) if asked.e is not None and asked.e < len(pairs) else None,
    )  # fmt: skip


# --- one pair


@dataclass(frozen=True, slots=True)
class Beside:
    """A line of both texts: sign is a space, `~` (differ), `-`, `+`, or `…` for equal lines left out."""

    sign: str
    left: Markup | None
    right: Markup | None


@dataclass(frozen=True, slots=True)
class Sided:
    """Both texts beside each other; problem: why not, or not in full."""

    lines: list[Beside]
    problem: str = ""


def beside(before: str | None, after: str | None) -> Sided:
    """`_beside`, its first lines where all of them would make the page too long."""
    found = _beside(before, after)
    left = HTML
    for at, line in enumerate(found.lines):
        left -= len(line.left or "") + len(line.right or "")
        if left < 0:
            return Sided(found.lines[:at], f"Only the first {at:,} lines are shown.")
    return found


def _beside(before: str | None, after: str | None) -> Sided:
    """Two JSON texts, laid out and aligned line by line; equal stretches are cut to AROUND lines beside a change.

    A text of several lines inside a string stands on as many lines here, for that is what most answers are.
    """
    one, other = (laid(text) if text is not None else [] for text in (before, after))
    cut = max(len(one), len(other)) > MOST_LINES
    one, other = one[:MOST_LINES], other[:MOST_LINES]
    problem = f"Only the first {MOST_LINES:,} lines are shown." if cut else ""
    if not one or not other:
        return Sided(
            [Beside(" ", _shown(left), _shown(right)) for left, right in zip_longest(one, other)], problem
        )
    groups = list(SequenceMatcher(None, one, other).get_grouped_opcodes(AROUND))
    if not groups:
        return Sided([Beside(" ", _shown(line), _shown(line)) for line in one], problem)
    found: list[Beside] = []
    done = 0
    for group in groups:
        found += _gap(group[0][1] - done)
        for tag, i1, i2, j1, j2 in group:
            for left, right in zip_longest(one[i1:i2], other[j1:j2]):
                found.append(_line(tag == "equal", left, right))
        done = group[-1][2]
    return Sided([*found, *_gap(len(one) - done)], problem)


def laid(text: str) -> list[str]:
    """JSON text over lines, every lexeme as it is; long strings broken behind the line ends they hold."""
    found: list[str] = []
    for line in indented(text).split("\n"):
        if len(line) > LONG and "\\n" in line:
            found += _LINE_END.sub(r"\1\n", line).split("\n")
        else:
            found.append(line)
    return found


def _line(equal: bool, left: str | None, right: str | None) -> Beside:
    if equal or left is None or right is None:
        sign = " " if equal else "+" if left is None else "-"
        return Beside(sign, _shown(left), _shown(right))
    return Beside("~", *words(_fitting(left), _fitting(right)))


def _shown(line: str | None) -> Markup | None:
    if line is None:
        return None
    return visible(_fitting(line))


def _fitting(line: str) -> str:
    """A line that can be shown: its indentation and its length bounded."""
    text = line.lstrip(" ")
    shown = " " * min(len(line) - len(text), DEEPEST) + text
    return shown if len(shown) <= WIDEST else f"{shown[:WIDEST]}…"


def _gap(count: int) -> list[Beside]:
    if count <= 0:
        return []
    text = Markup("{} equal line{}").format(f"{count:,}", "" if count == 1 else "s")
    return [Beside("…", text, None)]


def marked(change: ChangeText) -> tuple[Markup | None, Markup | None]:
    """Both values of a change, with the words that went and came marked."""
    if change.before is not None and change.after is not None:
        return words(change.before, change.after)
    return tuple(visible(text) if text is not None else None for text in (change.before, change.after))  # type: ignore[return-value]


def pane(told: Told | None) -> dict[str, Any]:
    """Context of replay/_pair.html for a pair that was read."""
    if told is None:
        return {"told": None, "sided": None, "params": None, "same_params": False, "changes": []}
    a, b = told.a, told.b
    params = beside(a.params if a else None, b.params if b else None)
    return {
        "told": told,
        "changes": _changes(told),
        "sided": beside(a.answer if a else None, b.answer if b else None),
        "params": params,
        "same_params": a is not None and b is not None and a.params == b.params,
    }


def _changes(told: Told) -> list[tuple[ChangeText, Markup | None, Markup | None]]:
    """The first changes with their values, as many as the page can take."""
    found = []
    left = HTML
    for change in told.changes[:MOST_CHANGES]:
        before, after = marked(change)
        left -= len(before or "") + len(after or "")
        if left < 0:
            break
        found.append((change, before, after))
    return found


# --- reports


def report_json(document: dict[str, Any]) -> str:
    return indented(compact_value(document)) + "\n"


def report_markdown(document: dict[str, Any]) -> str:
    """A document of a diff or a replay for people: the summary, a line an exchange, its changes below it."""
    lines = [f"# {_plain(document['title'])}", ""]
    lines += [f"- {name}: {_plain(text)}" for name, text in document["about"].items()]
    lines += ["", ", ".join(f"{n} {word}" for word, n in document["summary"].items()) or "nothing", ""]
    for one in document["exchanges"]:
        name = f" `{_code(one['name'])}`" if one["name"] else ""
        delta = one.get("delta", {})
        more = [f"{delta['bytes']:+,} bytes"] if delta.get("bytes") else []
        more += [f"{delta['ms']:+.1f} ms"] if "ms" in delta else []
        lines.append(
            f"- **{one['verdict']}** `{_code(one['method'])}`{name}{', ' if more else ''}{', '.join(more)}"
        )
        if one.get("why"):
            lines.append(f"  - {_plain(one['why'])}")
        for change in one.get("changes", []):
            lines.append(f"  - `{_code(change['path'] or '/')}` {change['kind']}{_values(change)}")
        if one.get("more"):
            lines.append(f"  - and {one['more']:,} more changes")
    return "\n".join(lines) + "\n"


def _values(change: dict[str, Any]) -> str:
    shown = [_code(compact_value(change[name]))[:200] for name in ("before", "after") if name in change]
    return f": {' → '.join(f'`{text}`' for text in shown)}" if shown else ""


def _code(text: str) -> str:
    """Safe inside backticks, on one line."""
    return str(text).replace("`", "ˋ").replace("\n", " ").replace("\r", " ")


def _plain(text: object) -> str:
    """Safe as Markdown text: nothing in it is markup."""
    return "".join(
        f"\\{char}" if char in "\\`*_[]<>#|" else " " if char in "\r\n" else char for char in str(text)
    )
