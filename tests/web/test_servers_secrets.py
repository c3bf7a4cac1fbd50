"""What a start takes from the environment is said before and shown nowhere; what may start without a look."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.console.console import Console
from inspector.errors import LoupeError
from inspector.settings.importing import read_config
from inspector.settings.paths import Paths
from inspector.settings.seal import UNSEALED
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import demo_spec
from inspector.trace.filters import Filter
from inspector.web.servers_preview import digest, needs_look, preview, warnings

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s3cr3t-VALUE/42"
SAYS_ARGV = "import os, sys; sys.exit(0 if sys.argv[1:] == ['--token=' + os.environ['COPY']] else 9)"
LOADERS = (
    "PATH PYTHONPATH PERL5OPT RUBYOPT NODE_OPTIONS LD_PRELOAD DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH"
    " GIT_SSH_COMMAND BASH_ENV ENV path"
)


def test_a_digest_covers_values_and_tells_none() -> None:
    stdio = [ServerSpec("x", argv=("a",), env={"PATH": path}) for path in ("/bin", "/evil")]
    http = [ServerSpec("x", transport="sse", url="http://x", headers={"A": value}) for value in ("1", "2")]
    assert len({digest(spec) for spec in [*stdio, *http]}) == 4
    program = (
        "from inspector.web.servers_preview import digest; from inspector.settings.spec import ServerSpec;"
        "print(digest(ServerSpec('x', argv=('a',), env={'PATH': '/bin'})))"
    )
    run = [sys.executable, "-c", program]
    other = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True, cwd=ROOT).stdout
    assert re.fullmatch(r"[0-9a-f]{64}\n", other)
    assert other.strip() != digest(stdio[0])  # the key is of this run


@pytest.mark.parametrize("name", LOADERS.split())
def test_a_variable_that_makes_a_program_load_other_code_is_warned_about(name: str) -> None:
    spec = ServerSpec("x", argv=("npx",), env={name: "/evil", "TOKEN": "x"})
    assert warnings(spec) == [f"{name} can make the program load other code."]
    assert needs_look(spec)


def test_variables_of_the_environment_that_go_into_a_definition_are_listed() -> None:
    stdio = ServerSpec("x", argv=("npx", "a", "--t=${env:SECRET_T}"), env={"E": "${env:SECRET_E:-d}"})
    assert warnings(stdio) == [
        "The value of the environment variable SECRET_T goes into argument 2,"
        " which every user of this machine can see (ps).",
        "The value of the environment variable SECRET_E goes into variable E.",
    ]
    http = ServerSpec("x", transport="sse", url="https://x/${env:U}", headers={"X-Y": "${env:H}"})
    assert warnings(http) == [
        "The value of the environment variable U goes into the URL.",
        "The value of the environment variable H goes into header X-Y.",
    ]
    assert preview(http, {"U": SECRET}).missing == ["${env:H}"]
    assert preview(http, {"U": SECRET, "H": SECRET}).missing == []


def test_a_preview_of_a_command_named_by_a_variable_does_not_show_its_value() -> None:
    look = preview(ServerSpec("x", argv=("${env:P}",)), {"PATH": "/bin", "P": f"/nowhere/{SECRET}"})
    assert look.problem.startswith("${env:P} does not exist")
    assert SECRET not in repr(look)


def test_a_source_that_only_claims_to_be_a_demo_is_shown_before_its_first_start() -> None:
    assert needs_look(ServerSpec("x", argv=("npx",), source=UNSEALED))
    assert not needs_look(replace(demo_spec("flat"), source=UNSEALED))
    assert not needs_look(demo_spec("flat"))


def test_a_secret_of_the_environment_reaches_the_server_and_no_file_event_or_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SECRET", SECRET)
    text = json.dumps(
        {
            "mcpServers": {
                "argv": {
                    "command": sys.executable,
                    "args": ["-c", SAYS_ARGV, "--token=${FAKE_SECRET}"],
                    "env": {"COPY": "${env:FAKE_SECRET}"},
                },
                "gone": {"command": "/nowhere/${FAKE_SECRET}"},
                "url": {
                    "url": "http://127.0.0.1:9/${env:FAKE_SECRET}?k=${FAKE_SECRET}",
                    "headers": {"X-Innocent": "${FAKE_SECRET}"},
                },
            }
        }
    )
    said = []
    paths = Paths.locate(tmp_path)
    with Console(paths.ensure()) as console:
        for spec in read_config(text, "mcp.json").specs:
            key = console.servers_file.add(spec)
            with pytest.raises(LoupeError) as caught:
                console.connect(key)
            said.append(repr((caught.value.as_json(), caught.value.facts, preview(spec), spec.public())))
            if key == "argv":
                assert caught.value.facts["exit"] == 0  # it got the value, in argv as in env
        store = console.store()
        rows = store.page(console.recorder.session, Filter(), limit=500)
        said += [repr((row.body, store.raw(console.recorder.session, row.seq))) for row in rows]
        store.close()
    said += [path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    for spelled in (SECRET, "s3cr3t-VALUE%2F42", "s3cr3t"):
        assert [one for one in said if spelled in one] == []
    assert "--token=${env:FAKE_SECRET}" in paths.servers.read_text()
    assert any("http://127.0.0.1:9/${env:FAKE_SECRET}?k=${env:FAKE_SECRET}" in one for one in said)
