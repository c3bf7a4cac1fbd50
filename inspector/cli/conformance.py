"""`mcp-loupe conformance`: be the client of a scenario (URL, -- CMD…), or judge another client (--stdio)."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from anyio.from_thread import start_blocking_portal

from inspector.cli.options import TargetCommand
from inspector.cli.terminal import printable, warn
from inspector.errors import LoupeError, UsageError

PREFIX = "MCP_CONFORMANCE_"


@click.command("conformance", cls=TargetCommand)
@click.argument("url", required=False)
@click.option("--stdio", is_flag=True, help="Let the client after -- start our stdio servers, and judge it.")
@click.option("--scenario", multiple=True, metavar="NAME", help="With --stdio: this one only; repeat it.")
@click.option("--list", "listing", is_flag=True, help="With --stdio: what the scenarios are.")
@click.option("--timeout", type=float, default=30.0, metavar="S", help="With --stdio: for one scenario (30).")
@click.option(
    "-o", "output", type=click.Path(path_type=Path), help="With --stdio: keep verdicts and logs here."
)
@click.option("--json", "as_json", is_flag=True, help="With --stdio: one JSON document on stdout.")
def conformance(url: str | None, stdio: bool, **options: Any) -> int:
    """Be the client of a conformance scenario; --stdio judges another client."""
    argv = click.get_current_context().meta.get("argv")
    if stdio:
        from inspector.cli.conformance_stdio import suite

        if url is not None:
            raise UsageError(
                f"--stdio takes no URL, and {url} was given", "Write the client's command after --"
            )
        return suite(argv, **options)
    named = [name for name in ("scenario", "listing", "output", "as_json") if options[name]]
    if named:
        flags = {"listing": "--list", "output": "-o", "as_json": "--json"}
        raise UsageError(
            f"{flags.get(named[0], '--' + named[0])} belongs to --stdio", "Add --stdio, or leave it out"
        )
    if (url is None) == (not argv):
        raise UsageError("Which server?", "Give a URL, or a server's command after --")
    return be_client(url, argv)


def be_client(url: str | None, argv: tuple[str, ...] | None) -> int:
    """Play the scenario that the environment names."""
    from inspector.cli.conformance_client import Run, http_spec, stdio_spec

    scenario = os.environ.get(f"{PREFIX}SCENARIO", "")
    try:
        context = json.loads(os.environ.get(f"{PREFIX}CONTEXT") or "{}")
    except ValueError:
        context = {}
    context = context if isinstance(context, dict) else {}
    version = os.environ.get(f"{PREFIX}PROTOCOL_VERSION", "")
    spec = stdio_spec(argv, context) if argv else http_spec(str(url), context, version)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        portal = stack.enter_context(start_blocking_portal(name="mcp-loop"))
        run = Run(spec, scenario, context, folder, portal)
        stack.callback(run.close)
        try:
            run.play()
        except LoupeError as problem:
            warn(printable(f"{scenario}: {problem.message}. {problem.remedy}"))
            return problem.exit_code
    return 0
