"""One tool before and after, for reading: its changes, its definitions line by line, its words. Pure, any thread."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from re import findall
from typing import Any, Final

from markupsafe import Markup

from inspector.catalog.difference.change import KINDS, SEVERITIES, Change
from inspector.catalog.jsontext import compact_value
from inspector.catalog.snapshot import ABSENT
from inspector.web.compare_work import End
from inspector.web.highlight import code_lines, visible

MOST_LINES: Final = 1_500
"""Lines of a definition that are compared: difflib's time grows with their product."""
LARGEST: Final = 400_000
AROUND: Final = 3
MOST_WORDS: Final = 1_200
LONGEST: Final = 600
"""Characters of a value that are shown as they are."""
MOST_CHANGES: Final = 100


@dataclass(frozen=True, slots=True)
class Told:
    """A change in words. before, after: how the values read, None where there is none; for changed texts the words
    that went and came are marked."""

    severity: str
    kind: str
    means: str
    path: str
    before: Markup | None
    after: Markup | None


def told(changes: tuple[Change, ...]) -> list[Told]:
    """The changes of a tool or a list, the worst first, at most MOST_CHANGES."""
    ordered = sorted(changes, key=lambda each: SEVERITIES.index(each.severity))
    return [_told(each) for each in ordered[:MOST_CHANGES]]


def _told(change: Change) -> Told:
    old, new = _shown(change.before), _shown(change.after)
    if change.kind == "instructions-changed":  # null says that there are none
        old, new = (
            None if value is None else shown for value, shown in ((change.before, old), (change.after, new))
        )
    if isinstance(change.before, str) and isinstance(change.after, str):
        old, new = words(change.before, change.after)
    return Told(change.severity, change.kind, KINDS[change.kind].means, change.path, old, new)


def _shown(value: Any) -> Markup | None:
    if value is ABSENT:
        return None
    try:
        text = value if isinstance(value, str) else compact_value(value)
    except RecursionError:
        return Markup("nested too deeply to show")
    return _cut(text)


def _cut(text: str) -> Markup:
    if len(text) <= LONGEST:
        return visible(text)
    return visible(text[:LONGEST]) + Markup('<span class="is-3"> … {} more characters</span>').format(
        f"{len(text) - LONGEST:,}"
    )


def words(before: str, after: str) -> tuple[Markup, Markup]:
    """Two texts with what went marked in the first and what came in the second; too long ones only cut."""
    old, new = (findall(r"\s+|\w+|[^\w\s]", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return _cut(before), _cut(after)
    blocks = SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes()
    one, other = Markup(), Markup()
    for tag, i1, i2, j1, j2 in blocks:
        if tag == "equal":
            kept = visible("".join(old[i1:i2]))
            one, other = one + kept, other + kept
            continue
        if i2 > i1:
            one += Markup("<del>{}</del>").format(visible("".join(old[i1:i2])))
        if j2 > j1:
            other += Markup("<ins>{}</ins>").format(visible("".join(new[j1:j2])))
    return one, other


@dataclass(frozen=True, slots=True)
class DiffLine:
    """sign: `+`, `-`, a space, or `…` for equal lines left out, whose number is in `html`."""

    sign: str
    html: Markup


@dataclass(frozen=True, slots=True)
class Diff:
    """lines: the definitions laid out and compared; problem: why not, or not in full."""

    lines: list[DiffLine]
    problem: str = ""


def diff(before: End | None, after: End | None) -> Diff:
    """The two definitions line by line, equal stretches cut to AROUND lines beside a change; or the only one."""
    texts = [end.text for end in (before, after) if end is not None]
    largest = max([len(text) for text in texts])
    if largest > LARGEST:
        return Diff([], f"It is too large to lay out ({largest:,} characters).")
    laid = [code_lines(text, MOST_LINES) for text in texts]
    problem = f"Only the first {MOST_LINES:,} lines are shown." if any(code.left_out for code in laid) else ""
    one, *others = [[line.html for line in code.lines] for code in laid]
    if not others:  # nothing to tell apart: colours would only shout
        return Diff([DiffLine(" ", html) for html in one], problem)
    return Diff(_lines(SequenceMatcher(None, one, others[0]), one, others[0]), problem)


def _lines(matcher: SequenceMatcher[Markup], one: list[Markup], other: list[Markup]) -> list[DiffLine]:
    found: list[DiffLine] = []
    groups = list(matcher.get_grouped_opcodes(AROUND))
    if not groups:
        return [DiffLine(" ", html) for html in one]
    found += _gap(groups[0][0][1])
    for group, following in [*pairwise(groups), (groups[-1], None)]:
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                found += [DiffLine(" ", html) for html in one[i1:i2]]
                continue
            found += [DiffLine("-", html) for html in one[i1:i2]]
            found += [DiffLine("+", html) for html in other[j1:j2]]
        found += _gap((following[0][1] if following else len(one)) - group[-1][2])
    return found


def _gap(count: int) -> list[DiffLine]:
    if count <= 0:
        return []
    return [DiffLine("…", Markup("{} equal line{}").format(f"{count:,}", "" if count == 1 else "s"))]
