"""A comparison as one HTML file that loads nothing and runs nothing. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from inspector.catalog.difference import prose
from inspector.catalog.difference.comparing import Difference
from inspector.catalog.difference.report import unmeasured

_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.breaking { color: light-dark(#a4121c, #ff8f8f); font-weight: 600; }
.caution { color: light-dark(#7a4d00, #f0b95c); font-weight: 600; }
"""


def html(differences: Sequence[Difference]) -> str:
    """The report as a page; all that a server sent is text, and the policy forbids everything but our style."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join([_difference(each) for each in differences])
    missing = "".join([f"<li>{escape(prose.visible(each))}</li>" for each in unmeasured(differences)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Catalogs compared</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Catalogs compared</h1>\n"
        f"<p>Baseline: {escape(prose.described(differences[0].before))}</p>\n{body}"
        f"<h2>Not measured</h2>\n<ul>{missing}</ul>\n</body>\n</html>\n"
    )


def _difference(found: Difference) -> str:
    counted = ", ".join(
        [f'<span class="{name}">{count:,} {name}</span>' for name, count in found.summary.items()]
    )
    parts = [
        f"<h2>{escape(prose.described(found.after))}</h2>\n",
        f"<p>Changes: {counted}. Tools: {escape(prose.statuses(found))}.</p>\n",
        _table(
            ("", "before", "after", "difference", ""),
            [_cells(each, texts=1) for each in prose.figures(found)],
        ),
    ]
    if why := prose.explained(found):
        parts.append(f"<p>{escape(why)}</p>\n")
    rows = [
        _cells((prose.visible(row.name), row.status, row.severity or "", *prose.weights(row)), texts=3)
        for row in prose.largest(found)
    ]
    if rows:
        parts += [
            "<h3>The largest changes</h3>\n",
            _table(("tool", "status", "severity", "bytes", "tokens"), rows),
        ]
    return "".join(parts) + _changes(found)


def _changes(found: Difference) -> str:
    every = prose.lines(found)
    if not every:
        return "<p>No changes.</p>\n"
    rows = [
        f'<td class="{line.severity}">{line.severity}</td><td><code>{escape(line.where)}</code></td>'
        f"<td>{line.kind}</td><td>{escape(line.what)}</td>"
        for line in every[: prose.MOST_LINES]
    ]
    more = len(every) - len(rows)
    note = f"<p>… and {more:,} more; --format json has all of them.</p>\n" if more else ""
    return "<h3>Changes</h3>\n" + _table(("severity", "where", "kind", "what"), rows) + note


def _cells(row: Sequence[str], *, texts: int) -> str:
    """Cells of a row: the first ones text, the rest numbers."""
    return "".join(
        [
            f"<td>{escape(text)}</td>" if at < texts else f'<td class="n">{escape(text)}</td>'
            for at, text in enumerate(row)
        ]
    )


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join([f'<th scope="col">{escape(each)}</th>' for each in heads])
    return f"<table>\n<tr>{head}</tr>\n" + "".join([f"<tr>{row}</tr>\n" for row in rows]) + "</table>\n"
