"""`mcp-loupe code`: one script over one or more servers, in a sandbox; every call checked, allowed and recorded."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from inspector.catalog.jsontext import compact_value
from inspector.cli.lab import read_registry
from inspector.cli.options import TargetCommand, target_options
from inspector.cli.output import write_file
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.discovery.access import EVERYONE, Access, read_contexts
from inspector.discovery.code.approvals import WORDS, Ask, Decision, Nobody, covered_by_nothing
from inspector.discovery.code.broker import Rules
from inspector.discovery.code.calls import Call
from inspector.discovery.code.comparison import Comparison, compare, texts_of
from inspector.discovery.code.extract import Model
from inspector.discovery.code.keeping import kept, read_kept
from inspector.discovery.code.limits import limits_of
from inspector.discovery.code.monty import MontyRuntime
from inspector.discovery.code.provenance import POLICIES
from inspector.discovery.code.run import Result, Run
from inspector.discovery.code.runtime import ScriptFailed
from inspector.discovery.code.sending import sender
from inspector.discovery.code.stubs import LEVELS, Stubs, stubs_of
from inspector.discovery.context import Weigher
from inspector.discovery.ledger import percent
from inspector.errors import FileError, UsageError

SCHEMA = "mcp-loupe/code/1"
MODEL_S = 60.0


@click.command("code", cls=TargetCommand)
@click.argument("script", required=False, metavar="SCRIPT")
@click.option(
    "--catalog", multiple=True, metavar="TARGET", help="A server; its tools are functions. Repeats."
)
@click.option(
    "--allow", multiple=True, metavar="TOOL", help="Let calls of this tool through (a glob). Repeats."
)
@click.option("--limit", multiple=True, metavar="K=V", help="A limit, such as calls=20 or run_s=5. Repeats.")
@click.option(
    "--flows", type=click.Choice(POLICIES), default="allow", help="Data of one server on its way to another."
)
@click.option("--context", metavar="NAME", help="The authorization context to act under.")
@click.option(
    "--contexts", type=click.Path(path_type=Path), metavar="FILE", help="Where contexts are defined."
)
@click.option("--no-types", is_flag=True, help="Do not type-check the script first.")
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="FILE", help="Write the run there, to resume it."
)
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Use the results of that run again."
)
@click.option(
    "--extract-with", metavar="CMD", help="A program that extract() asks when parsing fails; JSON in and out."
)
@click.option(
    "--stubs", type=click.Choice(("python", "typescript")), help="Print the functions and run nothing."
)
@click.option("--level", type=click.Choice(LEVELS), default="full", help="How much --stubs prints.")
@target_options
def code(script: str | None, catalog: tuple[str, ...], **options: Any) -> int:
    """Run a script in a sandbox; the tools of the servers are its functions."""
    if not catalog and click.get_current_context().meta.get("argv") is None:
        raise UsageError("Which server?", "Add --catalog TARGET")
    access = _access(options)
    if options["stubs"]:
        registry, _ = read_registry(catalog, options, kept_for=access.name)
        _print_stubs(stubs_of(registry, access), options)
        return 0
    text, earlier = _script(script, options["resume"])
    limits = limits_of(options["limit"])
    rules = Rules(limits, access, options["allow"], options["flows"], earlier)
    with ExitStack() as stack:
        registry, connections = read_registry(catalog, options, kept_for=access.name, keep_open=stack)
        stubs = stubs_of(registry, access)
        runtime = MontyRuntime(limits.concurrency)
        stack.callback(runtime.close)
        run = Run(
            "code-1", text, registry, stubs, runtime, rules, sender(connections.get), approver=_approver(options),
            model=_model(options["extract_with"]), typed=not options["no_types"],
        )  # fmt: skip
        result = run.play()
    against = compare(texts_of(registry, stubs, text, result, access=access))
    if options["keep"] is not None:
        write_file(options["keep"], [kept(text, result.calls).encode("utf-8", "surrogatepass")], 0o600)
    if options["as_json"]:
        print_document(document(result, against, rules, runtime, stubs))
    else:
        show(result, against)
    return exit_code(result)


def _access(options: Mapping[str, Any]) -> Access:
    known = read_contexts(options["contexts"]) if options["contexts"] is not None else {}
    name = options["context"]
    if name is None:
        return EVERYONE
    if name not in known:
        raise UsageError(
            f"There is no authorization context {name}", "Define it in a file and add --contexts FILE"
        )
    return known[name]


def _script(word: str | None, resume: Path | None) -> tuple[str, list[Call]]:
    kept_code, earlier = read_kept(resume) if resume is not None else ("", [])
    if word is None:
        if resume is None:
            raise UsageError("Which script?", "Give a file, or - for standard input")
        return kept_code, earlier
    try:
        return (sys.stdin.read() if word == "-" else Path(word).read_text("utf-8")), earlier
    except (OSError, UnicodeDecodeError) as problem:
        raise FileError(f"The script {word} cannot be read: {problem}", "Give a file of UTF-8 text") from None


class _Asking:
    """The person at this terminal."""

    def decide(self, ask: Ask) -> Decision:
        call = ask.call
        warn(
            f"line {call.line}: {printable(call.tool)} {printable(compact_value(dict(call.arguments)))[:300]}"
        )
        warn(f"  {call.risk}" + (f"; {printable(ask.why)}" if ask.why else ""))
        keys: dict[str, Decision] = {"y": "call", "t": "tool", "c": "category", "n": "deny"}
        said = click.prompt(
            f"  allow? y {WORDS['call']}, t {WORDS['tool']}, c {WORDS['category']} ({printable(call.category)}), n",
            type=click.Choice(list(keys)), default="n", err=True, show_choices=False,
        )  # fmt: skip
        return keys[said]


def _approver(options: Mapping[str, Any]) -> Any:
    return _Asking() if sys.stdin.isatty() and not options["as_json"] else Nobody()


def _model(command: str | None) -> Model | None:
    if command is None:
        return None
    argv = shlex.split(command)

    def ask(value: Any, schema: Mapping[str, Any]) -> Any:
        import json

        try:
            done = subprocess.run(argv, input=compact_value({"value": value, "schema": schema}).encode(),
                                  capture_output=True, timeout=MODEL_S, check=True)  # fmt: skip
            return json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError, RecursionError) as problem:
            warn(f"--extract-with: {printable(str(problem))}")
            return None

    return ask


def _print_stubs(stubs: Stubs, options: Mapping[str, Any]) -> None:
    text = stubs.text(options["stubs"], options["level"])
    weigher = Weigher("none")
    if options["as_json"]:
        tokens = {level: weigher.tokens(stubs.text(options["stubs"], level)) for level in LEVELS}
        findings = [
            {"tool": f.tool, "what": f.what, "path": f.path, "message": f.message} for f in stubs.findings
        ]
        print_document({"schema": "mcp-loupe/stubs/1", "language": options["stubs"], "level": options["level"],
                        "text": text, "tokens": tokens, "findings": findings})  # fmt: skip
    else:
        say(text, end="")
        warn(
            f"{len(stubs.functions)} functions, {weigher.tokens(text):,} tokens; {len(stubs.findings)} findings (--json)"
        )


def document(
    result: Result, against: Comparison, rules: Rules, runtime: MontyRuntime, stubs: Stubs
) -> dict[str, Any]:
    """The document of `code --json` (docs/cli.md)."""
    untyped = [each.tool for each in stubs.findings if each.what == "no outputSchema"]
    return {
        "schema": SCHEMA, "output": result.output, "value": result.value, "error": error_entry(result),
        "effects": result.effects.entry(), "calls": [call.entry() for call in result.calls],
        "limits": {**rules.limits.entry(), "not_counted": [] if runtime.counts_steps else ["steps"]},
        "runtime": runtime.name, "context": against.entry(),
        "ms": {
            "start": result.start_ms, "compute": result.compute_ms, "asked": result.asked_ms, "total": result.total_ms,
        },
        "without_output_schema": untyped,
    }  # fmt: skip


def error_entry(result: Result) -> dict[str, Any] | None:
    if result.error is None:
        return None
    entry = {**result.error.as_json(), "line": result.line}
    if isinstance(result.error, ScriptFailed):
        entry |= {"type": result.error.exc_name, "traceback": result.error.trace}
    return entry


def exit_code(result: Result) -> int:
    """6 when a tool error came through, 4 when a protocol failure did; else the error's own."""
    error = result.error
    if error is None:
        return 0
    last = result.calls[-1] if result.calls else None
    if isinstance(error, ScriptFailed) and last is not None and last.why and last.why in error.message:
        return {"tool_error": 6, "protocol_error": 4, "timeout": 4, "transport_failure": 4}.get(
            last.outcome, error.exit_code
        )
    return error.exit_code


