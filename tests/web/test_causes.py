"""Which cause comes first, by what the server printed and by what an HTTP answer looks like; and whose a failure is."""

from __future__ import annotations

import pytest

from inspector.protocol import codes
from inspector.web.causes import NO_ENDPOINT, http_causes, plain_sentence, tool_error_causes
from inspector.web.origins import said_by, subject

ARGUMENTS = "the arguments do not fit what the tool wants"


def test_without_stderr_the_arguments_are_the_likeliest_cause_of_a_tool_error() -> None:
    assert tool_error_causes([])[0] == ARGUMENTS


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("Traceback (most recent call last):", "the tool raised an exception: see its stderr"),
        ("TypeError: x is not a function", "the tool raised an exception: see its stderr"),
        ("    at main (/srv/index.js:3:9)", "the tool raised an exception: see its stderr"),
        ("thread 'main' panicked at src/main.rs:4", "the tool raised an exception: see its stderr"),
        ("INFO processing a request", "the tool may have raised an exception: see its stderr"),
    ],
)
def test_what_was_printed_meanwhile_ranks_above_the_arguments(line: str, first: str) -> None:
    causes = tool_error_causes(["before", line])
    assert (causes[0], causes[-1]) == (first, ARGUMENTS)


@pytest.mark.parametrize(
    ("status", "content_type", "body", "first"),
    [
        (501, "text/html", "", f"{NO_ENDPOINT}: a web or file server answers there"),
        (500, "", "<!DOCTYPE HTML>", f"{NO_ENDPOINT}: a web or file server answers there"),
        (405, "", "", NO_ENDPOINT),
        (404, "application/json", "{}", NO_ENDPOINT),
    ],
)
def test_a_web_servers_answer_means_that_the_url_is_no_endpoint(
    status: int, content_type: str, body: str, first: str
) -> None:
    entry = codes.explain(None, era=None, origin="peer", http_status=status)
    assert http_causes(entry, status, content_type, body) == (first, *entry.causes)


def test_other_answers_keep_their_own_causes() -> None:
    for status in (500, 401, 403):
        entry = codes.explain(None, era=None, origin="peer", http_status=status)
        assert http_causes(entry, status, "application/json", "{}") == entry.causes
    entry = codes.entry("auth-needed")
    assert http_causes(entry, 401, "text/html", "<html>") == entry.causes


def test_who_says_it_and_what_it_is_about_are_two_things() -> None:
    assert said_by("console") == "Loupe; the server sent no such error"
    assert subject("transport", {"exit": 3}) == "the server's process: it ended with code 3"
    assert subject("transport", {"signal": "SIGSEGV"}) == "the server's process: it ended on SIGSEGV"
    assert subject("timeout", {}) == "the server: it did not answer in time"
    assert subject("console", {}) == ""


def test_a_validators_sentence_is_said_plainly() -> None:
    assert plain_sentence("'a' is a required property") == "a is required"
    assert plain_sentence("3 is not of type 'string'") == "3 is not of type 'string'"
