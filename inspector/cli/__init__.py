"""The command line: parse, call, print. Each command's heavy imports happen when it runs, not before."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from inspector import __version__
from inspector.cli.terminal import print_document, printable, warn
from inspector.errors import LoupeError

COMMANDS = {
    "serve": ("inspector.cli.serve", "serve"),
    "url": ("inspector.cli.serve", "url"),
    "list": ("inspector.cli.listing", "list_"),
    "call": ("inspector.cli.call", "call"),
    "compare": ("inspector.cli.compare", "compare_"),
    "lock": ("inspector.cli.lock", "lock"),
    "check": ("inspector.cli.lock", "check_"),
    "simulate": ("inspector.cli.simulate", "simulate"),
    "evaluate": ("inspector.cli.evaluate", "evaluate_"),
    "trace": ("inspector.cli.trace", "trace"),
    "tap": ("inspector.cli.tap", "tap"),
    "doctor": ("inspector.cli.doctor", "doctor"),
    "demo": ("inspector.cli.demo", "demo"),
}


class LazyGroup(click.Group):
    """Loads a command's module when it is named; without a command name, `serve` is meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name]
        command = getattr(__import__(module, fromlist=[name]), name)
        assert isinstance(command, click.Command)
        return command

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
        warn(f"  stderr: {printable(line)}")
    fail(problem.layer, problem.message, problem.remedy, problem.exit_code, problem.as_json())


def fail(
    layer: str, message: str, remedy: str, code: int, document: dict[str, Any] | None = None
) -> NoReturn:
    """One sentence on stderr; with --json also one document on stdout."""
    warn(" ".join(sentence(printable(text)) for text in (message, remedy) if text))
    if "--json" in _before_dashes(sys.argv):
        print_document({"error": document or {"layer": layer, "message": message, "remedy": remedy}})
    sys.stdout.flush()
    sys.exit(code)


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def _before_dashes(argv: list[str]) -> list[str]:
    return argv[: argv.index("--")] if "--" in argv else argv
