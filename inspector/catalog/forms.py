"""A posted form as arguments and back, as exact JSON text. Pure, any thread.

A form is a mapping of input names to posted values. An input's name is its field's path. `state:PATH` holds
`omit`, `null` or `value`; without it an empty or absent input means the member is left out (never null, never an
empty string), and `value` keeps what is there even when empty. A group's own path (the root's is the empty
string) may hold a JSON object: members no field can show, which win over the fields.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from inspector.catalog import jsontext
from inspector.catalog.fields import (
    ARRAY,
    BOOLEAN,
    ENUM,
    INTEGER,
    JSON,
    NUMBER,
    OBJECT,
    STRING,
    Field,
    fields_of,
)
from inspector.catalog.jsontext import compact_value
from inspector.catalog.validation import FieldError, Verdict, check_output, validate

__all__ = [
    "STATE",
    "Field",
    "FieldError",
    "Form",
    "Verdict",
    "arguments_from_form",
    "check_output",
    "fields_of",
    "form_from_arguments",
    "initial_form",
    "validate",
]

STATE: Final = "state:"
Form = Mapping[str, list[str]]
Members = list[tuple[str, str]]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0+)?")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class _Refused(Exception):
    """A posted text that is no value of its field's kind; its text is a sentence for the person."""


def arguments_from_form(schema: Any, form: Form) -> tuple[str, list[FieldError]]:
    """(the arguments as compact JSON text, what could not be read). Number spellings stay as typed."""
    errors: list[FieldError] = []
    fields = tuple([each for each in fields_of(schema) if each.path])
    return _object_text(fields, "", form, errors), errors


def form_from_arguments(schema: Any, arguments: str) -> dict[str, list[str]]:
    """The form that gives these arguments again; ValueError when they are no JSON object."""
    form: dict[str, list[str]] = {}
    _fill(fields_of(schema), "", jsontext.members_of(arguments), form)
    return form


def initial_form(schema: Any) -> dict[str, list[str]]:
    """A fresh form: required fields start with the schema's default, optional ones are left out."""
    form: dict[str, list[str]] = {}
    for each in fields_of(schema):
        if each.required and each.default is not None:
            _fill_field(each, each.default, form)
        elif each.required:
            for inner in each.fields:
                if inner.required and inner.default is not None:
                    _fill_field(inner, inner.default, form)
    return form


def _object_text(fields: tuple[Field, ...], path: str, form: Form, errors: list[FieldError]) -> str:
    extra = _extra(path, form, errors)
    taken = {key for key, _ in extra}
    shown: Members = []
    for each in fields:
        text = _field_text(each, form, errors)
        if text is not None and each.key not in taken:
            shown.append((each.key, text))
    return _joined([*shown, *extra])


def _joined(members: Members) -> str:
    return "{" + ",".join([f"{compact_value(key)}:{text}" for key, text in members]) + "}"


def _extra(path: str, form: Form, errors: list[FieldError]) -> Members:
    text = _last(form, path).strip()
    if not text:
        return []
    try:
        checked = _json_text(text)
    except _Refused as problem:
        errors.append(FieldError(path, str(problem)))
        return []
    if not checked.startswith("{"):
        errors.append(FieldError(path, "This must be a JSON object."))
        return []
    return jsontext.members_of(checked)


def _field_text(field: Field, form: Form, errors: list[FieldError]) -> str | None:
    """The member's JSON text, or None to leave it out."""
    state = _last(form, STATE + field.path)
    if state == "omit":
        return None
    if state == "null":
        return "null"
    kept = state == "value"
    try:
        if field.kind == OBJECT:
            text = _object_text(field.fields, field.path, form, errors)
            return text if text != "{}" or field.required or kept else None
        if field.kind == ARRAY:
            return _array_text(field, form, kept)
        posted = _last(form, field.path)
        if posted == "" and not (kept and field.kind == STRING):
            return None
        return _scalar_text(field.kind, posted, field)
    except _Refused as problem:
        errors.append(FieldError(field.path, str(problem)))
        return None


def _array_text(field: Field, form: Form, kept: bool) -> str | None:
    posted = [text for text in form.get(field.path, []) if kept or text != ""]
    if not posted and not kept:
        return None
    return "[" + ",".join([_scalar_text(field.item, text, field) for text in posted]) + "]"


