"""The command line: parse, call, print. Each command's heavy imports happen when it runs, not before."""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, NoReturn

import click

from inspector import __version__
from inspector.cli.terminal import MOST_SAID, briefly, print_document, warn
from inspector.errors import LoupeError

COMMANDS = {
    "serve": ("inspector.cli.serve", "serve", "Start the console (the default command)."),
    "url": ("inspector.cli.serve", "url", "Print a fresh login link of the running console."),
    "list": ("inspector.cli.listing", "list_", "List and measure a server's catalog."),
    "call": (
        "inspector.cli.call",
        "call",
        "Call one tool, get a prompt, read a resource, or send any method.",
    ),
    "compare": (
        "inspector.cli.compare",
        "compare_",
        "Compare catalogs with the first one: servers, list lines, locks, traces.",
    ),
    "lock": (
        "inspector.cli.lock",
        "lock",
        "Pin a catalog in a file: canonical definitions, hashes, totals, hints.",
    ),
    "check": (
        "inspector.cli.lock",
        "check_",
        "Check a catalog against its lock: drift and budgets. Exit 1 when something does not hold.",
    ),
    "simulate": (
        "inspector.cli.simulate",
        "simulate",
        "Run the discovery lab on a task: what each strategy shows, costs and saves.",
    ),
    "evaluate": (
        "inspector.cli.evaluate",
        "evaluate_",
        "Measure retrieval: recall, rank, misses, wrong picks, time and tokens.",
    ),
    "code": (
        "inspector.cli.code",
        "code",
        "Run a script in a sandbox; the tools of the servers are its functions.",
    ),
    "trace": ("inspector.cli.trace", "trace", "Work on trace files (docs/trace-format.md)."),
    "tap": (
        "inspector.cli.tap",
        "tap",
        "Sit between a client and a server and record. Give --url and --listen, or -- CMD ARG…",
    ),
    "doctor": ("inspector.cli.doctor", "doctor", "Connect step by step and say what is wrong."),
    "conformance": (
        "inspector.cli.conformance",
        "conformance",
        "Be the client of a conformance scenario; --stdio judges another client.",
    ),
    "demo": (
        "inspector.cli.demo",
        "demo",
        "Run a demo MCP server: flat, progressive, cache-hints, logs, tracker or chaos.",
    ),
}


OBJECTS = 200_000
"""Made before the garbage collector looks: imports make as many and no garbage, and looking took a sixth of a start."""


class LazyGroup(click.Group):
    """Loads a command's module when it is named; without a command name, `serve` is meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name, _help = COMMANDS[cmd_name]
        command = getattr(__import__(module, fromlist=[name]), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table: `--help` would otherwise import every command and what it needs."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_module, _name, words) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mcp-loupe")
def app() -> None:
    """Loupe: see what an MCP server really sends."""


def main() -> NoReturn:
    """Run the command line; every error is one sentence and an exit code (docs/cli.md)."""
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])
    try:
        code = app.main(standalone_mode=False, prog_name="mcp-loupe")
        sys.stdout.flush()
    except click.ClickException as problem:
        fail("usage", problem.format_message(), _usage_remedy(problem), 2)
    except (click.Abort, KeyboardInterrupt):
        fail("cancelled", "Interrupted", "", 130)
    except LoupeError as problem:
        fail_with(problem)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as problem:
        if os.environ.get("MCP_LOUPE_DEBUG"):
            raise
        text = f"Loupe itself failed: {type(problem).__name__}: {problem}"
        fail("console", text, "Set MCP_LOUPE_DEBUG=1 for the stack trace, and please report it", 70)
    sys.exit(code if isinstance(code, int) else 0)


def _usage_remedy(problem: click.ClickException) -> str:
    context = getattr(problem, "ctx", None)
    return f"See {context.command_path} --help" if context is not None else "See mcp-loupe --help"


def fail_with(problem: LoupeError) -> NoReturn:
    """Leave with one of our errors, its evidence (last stderr lines) first."""
    for line in problem.facts.get("stderr") or []:
        warn(f"  stderr: {briefly(line, MOST_SAID)}")
    fail(problem.layer, problem.message, problem.remedy, problem.exit_code, problem.as_json())


def fail(
    layer: str, message: str, remedy: str, code: int, document: dict[str, Any] | None = None
) -> NoReturn:
    """One sentence on stderr; with --json also one document on stdout."""
    warn(" ".join(sentence(briefly(text, MOST_SAID)) for text in (message, remedy) if text))
    if "--json" in _before_dashes(sys.argv):
        print_document({"error": document or {"layer": layer, "message": message, "remedy": remedy}})
    sys.stdout.flush()
    sys.exit(code)


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def _before_dashes(argv: list[str]) -> list[str]:
    return argv[: argv.index("--")] if "--" in argv else argv
