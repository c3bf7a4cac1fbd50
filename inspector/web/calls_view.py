"""The Call screen's view-models: tool list, hints, argument fields, timings. Pure, any thread."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from inspector.catalog import forms, jsontext
from inspector.catalog.fields import ARRAY, ENUM, OBJECT, STRING, Field
from inspector.catalog.forms import STATE, FieldError, fields_of
from inspector.catalog.measure import Measure
from inspector.web.catalog_facts import as_json
from inspector.web.causes import plain_sentence

TOOLS_SHOWN: Final = 200
NAME: Final = "a:"
"""Prefix of the argument inputs, so that the root's path (the empty string) has a name a browser sends."""
LINES: Final = "lines:"
"""`lines:PATH` says that the input of PATH holds one array item a line."""

_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^ \t\n\r"{}\[\],:]+')


@dataclass(frozen=True, slots=True)
class Hint:
    """What the server says a tool does, as a tag. sev: `err`, `warn` or `note`."""

    sev: str
    word: str
    title: str


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A tool in the list. hint: the word of its gravest hint, empty when it only reads or says nothing.

    broken: why it cannot be used as listed. link: whether an address can carry its name. label: what is shown.
    """

    name: str
    hint: str = ""
    broken: str = ""
    link: bool = True
    label: str = ""
    left_out: str = ""
    """Why a client must not offer it (its x-mcp-header annotations, over HTTP)."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that match. free: the text looked for, when it is no listed name and may be called all the same."""

    lines: tuple[ToolLine, ...]
    total: int
    matching: int
    free: str = ""


ADDRESSED: Final = 2_000
"""Characters of a name that still goes into an address."""
LABELLED: Final = 300
"""Characters of a name shown in a list."""


def tools_of(
    measures: Sequence[Measure], wanted: str, judge: Callable[[Any], str] = lambda _schema: ""
) -> Tools:
    """The listed tools whose name contains `wanted`, at most TOOLS_SHOWN, in the order listed.

    judge: why a tool of this inputSchema must be left out, if it must.
    """
    named = [each for each in measures if each.name is not None]
    text = wanted.strip().lower()
    matching = [each for each in named if text in str(each.name).lower()]
    lines = tuple([_line(each, judge) for each in matching[:TOOLS_SHOWN]])
    known = any(each.name == wanted.strip() for each in named)
    return Tools(lines, len(named), len(matching), "" if known else wanted.strip())


def _line(measure: Measure, judge: Callable[[Any], str]) -> ToolLine:
    if not has_utf8(str(measure.name)):
        return ToolLine(str(measure.name), "", "its name holds half of a surrogate pair", link=False)
    if len(str(measure.name)) > ADDRESSED:
        why = f"its name has {len(str(measure.name)):,} characters, more than an address takes: send it under Raw frames"
        return ToolLine(str(measure.name)[:LABELLED] + "…", "", why, link=False)
    definition = definition_of(measure)
    hints = [hint for hint in hints_of(definition.get("annotations")) if hint.sev != "note"]
    label = definition.get("name")
    shown = label if isinstance(label, str) and label else str(measure.name)
    shown = shown if len(shown) <= LABELLED else shown[:LABELLED] + "…"
    return ToolLine(
        str(measure.name), hints[0].word if hints else "", measure.broken, label=shown,
        left_out=judge(definition.get("inputSchema")),
    )  # fmt: skip


def has_utf8(text: str) -> bool:
    """Whether the text can be sent; JSON escapes may stand for half of a surrogate pair, which UTF-8 lacks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def definition_of(measure: Measure | None) -> dict[str, Any]:
    """The listed definition, parsed; {} when there is none that can be read."""
    try:
        value = jsontext.loads(measure.text) if measure is not None else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}


def hints_of(annotations: Any) -> list[Hint]:
    """The annotations as tags, gravest first. What is absent is said to be absent (MCP schema, ToolAnnotations)."""
    if not isinstance(annotations, Mapping):
        return [Hint("note", "no hints", "No annotations: the specification lets a client assume the worst.")]
    found = []
    reads = annotations.get("readOnlyHint")
    if reads is True:
        found.append(Hint("note", "reads only", "readOnlyHint: true, as the server says"))
    elif _destroys(annotations):
        found.append(Hint("err", "destructive", f"{_destructive_words(annotations)}, as the server says"))
    elif reads is False or annotations.get("destructiveHint") is False:
        found.append(Hint("warn", "writes", "not read-only, not destructive, as the server says"))
    if annotations.get("idempotentHint") is True:
        found.append(Hint("note", "idempotent", "idempotentHint: true, as the server says"))
    if annotations.get("openWorldHint") is True:
        found.append(Hint("note", "open world", "openWorldHint: true, as the server says"))
    return found or [Hint("note", "no hints", "The annotations say nothing about effects.")]


def _destroys(annotations: Mapping[str, Any]) -> bool:
    """readOnlyHint: false without a destructiveHint counts: that hint's default is true."""
    if annotations.get("readOnlyHint") is True:
        return False
    destructive = annotations.get("destructiveHint")
    return destructive is True or (destructive is None and annotations.get("readOnlyHint") is False)


