"""Runs every command of the README and docs/ that needs nothing but the demo servers: `make docs`. Says which fail.

That all of them parse is a test (tests/test_docs.py); this takes minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from test_docs import PAIRS, words_of  # noqa: E402

NEEDS = re.compile(
    r"https?:|npx|uvx|--( |$)|cmd:|(?<![\w/])[\w/-]+\.(?!md)\w+|--(exact|otlp|listen)|\btrace\b|session:"
    r"|^mcp-loupe( serve| url| demo| tap|$)"
)
"""A server, a file or a service of the reader's own; or it does not end by itself."""
MAY_FAIL = re.compile(r"evaluate|doctor|check")
"""Checks: 1 is an answer."""


def main() -> int:
    wrong = 0
    environment = {**os.environ, "MCP_LOUPE_DATA": ""}
    for page, line in PAIRS:
        if NEEDS.search(line) or len(words_of(line)) < 2:
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment["MCP_LOUPE_DATA"] = f"{folder}/data"
            argv = [sys.executable, "-m", "inspector", *words_of(line)]
            done = subprocess.run(
                argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180
            )
        fine = done.returncode == 0 or (done.returncode == 1 and MAY_FAIL.search(line))
        wrong += not fine
        word, why = (
            ("ok  ", "") if fine else ("FAIL", f"\n     {done.returncode}: {done.stderr.strip()[-300:]}")
        )
        sys.stdout.write(f"{word} {page}: {line}{why}\n")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