def show(result: Result, against: Comparison) -> None:
    """Output first, as the script printed it; then, on stderr, what happened."""
    say(result.output, end="")
    if result.value is not None:
        say(compact_value(result.value)[:4000])
    for call in result.calls:
        took = "" if call.ms is None else f" {call.ms:.1f} ms"
        data = f"  carries data: {'; '.join(call.marks)}" if call.marks else ""
        warn(
            f"{call.n:>3} line {call.line or '?'} {printable(call.tool)} {call.status}{took}{printable(data)}"
        )
    effects = result.effects
    warn(
        f"{len(effects.done)} done, {len(effects.failed)} failed, {len(effects.unknown)} unknown; {effects.reads} reads"
    )
    if result.error is not None:
        where = f" (line {result.line})" if result.line else ""
        first, *others = result.error.message.rstrip().split("\n")
        for line in [f"The script ended with {first}{where}", *others]:
            warn(printable(line))
        if result.error.remedy:
            warn(f"  {printable(result.error.remedy)}")
    for advice in effects.advice:
        warn(f"  {printable(advice)}.")
    denied = covered_by_nothing(result.calls)
    if denied:
        warn(f"  Nobody allowed {', '.join(denied)}: add --allow TOOL, or run on a terminal to be asked.")
    if not result.calls:
        return
    warn(f"{'':<24}{'code mode':>12}{'tool loop':>12}  context tokens")
    for part, mine, theirs, _mine, _theirs in against.rows():
        warn(f"{part:<24}{mine:>12,}{theirs:>12,}")
    fits = (
        ""
        if against.loop.total_tokens <= against.window
        else f"; the loop does not fit {against.window:,} tokens"
    )
    warn(
        f"saved {percent(against.saved)}; {against.kept_out_tokens:,} tokens of results stayed in the sandbox{fits}"
    )
