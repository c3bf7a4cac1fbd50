"""The file of the rules that are switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector.errors import ConfigError
from inspector.settings.rules_off import RulesOff


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "findings.json"


def test_no_rule_is_off_while_there_is_no_file(file: Path) -> None:
    assert RulesOff(file).all() == frozenset()


def test_a_rule_stays_off_for_the_next_one_who_reads_until_it_is_switched_on(file: Path) -> None:
    RulesOff(file).switch("titles-differ", on=False)
    RulesOff(file).switch("default-null", on=False)
    RulesOff(file).switch("default-null", on=False)
    assert RulesOff(file).all() == {"titles-differ", "default-null"}
    RulesOff(file).switch("titles-differ", on=True)
    assert RulesOff(file).all() == {"default-null"}


def test_what_people_wrote_beside_the_list_is_kept(file: Path) -> None:
    file.write_text('{"why": "noise", "off": ["of-a-later-version"]}')
    RulesOff(file).switch("default-null", on=False)
    assert '"why": "noise"' in file.read_text()
    assert RulesOff(file).all() == {"of-a-later-version", "default-null"}


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is not JSON"), ("[]", "no list of rule ids"), ('{"off": [1]}', "no list of rule ids")],
)
def test_a_file_that_cannot_be_understood_is_told_and_not_overwritten(
    file: Path, text: str, says: str
) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        RulesOff(file).all()
    with pytest.raises(ConfigError, match=says):
        RulesOff(file).switch("default-null", on=False)
    assert file.read_text() == text
