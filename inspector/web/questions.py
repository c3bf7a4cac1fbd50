"""What a server asks, as the Call screen shows it, and what a person posts in answer. Request threads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from flask import request

from inspector.catalog import forms, jsontext
from inspector.catalog.forms import FieldError
from inspector.console.answering import ACTIONS, ELICIT, ROOTS, SAMPLE, Answer, answer_of, sampled
from inspector.console.asking import Question
from inspector.console.calls import read_arguments
from inspector.console.rounds import Round
from inspector.console.tasks import State
from inspector.errors import UsageError
from inspector.web.calls_view import Arguments, form_pane, posted_form
from inspector.web.frame import console
from inspector.web.masking import as_browsed, host_of

SHOWN_CHARS: Final = 20_000
TITLES: Final = {
    ELICIT: "The server asks you",
    SAMPLE: "The server asks for a model's answer",
    ROOTS: "The server asks for your folders",
}


class WrongAnswer(Exception):
    """What was posted is no answer; `view` shows it as typed, with why."""

    def __init__(self, view: QuestionView) -> None:
        super().__init__("wrong answer")
        self.view = view


@dataclass(frozen=True, slots=True)
class QuestionView:
    """One waiting question. pane: the form of an elicitation; url, host, odd: of an address, and what is odd about it.

    asked: its params as JSON; text: what stands in the box of a sampling or the JSON box; error: about the answer.
    """

    question: Question
    title: str
    message: str
    pane: Arguments | None = None
    url: str = ""
    host: str = ""
    odd: str = ""
    asked: str = ""
    text: str = ""
    raw: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A line of the conversation. sev and word: of the tag; text: what was asked or answered; by: who answered."""

    sev: str
    word: str
    text: str
    by: str = ""


def view_of(
    question: Question, pane: Arguments | None = None, error: str = "", raw: str = ""
) -> QuestionView:
    """A question with an empty form, or with what was typed."""
    params = question.params
    message = params.get("message")
    is_url = question.method == ELICIT and params.get("mode") == "url"
    url = str(params.get("url", "")) if is_url else ""
    if question.method == ELICIT and not is_url and pane is None:
        schema = schema_of(question)
        pane = form_pane(schema, forms.initial_form(schema), fresh=True, prefix=f"{question.id}-")
    asked = json.dumps(params, ensure_ascii=False) if question.method != ELICIT or is_url else ""
    return QuestionView(
        question,
        TITLES.get(question.method, f"The server asks {question.method}"),
        message if isinstance(message, str) else said_in(params) if question.method == SAMPLE else "",
        pane,
        url,
        host_of(url),
        odd_about(url) if is_url else "",
        asked[:SHOWN_CHARS],
        request.form.get("text", "") if error else "",
        raw or suggestion(question),
        error,
    )


def said_in(params: Mapping[str, Any]) -> str:
    """The texts a model would be asked to answer, one after the other; what is no text is under all that was asked."""
    messages = params.get("messages")
    contents = (
        [one.get("content") for one in messages if isinstance(one, dict)]
        if isinstance(messages, list)
        else []
    )
    texts = [one.get("text") for one in contents if isinstance(one, dict)]
    return "\n".join([each for each in texts if isinstance(each, str)])[:SHOWN_CHARS]


def schema_of(question: Question) -> Any:
    """The form's schema; any object when the server gave none that can be used."""
    schema = question.params.get("requestedSchema")
    return schema if isinstance(schema, dict) else {"type": "object", "additionalProperties": True}


def suggestion(question: Question) -> str:
    """The whole answer as JSON to start from."""
    if question.method == SAMPLE:
        return json.dumps(sampled("…"), ensure_ascii=False, indent=2)
    return json.dumps(
        {"action": "accept", "content": {}} if question.method == ELICIT else {"roots": []}, indent=2
    )


