"""What a browser posts to the Call screen: arguments, how often, how long; and what is wrong with it. Request threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import request

from inspector.catalog import forms, jsontext
from inspector.catalog.forms import FieldError
from inspector.catalog.jsontext import compact_value
from inspector.console.calls import MOST_RUNS, read_arguments
from inspector.console.invoking import TEMPLATES, request_of
from inspector.errors import UsageError
from inspector.web.calls_view import Arguments, form_pane, has_utf8, indented, json_pane, posted_form
from inspector.web.frame import console

CHECK_S: Final = 5.0
LONGEST_S: Final = 86_400
ANY_OBJECT: Final[dict[str, Any]] = {"type": "object", "additionalProperties": True}
"""For a tool nothing is known of: gives one JSON box."""

Definition = Mapping[str, Any]


class Wrong(Exception):
    """What was posted cannot be sent; `arguments` shows it as typed, with why."""

    def __init__(self, arguments: Arguments) -> None:
        super().__init__("wrong arguments")
        self.arguments = arguments


@dataclass(frozen=True, slots=True)
class Options:
    """What is set beside the arguments, as typed: how often, how long to wait, whether to skip the schema.

    task: whether it is to be a task; None where nobody said so yet.
    """

    runs: str = "1"
    timeout: str = ""
    unchecked: bool = False
    task: bool | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What to send: exact JSON text, runs, and the time-out in seconds (None for the server's own)."""

    arguments: str
    runs: int
    timeout: float | None


def posted_options() -> Options:
    posted = request.form
    return Options(
        posted.get("runs", "1"), posted.get("timeout", ""), "unchecked" in posted, "task" in posted
    )


def schema_of(definition: Definition) -> Any:
    """The inputSchema, when it is an object a form can be made of."""
    schema = definition.get("inputSchema")
    usable = isinstance(schema, dict) and has_utf8(compact_value(schema))
    return schema if usable else ANY_OBJECT


def pane_of(definition: Definition, mode: str, arguments: str | None) -> Arguments:
    """Arguments in one mode. arguments: JSON text, None for a fresh form."""
    schema = schema_of(definition)
    if mode == "json" and arguments is not None:
        return json_pane(indented(arguments))
    if arguments is None:
        form = forms.initial_form(schema)
        if mode == "json":
            return json_pane(indented(forms.arguments_from_form(schema, form)[0]))
        return form_pane(schema, form, fresh=True)
    try:
        return form_pane(schema, forms.form_from_arguments(schema, arguments))
    except (ValueError, RecursionError):
        return json_pane(arguments, [FieldError("", "These arguments are no JSON object a form can show.")])


def typed(definition: Definition) -> str:
    """The posted arguments as exact JSON text, from either mode. Raises Wrong."""
    if request.form.get("mode") == "json":
        text = request.form.get("json", "")
        try:
            return str(read_arguments(text))
        except UsageError as problem:
            raise Wrong(json_pane(text, [FieldError("", f"{problem.message}. {problem.remedy}.")])) from None
    form = posted_form(request.form.lists())
    text, errors = forms.arguments_from_form(schema_of(definition), form)
    if errors:
        raise Wrong(form_pane(schema_of(definition), form, errors))
    return text


def posted_order(definition: Definition, what: str, name: str) -> Order:
    """The whole form, checked against its schema unless told not to; a template must expand. Raises Wrong."""
    arguments = typed(definition)
    checked = "unchecked" not in request.form and what != TEMPLATES
    errors = _breaches(definition, arguments) if checked else []
    try:
        request_of(what, name, arguments)
    except UsageError as problem:
        errors.append(FieldError("", f"{problem.message}. {problem.remedy}."))
    runs, timeout = _runs(request.form.get("runs", "")), _seconds(request.form.get("timeout", ""))
    if runs is None:
        errors.append(FieldError("", f"It can run between 1 and {MOST_RUNS:,} times."))
    if timeout is not None and not _is_bounded(timeout):
        errors.append(FieldError("", f"The time-out is a number of seconds, at most {LONGEST_S:,}."))
    if errors or runs is None:
        raise Wrong(_as_typed(definition, errors))
    return Order(arguments, runs, timeout)


def _breaches(definition: Definition, arguments: str) -> list[FieldError]:
    """What breaks the schema."""
    if "inputSchema" not in definition:
        return []
    return console().checker.arguments(definition["inputSchema"], jsontext.loads(arguments), len(arguments))


def _as_typed(definition: Definition, errors: Sequence[FieldError]) -> Arguments:
    if request.form.get("mode") == "json":
        return json_pane(request.form.get("json", ""), errors)
    return form_pane(schema_of(definition), posted_form(request.form.lists()), errors)


def _runs(text: str) -> int | None:
    text = text.strip() or "1"
    return int(text) if text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MOST_RUNS else None


def posted_timeout() -> float | None:
    """The time-out typed beside the form, when it is a usable one."""
    timeout = _seconds(request.form.get("timeout", ""))
    return timeout if timeout is not None and _is_bounded(timeout) else None


def _is_bounded(timeout: float) -> bool:
    return 0 < timeout <= LONGEST_S


def _seconds(text: str) -> float | None:
    """Seconds; None when nothing was typed, 0 when it is no number."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        return 0.0
