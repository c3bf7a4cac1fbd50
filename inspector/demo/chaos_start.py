"""Faults before the first call: start, handshake and listing; run on the server's thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from inspector.demo.chaos_faults import DISCOVER, HANDSHAKE, INITIALIZE, LIST, START, Ask, Out, dumps, fault
from inspector.demo.chaos_process import BANNER
from inspector.demo.chaos_stdio import Pipe

WRONG_HEADERS = {"type": "object", "properties": {"ratio": {"type": "number", "x-mcp-header": "Bad Name"}}}


@fault("stdio", "A1, A2, A5", "Three noise lines counted, the session fine, the cause named.", on=START)
def banner(ask: Ask, out: Pipe) -> None:
    """Prints an npm and a dotenv banner on stdout before anything is asked."""
    out.write(BANNER)


@fault("stdio", "A2", "Three noise lines; the capabilities of the answer between them.", on=HANDSHAKE)
def info_lines(ask: Ask, out: Pipe) -> None:
    """Answers the handshake between INFO lines on stdout."""
    out.write(b"INFO starting\n" + ask.answer() + b"\nINFO ready\nINFO 3 tools\n")


@fault("stdio", "A1, A9", "The usage text as noise; exit code 0; not connected.", on=START)
def usage_on_stdout(ask: Ask, out: Pipe) -> None:
    """Prints a usage text on stdout and exits with code 0, as a wrong subcommand does."""
    out.write(b"usage: server [-h] {serve,version}\n\noptions:\n  -h  show this help\n")
    os._exit(0)


@fault(
    "stdio", "A9", "The exit code, five stderr lines, the argv; origin: local.", on=START, takes=("code", 1)
)
def exit_at_start(ask: Ask, out: Pipe) -> None:
    """Writes five stderr lines and exits with `code`; stdout stays empty."""
    out.write(b"".join(b"fatal %d: no API key\n" % n for n in range(1, 6)), fd=2)
    os._exit(ask.arg)


@fault("stdio", "B2, SDK 1", "No era within the time-out, named as ours.", on=START)
def mute(ask: Ask, out: Pipe) -> None:
    """Reads everything and answers nothing until stdin's EOF."""
    while sys.stdin.buffer.read(65_536):
        pass
    os._exit(0)


@fault("stdio", "B1", "The wait before the first answer.", on=START, takes=("seconds", 2.0))
def slow_start(ask: Ask, out: Pipe) -> None:
    """Sleeps for `seconds` before reading."""
    time.sleep(ask.arg)