def _destructive_words(annotations: Mapping[str, Any]) -> str:
    if annotations.get("destructiveHint") is True:
        return "destructiveHint: true"
    return "readOnlyHint: false and no destructiveHint, whose default is true"


def confirmation(tool: str, annotations: Any) -> str:
    """The question before a destructive tool runs; empty when nothing is asked."""
    if not isinstance(annotations, Mapping) or not _destroys(annotations):
        return ""
    return f"{tool} may destroy something: the server says {_destructive_words(annotations)}. Run it?"


@dataclass(frozen=True, slots=True)
class FieldView:
    """One input as shown. posted: the texts in it. as_rows: an array whose items need an input each.

    states: (value, label) choices of its state, empty when it has no choice. prefilled: it holds the schema's default.
    """

    field: Field
    id: str
    posted: tuple[str, ...]
    state: str
    states: tuple[tuple[str, str], ...]
    errors: tuple[str, ...]
    fields: tuple[FieldView, ...] = ()
    as_rows: bool = False
    prefilled: bool = False
    hint: str = ""

    @property
    def text(self) -> str:
        return self.posted[-1] if self.posted else ""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments pane. extra: the box for members no field shows. general: errors that belong to no field."""

    mode: str
    fields: tuple[FieldView, ...] = ()
    extra: FieldView | None = None
    json_text: str = ""
    general: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        return (
            bool(self.general)
            or any(each.errors for each in _flat(self.fields))
            or bool(self.extra and self.extra.errors)
        )


def _flat(fields: Iterable[FieldView]) -> list[FieldView]:
    return [inner for each in fields for inner in (each, *_flat(each.fields))]


def form_pane(
    schema: Any, form: forms.Form, errors: Sequence[FieldError] = (), *, fresh: bool = False, prefix: str = ""
) -> Arguments:
    """The arguments as inputs. fresh: what is filled in came from the schema's defaults. prefix: of the ids."""
    described = fields_of(schema)
    shown = tuple(
        [_field(each, f"{prefix}f{n}", form, errors, fresh) for n, each in enumerate(described) if each.path]
    )
    root = next((each for each in described if not each.path), Field("", "", "other members", "json"))
    more = len(shown) < len(described)
    extra = _field(root, f"{prefix}f-other", form, errors, fresh) if form.get("") or more else None
    paths = {each.field.path for each in _flat(shown)} | ({""} if extra else set())
    general = tuple([_said(error) for error in errors if _owner(error.path, paths) is None])
    return Arguments("form", shown, extra, general=general)


def json_pane(text: str, errors: Sequence[FieldError] = ()) -> Arguments:
    """The arguments as JSON text."""
    return Arguments("json", json_text=text, general=tuple([_said(error) for error in errors]))


def _said(error: FieldError) -> str:
    sentence = plain_sentence(error.message)
    return f"{error.path}: {sentence}" if error.path else sentence


def _owner(path: str, paths: set[str]) -> str | None:
    """The field an error belongs to: its own, or the nearest one around it."""
    while path and path not in paths:
        path = path.rpartition("/")[0]
    return path if path in paths else None


def _field(field: Field, id: str, form: forms.Form, errors: Sequence[FieldError], fresh: bool) -> FieldView:
    inner = tuple([_field(each, f"{id}-{n}", form, errors, fresh) for n, each in enumerate(field.fields)])
    taken = {each.field.path for each in inner} | {field.path}
    mine = [error for error in errors if _owner(error.path, taken) == field.path]
    if not field.path:
        mine = [error for error in errors if not error.path]
    posted = tuple(form.get(field.path, ()))
    rows = (
        field.kind == ARRAY
        and field.item != ENUM
        and (posted[-1:] == ("",) or any("\n" in text for text in posted))
    )
    return FieldView(
        field,
        id,
        posted,
        (form.get(STATE + field.path) or [""])[-1],
        _states(field),
        tuple([error.message for error in mine]),
        inner,
        rows,
        fresh and bool(posted),
        _hint(field),
    )


