"""`mcp-loupe simulate` and `evaluate`: live over stdio and HTTP, dry, several servers, contexts, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_run import FLAT, here, loupe

TASK = ("--task", "a billing question")


def lines(path: Path, *names: str) -> str:
    tools = [
        {"name": name, "description": name.replace("_", " "), "inputSchema": {"type": "object"}}
        for name in names
    ]
    path.write_text(
        json.dumps({"jsonrpc": "2.0", "id": 10, "result": {"tools": tools}}, separators=(",", ":")) + "\n"
    )
    return str(path)


@contextmanager
def served(name: str) -> Iterator[str]:
    """A demo server over HTTP on a port of its choice."""
    argv = [sys.executable, "-m", "inspector.demo", name, "--http", "0"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "http://" in line)
        yield "http://" + line.split("http://", 1)[1].split()[0]
    finally:
        process.terminate()
        process.communicate(timeout=10)


def test_the_progressive_demo_is_measured_live_over_stdio(tmp_path: Path) -> None:
    ran = loupe(
        tmp_path, "simulate", "--catalog", "demo:progressive", "--baseline", "demo:flat", *TASK,
        "--strategy", "server_driven", "--live", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["schema"], found["mode"]) == ("mcp-loupe/simulate/1", "live")
    run = found["runs"][0]
    totals, against = run["totals"], run["versus_full"]
    entry = here(tmp_path, "list", "demo:progressive", "--json").json["totals"]
    assert found["baseline"]["entry_bytes"] == FLAT.wire_bytes
    assert totals["entry_bytes"] == entry["wire_bytes"]
    assert (totals["entry_tools"], totals["revealed_tools"], totals["model_turns"]) == (3, 10, 3)
    assert totals["total_bytes"] == totals["entry_bytes"] + totals["discovery_bytes"]
    assert totals["discovery_bytes"] == sum([step["reply_bytes"] for step in run["steps"][1:3]])
    assert against["net_saved"] == 1 - totals["total_bytes"] / FLAT.wire_bytes
    assert against["entry_reduction"] == 1 - entry["wire_bytes"] / FLAT.wire_bytes
    assert next(iter(against)) == "net_saved"
    assert run["provenance"]["total_bytes"] == run["provenance"]["net_saved"] == "measured"
    assert [len(step["frames"]) for step in run["steps"]] == [0, 2, 2, 0]
    assert sum([step["context_tokens"] for step in run["steps"]]) == totals["context_tokens"]


def test_a_recorded_live_run_has_its_steps_beside_the_frames_they_name(tmp_path: Path) -> None:
    """The file holds the scenario, each step of `--json` and the frames whose bytes the steps count."""
    trace = tmp_path / "lab.jsonl"
    ran = loupe(
        tmp_path, "simulate", "--catalog", "demo:progressive", *TASK, "--strategy", "server_driven", "--live",
        "--json", "--record", str(trace),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    scenario, *steps = [event for event in events if event.get("t") == "lab"]
    assert scenario["scenario"]["task"] == "a billing question"
    assert {(step["run"], step["strategy"]) for step in steps} == {(scenario["run"], "server_driven")}
    told = ran.json["runs"][0]["steps"]
    assert [{name: step[name] for name in told[0]} for step in steps] == told
    frames = {event["seq"]: event for event in events if event.get("t") == "rpc"}
    named = [(step["request_bytes"], step["reply_bytes"], step["frames"]) for step in steps if step["frames"]]
    assert len(named) == 2
    for request, reply, (asked, answered) in named:
        assert (frames[asked]["bytes"], frames[answered]["bytes"]) == (request, reply)
    assert here(tmp_path, "trace", "show", str(trace)).code == 0


def test_the_same_is_measured_live_over_http(tmp_path: Path) -> None:
    with served("progressive") as progressive, served("flat") as flat:
        ran = loupe(
            tmp_path, "simulate", "--catalog", progressive, "--baseline", flat, *TASK, "--strategy", "server_driven",
            "--live", "--json",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    run = ran.json["runs"][0]
    assert (run["totals"]["entry_tools"], run["totals"]["revealed_tools"]) == (3, 10)
    assert run["provenance"]["net_saved"] == "measured"
    assert 0.5 < run["versus_full"]["net_saved"] < run["versus_full"]["entry_reduction"] < 1


def test_all_strategies_run_dry_over_several_catalogs_and_the_table_is_the_runs(tmp_path: Path) -> None:
    one, two = (
        lines(tmp_path / "billing.jsonl", "list_invoices"),
        lines(tmp_path / "logs.jsonl", "search_logs"),
    )
    argv = ("simulate", "--catalog", one, "--catalog", two, "--task", "search the logs")
    ran = loupe(tmp_path, *argv, "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert [each["key"] for each in found["servers"]] == ["billing", "logs"]
    assert [row[0] for row in found["table"]["rows"]] == [each["strategy"] for each in found["runs"]]
    assert {each["strategy"]: each["called"] for each in found["runs"]}[
        "search_stable"
    ] == "logs__search_logs"
    assert found["runs"][0]["totals"]["entry_bytes"] == sum(
        [Path(each).stat().st_size - 1 for each in (one, two)]
    )
    plain = here(tmp_path, *argv)
    assert "net saved" in plain.out
    assert {each["strategy"]: each["called"] for each in found["runs"]}["gateway_code"] == "logs__search_logs"


def test_a_scenario_is_saved_and_run_again_to_the_same_figures(tmp_path: Path) -> None:
    one, saved = lines(tmp_path / "a.jsonl", "list_invoices", "void_invoice"), str(tmp_path / "s.json")
    contexts = tmp_path / "contexts.json"
    contexts.write_text(json.dumps({"clerk": {"deny": ["*void*"]}}))
    argv = ("--catalog", one, "--task", "void the invoice", "--contexts", str(contexts), "--context", "clerk")
    first = loupe(tmp_path, "simulate", *argv, "--strategy", "search_stable", "--save", saved, "--json")
    assert first.code == 0, first.err
    assert first.json["runs"][0]["called"] == "a__list_invoices"
    again = here(tmp_path, "simulate", saved, "--json")
    assert again.json["runs"] == first.json["runs"]


def test_the_host_made_tools_are_printed_as_sent(tmp_path: Path) -> None:
    found = here(tmp_path, "simulate", "--show-meta-tools").json
    assert len(found["tools"]) == 11
    assert found["version"] == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("simulate",),
        ("simulate", "--catalog", "demo:flat"),
        ("simulate", "--catalog", "demo:flat", "--task", "x", "--strategy", "magic"),
        ("evaluate", "--tasks", "none.jsonl"),
    ],
)
def test_what_cannot_be_run_is_a_usage_error(argv: tuple[str, ...], tmp_path: Path) -> None:
    assert here(tmp_path, *argv, "--json").code == 2


def test_retrieval_is_measured_and_a_threshold_decides_the_exit(tmp_path: Path) -> None:
    catalog, tasks = lines(tmp_path / "a.jsonl", "list_invoices", "search_logs"), tmp_path / "tasks.jsonl"
    rows = [{"task": "logs", "expect": ["search_logs"]}, {"task": "refund", "expect": ["list_invoices"]}]
    tasks.write_text("".join([json.dumps(row) + "\n" for row in rows]))
    argv = ("evaluate", "--catalog", catalog, "--tasks", str(tasks), "--search", "keyword", "--json")
    ran = loupe(tmp_path, *argv)
    assert ran.code == 0, ran.err
    method = ran.json["methods"][0]
    assert (method["search"], method["recall@5"], method["miss_rate"]) == ("keyword", 0.5, 0.5)
    assert set(method["search_ms"]) == {"p50", "p95"}
    assert here(tmp_path, *argv, "--min-recall", "0.6").code == 1
    assert here(tmp_path, *argv, "--min-recall", "0.5").code == 0
