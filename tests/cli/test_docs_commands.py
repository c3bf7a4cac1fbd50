"""Every command that README and docs/ print, run as printed, from the root of the tree.

That all of them parse is tests/test_docs.py; the blocks of the README run in a shell, in tests/test_readme.py. Here: what
the demo servers and the files of this tree are enough for. `make docs` runs what brings a server from npm, too.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from cli_run import ROOT, loupe

sys.path.insert(0, str(ROOT / "tests"))

from test_docs import PAIRS, words_of

README = (ROOT / "README.md").read_text()
ELSEWHERE = re.compile(r"^mcp-loupe (serve|url|tap|conformance|call|demo chaos)( --)?$")
"""Named in the text without what they need: what does not end, or wants a client or a server."""
OTHERS = re.compile(r"https?:|uvx|-- (?!npx -y @modelcontextprotocol)|cmd:")
"""A server of the reader's own."""
JUDGES = re.compile(r"^mcp-loupe (evaluate|doctor|check|compare)\b")
"""1 is an answer of theirs."""


def runs(line: str) -> bool:
    files = [word for word in words_of(line) if re.fullmatch(r"[\w./-]+\.(json|jsonl|lock|py)", word)]
    here = all((ROOT / name).is_file() for name in files)
    npm = "npx" not in line or bool(os.environ.get("LOUPE_NPM"))
    return here and npm and not (ELSEWHERE.search(line) or OTHERS.search(line))


LINES = [line for line in dict.fromkeys(line for _, line in PAIRS) if runs(line) and line not in README]


def test_most_of_what_is_printed_can_be_run_here() -> None:
    named = {shlex.split(line)[1] for line in LINES}
    assert {"list", "simulate", "evaluate", "code", "demo"} <= named


@pytest.mark.parametrize("line", LINES, ids=[line[:70] for line in LINES])
def test_a_command_of_the_docs_works_as_printed(line: str, tmp_path: Path) -> None:
    done = loupe(tmp_path, *words_of(line), cwd=ROOT)
    assert done.code in ((0, 1) if JUDGES.search(line) else (0,)), done.err
    assert done.out.strip()
    assert "Traceback" not in done.err
