"""`mcp-loupe serve` and `mcp-loupe url`: the browser console, and a fresh way into it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import threading
import webbrowser
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from inspector.cli.options import TargetCommand, spec_of, target_options
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.errors import LoupeError, UsageError
from inspector.settings.files import append_private
from inspector.settings.paths import Paths, living_consoles, remove_console, write_console
from inspector.settings.spec import ServerSpec
from inspector.settings.targets import same_server

if TYPE_CHECKING:
    from inspector.console.console import Console
    from inspector.console.streaming import Otlp

DEFAULT_PORT = 6280


@click.command("serve", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET]…")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=None, help=f"Port ({DEFAULT_PORT}, else a free one)."
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--allow-origin", multiple=True, metavar="ORIGIN", help="Where people open a non-loopback console."
)
@click.option(
    "--otlp",
    metavar="ENDPOINT",
    help="Stream everything recorded to this OpenTelemetry collector (OTLP/HTTP).",
)
@click.option("--otlp-contents", is_flag=True, help="With --otlp: arguments and results of tool calls too.")
@click.option(
    "--otlp-spans-only", is_flag=True, help="With --otlp: no log records, for a collector that takes none."
)
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@target_options
def serve(
    words: tuple[str, ...],
    port: int | None,
    host: str,
    allow_origin: tuple[str, ...],
    no_open: bool,
    otlp: str | None,
    otlp_contents: bool,
    otlp_spans_only: bool,
    **options: Any,
) -> None:
    """Start the console (the default command)."""
    from inspector.console.console import Console
    from inspector.web.app import WebServer, create_app, listen
    from inspector.web.guard import Guard

    specs = targets(words, options)
    redact = not options["no_redact"]
    streaming = streaming_to(otlp, contents=otlp_contents, spans_only=otlp_spans_only, redact=redact)
    paths = Paths.locate(options["data_dir"]).ensure()
    listening = listen_somewhere(listen, host, port)
    actual = listening.getsockname()[1]
    guard = Guard(actual, host, allow_origin)
    log_file = paths.data / "loupe.log"
    log_to(log_file)
    with Console(paths, otlp=streaming) as console:
        server = WebServer(create_app(console, guard, log_file=log_file), listening)
        write_console(paths, f"http://{reached_at(host)}:{actual}/", actual, guard.admin_secret)
        try:
            keys = add_all(console, specs)
            announce(guard.login_url(), as_json=options["as_json"], browser=not no_open)
            connect_all(console, keys)
            stop_on_signals(server.stop)
            server.run()
        finally:
            remove_console(paths, actual)


def streaming_to(endpoint: str | None, *, contents: bool, spans_only: bool, redact: bool) -> Otlp | None:
    """What --otlp and its companions ask for; UsageError when that cannot be."""
    from inspector.console.streaming import otlp_to

    if endpoint is not None:
        return otlp_to(endpoint, redact=redact, contents=contents, logs=not spans_only)
    if contents or spans_only:
        given = "--otlp-contents" if contents else "--otlp-spans-only"
        raise UsageError(f"{given} belongs to --otlp", "Give --otlp ENDPOINT too")
    return None


def log_to(file: Path) -> None:
    """Warnings and errors into a file only its owner can read: they may quote what servers and people sent."""
    stream = os.fdopen(append_private(file), "a", encoding="utf-8", errors="backslashreplace")
    logging.basicConfig(stream=stream, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def targets(words: tuple[str, ...], options: dict[str, Any]) -> list[ServerSpec]:
    """Every TARGET on the line, and the command after `--`."""
    found = []
    context = click.get_current_context()
    argv = context.meta.pop("argv", None)
    for word in words:
        found.append(spec_of((word,), options))
    if argv is not None:
        context.meta["argv"] = argv
        found.append(spec_of((), options))
    return found


def listen_somewhere(listen: Any, host: str, port: int | None) -> Any:
    """The port asked for; without one the default, or a free one when another console has it."""
    if port is not None:
        return listen(host, port)
    try:
        return listen(host, DEFAULT_PORT)
    except UsageError as problem:
        free = listen(host, 0)
        warn(f"{problem.message} Port {free.getsockname()[1]} was free.")
        return free


def reached_at(host: str) -> str:
    """Where a program of this machine reaches what listens on `host`: every address is also a loopback one."""
    every = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    return f"[{every}]" if ":" in every else every


def add_all(console: Console, specs: list[ServerSpec]) -> list[str]:
    """Put the targets into the server list, unless the very same is there; returns their keys."""
    known = console.servers_file.all()
    keys = []
    for spec in specs:
        same = same_server(spec, known)
        if same is None:
            keys.append(console.servers_file.add(spec))
        else:
            console.servers_file.replace(same, spec)
            keys.append(same)
    return keys


def connect_all(console: Console, keys: list[str]) -> None:
    """Connect in the background; a failure is on the server's page, so the console starts all the same."""

    def connect(key: str) -> None:
        try:
            console.connect(key)
        except LoupeError as problem:
            warn(f"{key}: {printable(problem.message)}")

    for key in keys:
        threading.Thread(target=connect, args=(key,), name=f"connect {key}", daemon=True).start()


def announce(url: str, *, as_json: bool, browser: bool) -> None:
    if as_json:
        print_document({"url": url, "pid": os.getpid()})
    else:
        say(f"Loupe is at {url}")
        warn(f"The link works once; {own_command()} url prints another. Stop with Ctrl-C.")
    if browser and sys.stdout.isatty():
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def own_command() -> str:
    """How to run this program again from where the person is."""
    if shutil.which("mcp-loupe"):
        return "mcp-loupe"
    beside = Path(sys.executable).with_name("mcp-loupe")
    if not beside.exists():
        return f"{sys.executable} -m inspector"
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else str(beside)


def stop_on_signals(stop: Any) -> None:
    def handle(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=stop, name="stop").start()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)


@click.command("url")
@click.option("--port", type=int, default=None, help="Which console, when several run.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where Loupe keeps its files.")
def url(port: int | None, as_json: bool, data_dir: Path | None) -> None:
    """Print a fresh login link of the running console."""
    running = living_consoles(Paths.locate(data_dir))
    wanted = [one for one in running if port in (None, one.port)]
    if not wanted:
        where = f" on port {port}" if port is not None else ""
        raise UsageError(f"No console is running{where}", "Start one with: mcp-loupe")
    if len(wanted) > 1:
        ports = ", ".join(str(one.port) for one in wanted)
        raise UsageError(f"Several consoles are running, on ports {ports}", "Choose one with --port")
    link = ask_for_link(wanted[0].url, wanted[0].admin_secret)
    if as_json:
        print_document({"schema": "mcp-loupe/url/1", "url": link})
    else:
        say(link)


def ask_for_link(base: str, secret: str) -> str:
    """Ask the running console for a one-time link, with the secret only its own user can read."""
    parts = urlsplit(base)
    connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=10)
    try:
        connection.request(
            "POST", "/_link", headers={"Authorization": f"Bearer {secret}", "Content-Length": "0"}
        )
        answer = connection.getresponse()
        found = json.loads(answer.read())["url"]
        assert isinstance(found, str)
        return found
    except (OSError, HTTPException, ValueError, KeyError):
        raise UsageError(f"The console at {base} does not answer", "Stop it and start it again") from None
    finally:
        connection.close()