def _scalar_text(kind: str, posted: str, field: Field) -> str:
    text = posted.strip()
    if kind == STRING:
        # Browsers send every line break of a text area as CRLF.
        return compact_value(posted.replace("\r\n", "\n"))
    if kind == JSON:
        return _json_text(posted)
    if kind == INTEGER and not _INTEGER.fullmatch(text):
        raise _Refused("This must be a whole number.")
    if kind == NUMBER and not _is_finite(text):
        raise _Refused("This must be a finite number as JSON writes it, such as 2, 0.5 or 1e3.")
    if kind == BOOLEAN:
        if text not in ("true", "false", "on"):
            raise _Refused("This must be true or false.")
        return "true" if text == "on" else text
    if kind == ENUM and text not in [option.value for option in field.options]:
        raise _Refused("This is none of the choices.")
    return text


def _is_finite(text: str) -> bool:
    """JSON number syntax and a value a double can hold; plain digits may be of any length."""
    if not _NUMBER.fullmatch(text):
        return False
    return text.lstrip("-").isdigit() or math.isfinite(float(text))


def _json_text(text: str) -> str:
    """The text made compact, once it is strict JSON with finite numbers."""
    try:
        json.loads(text, parse_float=_finite, parse_constant=_finite, parse_int=str)
    except RecursionError:
        raise _Refused("This JSON is nested too deeply.") from None
    except ValueError as problem:
        raise _Refused(f"This is not JSON: {problem}.") from None
    return jsontext.compact(text)


def _finite(spelled: str) -> str:
    if not _is_finite(spelled):
        raise ValueError(f"{spelled} is not a finite number")
    return spelled


def _last(form: Form, name: str) -> str:
    # A hidden input before a check box makes two values; the later one is what the person chose.
    values = form.get(name)
    return values[-1] if values else ""


def _fill(fields: tuple[Field, ...], path: str, members: Members, form: dict[str, list[str]]) -> None:
    by_key = {each.key: each for each in fields if each.path}
    times = Counter(key for key, _ in members)
    extra: Members = []
    for key, text in members:
        field = by_key.get(key)
        if field is None or times[key] > 1 or not _fill_field(field, text, form):
            extra.append((key, text))
    if extra:
        form[path] = [jsontext.utf8(_joined(extra)).decode()]


def _fill_field(field: Field, text: str, form: dict[str, list[str]]) -> bool:
    """Put a member's value into the form; False when the field cannot show it."""
    state = STATE + field.path
    if text == "null" and field.kind != JSON:
        form[state] = ["null"]
    elif field.kind == OBJECT:
        if not text.startswith("{"):
            return False
        form[state] = ["value"]
        _fill(field.fields, field.path, jsontext.members_of(text), form)
    elif field.kind == ARRAY:
        posted = _posted_items(field, text)
        if posted is None:
            return False
        form[field.path], form[state] = posted, ["value"]
    else:
        single = _posted(field.kind, text, field)
        if single is None:
            return False
        form[field.path] = [single]
        if single == "":
            form[state] = ["value"]
    return True


def _posted_items(field: Field, text: str) -> list[str] | None:
    if not text.startswith("["):
        return None
    reader = jsontext.Reader(text)
    posted = []
    for _ in reader.elements():
        start = reader.at
        reader.value()
        single = _posted(field.item, text[start : reader.at], field)
        if single is None:
            return None
        posted.append(single)
    return posted


def _posted(kind: str, text: str, field: Field) -> str | None:
    """What an input of this kind would post for this value, None when it cannot."""
    if kind == JSON:
        return jsontext.utf8(text).decode()
    if kind == STRING:
        return _posted_string(text)
    fits = {
        INTEGER: _INTEGER.fullmatch(text) is not None,
        NUMBER: _is_finite(text),
        BOOLEAN: text in ("true", "false"),
        ENUM: text in [option.value for option in field.options],
    }
    return text if fits[kind] else None


def _posted_string(text: str) -> str | None:
    if not text.startswith('"'):
        return None
    value = str(json.loads(text))
    # A form post cannot carry a carriage return or a lone surrogate unchanged.
    survives = "\r" not in value and not re.search("[\ud800-\udfff]", value)
    return value if survives else None