def odd_about(url: str) -> str:
    """What to be wary of in an address of a server (client/elicitation, safe URL handling)."""
    try:
        parts = as_browsed(url)
        host, scheme = parts.hostname or "", parts.scheme
    except ValueError:
        return "This is no address a browser could open."
    local = host in ("localhost", "127.0.0.1", "::1")
    if scheme not in ("http", "https"):
        return f"It is no web address but “{scheme}:”. Do not open it."
    if scheme == "http" and not local:
        return "It is not encrypted (http): anybody on the way can read and change it."
    if any(label.startswith("xn--") for label in host.split(".")) or not host.isascii():
        return "Its host has letters that look like others (punycode). Compare it letter by letter."
    return "It carries a name or password of its own." if parts.username else ""


def posted_answer(question: Question) -> Answer:
    """What was posted: a button that turns down, the form, a text, or the whole answer as JSON. Raises WrongAnswer."""
    do = request.form.get("do", "")
    if do in ACTIONS:
        return answer_of(question.method, do, question.params)
    if do == "raw":
        return "result", _posted_raw(question)
    if question.method == ELICIT and question.params.get("mode") != "url":
        return "result", {"action": "accept", "content": _posted_content(question)}
    text = "accept" if question.method == ELICIT else request.form.get("text", "")
    try:
        if question.method == SAMPLE:
            return "result", sampled(text)  # its buttons decline: “decline” in the box is what the model said
        return answer_of(question.method, text, question.params)
    except UsageError as problem:
        raise WrongAnswer(view_of(question, error=f"{problem.message}. {problem.remedy}.")) from None


def _posted_raw(question: Question) -> Any:
    text = request.form.get("raw", "")
    try:
        value = jsontext.loads(read_arguments(text, "answer")) if text.strip() else None
    except UsageError:
        value = None
    if value is None:
        raise WrongAnswer(view_of(question, error="The answer is no JSON object.", raw=text))
    return value


def _posted_content(question: Question) -> Any:
    schema = schema_of(question)
    form = posted_form(request.form.lists())
    text, errors = forms.arguments_from_form(schema, form)
    content = json.loads(text)
    found: list[FieldError] = list(errors)
    if not found and "unchecked" not in request.form:
        found = console().checker.arguments(schema, content, len(text))
    if found:
        raise WrongAnswer(view_of(question, form_pane(schema, form, found, prefix=f"{question.id}-")))
    return content


def turns_of(rounds: Sequence[Round], questions: Sequence[Question]) -> list[Turn]:
    """The conversation of a call in order: what was asked, by whom it was answered, what went back."""
    found: list[Turn] = []
    by_member = [one for one in questions if one.member]
    taken = 0
    for number, round_ in enumerate(rounds, start=1):
        state = (
            ""
            if round_.state_bytes is None
            else f", requestState of {round_.state_bytes:,} B echoed byte for byte"
        )
        found.append(Turn("note", f"round {number}", f"{_inputs(len(round_.inputs))}{state}"))
        if round_.stopped:
            found.append(Turn("warn", "stopped", round_.stopped))
            continue
        here = by_member[taken : taken + len(round_.inputs)]
        taken += len(here)
        found += [_turn(one) for one in here if not one.waiting]
    return found + [_turn(one) for one in questions if not one.member and not one.waiting]


def turns_of_task(states: Sequence[State]) -> list[Turn]:
    """How a task stood, each standing once."""
    found: list[Turn] = []
    for state in states:
        sev = {"completed": "ok", "failed": "err", "cancelled": "off"}.get(state.status, "note")
        # The id is long and the same all along: it stands once.
        text = (
            state.message
            if found and state.message
            else f"task {state.task}{f': {state.message}' if state.message else ''}"
        )
        turn = Turn(sev, state.status, text)
        if not found or found[-1] != turn:
            found.append(turn)
    return found


def _inputs(count: int) -> str:
    return f"{count} question{'' if count == 1 else 's'}"


def _turn(question: Question) -> Turn:
    asked = str(question.params.get("message") or question.method)[:300]
    if question.answer is None:
        return Turn("warn", "taken back or ended", asked)
    kind, body = question.answer
    said = (
        json.dumps(body, ensure_ascii=False)[:300]
        if kind == "result"
        else "an error, as the specification has it"
    )
    return Turn(
        "ok" if question.word == "answered" else "off", question.word, f"{asked} → {said}", question.by
    )
