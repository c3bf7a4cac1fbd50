"""docs/security.md: every promise names a test, and every test it names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "security.md").read_text()


def test_every_promise_names_a_test_and_every_test_named_is_there() -> None:
    promises = [row for row in TEXT.splitlines() if row.startswith("| ") and "promise | test" not in row]
    promises = promises[5:]  # the first table is of people
    assert len(promises) > 35
    for row in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert named, row
        for file, name in named:
            text = (ROOT / file).read_text()
            assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), (file, name)
