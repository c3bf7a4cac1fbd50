"""A line of a trace file as an event of a recording, checked against the format. Pure, any thread.

A file comes from somebody else: what the rest of Loupe relies on in its own events is checked here, once, so that
no screen meets a status that is a list or a time in the year 0.
"""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import jsonschema_rs

from inspector.trace.rows import HEAD_BYTES, escaped
from inspector.wire.events import Event, id_text

RAW_NAMES: Final = {"rpc": "raw", "http": "body", "noise": "data", "stderr": "data"}
_COLUMNS: Final = frozenset(("t", "seq", "c", "at", "dt", "dir", "pair", "cause"))
_OF_FRAMES: Final = frozenset(("kind", "method", "ms", "id"))
_MOST: Final = 2**63 - 1
_FIRST_US, _LAST_US = 0, 253_370_764_800_000_000
"""1970 to 9999: what every clock on the screens can show."""
_LONGEST: Final = 200


class Misfit(ValueError):
    """What is wrong with a line, as the end of a sentence: `has no valid "status"`."""


class Lines:
    """Turns lines into events. odd: what a writer of ours never writes, with the seq where it was first met."""

    def __init__(self) -> None:
        schema = json.loads(
            Path(__file__).with_name("data").joinpath("trace-1.schema.json").read_text("utf-8")
        )
        self._validator = jsonschema_rs.validator_for(schema)
        self.odd: dict[str, int] = {}

    def event(self, fields: dict[str, Any]) -> tuple[Event, int | None]:
        """The event, and how many bytes it had on the wire when its raw is not those. Raises Misfit."""
        fields = self._checked(fields)
        t, seq = fields["t"], _whole(fields, "seq")
        raw = self._raw(t, fields, seq)
        of_frame = {name: fields[name] for name in _OF_FRAMES if t == "rpc" and name in fields}
        taken = {*_COLUMNS, *of_frame}
        if raw is not None:
            taken |= {RAW_NAMES[t], "enc", *(("bytes",) if t == "rpc" else ())}
        own = {name: value for name, value in fields.items() if name not in taken}
        id_ = of_frame.get("id")
        id_shown = None if id_ is None else str(id_) if type(id_) is int else id_text(id_)
        for reference in ("pair", "http"):
            if isinstance(fields.get(reference), int):
                _whole(fields, reference)
        event = Event(
            t, _whole(fields, "c"), fields["dir"], own, raw, of_frame.get("kind"), of_frame.get("method"),
            id_shown, fields.get("pair"), _ms(of_frame), fields.get("cause"),
            None, seq, _moment(fields["at"]), _whole(fields, "dt"),
        )  # fmt: skip
        return event, self._size(fields, raw, seq)

    def _checked(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(fields.get("t"), str) or fields["t"] == "header":
            raise Misfit('has no valid "t"')
        try:
            fits = self._validator.is_valid(fields)
        except (ValueError, TypeError, OverflowError, RecursionError):
            fits = False
        if not fits:
            fields = _plain(fields)  # JSON has no NaN, UTF-8 no lone surrogates; the reader has noted them
            fits = self._validator.is_valid(fields)
        problem = None if fits else next(iter(self._validator.iter_errors(fields)), None)
        if problem is not None:
            where = "/".join(map(str, problem.instance_path))
            what = f'has no valid "{where}"' if where else "is not as the format says"
            raise Misfit(f"{what}: {str(problem.message)[:_LONGEST]}")
        if len(fields["t"]) > 40:
            raise Misfit('has a "t" that is too long')
        return fields

    def _raw(self, t: str, fields: dict[str, Any], seq: int) -> bytes | None:
        text = fields.get(RAW_NAMES.get(t, ""))
        if not isinstance(text, str):
            return None
        if fields.get("enc") == "base64":
            try:
                return base64.b64decode(text, validate=True)
            except ValueError:
                self.odd.setdefault("base64 that is none", seq)
        return text.encode("utf-8", "backslashreplace")

    def _size(self, fields: dict[str, Any], raw: bytes | None, seq: int) -> int | None:
        """The size to show: a cut or redacted frame keeps the one it had on the wire, as far as that can be."""
        said = fields.get("full_bytes" if fields.get("cut") else "bytes")
        if raw is None or fields["t"] != "rpc" or not isinstance(said, int) or said == len(raw):
            return None
        fits = len(raw) <= said <= _MOST if fields.get("cut") else said + HEAD_BYTES > len(raw)
        if (fields.get("cut") or fields.get("red")) and fits and said <= _MOST:
            return said
        self.odd.setdefault("sizes that do not fit the text", seq)
        return None


def _whole(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST:
        raise Misfit(f'has no valid "{name}"')
    return value


def _ms(fields: dict[str, Any]) -> float | None:
    value = fields.get("ms")
    if value is None:
        return None
    if not 0 <= value <= _MOST:
        raise Misfit('has no valid "ms"')
    return value if isinstance(value, int) else float(value)


def _moment(at: str) -> int:
    """Microseconds since the epoch."""
    try:
        moment = datetime.fromisoformat(at.replace("Z", "+00:00"))
        us = int(moment.replace(microsecond=0, tzinfo=UTC).timestamp()) * 1_000_000 + moment.microsecond
    except (ValueError, OverflowError):
        us = -1
    if not _FIRST_US <= us < _LAST_US:
        raise Misfit('has no valid "at"')
    return us


def moment_or_none(at: Any) -> int | None:
    """The same for a time that may be missing or be anything."""
    try:
        return _moment(at) if isinstance(at, str) else None
    except Misfit:
        return None


def _plain(value: Any) -> Any:
    """The same without what neither JSON nor UTF-8 can hold: such numbers by name, such characters as escapes."""
    if isinstance(value, dict):
        return {_plain(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
