"""Nothing a server or a file says can drive the terminal: every command against a server of control characters."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_run import ROOT, Ran, environment, here, loupe
from hypothesis import given
from hypothesis import strategies as st

from inspector.cli.terminal import document_text, harmless, printable

SERVER = (sys.executable, str(ROOT / "tests" / "servers" / "hostile_text.py"))


def ran(home: Path, *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of `mcp-loupe WORDS…`, both proven harmless."""
    return proven(here(home, *words), words)


def proven(done: Ran, words: tuple[str, ...]) -> tuple[int, str, str]:
    for stream in (done.out, done.err):
        drives = {char for char in stream if not char.isprintable() and char != "\n"}
        assert drives == set(), words
    return done.code, done.out, done.err


def target(mode: str) -> tuple[str, ...]:
    return ("--", *SERVER, mode)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lock, two traces and a task set that hold what the hostile server says."""
    home = tmp_path_factory.mktemp("files")
    assert ran(home, "lock", "-o", "a.lock", *target("fine"))[0] == 0
    assert ran(home, "call", "t", "--record", "a.jsonl", "--no-redact", *target("fine"))[0] == 0
    assert ran(home, "call", "t", "--record", "b.jsonl", "--no-redact", *target("surrogate"))[0] == 0
    evil = "\u001b[2J\u009b\u202e"
    for name, expected in (("tasks.jsonl", "t"), ("unlisted.jsonl", evil)):
        (home / name).write_text(json.dumps({"task": evil, "expect": [expected]}) + "\n")
    return home


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list",), 0),
        (("list", "--all", "--json"), 0),
        (("call", "t"), 0),
        (("call", "t", "--json"), 0),
        (("call", "\x1b[2J\u202e"), 0),
        (("doctor",), 0),
        (("doctor", "--json"), 0),
        (("lock", "-o", "new.lock"), 0),
        (("check", "--lock", "a.lock"), 1),
        (("check", "--lock", "a.lock", "--format", "junit"), 1),
        (("check", "--lock", "a.lock", "--format", "sarif"), 1),
        (("check", "--lock", "a.lock", "--json"), 1),
        (("compare", "a.lock"), 0),
        (("compare", "a.lock", "--format", "html"), 0),
        (("compare", "a.lock", "--json"), 0),
        (("simulate", "--task", "x"), 0),
        (("simulate", "--task", "x", "--json"), 0),
        (("trace", "replay", "a.jsonl", "--yes"), 0),
        (("trace", "replay", "a.jsonl", "--yes", "--json"), 0),
    ],
)
def test_a_hostile_server_reaches_no_terminal(words: tuple[str, ...], code: int, files: Path) -> None:
    found, out, _ = ran(files, *words, *target("surrogate"))
    assert found == code
    if "--json" in words:
        assert isinstance(json.loads(out), dict)


@pytest.mark.parametrize("mode", ["exit", "error", "init"])
@pytest.mark.parametrize(
    "words", [("list",), ("list", "--json"), ("lock", "-o", "x.lock"), ("check", "--lock", "a.lock")]
)
def test_a_hostile_error_reaches_no_terminal(mode: str, words: tuple[str, ...], files: Path) -> None:
    code, out, err = ran(files, *words, *target(mode))
    assert (code, err != "") == (4, True)
    assert ("\\x1b]0;PWNED" in err) == (mode != "exit" or "stderr:" in err)
    if "--json" in words:
        assert "layer" in json.loads(out)["error"]


EVALUATE = ("evaluate", "--catalog", "a.lock", "--search", "keyword", "--tasks")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("trace", "show", "a.jsonl"), 0),
        (("trace", "show", "a.jsonl", "--json"), 0),
        (("trace", "diff", "a.jsonl", "b.jsonl"), 0),
        (("trace", "diff", "a.jsonl", "b.jsonl", "--json"), 0),
        (("trace", "redact", "b.jsonl", "--preview", "--text", "PWNED"), 0),
        ((*EVALUATE, "tasks.jsonl"), 0),
        ((*EVALUATE, "tasks.jsonl", "--json"), 0),
        ((*EVALUATE, "unlisted.jsonl"), 2),
        (("compare", "a.lock", "b.jsonl"), 0),
    ],
)
def test_a_hostile_file_reaches_no_terminal(words: tuple[str, ...], code: int, files: Path) -> None:
    assert ran(files, *words)[0] == code


@pytest.mark.parametrize("words", [("list", "\x1b[2J\u202e"), ("\x1b[2J",), ("list", "--era", "\x9b")])
def test_what_was_mistyped_is_quoted_without_its_controls(words: tuple[str, ...], tmp_path: Path) -> None:
    code, out, err = ran(tmp_path, *words)
    assert (code, out) == (2, "") and ("\\x1b[2J" in err or "\\x9b" in err)


def test_a_terminal_that_is_not_utf_8_gets_escapes(files: Path) -> None:
    words = ("list", *target("fine"))
    code, out, _ = proven(loupe(files, *words, PYTHONIOENCODING="ascii:strict"), words)
    assert code == 0 and "\\xb7 handshake 2025-11-25" in out


@pytest.mark.parametrize("words", [("list",), ("call", "t", "--json"), ("check", "--lock", "a.lock")])
def test_a_process_of_its_own_writes_nothing_else_and_all_of_it_is_utf_8(
    words: tuple[str, ...], files: Path
) -> None:
    words = (*words, *target("surrogate"))
    apart, within = proven(loupe(files, *words), words), ran(files, *words)
    assert (apart[0], untimed(apart[1])) == (within[0], untimed(within[1]))


def untimed(text: str) -> str:
    return re.sub(r'"ms": [0-9.]+', "", text)


@given(st.text(st.characters(codec=None)))
def test_any_text_is_shown_and_any_document_stays_equal(text: str) -> None:
    assert printable(text).isprintable()
    assert harmless(text).replace("\n", "").replace("\t", "").isprintable()
    document = {text: [text, {"k": text}]}
    for indent in (None, 2):
        shown = document_text(document, indent=indent)
        assert shown.replace("\n", "").isprintable()
        assert json.loads(shown) == json.loads(json.dumps(document))


def test_the_log_of_a_console_is_for_its_owner_alone(tmp_path: Path) -> None:
    log = tmp_path / "loupe.log"
    log.write_text("older\n")
    log.chmod(0o644)
    program = (
        "import logging, pathlib, sys; from inspector.cli.serve import log_to\n"
        "log_to(pathlib.Path(sys.argv[1])); logging.warning('s3cret \\ud800')"
    )
    run = [sys.executable, "-c", program, str(log)]
    subprocess.run(run, env=environment(tmp_path) | {"PYTHONPATH": str(ROOT)}, check=True, timeout=60)
    assert log.stat().st_mode & 0o777 == 0o600
    first, second = log.read_text().splitlines()
    assert first == "older" and second.endswith("WARNING root: s3cret \\ud800")
