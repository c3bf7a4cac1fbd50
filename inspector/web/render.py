"""What templates may use: number words, safe text, the page's frame, page or part. Flask request threads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Final

from flask import Flask, request
from jinja2 import StrictUndefined

from inspector.web import charts
from inspector.web.causes import plain_sentence
from inspector.web.compiled import compiled
from inspector.web.highlight import ansi, called, called_together, code_lines, together, visible
from inspector.web.keys import keys_of
from inspector.web.labels import mid
from inspector.web.marks import hides

NBSP: Final = "\u00a0"
MINUS: Final = "−"


def resource_dir(name: str) -> Path:
    """`templates` or `static`: inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def install(app: Flask) -> None:
    """Register the filters and globals of docs/look.md on `app`."""
    env = app.jinja_env
    env.undefined = StrictUndefined
    env.trim_blocks = env.lstrip_blocks = True
    env.bytecode_cache = compiled()
    env.filters.update(
        num=num,
        size=size,
        short_size=short_size,
        pct=pct,
        ms=ms,
        delta=delta,
        clock=clock,
        time_of_day=time_of_day,
        duration=duration,
        called=called,
        hides=hides,
        visible=visible,
        ansi=ansi,
        mid=mid,
        plain_sentence=plain_sentence,
    )
    env.globals.update(
        code_lines=code_lines,
        together=together,
        called_together=called_together,
        treemap=charts.treemap,
        part_bar=charts.part_bar,
        share_bar=charts.share_bar,
        meter=charts.meter,
        waterfall=charts.waterfall,
        axis=charts.axis,
        overview=charts.overview,
        keys_of=keys_of,
    )


def is_partial() -> bool:
    """Whether htmx wants a part of a page; a history restore asks for `full`, as a browser does by itself."""
    return request.headers.get("HX-Request-Type") == "partial"


def num(value: float | None) -> str:
    """`101572` -> `101,572`; floats keep one decimal; None (nothing there) is an empty string."""
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
    return text.replace("-", MINUS)


def delta(value: int | None) -> str:
    """A signed change: `+1,363`, `−51,554`, `0`."""
    return f"+{value:,}" if value is not None and value > 0 else num(value)


def size(value: int | None) -> str:
    """Bytes, exact up to 999,999, then in MB of 1,000,000: `101,059 B`, `3.2 MB`."""
    if value is None:
        return ""
    if abs(value) < 1_000_000:
        return f"{num(value)}{NBSP}B"
    amount, unit = (value / 1e6, "MB") if abs(value) < 1e9 else (value / 1e9, "GB")
    return f"{num(round(amount, 1))}{NBSP}{unit}"


def short_size(value: int | None) -> str:
    """Bytes for narrow places, kB of 1000: `0.2 kB`, `9.9 kB`, `101 kB`."""
    if value is None or abs(value) >= 1_000_000:
        return size(value)
    amount = value / 1000
    return f"{amount:.1f}{NBSP}kB" if amount < 9.95 else f"{amount:.0f}{NBSP}kB"


def pct(fraction: float | None, digits: int = 1) -> str:
    """A fraction as per cent with a space before the sign: `0.1026` -> `10.3 %`."""
    if fraction is None:
        return ""
    return f"{fraction * 100:,.{digits}f}{NBSP}%".replace("-", MINUS)


def ms(value: float | None) -> str:
    """Milliseconds without unit: one decimal below 10 (`0.8`), whole above (`1,480`)."""
    if value is None or math.isnan(value):
        return ""
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 9.95 else f"{value:,.0f}"


def _at(at_us: int, tz: tzinfo | None) -> datetime:
    return datetime.fromtimestamp(at_us // 1_000_000, tz).replace(microsecond=at_us % 1_000_000)


def clock(at_us: int, tz: tzinfo | None = None) -> str:
    """Wall clock (microseconds since the epoch) as minutes and seconds, local unless told: `41:02.002`."""
    return _at(at_us, tz).strftime("%M:%S.%f")[:-3]


def time_of_day(at_us: int, tz: tzinfo | None = None) -> str:
    """Wall clock to the second, local unless told: `09:42:55`."""
    return _at(at_us, tz).strftime("%H:%M:%S")


def duration(value: float) -> str:
    """Seconds as a clock: `4:12`, `1:02:03`; below zero it is over: `0:00`."""
    minutes, secs = divmod(max(0, int(value)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


@dataclass(slots=True)
class Screen:
    """A link of the rail. `key` is the digit after `g`; `icon` a name of the sprite."""

    id: str
    label: str
    href: str
    icon: str
    key: int


@dataclass(slots=True)
class RailServer:
    """A server in the rail. state: `ok`, `busy`, `warn`, `error` or `off` (also the icon). line: `modern · stdio`.

    mark: one or two characters for where the label has no room.
    """

    label: str
    href: str
    state: str
    line: str = ""
    count: int | None = None
    on: bool = False
    tag: str = ""
    mark: str = ""


@dataclass(slots=True)
class Fact:
    """An item of the status line; `dim` follows in grey. sev: "", `ok`, `warn` or `err`."""

    text: str
    icon: str = ""
    sev: str = ""
    dim: str = ""


@dataclass(slots=True)
class Recording:
    """The recorder as the top bar says it. word: `Rec`, `Rec failed`, `Not recording`."""

    on: bool
    word: str = "Rec"
    line: str = ""


@dataclass(slots=True)
class Row:
    """One event of the timeline, ready to show; the same value makes the list row and the pinned row.

    cls: req, res, err, note, stderr, noise, http, proc, cache, lab or other. kind, icon: word and sprite name.
    `lead` is the method or verb, `rest` follows it in grey, `status` stands flush right. side: a letter when
    several servers are shown; `outlined` tells the second kind apart. sev: "", `warn` or `err`.
    x, width: place in the waterfall, in per cent; width 0 is a tick; x None draws nothing.
    pair: seq of the other half. href: the page with this event open, or its explanation when htmx asks for a part.
    noted: somebody pinned a note to it.
    """

    seq: int
    at_us: int
    cls: str
    kind: str
    icon: str
    lead: str = ""
    rest: str = ""
    status: str = ""
    sev: str = ""
    side: str = ""
    outlined: bool = False
    bytes: int | None = None
    ms: float | None = None
    x: float | None = None
    width: float = 0.0
    pair: int | None = None
    href: str = ""
    on: bool = False
    noted: bool = False


@dataclass(slots=True)
class Shell:
    """Everything page.html shows around a screen. screen: id of the active one. pin: rows of the pinned
    timeline, None where a page has no such column. live: WebSocket path, empty when nothing is live.
    pulse: where the page asks for a newer rail and status line, empty when nothing can change."""

    screen: str
    screens: list[Screen]
    servers: list[RailServer] = field(default_factory=list)
    subject: str = ""
    target: str = ""
    recording: Recording | None = None
    status: list[Fact] = field(default_factory=list)
    pin: list[Row] | None = None
    pin_line: str = ""
    pin_errors: int = 0
    live: str = ""
    pulse: str = ""
    palette: str = ""
    notice: str = ""
