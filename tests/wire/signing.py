"""A protected server per set of knobs, and a visit that does what a person would do at its consent page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
from bench import ROOT, SERVERS

from inspector.errors import AuthNeeded
from inspector.wire.auth import CameBack, Visit

CALLBACK = "http://127.0.0.1:1/oauth/callback"


@contextmanager
def protected(*words: str) -> Iterator[dict[str, str]]:
    """A process with one server for each word; gives {word: URL}."""
    argv = [sys.executable, str(SERVERS / "protected.py"), *words]
    with subprocess.Popen(
        argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def control(url: str, what: str) -> httpx2.Response:
    with httpx2.Client(trust_env=False) as client:
        where = url.removesuffix("/mcp") + f"/control/{what}"
        return client.get(where) if what == "secrets" else client.post(where)


def person(say: str = "yes", callback: str = CALLBACK) -> Visit:
    """Follows the address to the consent page, presses a button, and is sent back."""

    async def go(address: str) -> CameBack:
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.get(address)
            if not answer.headers["location"].startswith(callback):
                page = await client.get(answer.headers["location"])
                ticket = dict(parse_qsl(page.request.url.query.decode()))["ticket"]
                answer = await client.post(page.request.url, data={"ticket": ticket, "say": say})
        back = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
        if "error" in back:
            raise AuthNeeded(f"The authorization server sent back {back['error']}", "Try again")
        return CameBack(code=back["code"], state=back.get("state"), iss=back.get("iss"))

    return Visit(callback, go)
