"""The stdio suite: our own client passes every scenario, and each defect of a client written by hand is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from cli_run import ROOT, loupe

from inspector.cli.conformance_client import Run, stdio_spec
from inspector.cli.conformance_stdio import Command, Played, choose, play
from inspector.demo.stdio_suite.scenarios import SCENARIOS, as_markdown
from inspector.errors import LoupeError

NAIVE = ROOT / "tests" / "servers" / "naive_client.py"
LIMIT = 30.0
AT_ONCE = 4


@dataclass(frozen=True)
class OwnClient:
    """What `mcp-loupe conformance -- SERVER` does, without a process of its own for each scenario."""

    portal: BlockingPortal

    def __call__(self, server: list[str], told: Mapping[str, str], folder: Path, limit_s: float) -> Played:
        context = json.loads(told["MCP_CONFORMANCE_CONTEXT"])
        played = Run(
            stdio_spec(server, context), told["MCP_CONFORMANCE_SCENARIO"], context, folder, self.portal
        )
        try:
            played.play()
        except LoupeError as problem:
            return Played(problem.exit_code)
        finally:
            played.close()
        return Played(0)


def failed(document: dict[str, Any]) -> set[str]:
    return {check["id"] for check in document["checks"] if not check["ok"]}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """The verdict on our client by scenario."""
    folder = tmp_path_factory.mktemp("own")
    with start_blocking_portal("asyncio") as portal, ThreadPoolExecutor(AT_ONCE) as pool:
        client = OwnClient(portal)
        documents = pool.map(lambda each: play(each, folder, client, LIMIT), SCENARIOS)
        yield {document["name"]: document for document in documents}


@pytest.mark.parametrize("name", [each.name for each in SCENARIOS])
def test_our_client_passes(own: dict[str, dict[str, Any]], name: str) -> None:
    bad = [check for check in own[name]["checks"] if not check["ok"]]
    assert bad == []
    assert own[name]["ok"] and own[name]["processes"] >= 1


DEFECTS = [
    ("none", "healthy", set()),
    ("none", "unknown-version", {"disconnects"}),
    ("none", "future-version", {"gives-up"}),
    ("idle", "healthy", {"started"}),
    ("restarts", "exit-at-start", {"starts"}),
    ("blind", "silence", {"no-calls"}),
    ("cancels", "error-answer", {"no-cancel"}),
    ("deaf", "server-requests", {"answers-ping", "answers-roots-list", "answers-nobody-knows"}),
    ("none", "crash-mid-call", set()),
    ("odd", "healthy", {"frames", "opening"}),
    ("kills", "healthy", {"closing"}),
    ("splitlines", "separators", {"reached"}),
    ("strict", "noise", {"reached"}),
    ("pretty", "healthy", {"frames", "reached"}),
    ("ascii", "healthy", {"reached"}),
    ("one-id", "healthy", {"ids"}),
    ("no-meta", "era-lock", {"opening", "reached"}),
    ("hasty", "probe-32601", {"opening"}),
    ("one-code", "probe-0", {"reached"}),
    ("initializes", "era-lock", {"no-initialize", "reached"}),
    ("text-id", "cancel", {"cancelled", "cancels"}),
    ("no-restart", "crash-mid-call", {"reached", "restarts"}),
    ("deaf", "same-id", {"answers-ping"}),
    ("answers", "modern-request", {"no-answers"}),
    ("leaves", "ignores-eof", {"leftovers", "term-first"}),
    ("hangs", "healthy", {"ended"}),
]


@pytest.fixture(scope="module")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], dict[str, Any]]]:
    """The verdict on the client written by hand, by its defect and the scenario."""

    def one(defect: str, name: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp(f"{defect}-{name}")
        limit = 2.0 if defect == "hangs" else LIMIT
        return play(choose([name])[0], folder, Command((sys.executable, str(NAIVE), defect)), limit)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        documents = pool.map(one, *zip(*[(defect, name) for defect, name, _ in DEFECTS], strict=True))
        yield dict(zip([(defect, name) for defect, name, _ in DEFECTS], documents, strict=True))


@pytest.mark.parametrize(("defect", "name", "wrong"), DEFECTS)
def test_a_defect_is_named(
    naive: dict[tuple[str, str], dict[str, Any]], defect: str, name: str, wrong: set[str]
) -> None:
    document = naive[defect, name]
    assert failed(document) == wrong
    assert document["ok"] is (wrong == set())


def test_every_check_of_the_suite_can_fail(own: dict[str, dict[str, Any]]) -> None:
    checks = {check["id"] for document in own.values() for check in document["checks"]}
    assert checks | {"started"} == {id_ for _, _, wrong in DEFECTS for id_ in wrong}


def test_the_command_writes_a_verdict_and_exits_with_1_when_a_client_fails(tmp_path: Path) -> None:
    suite = ["conformance", "--stdio", "--json", "-o", "kept", "--scenario", "healthy", "--"]
    done = loupe(tmp_path, *suite, sys.executable, str(NAIVE), "one-id")
    document = done.json
    assert (done.code, document["ok"], document["schema"]) == (1, False, "mcp-loupe/stdio-conformance/1")
    verdict = json.loads((tmp_path / "kept" / "healthy" / "verdict.json").read_text())
    assert document["scenarios"] == [verdict]
    assert [check["found"] for check in verdict["checks"] if not check["ok"]] == [
        "the id 1 was used twice, the second time by tools/list"
    ]


def test_our_command_is_a_client_of_the_suite(tmp_path: Path) -> None:
    client = [sys.executable, "-m", "inspector", "conformance", "--"]
    done = loupe(tmp_path, "conformance", "--stdio", "--scenario", "probe-0", "--", *client)
    assert (done.code, done.out) == (0, "pass  probe-0  (9/9)\n1 of 1 scenarios pass\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["--stdio"],
            2,
            "Which client? Write its command after --; the server's command is added behind it.",
        ),
        (
            ["--stdio", "--", "/no/such/client"],
            3,
            "The client /no/such/client could not be started: No such file",
        ),
        (["http://localhost:1/mcp", "--list"], 2, "--list belongs to --stdio. Add --stdio, or leave it out."),
    ],
)
def test_a_wrong_command_line_gets_one_sentence(
    tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    done = loupe(tmp_path, "conformance", *words)
    assert (done.code, done.err.splitlines()[0][: len(said)], done.err.count("\n")) == (code, said, 1)


def test_the_table_of_scenarios_in_the_documentation_is_the_one_of_the_code() -> None:
    assert as_markdown() in (ROOT / "docs" / "conformance.md").read_text()
