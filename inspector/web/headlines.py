"""How a call ended, in a word and a sentence. Pure, any thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from inspector.catalog.validation import INVALID
from inspector.console import outcome as outcomes
from inspector.console.outcome import Outcome
from inspector.web.origins import subject


@dataclass(frozen=True, slots=True)
class Headline:
    """How a call ended, in a word and a sentence. sev: `ok`, `warn`, `err` or `note`.

    whose: who says so; about: what it is about, when that is another than who says it.
    """

    sev: str
    word: str
    sentence: str
    whose: str = ""
    about: str = ""


WHOSE: Final = {
    "peer": "the server",
    "sdk": "the client library, on this side",
    "console": "Loupe, on this side; the server sent no such thing",
}
OUTPUT_INVALID: Final = "ok, output invalid"
"""The word for a call that went well and whose structuredContent breaks the tool's own outputSchema."""


ANSWERED: Final = {
    "tools": "The tool answered.",
    "prompts": "The server gave the prompt.",
    "resources": "The server gave the resource.",
    "templates": "The server gave the resource.",
    "method": "The server answered with a result.",
}


def headline(outcome: Outcome, what: str = "tools") -> Headline:
    """The first line of the result. what: the list the called item is of."""
    error = outcome.error.message if outcome.error is not None else ""
    told = outcome.error is not None and outcome.what != outcomes.CANCELLED
    whose = WHOSE.get(outcome.origin, outcome.origin) if told else ""
    about = subject(outcome.error.layer, outcome.error.facts) if told and outcome.error is not None else ""
    sentences = {
        outcomes.OK: _answered(outcome, what),
        outcomes.TOOL_ERROR: ("warn", "tool error", "The tool ran and refused (isError). No protocol fault."),
        outcomes.PROTOCOL_ERROR: ("err", "protocol error", error),
        outcomes.TRANSPORT_FAILURE: ("err", "transport failure", error),
        outcomes.TIMEOUT: ("err", "time-out", error),
        outcomes.CANCELLED: ("note", "cancelled", "You stopped waiting, and the server was told so."),
        outcomes.INPUT_REQUIRED: (
            "note",
            "input required",
            "The server asks for input before it goes on, and got none; here is what it asks.",
        ),
    }
    sev, word, sentence = sentences[outcome.what]
    return Headline(sev, word, sentence, whose, about if outcome.origin != "peer" else "")


def breaks_schema(outcome: Outcome) -> bool:
    """Whether the answer came and is not what the tool's outputSchema promises."""
    return outcome.output is not None and outcome.output.verdict == INVALID


def _answered(outcome: Outcome, what: str) -> tuple[str, str, str]:
    if breaks_schema(outcome):
        return "warn", OUTPUT_INVALID, "The tool answered, but not as its outputSchema says."
    return "ok", "ok", ANSWERED.get(what, "The server answered.")
