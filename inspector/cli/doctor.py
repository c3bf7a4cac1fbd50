"""`mcp-loupe doctor`: what is wrong with a server, step by step."""

from __future__ import annotations

from typing import Any

import click

from inspector.cli.options import TargetCommand, colours, spec_of, target_options
from inspector.cli.terminal import print_document, printable, say
from inspector.errors import UsageError
from inspector.settings.paths import Paths

MARKS = {True: ("ok  ", "32"), None: ("odd ", "33"), False: ("FAIL", "31")}


@click.command("doctor", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option("--probe", is_flag=True, help="Send deliberate faults too, and judge the answers.")
@target_options
def doctor(words: tuple[str, ...], probe: bool, **options: Any) -> int:
    """Connect step by step and say what is wrong."""
    from inspector.doctor.doctor import Doctor

    if options["sign_in"]:
        text = "The doctor signs in nowhere"
        raise UsageError(text, "Sign in with list TARGET --sign-in: the doctor uses the token that is kept")
    if options["record"] is not None:
        raise UsageError("The doctor records nothing", "Record with list TARGET --record FILE")
    spec = spec_of(words, options)
    steps = []
    for step in Doctor(spec, Paths.locate(options["data_dir"]), probe=probe).examine():
        steps.append(step)
        if not options["as_json"]:
            mark, colour = MARKS[step.ok]
            say(mark, colour=colour if colours() else None, end="")
            say(f" {step.name:<26} {printable(step.evidence)}")
            if step.remedy:
                say(f"     {'':<26} → {printable(step.remedy)}")
    ok = all(step.ok is not False for step in steps)
    if options["as_json"]:
        document = {"schema": "mcp-loupe/doctor/1", "ok": ok, "steps": [step.as_json() for step in steps]}
        print_document(document)
    return 0 if ok else 1