def _states(field: Field) -> tuple[tuple[str, str], ...]:
    """What an empty input means. Only kinds that have an empty value can send one."""
    choices = [("", "omit if empty")]
    if field.kind in (STRING, ARRAY, OBJECT):
        choices.append(("value", {STRING: "send “”", ARRAY: "send []", OBJECT: "send {}"}[field.kind]))
    if field.nullable:
        choices.append(("null", "send null"))
    return tuple(choices) if len(choices) > 1 and field.path else ()


def _hint(field: Field) -> str:
    """What the schema says beside the type, in its own words."""
    said = []
    if field.default is not None:
        said.append(f"default {field.default}")
    said += _range(field.minimum, field.maximum, "")
    said += _range(field.min_length, field.max_length, " characters")
    said += [f"pattern {field.pattern}"] if field.pattern else []
    return " · ".join(said)


def _range(least: Any, most: Any, unit: str) -> list[str]:
    if least is None:
        return [] if most is None else [f"at most {most}{unit}"]
    unit = unit[:-1] if most is None and str(least) == "1" else unit
    return [f"at least {least}{unit}" if most is None else f"{least} to {most}{unit}"]


def type_words(field: Field) -> str:
    """`string`, `integer or null`, `array of string, one a line`."""
    words = {ENUM: "one of", OBJECT: "object", "json": "JSON"}.get(field.kind, field.kind)
    if field.kind == ENUM:
        words = f"one of {len(field.options)}"
    elif field.kind == ARRAY:
        words = f"any of {len(field.options)}" if field.item == ENUM else f"{field.item} items"
    if field.format:
        words += f", {field.format}"
    return f"{words} or null" if field.nullable else words


def posted_form(posted: Iterable[tuple[str, list[str]]]) -> dict[str, list[str]]:
    """What a browser sent, as the form `catalog.forms` reads: names without prefix, lines as items."""
    lists = dict(posted)
    form: dict[str, list[str]] = {}
    for name, values in lists.items():
        if name.startswith(NAME):
            path = name.removeprefix(NAME)
            lined = LINES + path in lists
            form[path] = [line for text in values for line in lines_of(text)] if lined else values
        elif name.startswith(STATE):
            form[name] = values
    return form


def lines_of(text: str) -> list[str]:
    """The lines of a text area; a last line break ends a line and begins none."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def indented(text: str) -> str:
    """JSON text over several lines for editing, every lexeme unchanged. No recursion: depth is the peer's choice."""
    out: list[str] = []
    depth = 0
    lexemes = _TOKENS.findall(text)
    for at, lexeme in enumerate(lexemes):
        following = lexemes[at + 1] if at + 1 < len(lexemes) else ""
        if lexeme in ("{", "["):
            depth += 1
            out.append(lexeme if following in ("}", "]") else f"{lexeme}\n{'  ' * depth}")
        elif lexeme in ("}", "]"):
            depth -= 1
            empty = at and lexemes[at - 1] in ("{", "[")
            out.append(lexeme if empty else f"\n{'  ' * depth}{lexeme}")
        elif lexeme == ",":
            out.append(f",\n{'  ' * depth}")
        else:
            out.append(": " if lexeme == ":" else lexeme)
    return "".join(out)


@dataclass(frozen=True, slots=True)
class Progress:
    """The last progress notification. share: in per cent, None when the total is not known."""

    words: str
    message: str
    share: float | None


def progress_of(params: Mapping[str, Any] | None) -> Progress | None:
    """A progress notification as the page shows it; numbers that are none are shown as sent."""
    if params is None:
        return None
    done, total = params.get("progress"), params.get("total")
    words = as_json(done) if total is None else f"{as_json(done)} of {as_json(total)}"
    message = params.get("message")
    return Progress(words, message if isinstance(message, str) else "", _share(done, total))


def _share(done: Any, total: Any) -> float | None:
    if not isinstance(done, int | float) or not isinstance(total, int | float) or not total > 0:
        return None
    share = done / total if math.isfinite(total) else 0.0
    return round(100 * min(1.0, max(0.0, share)), 1)
