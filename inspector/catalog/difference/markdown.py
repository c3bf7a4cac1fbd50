"""A comparison as Markdown: totals, the largest changes, every severity, and what was not measured. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from inspector.catalog.difference import prose
from inspector.catalog.difference.comparing import Difference
from inspector.catalog.difference.report import unmeasured

_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")


def markdown(differences: Sequence[Difference]) -> str:
    """The report; nothing a server sent can leave its code span."""
    baseline = prose.described(differences[0].before)
    parts = ["# Catalogs compared", f"Baseline: {plain(baseline)}"]
    for each in differences:
        parts += _difference(each)
    parts += [
        "## Not measured",
        "\n".join([f"- {plain(prose.visible(each))}" for each in unmeasured(differences)]),
    ]
    return "\n\n".join(parts) + "\n"


def _difference(found: Difference) -> list[str]:
    summary = found.summary
    counted = ", ".join([f"**{count:,} {severity}**" for severity, count in summary.items()])
    parts = [
        f"## {plain(prose.described(found.after))}",
        f"Changes: {counted}. Tools: {prose.statuses(found)}.",
    ]
    parts.append(_table(("", "before", "after", "difference", ""), prose.figures(found), texts=1))
    if why := prose.explained(found):
        parts.append(why)
    if rows := prose.largest(found):
        parts.append(f"### The {len(rows)} largest changes" if len(rows) > 1 else "### The largest change")
        cells = [
            (code(prose.visible(row.name)), row.status, row.severity or "", *prose.weights(row))
            for row in rows
        ]
        parts.append(_table(("tool", "status", "severity", "bytes", "tokens"), cells, texts=3))
    return parts + _changes(found)


def _changes(found: Difference) -> list[str]:
    every = prose.lines(found)
    if not every:
        return ["No changes."]
    parts: list[str] = []
    for severity in dict.fromkeys([line.severity for line in every[: prose.MOST_LINES]]):
        parts += [f"### {severity.capitalize()}", "\n".join(_bullets(every[: prose.MOST_LINES], severity))]
    if len(every) > prose.MOST_LINES:
        parts.append(f"… and {len(every) - prose.MOST_LINES:,} more; --format json has all of them.")
    return parts


def _bullets(every: Sequence[prose.Line], severity: str) -> list[str]:
    return [
        f"- {code(line.where)} {line.kind}: {plain(line.what)}" for line in every if line.severity == severity
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """The first `texts` columns are text, the rest numbers."""
    rule = ["---" if at < texts else "---:" for at in range(len(heads))]
    return "\n".join([f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows]])


def code(text: str) -> str:
    """A code span; pipes escaped, because spans stand in tables too."""
    fence = "`" * (max([len(run) for run in _TICKS.findall(text)], default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text or ' '}{pad}{fence}".replace("|", "\\|")


def plain(text: str) -> str:
    """Text in which Markdown and HTML mean nothing."""
    return _SPECIAL.sub(r"\\\1", text).replace("&", "&amp;")
