"""What the commands share: the target, how to reach it, where to record. Parsing only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from inspector.cli.doing import doing
from inspector.cli.terminal import printable, warn
from inspector.errors import UsageError
from inspector.settings.commands import command_name
from inspector.settings.paths import Paths
from inspector.settings.servers import ServerList
from inspector.settings.spec import DECLARABLE, ERAS, STDIO, ServerSpec, Timeouts
from inspector.settings.targets import FileTarget, target
from inspector.settings.variables import require_resolved
from inspector.wire.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])


class TargetCommand(click.Command):
    """Everything after `--` is the server's argv, untouched."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta["argv"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- CMD ARG…]"]


def target_options(command: F) -> F:
    """The options of every command that reaches a server."""
    for option in reversed(
        [
            click.option(
                "--era", type=click.Choice(ERAS), default=None, help="Which era to speak; auto probes."
            ),
            click.option("--env", multiple=True, metavar="K=V", help="Environment of the server process."),
            click.option("--cwd", metavar="DIR", help="Working folder of the server process."),
            click.option("--header", multiple=True, metavar="K:V", help="HTTP header to send."),
            click.option("--timeout", type=float, metavar="S", help="Seconds to wait for one answer (60)."),
            click.option(
                "--declare",
                metavar="A,B",
                help=f"Client capabilities to declare: {', '.join(DECLARABLE)}.",
            ),
            click.option(
                "--config", multiple=True, type=click.Path(path_type=Path), help="Look names up in this file."
            ),
            click.option(
                "--record", type=click.Path(path_type=Path), help="Write the trace as it happens, redacted."
            ),
            click.option(
                "--sign-in", is_flag=True, help="When the server wants a token, get one in a browser."
            ),
            click.option("--no-redact", is_flag=True, help="Record secrets as they are."),
            click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
            click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files."),
        ]
    ):
        command = option(command)
    return command


def spec_of(words: tuple[str, ...], options: dict[str, Any], *, configured: bool = True) -> ServerSpec:
    """The one server the command line names; raises UsageError when it names none, two, or a file."""
    argv = click.get_current_context().meta.get("argv")
    if argv is not None:
        if words:
            raise UsageError(f"Both {words[0]} and a command after -- were given", "Give one target")
        if not argv:
            raise UsageError("There is no command after --", "Write the server's command there")
        spec = ServerSpec(command_name(argv), argv=argv, source="command line")
    elif len(words) == 1:
        paths = Paths.locate(options["data_dir"])
        known = ServerList(paths.servers).all() if configured and paths.servers.exists() else {}
        found = target(words[0], configs=options["config"], configured=known)
        if isinstance(found, FileTarget):
            raise UsageError(
                f"{words[0]} is a file; this command needs a server", "Give a URL, -- CMD or a name"
            )
        spec = found
    elif not words:
        raise UsageError(
            "Which server?", "Give a URL, -- CMD ARG…, cmd:'…', demo:flat, or a name from a config file"
        )
    else:
        raise UsageError(f"Two targets were given: {words[0]} and {words[1]}", "Give one")
    spec = with_options(spec, options)
    require_resolved(spec)
    return spec


def with_options(spec: ServerSpec, options: dict[str, Any]) -> ServerSpec:
    """The spec as the common options change it."""
    env = dict(_pair(text, "=", "--env") for text in options["env"])
    headers = dict(_pair(text, ":", "--header") for text in options["header"])
    if spec.transport == STDIO and headers:
        raise UsageError("--header is for HTTP targets", "Leave it out, or give a URL")
    changes: dict[str, Any] = {"env": {**spec.env, **env}, "headers": {**spec.headers, **headers}}
    if options["era"] is not None:
        changes["era"] = options["era"]
    if options["cwd"] is not None:
        changes["cwd"] = options["cwd"]
    if options["timeout"] is not None:
        if options["timeout"] <= 0:
            raise UsageError("--timeout must be more than 0 seconds", "Give for example --timeout 30")
        wait = options["timeout"]
        changes["timeouts"] = Timeouts(min(wait, 10.0), max(wait, spec.timeouts.connect), wait)
    if options["declare"] is not None:
        changes["declare"] = _capabilities(options["declare"])
    return replace(spec, **changes)


def _pair(text: str, separator: str, option: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        raise UsageError(f"{option} wants NAME{separator}VALUE", f"Write {option} NAME{separator}VALUE")
    return name.strip(), value.strip() if separator == ":" else value


def _capabilities(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in DECLARABLE:
            raise UsageError(f"{name} is no client capability", f"Choose among {', '.join(DECLARABLE)}")
    return names


@contextmanager
def connected(
    spec: ServerSpec, options: dict[str, Any], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[Connection]:
    """An open connection of its own, recorded into --record when given, closed (process and all) at the end.

    meanwhile: imports and tables the command will need, got ready while the server starts.
    """
    from inspector.console.direct import direct

    record: Path | None = options["record"]
    paths = Paths.locate(options["data_dir"])
    show = show_address if options["sign_in"] else None
    redact = not options["no_redact"]
    opened = direct(spec, paths, record=record, redact=redact, sign_in=show, say=_tell, meanwhile=meanwhile)
    with ExitStack() as stack:
        with doing(f"connecting to {printable(spec.name)}"):
            connection = stack.enter_context(opened)
        yield connection


def _tell(text: str) -> None:
    warn(printable(text))


def show_address(address: str) -> None:
    """Where to sign in, on stderr; a browser is opened when a person sits at the terminal."""
    warn(f"Sign in at {printable(address)}")
    if os.isatty(0) and os.isatty(2):
        import webbrowser

        webbrowser.open(address)


def colours() -> bool:
    """Whether to colour human output."""
    return os.environ.get("NO_COLOR") is None and os.isatty(1)
