"""Each rule against one true and one false example, taken from real catalogs wherever they hold one."""

from __future__ import annotations

import pytest
from findings_cases import examples, subject_of_example

from inspector.catalog.findings.rule import find, rules

EXAMPLES = examples()


def fired(rule: str, which: str) -> bool:
    return rule in {finding.rule for finding in find(subject_of_example(EXAMPLES[rule][which]))}


def test_every_rule_has_its_two_examples_and_says_where_they_come_from() -> None:
    assert list(EXAMPLES) == list(rules())
    assert all(EXAMPLES[rule][which]["from"] for rule in EXAMPLES for which in ("true", "false"))


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_fires_on_its_true_example(rule: str) -> None:
    assert fired(rule, "true")


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_is_silent_on_its_false_example(rule: str) -> None:
    assert not fired(rule, "false")
