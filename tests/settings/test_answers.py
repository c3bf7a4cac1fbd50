"""Saved answers to the questions of servers, in a file that people may edit and servers have their words in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inspector.errors import ConfigError
from inspector.settings.answers import Answers

ASKED = {"message": "Who?", "mode": "form", "requestedSchema": {"type": "object"}}
BODY = {"action": "accept", "content": {"name": "Ada"}}


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(tmp_path / "answers.json")


def test_an_answer_is_found_for_the_same_form_however_it_is_worded(answers: Answers) -> None:
    answers.save("s", "elicitation/create", ASKED, "result", BODY)
    found = Answers(answers.path).find("s", "elicitation/create", ASKED | {"message": "Your name, please"})
    assert found is not None
    assert (found.about, found.kind, found.body) == ("Who?", "result", BODY)
    assert answers.find("s", "elicitation/create", ASKED | {"mode": "url"}) is None
    assert answers.find("other", "elicitation/create", ASKED) is None


def test_a_second_answer_replaces_the_first_and_can_be_forgotten(answers: Answers) -> None:
    for body in ({"action": "decline"}, BODY):
        answers.save("s", "elicitation/create", ASKED, "result", body)
    (kept,) = answers.all("s")
    assert kept.body == BODY
    answers.forget("s", kept.digest)
    assert answers.all("s") == []


def test_half_a_surrogate_pair_in_the_question_does_not_lose_the_answer(answers: Answers) -> None:
    answers.save("s", "elicitation/create", ASKED | {"message": "Who\ud83d?"}, "result", BODY)
    assert [(one.about, one.body) for one in answers.all("s")] == [("Who\ud83d?", BODY)]


@pytest.mark.parametrize("saved", ["5", '"x"', "{}", '["x", 7, {}]'])
def test_what_people_broke_in_the_list_of_one_server_is_passed_over(answers: Answers, saved: str) -> None:
    answers.path.write_text(f'{{"servers": {{"s": {{"decline": true, "saved": {saved}}}}}}}')
    assert answers.all("s") == []
    answers.save("s", "elicitation/create", ASKED, "result", BODY)
    assert [one.body for one in answers.all("s")] == [BODY]
    assert answers.declines("s")


@pytest.mark.parametrize(("text", "says"), [("{", "is not JSON"), ("[]", "no object called “servers”")])
def test_a_file_that_cannot_be_understood_is_told_and_not_overwritten(
    answers: Answers, text: str, says: str
) -> None:
    answers.path.write_text(text)
    change: list[Any] = [lambda: answers.all("s"), lambda: answers.set_declines("s", True)]
    for work in change:
        with pytest.raises(ConfigError, match=says):
            work()
    assert answers.path.read_text() == text
