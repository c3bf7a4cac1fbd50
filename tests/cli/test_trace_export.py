"""`mcp-loupe trace har`, `otlp` and `html`: to a file or to stdout, all of it or nothing, with one clear sentence."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import ROOT, environment, loupe

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


def test_a_recording_of_the_console_is_exported_by_its_number_in_every_format(tmp_path: Path) -> None:
    sqlite = ROOT / "traces" / "sqlite-crash.mcptrace.jsonl"
    number = str(loupe(tmp_path, "trace", "import", str(sqlite), "--json").json["recording"])
    out = tmp_path / "again.mcptrace.jsonl.gz"
    ran = loupe(tmp_path, "trace", "export", number, "-o", str(out), "--text", "sqlite")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    shown = loupe(tmp_path, "trace", "show", str(out), "--json").json
    before = loupe(tmp_path, "trace", "show", str(sqlite), "--json").json
    assert shown["counts"] == before["counts"]
    assert shown["redaction_counts"]["T1"] > 0
    assert b"sqlite" not in gzip.decompress(out.read_bytes()).split(b"\n", 1)[1]
    page = loupe(tmp_path, "trace", "export", number, "--format", "html").out
    assert page.startswith("<!doctype html>")
    assert loupe(tmp_path, "trace", "export", "99", "-o", str(out)).code == 2
    assert shown == loupe(tmp_path, "trace", "show", str(out), "--json").json  # what was there stays
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.mcptrace.jsonl.gz", "loupe"]


def test_who_reads_only_the_beginning_is_told_of_no_failure(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "inspector", "trace", "export", str(GIT)],
        env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as ran:  # fmt: skip
        assert ran.stdout is not None and ran.stderr is not None
        ran.stdout.close()
        assert (ran.stderr.read(), ran.wait(60)) == (b"", 1)  # click's own code for it


def test_a_file_is_exported_as_a_trace_again(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "trace", "export", str(GIT), "--no-redact")
    assert ran.out == GIT.read_text()
    out = tmp_path / "git.har"
    assert loupe(tmp_path, "trace", "export", str(GIT), "-o", str(out)).code == 0
    assert json.loads(out.read_text())["log"]["entries"] == []
