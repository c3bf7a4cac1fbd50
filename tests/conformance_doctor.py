"""`mcp-loupe doctor` as the client of every client scenario of the official suite, whose servers go wrong on purpose.

`conformance_doctor.py NODE SUITE [SCENARIO…]`: part of `make conformance`. Prints a row of a table for each; exit 1 when
the doctor crashed or hung, missed what NAMED has, or found fault with anything else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCTOR = f"{sys.executable} -m inspector doctor --json --timeout 10"
LIMIT_S = 120
BESIDE = ("cors", "order", "connected", "era")
"""Steps that are not about what a scenario does: no browser is meant, and a refusal shows in several places."""
GUESSED = {("challenge", "names no resource_metadata")}
NAMED: dict[str, set[tuple[str, str]]] = {
    "auth/metadata-var1": {*GUESSED, ("server metadata", "HTTP 404")},
    "auth/metadata-var2": {*GUESSED, ("resource metadata", "HTTP 404"), ("resource metadata", "root only")},
    "auth/metadata-var3": {("server metadata", "HTTP 404")},
    "auth/pre-registration": {("registration", "registers no clients")},
    "auth/2025-03-26-oauth-metadata-backcompat": {*GUESSED, ("resource metadata", "HTTP 404")},
    "auth/2025-03-26-oauth-endpoint-fallback": {
        *GUESSED,
        ("resource metadata", "HTTP 404"),
        ("server metadata", "HTTP 404"),
        ("server metadata", "No metadata of an authorization server"),
    },
    "auth/resource-mismatch": {("resource metadata", "https://evil.example.com/mcp")},
    "auth/metadata-issuer-mismatch": {("server metadata", "it calls itself https://attacker.example.com")},
    "auth/dpop": {("challenge", "RFC 9449")},
    "auth/dpop-nonce": {("challenge", "RFC 9449")},
    "auth/wif-jwt-bearer": {("registration", "registers no clients")},
    "http-invalid-tool-headers": {("tool headers", "cannot be called over HTTP")},
}
"""What the doctor has to name, by scenario: (step, part of its sentence). Nothing, where a scenario is not here."""


def scenarios(suite: list[str]) -> list[tuple[str, str]]:
    """Each client scenario with the newest revision it is for, "" for an extension."""
    listed = subprocess.run(
        [*suite, "list", "--client"], capture_output=True, text=True, timeout=60, check=True
    )
    rows = re.findall(r"^  - (\S+) \[([^\]]*)\]$", listed.stdout, re.MULTILINE)
    return [(name, "" if "extension" in versions else versions.split(",")[-1]) for name, versions in rows]


def examine(suite: list[str], name: str, version: str) -> dict[str, Any] | None:
    """The doctor's document; None when it crashed or hung."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*suite, "client", "--command", f"{DOCTOR} --data-dir {folder}/data", "--scenario", name]
        command += ["-o", folder, "--timeout", "60000", *(["--spec-version", version] if version else [])]
        try:
            subprocess.run(command, cwd=folder, capture_output=True, timeout=LIMIT_S)
            (said,) = Path(folder).rglob("stdout.txt")
            document = json.loads(said.read_text())
        except (subprocess.TimeoutExpired, ValueError):
            return None
        return document if isinstance(document, dict) and "steps" in document else None


def judged(name: str, document: dict[str, Any]) -> tuple[bool, list[str]]:
    """(whether that is right, what it found fault with in its own words)."""
    steps = document["steps"]
    odd = [step for step in steps if step["ok"] is not True and step["name"] not in BESIDE]
    named = NAMED.get(name, set())
    missed = [
        one for one in named if not any(step["name"] == one[0] and one[1] in step["evidence"] for step in odd)
    ]
    more = [
        step
        for step in odd
        if not any(step["name"] == one[0] and one[1] in step["evidence"] for one in named)
    ]
    connected = next((step for step in steps if step["name"] == "connected"), None)
    wanted = name.startswith("auth/")
    as_it_is = connected is not None and connected["ok"] is (not wanted)
    refused = not wanted or (connected is not None and "HTTP 401" in connected["evidence"])
    words = [_short(f"{step['name']}: {step['evidence']}") for step in odd]
    return as_it_is and refused and not missed and not more, words


def _short(text: str) -> str:
    """Without port numbers, which differ from run to run, and without what a challenge holds."""
    return re.sub(
        r"(WWW-Authenticate: \S+) .*(: it )", r"\1 …\2", re.sub(r"localhost:\d+", "localhost", text)
    )


def row(name: str, words: list[str], right: bool) -> str:
    plain = "HTTP 401; every document on the way to a token is sound" if name.startswith("auth/") else "sound"
    said = "; ".join(word if len(word) <= 200 else word[:199] + "…" for word in words) or plain
    return f"| {name} | {said.replace('|', chr(92) + '|')} | {'right' if right else 'WRONG'} |"


def main(node: str, script: str, only: list[str]) -> int:
    wrong = 0
    print("| scenario | the doctor | |\n|---|---|---|", flush=True)
    for name, version in scenarios([node, script]):
        if only and name not in only:
            continue
        document = examine([node, script], name, version)
        right, words = judged(name, document) if document is not None else (False, ["no answer"])
        wrong += not right
        print(row(name, words, right), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
