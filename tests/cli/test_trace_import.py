"""`trace import`: a file into the console's list from the command line, and what a killed import leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.console.console import Console
from inspector.settings.paths import Paths
from inspector.trace.store import Store

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "traces" / "git-modern.mcptrace.jsonl"
STOPS = """
import sys
from pathlib import Path
from inspector.console.opening import open_file
def told(done):
    print(done.events, flush=True)
    sys.stdin.read()
open_file(Path(sys.argv[1]), Path(sys.argv[2]), "killed", "t", told)
"""


def run(*words: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "inspector", "trace", "import", *words, "--data-dir", str(data)],
        capture_output=True, text=True, timeout=60, cwd=ROOT,
    )  # fmt: skip


def test_a_file_is_put_into_the_list_and_said_in_one_document(tmp_path: Path) -> None:
    done = run(str(SHIPPED), "--json", data=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["events"], document["incomplete"]) == (
        "mcp-loupe/trace-import/1",
        17,
        False,
    )
    with Store(Paths.locate(tmp_path).database) as store:
        (session,) = store.sessions()
    assert (session.id, session.opened) == (document["recording"], SHIPPED.name)


def test_what_is_no_trace_is_refused_with_one_sentence_and_nothing_stays(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("hello\n")
    done = run(str(wrong), data=tmp_path)
    assert done.returncode != 0 and "Traceback" not in done.stderr and "line 1 is not JSON" in done.stderr
    assert not Paths.locate(tmp_path).database.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_what_a_killed_import_had_read_is_gone_at_the_next_start(tmp_path: Path) -> None:
    paths = Paths.locate(tmp_path).ensure()
    child = subprocess.Popen(
        [sys.executable, "-c", STOPS, str(paths.database), str(SHIPPED)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == "17\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait(30)
    child.stdin.close()
    child.stdout.close()
    with Store(paths.database) as store:
        (left,) = store.opened()
        assert (left.state, store.sessions()) == ("reading", [])
    with Console(paths) as console:
        while True:  # bounded by the test's own time-out
            with console.store() as store:
                if not store.opened() and not store.unfinished():
                    break
        with console.store() as store:
            assert store.last_seq(left.session) == 0
            assert [each.id for each in store.sessions()] == [console.recorder.session]
