"""`mcp-loupe trace har`, `otlp` and `html`: to a file or to stdout, all of it or nothing, with one clear sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_run import ROOT, loupe

GIT = ROOT / "traces" / "git-modern.mcptrace.jsonl"


def test_each_format_goes_to_a_file_of_the_owner_or_to_stdout(tmp_path: Path) -> None:
    out = tmp_path / "git.har"
    ran = loupe(tmp_path, "trace", "har", str(GIT), "-o", str(out))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert json.loads(out.read_text())["log"]["version"] == "1.2"
    assert out.stat().st_mode & 0o777 == 0o600
    assert "resourceSpans" in loupe(tmp_path, "trace", "otlp", str(GIT)).json
    shown = loupe(tmp_path, "trace", "html", str(GIT), "--text", "git_status", "--events", "12").out
    assert shown.startswith("<!doctype html>")
    assert "[redacted:T1:" in shown and "git_status" not in shown
    assert "Only the first 12 of" in shown


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["no-such-file"], 7, "cannot be read"),
        ([str(GIT), "--no-redact", "--key", "x"], 2, "--no-redact leaves nothing to hide"),
        ([str(GIT), "-o", "/nowhere/at/all"], 7, "/nowhere/at/all cannot be written"),
        ([str(GIT), "--pattern", "("], 2, "pattern"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    ran = loupe(tmp_path, "trace", "har", *words)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ran.err.count("\n") <= 2


def test_a_damaged_trace_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    damaged, out = tmp_path / "bad.jsonl", tmp_path / "out.html"
    damaged.write_bytes(GIT.read_bytes()[:3000] + b"\nnot json\n")
    out.write_text("before")
    ran = loupe(tmp_path, "trace", "html", str(damaged), "-o", str(out))
    assert ran.code == 7
    assert "is not JSON" in ran.err
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["bad.jsonl", "out.html"]
