"""`mcp-loupe conformance --stdio -- CLIENT…`: plays our stdio scenarios with any client, and tells the verdicts.

The client is started once a scenario with the server's command behind its own. What it prints is kept and judges
nothing: the servers write down what they see (inspector.demo.stdio_suite). Main thread.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from inspector.cli.terminal import document_text, print_document, printable, say
from inspector.demo.stdio_suite.checks import judged
from inspector.demo.stdio_suite.endings import LONGEST, helpers
from inspector.demo.stdio_suite.log import Seen, read
from inspector.demo.stdio_suite.scenario import Scenario
from inspector.demo.stdio_suite.scenarios import SCENARIOS
from inspector.errors import FileError, SpawnFailed, UsageError

GRACE_S = 2.0
"""How long a server may outlive its client."""


@dataclass(frozen=True, slots=True)
class Played:
    """How a client ended: its exit code (negative: a signal), None when it had to be ended."""

    exit: int | None


Client = Callable[[list[str], Mapping[str, str], Path, float], Played]
"""Runs a client with the server's command, what the environment tells it, a folder for its output, and a limit in s."""


def suite(
    argv: tuple[str, ...] | None,
    *,
    scenario: tuple[str, ...],
    listing: bool,
    timeout: float,
    output: Path | None,
    as_json: bool,
) -> int:
    """Run the scenarios that are named, else all; exit code 1 when one is failed."""
    chosen = choose(scenario)
    if listing:
        return _listed(chosen, as_json)
    if not argv:
        text = "Which client?"
        raise UsageError(text, "Write its command after --; the server's command is added behind it")
    if not timeout > 0:
        raise UsageError("--timeout must be more than 0 seconds", "Give for example --timeout 30")
    documents = []
    with ExitStack() as stack:
        folder = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loupe-stdio-")))
        for each in chosen:
            document = play(each, folder, Command(argv), timeout)
            documents.append(document)
            if not as_json:
                _show(document)
    passed = sum(document["ok"] for document in documents)
    ok = passed == len(documents)
    if as_json:
        print_document(
            {
                "schema": "mcp-loupe/stdio-conformance/1",
                "ok": ok,
                "client": list(argv),
                "scenarios": documents,
            }
        )
    else:
        say(
            f"{passed} of {len(documents)} scenarios pass"
            + (f"; the verdicts are in {output}" if output else "")
        )
    return 0 if ok else 1


def choose(names: Sequence[str]) -> list[Scenario]:
    """The scenarios of these names, all without any; raises UsageError for a name there is not."""
    known = {each.name: each for each in SCENARIOS}
    for name in names:
        if name not in known:
            raise UsageError(f"There is no stdio scenario {name}", "See mcp-loupe conformance --stdio --list")
    return [known[name] for name in names] or list(SCENARIOS)


def play(scenario: Scenario, folder: Path, client: Client, timeout: float) -> dict[str, Any]:
    """One scenario with one client: its verdict, also written to FOLDER/SCENARIO/verdict.json."""
    own = folder / scenario.name
    try:
        own.mkdir(parents=True, exist_ok=True)
        for old in ("observed.jsonl", "verdict.json"):
            (own / old).unlink(missing_ok=True)
    except OSError as problem:
        raise FileError(
            f"{own} cannot be written: {problem.strerror}", "Give another folder with -o"
        ) from None
    server = [sys.executable, "-m", "inspector.demo.stdio_suite", scenario.name, str(own.resolve())]
    told = {
        "MCP_CONFORMANCE_SCENARIO": scenario.name,
        "MCP_CONFORMANCE_CONTEXT": json.dumps(scenario.context()),
        "MCP_CONFORMANCE_TRANSPORT": "stdio",
    }
    left: list[int] = []
    try:
        played = client(server, told, own, timeout)
    finally:  # also when a person interrupts
        left = _left([life.pid for life in read(own)], own)
        lives = read(own)  # again: what the servers saw while they ended counts
        _end(helpers(lives), lambda words: words == ["sleep", str(LONGEST)])
    seen = Seen(lives, played.exit is not None, tuple(left))
    checks = judged(scenario, seen)
    document = {
        "name": scenario.name,
        "group": scenario.group,
        "ok": all(check.ok for check in checks),
        "server": scenario.does,
        "asks": scenario.asks,
        "client_exit": played.exit,
        "processes": len(lives),
        "checks": [check.as_json() for check in checks],
    }
    (own / "verdict.json").write_text(document_text(document, indent=1) + "\n", "utf-8")
    return document


@dataclass(frozen=True, slots=True)
class Command:
    """A client as a command, which gets the server's command behind its own words."""

    argv: tuple[str, ...]

    def __call__(self, server: list[str], told: Mapping[str, str], folder: Path, limit_s: float) -> Played:
        with (folder / "client.txt").open("wb") as out:
            try:
                process = subprocess.Popen(
                    [*self.argv, *server], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                    env={**os.environ, **told}, start_new_session=True,
                )  # fmt: skip
            except OSError as problem:
                text = f"The client {self.argv[0]} could not be started: {problem.strerror}"
                raise SpawnFailed(text, "Write the client's command after --") from None
            try:
                return Played(process.wait(limit_s))
            except subprocess.TimeoutExpired:
                return Played(None)
            finally:
                if process.poll() is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


def _left(pids: Sequence[int], folder: Path) -> list[int]:
    """Which servers are still there a while after the client ended; they are ended now."""

    def ours(words: list[str]) -> bool:
        return "inspector.demo.stdio_suite" in words and str(folder.resolve()) in words

    alive = [process for process in map(_process, pids) if process is not None and ours(_words(process))]
    _gone, alive = psutil.wait_procs(alive, timeout=GRACE_S)
    left = [process.pid for process in alive]
    _end(left, ours)
    return left


def _end(pids: Sequence[int], ours: Callable[[list[str]], bool]) -> None:
    """Kill the processes whose command line is the one we know; a pid may be somebody else's by now."""
    for process in map(_process, pids):
        if process is not None and ours(_words(process)):
            with suppress(psutil.Error):
                process.kill()


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _show(document: dict[str, Any]) -> None:
    checks = document["checks"]
    bad = [check for check in checks if not check["ok"]]
    say(f"{'FAIL' if bad else 'pass'}  {document['name']}  ({len(checks) - len(bad)}/{len(checks)})")
    for check in bad:
        say(f"      {check['level']:<6} {check['id']}: {check['asks']}: {printable(check['found'])}")


def _listed(chosen: Sequence[Scenario], as_json: bool) -> int:
    keys = ("name", "group", "does", "asks", "source")
    rows = [{key: getattr(each, key) for key in keys} for each in chosen]
    if as_json:
        print_document({"schema": "mcp-loupe/stdio-scenarios/1", "scenarios": rows})
    else:
        for row in rows:
            say(f"{row['name']:<22} {row['does']} → {row['asks']}")
    return 0
