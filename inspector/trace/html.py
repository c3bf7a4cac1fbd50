"""A trace as one read-only HTML file: no script, no request, a policy that forbids both. Any thread; flat memory.

Every text of the trace is escaped and hidden characters are named (hypertext.py). What is too much is left out and
counted: see docs/exports.md for the limits.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

from inspector.protocol.headers import named_by
from inspector.trace.exporting import Fields, Source, count, pieces, text
from inspector.trace.hypertext import inline, json_text, lines

EVENTS_MOST: Final = 5_000
PAGE: Final = 500
BODY_MOST: Final = 20_000
"""Characters of one body that are shown."""
HTML_MOST: Final = 24 << 20
"""Characters of HTML, after which the rest of the events is left out."""
LABELS_MOST: Final = 200
_CSS: Final = (Path(__file__).parent / "data" / "export.css").read_text("utf-8").strip()
_HASH: Final = base64.b64encode(hashlib.sha256(_CSS.encode()).digest()).decode()
POLICY: Final = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
_CHIPS: Final = (
    ("rpc", "Frames"), ("http", "HTTP"), ("stderr", "Stderr"), ("noise", "Noise"), ("proc", "Process"),
    ("other", "Other"),
)  # fmt: skip
_KINDS: Final = {"result": "answer", "notification": "notify", "error": "error", "unparsed": "unparsed"}
_COLUMNS: Final = (
    '<div class="row cols"><span class="n">#</span><span>UTC</span><span class="side">Connection</span>'
    '<span>Kind</span><span>What</span><span class="n">Bytes</span><span class="n ms">ms</span></div>'
)
_PARSED_MOST: Final = 256 * 1024
_SHOWN_APART: Final = frozenset(("t", "seq", "c", "raw", "data", "body", "at", "dt", "pair"))


@dataclass(slots=True)
class _Row:
    """One event as its line says it. what: HTML."""

    kind: str
    what: str
    bad: bool = False
    odd: bool = False


def html(source: Source, *, version: str = "", most: int = EVENTS_MOST) -> Iterator[bytes]:
    """The whole page. most: events shown, the first ones. Raises FileError before the first piece."""
    source.survey()
    return pieces(_Page(source, version, most).document())


class _Page:
    def __init__(self, source: Source, version: str, most: int) -> None:
        self.source = source
        self.version = version
        self.most = most
        self.survey = source.survey()
        self.labels: dict[int, str] = {}
        self.size = self.shown = self.first = 0

    def document(self) -> Iterator[bytes]:
        yield self._head().encode("utf-8")
        total, held = self.survey.events, list[str]()
        for event in self.source.events():
            if self.shown >= self.most or self.size > HTML_MOST:
                break
            held.append(self._event(event))
            self.shown += 1
            if len(held) == PAGE:
                yield self._stretch(held)
                held = []
        if held:
            yield self._stretch(held)
        if total > self.shown:
            left = (
                f"{total - self.shown:,} of {total:,} events are left out here; they are in the trace file."
            )
            yield f'<p class="say">{left}</p>'.encode()
        elif not total:
            yield b'<p class="say">The trace holds no events.</p>'
        by = f"mcp-loupe {self.version}".strip()
        yield f'<p class="end">Made by {escape(by)}. Read-only: nothing here runs, loads or connects.</p>'.encode()
        yield b"</main></body></html>\n"

    def _head(self) -> str:
        header, made = self.source.header, self.source.header.get("tool")
        tool = (
            f"{text(made.get('name'))} {text(made.get('version'))}".strip() if isinstance(made, dict) else ""
        )
        title = text(header.get("title")) or "MCP trace"
        facts = [
            ("Recorded", text(header.get("created"))),
            ("By", tool),
            ("Events", f"{self.survey.events:,}"),
        ]
        shown = "".join(
            f"<div><dt>{name}</dt><dd>{inline(value)}</dd></div>" for name, value in facts if value
        )
        note = text(header.get("note"))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            '<meta name="referrer" content="no-referrer">'
            f"<title>{inline(title, 120)}</title><style>{_CSS}</style></head><body><main>"
            f"<h1>{inline(title)}</h1>"
            + (f'<p class="note">{lines(note[:BODY_MOST])}</p>' if note else "")
            + f'<dl class="facts">{shown}</dl>{self._remarks()}{self._filter()}'
        )

    def _remarks(self) -> str:
        said = []
        if self.source.redacted:
            said.append(
                (
                    "ok",
                    "Redacted: secrets the rules found are marks such as [redacted:R2:1]; equal marks were equal values.",
                )
            )
        else:
            said.append(("", "Not redacted: it may hold secrets."))
        if self.survey.events > self.most:
            said.append(("", f"Only the first {self.most:,} of {self.survey.events:,} events are shown."))
        said += [("", remark) for remark in self.survey.remarks]
        return "".join(f'<p class="say {kind}">{inline(one)}</p>' for kind, one in said)

    def _filter(self) -> str:
        known = {name for name, _ in _CHIPS}
        counts = {name: self.survey.counts.get(name, 0) for name in known}
        counts["other"] = sum(n for t, n in self.survey.counts.items() if t not in known)
        chips = "".join(
            f'<label><input type="checkbox" id="f-{name}" checked>{label}<span>{counts[name]:,}</span></label>'
            for name, label in _CHIPS
            if counts[name]
        )
        only = '<label><input type="checkbox" id="f-bad">Errors only</label>'
        return f'<fieldset class="chips"><legend>Show</legend>{chips}{only}</fieldset>'

    def _stretch(self, rows: list[str]) -> bytes:
        """A page of events; all but the first are closed, which spares the browser their layout."""
        first = self.shown - len(rows) + 1
        opened = " open" if first == 1 else ""
        head = f"Events {first:,}–{self.shown:,} <span>of {self.survey.events:,}</span>"
        found = (
            f'<details class="page"{opened}><summary>{head}</summary>{_COLUMNS}{"".join(rows)}</details>\n'
        )
        return found.encode("utf-8")

    # --- one event

    def _event(self, event: Fields) -> str:
        row = _ROWS.get(str(event.get("t")), _other)(event)
        if event.get("t") == "connection":
            self._named(event)
        t = event["t"] if event.get("t") in ("rpc", "http", "stderr", "noise", "proc") else "other"
        seq, c = event["seq"], count(event.get("c")) or 0
        size, took = count(event.get("bytes")), event.get("ms")
        ms = f"{took:,.1f}" if isinstance(took, int | float) and abs(took) < 1e12 else ""
        flags = (" bad" if row.bad else "") + (" odd" if row.odd else "")
        found = (
            f'<details class="e t-{t}{flags}" id="e{seq}"><summary class="row"><span class="n">{seq}</span>'
            f'<span class="at">{_clock(event)}</span><span class="side">{inline(self.labels.get(c, ""), 60)}</span>'
            f'<span class="kind">{row.kind}</span><span class="what">{row.what}</span>'
            f'<span class="n">{"" if size is None else f"{size:,}"}</span><span class="n ms">{ms}</span></summary>'
            f'<div class="in">{_facts(event)}{_body(event)}</div></details>\n'
        )
        self.size += len(found)
        return found

    def _named(self, event: Fields) -> None:
        c = count(event.get("c"))
        if c is not None and (c in self.labels or len(self.labels) < LABELS_MOST):
            self.labels[c] = text(event.get("label"))


def _clock(event: Fields) -> str:
    try:
        return datetime.fromisoformat(text(event.get("at"))).astimezone(UTC).strftime("%H:%M:%S.%f")[:12]
    except (ValueError, OverflowError):
        return "?"


def _facts(event: Fields) -> str:
    """Every field that stands nowhere else, under its name in the trace format."""
    found = []
    if isinstance(event.get("pair"), int):
        found.append(("answer to", f'<a href="#e{event["pair"]}">event {event["pair"]}</a>'))
    found.append(("at", inline(text(event.get("at")))))
    for name, value in event.items():
        if name not in _SHOWN_APART:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found.append((inline(name, 80), inline(shown, 4000)))
    # Few elements: a browser has to hold thousands of events.
    return f'<p class="f">{" ".join(f"<i>{name}</i> {value}" for name, value in found)}</p>'


def _body(event: Fields) -> str:
    name = next((name for name in ("raw", "data", "body") if isinstance(event.get(name), str)), "")
    whole = text(event.get(name))
    if not whole:
        return ""
    shown = whole[:BODY_MOST]
    laid = (
        json_text(shown)
        if event.get("enc") != "base64" and shown.lstrip()[:1] in ("{", "[")
        else lines(shown)
    )
    left = len(whole) - len(shown)
    cut = f'<p class="cut">{left:,} more characters are in the trace file.</p>' if left else ""
    if event.get("cut"):
        cut += '<p class="cut">The recording itself holds only the beginning of it.</p>'
    return f"<pre>{laid}</pre>{cut}"


# --- what a line says, by the kind of event


def _rpc(event: Fields) -> _Row:
    kind, method = text(event.get("kind")), text(event.get("method"))
    arrow = {"c2s": "→", "s2c": "←"}.get(text(event.get("dir")), "·")
    shown = f"{arrow} {_KINDS.get(kind, inline(kind, 20))}"
    if kind == "error":
        error = _parsed(event).get("error")
        error = error if isinstance(error, dict) else {}
        code, message = inline(json.dumps(error.get("code")), 40), inline(text(error.get("message")))
        return _Row(
            shown, f"<b>{code} {message}</b> <i>{inline(method, 80)}</i>", bad=event.get("cause") != "probe"
        )
    if kind == "result":
        failed = event.get("tool_error") is True
        return _Row(shown, f"{inline(method, 120)}{' <b>tool error</b>' if failed else ''}", bad=failed)
    key = named_by(method)
    params = _parsed(event).get("params") if key is not None else None
    target = text(params.get(key)) if isinstance(params, dict) else ""
    return _Row(shown, f"<b>{inline(method, 120)}</b> <i>{inline(target)}</i>", odd=kind == "unparsed")


def _parsed(event: Fields) -> Fields:
    raw = text(event.get("raw"))
    try:
        found = json.loads(raw) if len(raw) <= _PARSED_MOST else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _http(event: Fields) -> _Row:
    phase, status = text(event.get("phase")), count(event.get("status"))
    if phase == "request":
        return _Row("→ http", f"{inline(text(event.get('method')), 20)} {inline(text(event.get('url')))}")
    if status is not None:
        said = f"<b>{status}</b> {inline(text(event.get('reason')), 80)}"
        return _Row("← http", said, bad=status >= 400)
    if "sse" in event:
        return _Row("← http", f"event stream <i>{inline(json.dumps(event['sse'], ensure_ascii=False))}</i>")
    return _Row("← http", f"{inline(phase, 20)}{' · broke off' if event.get('aborted') else ''}")


def _stderr(event: Fields) -> _Row:
    return _Row("stderr", inline(text(event.get("data"))))


def _noise(event: Fields) -> _Row:
    return _Row(
        "noise", f"{inline(text(event.get('data')), 200)} <i>{inline(text(event.get('why')))}</i>", odd=True
    )


def _proc(event: Fields) -> _Row:
    said = [
        f"{name} {event[name]}"
        for name in ("pid", "code", "signal")
        if isinstance(event.get(name), int | str)
    ]
    bad = (
        event.get("what") == "exited"
        and not event.get("expected")
        and (event.get("code") or event.get("signal"))
    )
    return _Row(
        "process", f"{inline(text(event.get('what')), 40)} <i>{inline(' · '.join(said))}</i>", bad=bool(bad)
    )


def _error(event: Fields) -> _Row:
    said = f"<b>{inline(text(event.get('class')), 60)}</b> {inline(text(event.get('message')))}"
    return _Row(f"error · {inline(text(event.get('origin')), 20)}", said, bad=True)


def _connection(event: Fields) -> _Row:
    target = event.get("target")
    known = target if isinstance(target, dict) else {}
    argv = known.get("argv")
    where = " ".join(map(str, argv)) if isinstance(argv, list) else text(known.get("url"))
    facts = [inline(text(event.get(name)), 40) for name in ("transport", "era", "protocol_version")]
    said = f"<b>{inline(text(event.get('label')), 80)}</b> {' '.join(filter(None, facts))}"
    return _Row("connection", f"{said} <i>{inline(where)}</i>")


def _other(event: Fields) -> _Row:
    return _Row(inline(str(event.get("t")), 20), f"<i>{inline(text(event.get('what')))}</i>")


_ROWS: Final = {
    "rpc": _rpc, "http": _http, "stderr": _stderr, "noise": _noise, "proc": _proc, "error": _error,
    "connection": _connection,
}  # fmt: skip
