"""`mcp-loupe doctor`: what is wrong with a server, step by step."""

from __future__ import annotations

import json
from typing import Any

import click

from inspector.cli.listing import printable
from inspector.cli.options import TargetCommand, colours, spec_of, target_options
from inspector.settings.paths import Paths

MARKS = {True: ("ok  ", "32"), None: ("odd ", "33"), False: ("FAIL", "31")}


@click.command("doctor", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]")
@click.option("--probe", is_flag=True, help="Send deliberate faults too, and judge the answers.")
@target_options
def doctor(words: tuple[str, ...], probe: bool, **options: Any) -> int:
    """Connect step by step and say what is wrong."""
    from inspector.doctor.doctor import Doctor

    spec = spec_of(words, options)
    steps = []
    for step in Doctor(spec, Paths.locate(options["data_dir"]), probe=probe).examine():
        steps.append(step)
        if not options["as_json"]:
            mark, colour = MARKS[step.ok]
            shown = f"\x1b[{colour}m{mark}\x1b[0m" if colours() else mark
            print(f"{shown} {step.name:<26} {printable(step.evidence)}", flush=True)
            if step.remedy:
                print(f"     {'':<26} → {printable(step.remedy)}", flush=True)
    ok = all(step.ok is not False for step in steps)
    if options["as_json"]:
        document = {"schema": "mcp-loupe/doctor/1", "ok": ok, "steps": [step.as_json() for step in steps]}
        print(json.dumps(document, ensure_ascii=False))
    return 0 if ok else 1
