"""`mcp-loupe trace`: what a trace file holds, and the same file without its secrets."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click

from inspector.cli.terminal import print_document, printable, say, warn
from inspector.errors import UsageError

SUBCOMMANDS = {
    "show": ("inspector.cli.trace", "show"),
    "redact": ("inspector.cli.trace", "redact"),
    "import": ("inspector.cli.trace_import", "import_file"),
    "diff": ("inspector.cli.trace_diff", "diff"),
    "replay": ("inspector.cli.trace_replay", "replay"),
    "export": ("inspector.cli.trace_export", "export"),
    "har": ("inspector.cli.trace_export", "har"),
    "otlp": ("inspector.cli.trace_export", "otlp"),
    "html": ("inspector.cli.trace_export", "html"),
    "stand-in": ("inspector.cli.trace_stand_in", "stand_in"),
}


class LazyTraceGroup(click.Group):
    """Loads a subcommand's module when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        module, name = SUBCOMMANDS[cmd_name]
        command = getattr(__import__(module, fromlist=[name]), name)
        assert isinstance(command, click.Command)
        return command


@click.group("trace", cls=LazyTraceGroup)
def trace() -> None:
    """Work on trace files (docs/trace-format.md)."""


@click.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def show(file: Path, as_json: bool) -> None:
    """Say what a trace holds. Nothing is connected, started or loaded."""
    document = summary(file)
    if as_json:
        print_document(document)
    else:
        _print_summary(document)


@click.command("redact")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="The new file.")
@click.option("--key", "keys", multiple=True, metavar="NAME", help="Hide the values of this key too.")
@click.option("--pattern", "patterns", multiple=True, metavar="REGEX", help="Hide what matches.")
@click.option("--text", "texts", multiple=True, metavar="TEXT", help="Hide this text.")
@click.option("--rule", "on", multiple=True, metavar="KIND", help="Apply an optional rule: email, entropy.")
@click.option("--without", "off", multiple=True, metavar="KIND", help="Leave a rule out.")
@click.option("--preview", "only_preview", is_flag=True, help="Say what would be hidden, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def redact(file: Path, out: Path | None, only_preview: bool, as_json: bool, **own: Any) -> None:
    """Write a trace again without its secrets."""
    from inspector.console.redacting import redactor_for
    from inspector.trace.file_reader import read_trace
    from inspector.trace.redact import Preview, Rules, preview
    from inspector.trace.rewriting import last_number, rewrite

    if (out is None) != only_preview:
        raise UsageError("Where should the redacted trace go?", "Give -o OUT, or --preview to only look")
    rules = Rules.default(**own)
    with read_trace(file) as reader:
        found: Preview = preview(reader, rules)
    document: dict[str, Any] = {
        "schema": "mcp-loupe/trace-redact/1",
        "rules": [
            {"id": rule.id, "kind": rule.kind, "what": rule.what, "applied": rule.applied, "hits": rule.hits,
             "places": [{"seq": seq, "path": path} for seq, path in rule.places]}
            for rule in found.rules
        ],
        "events": found.events,
    }  # fmt: skip
    if out is not None:
        with read_trace(file) as reader:
            before, first = reader.header.get("redaction"), last_number(reader.lines()) + 1
        redactor = redactor_for(rules=rules, before=before, first=first)
        redactor.learn(found.learned)
        trailer = rewrite(file, out, redactor)
        document |= {"file": str(out), "counts": redactor.counts(), "skipped": trailer["redaction_skipped"]}
    if as_json:
        print_document(document)
    else:
        _print_redaction(document)


def summary(file: Path) -> dict[str, Any]:
    """The document of `trace show`; FileError as the reader raises it."""
    from inspector.trace.file_reader import read_trace

    counts: Counter[str] = Counter()
    asked: dict[int, dict[str, Any]] = {}
    errors: list[dict[str, Any]] = []
    with read_trace(file) as reader:
        for event in reader:
            counts[str(event.get("t"))] += 1
            if event.get("t") == "rpc":
                _take_frame(event, asked, errors)
            elif event.get("t") == "error":
                names = ("seq", "origin", "code", "class", "message")
                errors.append({name: event[name] for name in names if name in event})
    return {
        "schema": "mcp-loupe/trace-show/1",
        "header": reader.header,
        "counts": dict(counts),
        "exchanges": list(asked.values()),
        "errors": errors,
        "incomplete": reader.incomplete,
        "problem": reader.problem,
        "redaction_counts": (reader.trailer or {}).get("redaction_counts", {}),
    }


def _take_frame(
    event: dict[str, Any], asked: dict[int, dict[str, Any]], errors: list[dict[str, Any]]
) -> None:
    kind, seq = event.get("kind"), event["seq"]
    if kind == "request":
        asked[seq] = {
            "seq": seq, "c": event.get("c"), "dir": event.get("dir"), "method": event.get("method"),
            "bytes": event.get("bytes"), "outcome": "unanswered",
        }  # fmt: skip
    elif kind in ("result", "error"):
        outcome = "error" if kind == "error" else "tool_error" if event.get("tool_error") else "ok"
        pair = event.get("pair")
        if isinstance(pair, int) and (exchange := asked.get(pair)) is not None:
            exchange |= {
                "outcome": outcome, "answer": seq, "answer_bytes": event.get("bytes"), "ms": event.get("ms"),
            }  # fmt: skip
        if kind == "error":
            errors.append(
                {"seq": seq, "origin": "peer", "pair": event.get("pair"), **_error_of(event.get("raw"))}
            )


def _error_of(raw: Any) -> dict[str, Any]:
    try:
        error = json.loads(raw)["error"]
        return {"code": error.get("code"), "message": error.get("message")}
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return {}


def _print_summary(document: dict[str, Any]) -> None:
    header = document["header"]
    if title := header.get("title"):
        say(printable(str(title)))
    if note := header.get("note"):
        say(printable(str(note)))
    say(
        f"recorded {printable(str(header.get('created')))}, trace format {header['v']}.{header.get('minor', 0)}"
    )
    redaction = header.get("redaction")
    hidden = sum(document["redaction_counts"].values())
    say(f"redacted: {hidden} places" if redaction else "not redacted: it may hold secrets")
    say(", ".join(f"{n} {printable(t)}" for t, n in document["counts"].items()) or "no events")
    for one in document["exchanges"]:
        took = f"{one['ms']:.1f} ms" if isinstance(one.get("ms"), int | float) else ""
        say(f"{one['seq']:>6}  {printable(str(one['method'])):<30} {one['outcome']:<11} {took}".rstrip())
    for one in document["errors"]:
        code = f" {one['code']}" if one.get("code") is not None else ""
        say(f"{one['seq']:>6}  error{code}: {printable(str(one.get('message')))}")
    if document["incomplete"]:
        warn("Incomplete: the recording broke off here.")
    if document["problem"]:
        warn(printable(document["problem"]))


def _print_redaction(document: dict[str, Any]) -> None:
    for rule in document["rules"]:
        if rule["hits"]:
            places = ", ".join(f"{place['seq']} {printable(place['path'])}" for place in rule["places"])
            word = "" if rule["applied"] else " (only reported)"
            say(f"{rule['id']:<4} {rule['kind']:<12} {rule['hits']:>5}{word}  {places}")
    if not any(rule["hits"] for rule in document["rules"]):
        say("Nothing found.")
    for skipped in document.get("skipped", []):
        warn(f"skipped: {skipped.get('seq')} {printable(str(skipped.get('path')))}: {skipped.get('why')}")