@fault("stdio", "A14, SDK 3", "Each step of the shutdown ladder up to SIGKILL; no orphan.", on=START)
def ignore_eof(ask: Ask, out: Pipe) -> None:
    """Ignores SIGTERM and stays after stdin's EOF."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    out.state.linger = True


@fault("stdio", "A14, SDK 2", "The exit noticed though stdout stays open; the whole tree ended.", on=START)
def orphan(ask: Ask, out: Pipe) -> None:
    """Starts a grandchild (`sleep 600`) that holds stdout open and ignores SIGTERM; prints its pid on stderr."""
    # An ignored signal stays ignored across exec, so there is no moment at which SIGTERM would end it.
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, before)
    out.write(b"grandchild %d\n" % child.pid, fd=2)


@fault("stdio", "A7", "The end of it, drops marked; the handshake fine.", on=START, takes=("bytes", 262_144))
def stderr_at_start(ask: Ask, out: Pipe) -> None:
    """Writes `bytes` bytes to stderr, no newline among them, before reading."""
    out.write(b"e" * ask.arg, fd=2)


@fault("stdio", "A7", "The stderr lines; the fallback to the handshake.", on=DISCOVER, takes=("bytes", 6187))
def stderr_on_probe(ask: Ask, out: Pipe) -> None:
    """Writes `bytes` bytes to stderr on `server/discover`, then refuses it."""
    out.write(b"e" * (ask.arg - 1) + b"\n", fd=2)
    out.frame(ask.error(-32602, "Invalid request parameters"))


@fault("stdio", "A9, A10", "The exit during the probe; a fresh process for the handshake.", on=DISCOVER)
def exit_on_probe(ask: Ask, out: Pipe) -> None:
    """Exits with code 1 on `server/discover`."""
    os._exit(1)


@fault("both", "SDK 1", "The probe's wait, then the handshake; both in the transcript.", on=DISCOVER)
def mute_on_probe(ask: Ask, out: Out) -> None:
    """Never answers `server/discover`; the rest works."""


@fault("both", "SDK 1", "The handshake era, and what the probe answered.", on=START)
def handshake_only(ask: Ask, out: Out) -> None:
    """Knows `initialize` only; `server/discover` is an unknown method."""
    out.state.eras = {"handshake"}


@fault("both", "SDK 1", "The modern era; on a forced handshake the versions the server named.", on=START)
def modern_only(ask: Ask, out: Out) -> None:
    """Refuses `initialize` with -32022 and requests without `_meta` with -32602."""
    out.state.eras = {"modern"}


@fault("stdio", "SDK 4", "The refusal, and that the first request fixed the era.", on=START)
def era_lock(ask: Ask, out: Pipe) -> None:
    """Speaks the era of its first request only; the other gets -32022."""
    out.state.era_lock = True


@fault("both", "SDK 2", "The refusal with its id; the setting that changes our ids.", on=START)
def integer_ids_only(ask: Ask, out: Out) -> None:
    """Refuses requests whose id is a string."""
    out.state.integer_ids_only = True


@fault("both", "SDK 1", "The version offered and the one answered, and that they share none.", on=INITIALIZE)
def unknown_version(ask: Ask, out: Out) -> None:
    """Answers `initialize` with the version 1999-12-31."""
    out.frame(ask.result(protocolVersion="1999-12-31"))


@fault("both", "SDK 1", "Both lists of versions; no blind fallback.", on=DISCOVER)
def other_modern_version(ask: Ask, out: Out) -> None:
    """Answers `server/discover` with -32022, naming a version of the future."""
    versions = {"supported": ["2099-01-01"], "requested": "2026-07-28"}
    out.frame(ask.error(-32022, "Unsupported protocol version", data=versions), 400)


@fault("both", "A2", "What is missing by name; never an empty capability list made up.", on=HANDSHAKE)
def empty_handshake(ask: Ask, out: Out) -> None:
    """Answers the handshake with an empty result."""
    out.frame(ask.answer(result={}))


@fault("both", "C3", "The refusal, its code and text; the first error, not a fallback's.", on=HANDSHAKE)
def refuse_handshake(ask: Ask, out: Out) -> None:
    """Answers the handshake with error -32603."""
    out.frame(ask.error(-32603, "Chaos will not be initialized"))


@fault("both", "E3", "The size first; a list that scrolls.", on=LIST, takes=("tools", 10_000))
def huge_list(ask: Ask, out: Out) -> None:
    """Lists `tools` tools on one page."""
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "description": "Which one to read."}},
    }
    describe = "Reads record {0} of the chaos archive and returns it as text."
    out.frame(
        ask.result(
            tools=[
                {"name": f"read_{n:06d}", "description": describe.format(n), "inputSchema": schema}
                for n in range(ask.arg)
            ]
        )
    )


def _page(ask: Ask, number: int, cursor: str | None) -> bytes:
    tools = [{"name": f"page_{number}", "inputSchema": {"type": "object"}}]
    return ask.result(tools=tools, **({} if cursor is None else {"nextCursor": cursor}))


@fault("both", "E1", "The repeated cursor, and that listing stopped there.", on=LIST)
def cursor_repeats(ask: Ask, out: Out) -> None:
    """Gives the same next cursor on every page."""
    out.frame(_page(ask, 1, "again"))


@fault("both", "E1", "The page cap, and that the list is longer than what was read.", on=LIST)
def cursor_endless(ask: Ask, out: Out) -> None:
    """Gives a new next cursor on every page, for ever."""
    given = str(ask.params.get("cursor"))
    number = int(given) + 1 if given.isdecimal() else 1
    out.frame(_page(ask, number, str(number)))


@fault("both", "E1, E2", "Both pages: an empty string is a cursor.", on=LIST)
def cursor_empty(ask: Ask, out: Out) -> None:
    """Gives the empty string as the next cursor; the page behind it is the last."""
    out.frame(_page(ask, 2, None) if ask.params.get("cursor") == "" else _page(ask, 1, ""))


@fault("both", "E1", "The first page as read, the second as failed.", on=LIST)
def cursor_refused(ask: Ask, out: Out) -> None:
    """Gives a next cursor and refuses it with -32602."""
    out.frame(ask.error(-32602, "Invalid cursor") if "cursor" in ask.params else _page(ask, 1, "stale"))


@fault("both", "E9, SDK 5", "Hints absent, not zero and private.", on=LIST)
def no_hints(ask: Ask, out: Out) -> None:
    """Lists without `ttlMs` and `cacheScope`."""
    kept = {name: value for name, value in ask.right.items() if name not in ("ttlMs", "cacheScope")}
    out.frame(ask.answer(result=kept))


@fault("both", "E9, SDK 2", "-5 as sent, 0 as used, and that it breaks the rule.", on=LIST, takes=("ttl", -5))
def odd_ttl(ask: Ask, out: Out) -> None:
    """Lists with the `ttlMs` asked for and a `cacheScope` of "shared", in either era."""
    out.frame(ask.result(ttlMs=ask.arg, cacheScope="shared"))


@fault("both", "E7, SDK 2", "All four tools, each with what is wrong.", on=LIST)
def broken_tools(ask: Ask, out: Out) -> None:
    """Lists a tool with a null schema, one without a name, one with a bad x-mcp-header, and a number."""
    tools = [{"name": "null_schema", "inputSchema": None}, {"inputSchema": {"type": "object"}}]
    out.frame(ask.result(tools=[*tools, {"name": "bad_header", "inputSchema": WRONG_HEADERS}, 42]))


@fault("both", "E7", "The raw answer, and that tools is not a list.", on=LIST)
def tools_not_a_list(ask: Ask, out: Out) -> None:
    """Lists tools as an object keyed by name."""
    out.frame(ask.result(tools={"echo": {"inputSchema": {"type": "object"}}}))


@fault("stdio", "E5", "A second listing, caused by the server.", on="notifications/initialized")
def eager_list_changed(ask: Ask, out: Pipe) -> None:
    """Sends `notifications/tools/list_changed` as soon as the client says it is initialized."""
    out.frame(dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
