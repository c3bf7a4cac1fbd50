"""The doctor's steps for a server that is a command: found, spawned, spoke, and how it ended. Main thread."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.doctor.step import Seen, Step, quoted
from inspector.errors import SpawnFailed
from inspector.protocol.stderr_hints import remedy_for
from inspector.settings.child import child_environment, resolve_command
from inspector.settings.spec import ServerSpec

FIRST_ANSWER_SLOW_MS = 5000
PIPE_BYTES = 4096
"""What a pipe holds on Windows: a client that does not read stderr would hang here (field report A7)."""


def command(spec: ServerSpec) -> Step:
    """Whether the program exists and may run."""
    try:
        program = resolve_command(spec.argv, child_environment(spec), spec.cwd)
    except SpawnFailed as problem:
        facts = {name: value for name, value in problem.facts.items() if name in ("searched", "cwd")}
        return Step("command", False, problem.message, problem.remedy, facts)
    found = "is there" if spec.argv[0] == str(program) else f"is {program}"
    return Step("command", True, f"{spec.argv[0]} {found}.")


def spawned(seen: Seen) -> Iterator[Step]:
    """The processes that were started, and one that ended before anybody asked it to."""
    for event in [*seen.of("proc", what="spawned"), *seen.of("proc", what="restarted")]:
        word = "again, in the handshake era" if event.body["what"] == "restarted" else ""
        yield Step("spawned", True, f"Started {word} as pid {event.body['pid']}.".replace("  ", " "))
    for event in [one for one in seen.of("proc", what="exited") if not one.body.get("expected")][-1:]:
        how = f"code {event.body['code']}" if "code" in event.body else f"signal {event.body.get('signal')}"
        stderr = [(one.raw or b"").decode("utf-8", "replace") for one in seen.of("stderr")]
        otherwise = "Run the command in a terminal to see why."
        text = f"It ended by itself with {how}; stderr: {quoted(stderr[-1:]) or 'nothing'}."
        yield Step("alive", False, text, remedy_for(stderr, otherwise), {"stderr": stderr[-20:]})


def spoke(seen: Seen) -> Iterator[Step]:
    """Whether and when the first frame came."""
    first = next((e for e in seen.events if e.t == "rpc" and e.dir == "s2c"), None)
    started = next(iter(seen.of("proc", what="spawned")), None)
    if first is not None and started is not None:
        ms = (first.dt_us - started.dt_us) / 1000
        slow = ms > FIRST_ANSWER_SLOW_MS
        remedy = (
            "Clients with short time-outs give up before that: do the slow work after the handshake."
            if slow
            else ""
        )
        yield Step("spoke", None if slow else True, f"Its first frame came after {ms:,.0f} ms.", remedy)
    elif started is not None:
        yield Step(
            "spoke",
            False,
            "No frame came from it.",
            "An MCP server answers on stdout, one JSON line a message.",
        )


def stdout(seen: Seen) -> Step:
    """Everything that came on stdout and is no frame."""
    noise = seen.of("noise")
    if not noise:
        return Step("stdout clean", True, "Nothing but frames came on stdout.")
    lines = seen.text_of("noise", 20)
    text = f"{len(noise)} line(s) on stdout are no frames: {quoted(lines, len(noise))}."
    otherwise = "Print to stderr: stdout belongs to the protocol, and some clients break on it."
    return Step("stdout clean", None, text, remedy_for(lines, otherwise), {"noise": lines})


def probe_noise(seen: Seen) -> Iterator[Step]:
    """What the probe alone made it print on stderr: some SDKs log a whole validation report."""
    probe = next(
        (e for e in seen.events if e.t == "rpc" and e.method == "server/discover" and e.kind == "request"),
        None,
    )
    after = next(
        (e for e in seen.events if e.t == "rpc" and e.method == "initialize" and e.kind == "request"), None
    )
    if probe is None or after is None:
        return
    meanwhile = [event for event in seen.of("stderr") if probe.seq < event.seq < after.seq]
    size = sum(len(event.raw or b"") for event in meanwhile)
    if size > PIPE_BYTES:
        text = f"Asked server/discover, it wrote {size:,} bytes ({len(meanwhile)} lines) to stderr."
        yield Step(
            "probe", None, text, "Harmless; unknown methods deserve one line. A newer SDK may be quieter."
        )


def shutdown(seen: Seen) -> Iterator[Step]:
    """What it took to end it: stdin's EOF, SIGTERM, SIGKILL; its exit code; children left behind."""
    closed = seen.of("proc", what="stdin-closed")
    ended = [event for event in seen.of("proc", what="exited") if event.body.get("expected")]
    if not closed:
        return
    steps = [event.body["what"] for event in seen.of("proc") if event.body["what"] in ("term", "kill")]
    if "kill" in steps and not seen.of("error", **{"class": "left-children"}):
        text = "It ended only on SIGKILL: it ignores stdin's EOF and SIGTERM."
        yield Step(
            "shutdown",
            False,
            text,
            "Exit when stdin closes; clients leave such servers running by the dozen.",
        )
    elif "term" in steps:
        text = "It ended only on SIGTERM: it ignores stdin's EOF."
        yield Step(
            "shutdown", None, text, "Exit when stdin closes: a client that is killed cannot send SIGTERM."
        )
    elif ended:
        ms = (ended[-1].dt_us - closed[-1].dt_us) / 1000
        code = ended[-1].body.get("code")
        how = f"code {code}" if code is not None else f"signal {ended[-1].body.get('signal')}"
        odd = code != 0
        remedy = "Exit with 0 after a clean EOF: supervisors take anything else for a crash." if odd else ""
        yield Step("shutdown", None if odd else True, f"It ended on EOF within {ms:,.0f} ms, {how}.", remedy)
    if seen.of("error", **{"class": "left-children"}):
        text = "It left child processes running; the doctor ended them."
        yield Step("children", False, text, "End your children when stdin closes.")
