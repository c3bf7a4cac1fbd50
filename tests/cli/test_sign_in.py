"""`--sign-in`: the address on stderr, a callback of our own, a token that stays, and nothing secret in the trace."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
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


def broken_keyring(home: Path) -> dict[str, str]:
    """An environment that chooses a keyring whose file cannot be read."""
    (home / "python_keyring").mkdir()
    (home / "python_keyring" / "keyring_pass.cfg").write_text("no section\n")
    return {"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring", "XDG_DATA_HOME": str(home)}


def test_the_command_line_signs_in_once_and_records_no_secret(tmp_path: Path) -> None:
    kept = tmp_path / "loupe" / "tokens.json"
    with protected("plain") as urls:
        url, trace = urls["plain"], tmp_path / "t.mcptrace.jsonl"
        refused = loupe(tmp_path, "list", url)
        assert refused.code == 5
        assert "--sign-in" in refused.err
        words = ["call", url, "read_note", "--sign-in", "--record", str(trace), "--no-redact", "--json"]
        ring = environment(tmp_path, **broken_keyring(tmp_path))
        with subprocess.Popen(
            [sys.executable, "-m", "inspector", *words], env=ring, cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None and process.stderr is not None
            try:
                told = process.stderr.readline()
                assert told == (
                    f"Tokens are kept in {kept} (mode 0600), because the keyring of this system refused "
                    "(MissingSectionHeaderError).\n"
                )
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
        assert kept.stat().st_mode & 0o777 == 0o600
        recorded = trace.read_text()
        given = control(url, "secrets").json()
        assert [secret for secret in given if secret in recorded] == []
        assert len(given) >= 3


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (
            ["--sign-in"],
            "The doctor signs in nowhere. Sign in with list TARGET --sign-in: the doctor uses the token",
        ),
        (["--record", "t"], "The doctor records nothing. Record with list TARGET --record"),
    ],
)
def test_the_doctor_refuses_what_it_would_not_do(option: list[str], says: str, tmp_path: Path) -> None:
    done = loupe(tmp_path, "doctor", "http://127.0.0.1:9/mcp", *option)
    assert (done.code, done.out, done.err[: len(says)]) == (2, "", says)
