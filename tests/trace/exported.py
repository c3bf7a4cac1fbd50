"""Traces to export: real exchanges, planted secrets and hostile text, and the schema of HAR from its package."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from planted import plant
from referencing import Registry
from referencing.jsonschema import DRAFT7

from inspector.trace.exporting import Source, of_file
from inspector.trace.file import TraceFileWriter
from inspector.trace.redact import Redactor, Rules
from inspector.wire.events import C2S, LOCAL, S2C, Event, Journal

ROOT = Path(__file__).resolve().parents[2]
HAR_SCHEMA = "har-schema@2.0.0"
HAR_SHA512 = "Oqluz6zhGX8cyRaTQlFMPw80bSJVG2x/cFb8ZPhUILGgHka9SsokCCOQgpveePerqidZOrT14ipqfJb7ILcW5Q=="


def write(path: Path, events: Iterable[Event], title: str = "") -> Path:
    """An unredacted trace of these events; ids and seqs as the journal gives them."""
    journal = Journal()
    writer = TraceFileWriter(path, journal, title=title, note=title, tool_version="0")
    for event in events:
        journal.emit(event)
    writer.close()
    return path


def source(path: Path, known: Iterable[str] = (), *, redact: bool = True) -> Source:
    rules = Rules.default(known, user="annabel", home="/home/annabel")

    def make(*, before: dict[str, Any] | None, first: int) -> Redactor:
        return Redactor(rules, before=before, first=first)

    return of_file(path, make if redact else None)


def rpc(id: int | None, raw: Any, kind: str, method: str | None = None, dir: str = C2S, **body: Any) -> Event:
    content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    return Event(
        "rpc", 1, dir, {"bytes": len(content), **body}, content, kind, method, str(id) if id else None
    )


def connection(url: str = "https://h.example:8443/mcp", **more: Any) -> Event:
    return Event(
        "connection", 1, LOCAL, {"label": "h", "transport": "streamable-http", "target": {"url": url}, **more}
    )


def planted_in_exchanges(path: Path) -> tuple[Path, list[tuple[str, str]], list[str]]:
    """The planted secrets where every export holds text: inside HTTP bodies, tool calls, their results and errors."""
    planted = plant()
    found = [
        connection(),
        Event("http", 1, C2S, {"phase": "request", "method": "POST", "url": "https://h.example/mcp"}),
    ]
    for n, event in enumerate(planted.events, 10):
        if event.t in ("rpc", "noise"):
            event.body["http"] = 2
        if event.t == "rpc" and event.kind in ("request", "result"):
            event.id = str(n)
        if event.kind == "result":
            call = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "t"}}
            found.append(rpc(n, call, "request", "tools/call", http=2))
        if event.t == "error":
            found.append(rpc(n, {"method": "tools/list"}, "request", "tools/list", http=2))
            event.body["class"], event.pair = "timeout", len(found)
        found.append(event)
        if event.kind == "request":
            found.append(rpc(n, {"id": n, "result": {}}, "result", None, S2C, http=2))
    found.append(Event("http", 1, S2C, {"phase": "end", "bytes": 1}, pair=2))
    return write(path, found, f"trace of {planted.secrets[0][1]}"), planted.secrets, planted.known


def har_validator() -> Draft7Validator:
    """The validator of the `har-schema` package of npm, brought once and checked by its digest."""
    kept = ROOT / "node_modules" / "har-schema-2.0.0.tgz"
    if not kept.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm, which brings the HAR schema, is not installed")
        kept.parent.mkdir(exist_ok=True)
        command = [npm, "pack", HAR_SCHEMA, "--silent", "--pack-destination", str(kept.parent)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=100)
    content = kept.read_bytes()
    assert base64.b64encode(hashlib.sha512(content).digest()).decode() == HAR_SHA512
    schemas = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        for member in tar.getmembers():
            if member.name.startswith("package/lib/") and member.name.endswith(".json"):
                file = tar.extractfile(member)
                assert file is not None
                schema = json.load(file)
                schemas[schema["$id"].rstrip("#")] = schema
    resources = [(name, DRAFT7.create_resource(schema)) for name, schema in schemas.items()]
    registry: Registry[Any] = Registry().with_resources(resources)
    return Draft7Validator(schemas["har.json"], registry=registry)
