"""What the Markdown and the HTML report share: which rows, in which order, and values for people. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog.difference.change import KINDS, SEVERITIES, Change
from inspector.catalog.difference.comparing import SAME, Difference, Row
from inspector.catalog.difference.report import totals_delta
from inspector.catalog.difference.side import Side
from inspector.catalog.jsontext import compact_value
from inspector.catalog.snapshot import ABSENT

LARGEST: Final = 10
MOST_LINES: Final = 200
MOST_NAMES: Final = 40
"""Changes of one side that are written out, and names on a line; the JSON has all."""
_WHOLE: Final = ("tool-removed", "tool-added")
_LONGEST_VALUE: Final = 120

FIGURES: Final = (
    ("tools", "tools"),
    ("wire_bytes", "bytes on the wire"),
    ("definition_bytes", "bytes of definitions"),
    ("spelling_bytes", "bytes of spaces and needless escapes"),
    ("envelope_bytes", "bytes around the tools"),
)


def visible(text: str | None) -> str:
    """A server's text on one line: control, invisible and bidirectional characters as escapes."""
    if text is None:
        return "(no name)"
    return "".join([char if char.isprintable() else char.encode("unicode_escape").decode() for char in text])


def shown(value: Any) -> str:
    """A JSON value, cut to a line; `absent` when there is none."""
    if value is ABSENT:
        return "absent"
    try:
        text = visible(compact_value(value))
    except RecursionError:
        return "nested too deeply to show"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"


def number(value: int | None, *, signed: bool = False) -> str:
    if value is None:
        return "unknown"
    return f"{value:+,}" if signed and value else f"{value:,}"


def per_cent(before: int | None, after: int | None) -> str:
    """By how much it grew or shrank; empty without a baseline."""
    if not before or after is None or before == after:
        return ""
    return f"{(after - before) / before:+.1%}"


def figures(found: Difference) -> list[tuple[str, str, str, str, str]]:
    """(what, before, after, difference, per cent) of each total."""
    before, after, delta = found.before.totals, found.after.totals, totals_delta(found)
    rows: list[tuple[str, int | None, int | None, int | None]] = [
        (title, getattr(before, name), getattr(after, name), delta[name]) for name, title in FIGURES
    ]
    counted = (delta["tokens"] or {}).get(found.before.tokenizer, {})
    for name, key in (("wire_tokens", "wire"), ("definition_tokens", "definitions")):
        title = f"tokens {'on the wire' if key == 'wire' else 'of definitions'} ({found.before.tokenizer})"
        rows.append((title, getattr(before, name), getattr(after, name), counted.get(key)))
    return [
        (title, number(old), number(new), number(more, signed=True), per_cent(old, new))
        for title, old, new, more in rows
    ]


def statuses(found: Difference) -> str:
    """How many tools of each status, in words."""
    counts: dict[str, int] = {}
    for row in found.rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return ", ".join([f"{count:,} {status}" for status, count in sorted(counts.items())]) or "no tools"


def largest(found: Difference) -> list[Row]:
    """The rows that changed most, by bytes of definition."""
    changed = [row for row in found.rows if row.status != SAME]
    return sorted(changed, key=lambda row: (-abs(row.definition_bytes), row.name or ""))[:LARGEST]


def weights(row: Row) -> tuple[str, str]:
    """By how many bytes and tokens a tool grew or shrank."""
    return number(row.definition_bytes, signed=True), number(row.tokens, signed=True)


@dataclass(frozen=True, slots=True)
class Line:
    """One line about changes. where: the tool and the place in it, or how many tools."""

    severity: str
    where: str
    kind: str
    what: str


def lines(found: Difference) -> list[Line]:
    """The changes, the worst first; tools that came or went whole share a line."""
    every: list[tuple[Row | None, Change]] = [(None, one) for one in found.listing]
    every += [(row, one) for row in found.rows for one in row.changes]
    written: list[Line] = []
    for severity in SEVERITIES:
        whole: dict[str, list[str]] = {}
        for row, one in every:
            if one.severity != severity:
                continue
            if row is not None and one.kind in _WHOLE and row.likeness is None:
                whole.setdefault(one.kind, []).append(visible(row.name))
            elif not (row is not None and row.likeness is not None and one.kind == "tool-added"):
                written.append(Line(severity, place(row, one), one.kind, meaning(row, one)))
        written += [_together(severity, kind, names) for kind, names in whole.items()]
    return written


def _together(severity: str, kind: str, names: list[str]) -> Line:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    where = names[0] if len(names) == 1 else f"{len(names):,} tools"
    said = (
        KINDS[kind].means
        if len(names) == 1
        else f"{KINDS[kind].means}: {', '.join(names[:MOST_NAMES])}{more}"
    )
    return Line(severity, where, kind, said)


def place(row: Row | None, one: Change) -> str:
    """The tool and the place in it."""
    if row is None:
        return "the list"
    name = visible(row.name) + (f" (copy {row.copy})" if row.copy > 1 else "")
    return f"{name} {visible(one.path)}".rstrip()


def meaning(row: Row | None, one: Change) -> str:
    """What the change means, and its values."""
    said = KINDS[one.kind].means
    if row is not None and row.likeness is not None and one.kind == "tool-removed":
        return f"{said}; it may live on as {visible(row.renamed_to)} (likeness {row.likeness:.2f})"
    if one.before is ABSENT and one.after is ABSENT:
        return said
    return f"{said}: {shown(one.before)} → {shown(one.after)}"


def explained(found: Difference) -> str:
    """Why the bytes on the wire differ though the definitions do not; empty when there is nothing to explain."""
    delta = totals_delta(found)
    if not delta["wire_bytes"] or delta["definition_bytes"]:
        return ""
    return (
        "The definitions have the same number of bytes; the difference on the wire is "
        f"{number(delta['spelling_bytes'], signed=True)} B of spaces and needless escapes and "
        f"{number(delta['envelope_bytes'], signed=True)} B around the tools."
    )


def described(side: Side) -> str:
    """A side for people: its label, server and era."""
    info = side.server_info or {}
    server = " ".join([visible(str(info[key])) for key in ("name", "version") if info.get(key)])
    return ", ".join([part for part in (visible(side.label), server, side.era or "") if part])
