"""`--sign-in`: the address on stderr, a callback of our own, a token that stays, and nothing secret in the trace."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
from cli_run import ROOT, environment, loupe

sys.path.insert(0, str(ROOT / "tests" / "wire"))

from signing import control, person, protected


def walk(address: str) -> httpx2.Response:
    """What a browser would do: sign in, then follow the way back to the callback."""
    redirect = dict(parse_qsl(urlsplit(address).query))["redirect_uri"]
    back = asyncio.run(person(callback=redirect).go(address))
    with httpx2.Client(trust_env=False) as client:
        wrong = client.get(redirect, params={"code": back.code, "state": "someone-else's"})
        assert wrong.status_code == 404
        assert back.state is not None
        return client.get(redirect, params={"code": back.code, "state": back.state})


def test_the_command_line_signs_in_once_and_records_no_secret(tmp_path: Path) -> None:
    with protected("plain") as urls:
        url, trace = urls["plain"], tmp_path / "t.mcptrace.jsonl"
        refused = loupe(tmp_path, "list", url)
        assert refused.code == 5
        assert "--sign-in" in refused.err
        words = ["call", url, "read_note", "--sign-in", "--record", str(trace), "--no-redact", "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "inspector", *words], env=environment(tmp_path), cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None and process.stderr is not None
            try:
                line = process.stderr.readline()
                assert line.startswith("Sign in at http://127.0.0.1:")
                answer = walk(line.removeprefix("Sign in at ").strip())
                assert (answer.status_code, "Signed in" in answer.text) == (200, True)
                out, _err = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 0
        assert json.loads(out)["result"]["content"][0]["text"] == "buy milk"
        again = loupe(tmp_path, "call", url, "read_note", "--json")
        assert again.json["outcome"] == "ok", "the token is kept"
        recorded = trace.read_text()
        given = control(url, "secrets").json()
        assert [secret for secret in given if secret in recorded] == []
        assert len(given) >= 3
