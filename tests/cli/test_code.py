"""`mcp-loupe code` as a person runs it: the classic task, permissions, stubs, bad input."""

from __future__ import annotations

from pathlib import Path

from cli_run import here, loupe

from inspector.discovery.code.keeping import read_kept

CLASSIC = """found = demo_logs__search_logs(limit=300)
counts: dict[str, int] = {}
for entry in found["entries"]:
    counts[entry["message"]] = counts.get(entry["message"], 0) + 1
print(f"{found['total']} entries, {len(counts)} distinct messages")
for message, times in counts.items():
    demo_tracker__create_issue(title=message, body=f"seen {times} times")
"""
PAIR = ("--catalog", "demo:logs", "--catalog", "demo:tracker", "--timeout", "60")


def test_the_classic_task_in_one_document(tmp_path: Path) -> None:
    script, kept = tmp_path / "task.py", tmp_path / "run.json"
    script.write_text(CLASSIC)
    allowed = ("--allow", "*logs__*", "--allow", "create_issue")
    ran = loupe(tmp_path, "code", str(script), *PAIR, *allowed, "--keep", str(kept), "--json")
    assert ran.code == 6, ran.err
    found = ran.json
    assert found["schema"] == "mcp-loupe/code/1"
    assert found["output"] == "10000 entries, 7 distinct messages\n"
    assert (found["error"]["type"], found["error"]["line"]) == ("RuntimeError", 7)
    effects = found["effects"]
    assert [len(effects[key]) for key in ("done", "failed", "unknown")] == [3, 1, 0]
    assert effects["retry_safe"] is False and len(effects["advice"]) == 2
    assert [each["line"] for each in found["calls"]] == [1, 7, 7, 7, 7]
    *parts, (_, code_tokens, loop_tokens, _, _) = found["context"]["rows"]
    assert code_tokens == sum([row[1] for row in parts]) < 1_500 < 10_000 < loop_tokens
    assert found["context"]["loop_fits_window"] is True
    assert "L00001" not in ran.out
    code, calls = read_kept(kept)
    assert (code, [call.outcome for call in calls]) == (CLASSIC, [each["outcome"] for each in found["calls"]])
    assert kept.stat().st_mode & 0o777 == 0o600, "it holds what the servers answered"


def test_without_permission_nothing_is_sent_and_the_way_on_is_said(tmp_path: Path) -> None:
    ran = loupe(tmp_path, "code", "-", "--catalog", "demo:tracker", stdin="demo_tracker__list_issues()")
    assert ran.code == 1
    assert "0 done, 1 failed, 0 unknown" in ran.err
    assert "Nobody allowed demo_tracker__list_issues: add --allow TOOL" in ran.err


def test_the_functions_are_printed_with_what_each_level_costs(tmp_path: Path) -> None:
    found = here(tmp_path, "code", "--stubs", "typescript", "--catalog", "demo:tracker", "--json").json
    assert "declare function demo_tracker__create_issue(" in found["text"]
    tokens = found["tokens"]
    assert tokens["names"] < tokens["described"] < tokens["typed"] < tokens["full"]


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    for words, said in (
        (("code",), "Which server?"),
        (("code", *PAIR), "Which script?"),
        (("code", "none.py", *PAIR), "The script none.py cannot be read"),
        (("code", "-", *PAIR, "--limit", "calls=0"), "calls=0 cannot be"),
        (("code", *PAIR, "--resume", "none.json"), "none.json holds no run"),
    ):
        ran = here(tmp_path, *words, stdin="x")
        assert ran.code in (2, 7) and ran.err.count("\n") == 1 and said in ran.err, ran.err
