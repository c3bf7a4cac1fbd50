"""`mcp-loupe call`: one tool, prompt, resource or method asked, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from inspector.cli import sentence
from inspector.cli.answering import Answerer
from inspector.cli.listening import listened, with_extras
from inspector.cli.options import TargetCommand, connected, spec_of, target_options
from inspector.cli.raw import send_raw_frame
from inspector.cli.terminal import MOST_SAID, briefly, print_document, printable, say, warn
from inspector.console import outcome
from inspector.console.calls import call_headers, judged, read_arguments
from inspector.console.checking import CHECK_S, Checker
from inspector.console.invoking import METHOD, PROMPTS, RESOURCES, TEMPLATES, TOOLS, request_of
from inspector.console.outcome import Outcome
from inspector.console.rounds import MOST_ROUNDS, converse
from inspector.console.tasks import TTL_MS, State, brought_by, follow, support_of
from inspector.console.worker import Worker
from inspector.errors import LoupeError, UsageError
from inspector.protocol.eras import HANDSHAKE
from inspector.wire.connection import GRACE_S, Connection
from inspector.wire.dispatcher import Reply
from inspector.wire.extras import LEVELS
from inspector.wire.listing import walk_whole

KINDS = {"tool": TOOLS, "prompt": PROMPTS, "resource": RESOURCES, "template": TEMPLATES, "method": METHOD}


@click.command("call", cls=TargetCommand)
@click.argument("words", nargs=-1, metavar="[TARGET] NAME")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="The arguments, a JSON object.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(list(KINDS)),
    default="tool",
    help="What NAME is: a tool, a prompt, a resource's URI, a URI template, or any method (--args are its params).",
)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="JSON|WORD",
    help="Answers the server's next question: content as JSON, a text for sampling, accept, decline or cancel.",
)
@click.option("--raw", metavar="FRAME", help="Send these bytes as they are, instead of asking for NAME.")
@click.option(
    "--wait", type=float, default=3.0, metavar="S", help="With --raw: seconds to collect answers (3)."
)
@click.option(
    "--scratch", is_flag=True, help="With --raw: send nothing before it, no handshake and no probe."
)
@click.option("--log-level", type=click.Choice(LEVELS), help="Ask for log messages from this level on.")
@click.option(
    "--task", is_flag=True, help="Ask the server to make it a task, and poll it to its end (handshake)."
)
@click.option("--trace-context", is_flag=True, help="Send a W3C traceparent in _meta of each request.")
@click.option(
    "--listen", type=float, metavar="S", help="Afterwards, tell S seconds what the server announces."
)
@target_options
def call(words: tuple[str, ...], arguments: str, kind: str, answers: tuple[str, ...], **options: Any) -> int:
    """Call one tool, get a prompt, read a resource, or send any method."""
    if options["raw"] is not None:
        return send_raw_frame(
            spec_of(words, options), options["raw"], options["wait"], options["scratch"], options
        )
    if not words:
        raise UsageError("Which tool?", "Write: mcp-loupe call TARGET TOOL --args '{…}'")
    if len(words) == 1 and "argv" not in click.get_current_context().meta:
        raise UsageError(
            f"Only “{words[0]}” was given; a call needs a server and a tool",
            "Write: mcp-loupe call TARGET TOOL --args '{…}', or call TOOL -- CMD…",
        )
    text = read_arguments(arguments)
    what = KINDS[kind]
    request_of(what, words[-1], text)
    if answers and options["declare"] is None:
        options["declare"] = "roots,sampling,elicitation,elicitation.url"
    spec = spec_of(words[:-1], options)
    answerer = Answerer(answers)
    heard: list[dict[str, Any]] = []
    with connected(spec, options) as connection:
        with_extras(connection, options["log_level"], options["trace_context"])
        found = run(connection, words[-1], text, options["timeout"], what, answerer, options["task"])
        if options["listen"] is not None:
            heard = listened(connection, options["listen"], [words[-1]] if what == RESOURCES else [])
    if options["as_json"]:
        print_document(document_of(found) | ({"heard": heard} if options["listen"] is not None else {}))
    else:
        show(found)
    return found.exit_code


def run(
    connection: Connection,
    name: str,
    arguments: str,
    timeout: float | None,
    what: str,
    answerer: Answerer,
    task: bool = False,
) -> Outcome:
    """Ask, and judge the output of a tool, whose definition is listed before (for its outputSchema and headers).

    task: ask the server to make it a task (handshake era); a tool that runs only as one is called as one.
    """
    era = connection.peer.era if connection.peer else None
    limit = timeout or connection.spec.timeouts.call
    definition = _listed(connection, name, limit) if what == TOOLS else {}
    method, params = request_of(what, name, arguments)
    needs = what == TOOLS and era == HANDSHAKE and support_of(definition) == "required"
    if task or needs:
        params["task"] = {"ttl": TTL_MS}
    states: list[State] = []
    try:
        headers = call_headers(connection, definition, arguments) if what == TOOLS else {}
        reply = _conversation(connection, method, params, limit, headers, answerer, states)
    except LoupeError as problem:
        return outcome.of_error(problem, era)
    brought = brought_by(reply.result) if states else None
    if what != TOOLS or (states and brought is None and "taskId" in reply.result):
        return outcome.of_reply(reply, None, brought)
    checker = Checker(Worker(connection.portal))
    verdict = connection.run(judged, checker, definition, reply, brought, timeout=4 * CHECK_S)
    return outcome.of_reply(reply, verdict, brought)


def _conversation(
    connection: Connection,
    method: str,
    params: dict[str, Any],
    limit: float,
    headers: dict[str, str],
    answerer: Answerer,
    states: list[State],
) -> Reply:
    """The reply that asks no more and is no task any more, or the one whose question was not answered."""
    most = connection.spec.timeouts.most
    connection.on_question = answerer.ask

    async def send(whole: dict[str, Any]) -> Reply:
        return await connection.request(
            method, whole, timeout=limit, headers=headers, on_progress=progressed, most=most
        )

    async def of_task(method: str, whole: dict[str, Any]) -> Reply:
        return await connection.request(method, whole, timeout=limit, most=most)

    def note(state: State) -> None:
        states.append(state)
        warn(f"task {printable(state.task)} {printable(state.status)} {printable(state.message)}".rstrip())

    async def talk() -> Reply:
        reply = await converse(send, params, answerer.ask, connection, lambda _round: None)
        return await follow(connection, reply, of_task, answerer.ask, note)

    return connection.run(talk, timeout=MOST_ROUNDS * max(limit, most) + GRACE_S)


def _listed(connection: Connection, name: str, limit: float) -> dict[str, Any]:
    """The tool as listed; {} when it is not."""
    try:
        listed = connection.run(walk_whole, connection, "tools", "housekeeping", timeout=limit * 2)
    except LoupeError:
        return {}  # a server whose list fails may still answer the call; the trace has both
    return definition_in([page.reply.result for page in listed.pages], name)


def definition_in(pages: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """The tool of that name in the results of tools/list, whatever else they hold; {} when it is not there."""
    lists = [page.get("tools") for page in pages]
    tools = [tool for each in lists if isinstance(each, list) for tool in each]
    return next((one for one in tools if isinstance(one, dict) and one.get("name") == name), {})


def progressed(params: dict[str, Any]) -> None:
    total = f"/{printable(str(params['total']))}" if "total" in params else ""
    text = printable(str(params.get("message", "")))
    warn(f"progress {printable(str(params.get('progress')))}{total} {text}".rstrip())


def document_of(found: Outcome) -> dict[str, Any]:
    """The document of `call --json` (docs/cli.md); `raw` is the answer exactly as it came."""
    document: dict[str, Any] = {"schema": "mcp-loupe/call/1", "outcome": found.what, "origin": found.origin}
    if found.code is not None:
        document["code"] = found.code
    if found.explain is not None:
        entry = found.explain
        document["explain"] = {
            "id": entry.id, "meaning": entry.meaning, "cause": list(entry.causes), "remedy": entry.remedy,
            "spec": entry.spec,
        }  # fmt: skip
    if found.error is not None:
        document["error"] = found.error.as_json()
    if found.result is not None:
        document["result"] = found.result
    if found.raw is not None:
        document["raw"] = found.raw.decode("utf-8", "replace")
    if found.output is not None:
        errors = [{"path": one.path, "message": one.message} for one in found.output.errors]
        document["output_schema"] = {"verdict": found.output.verdict, "errors": errors}
        if found.output.why:
            document["output_schema"]["why"] = found.output.why
    document["ms"] = found.ms
    document["frames"] = [seq for seq in (found.request_seq, found.reply_seq) if seq is not None]
    return document


def show(found: Outcome) -> None:
    """The result for people; errors in one sentence on stderr."""
    if found.error is not None:
        error = found.error
        for line in error.facts.get("stderr") or []:
            warn(f"  stderr: {briefly(line, MOST_SAID)}")
        warn(" ".join(sentence(briefly(text, MOST_SAID)) for text in (error.message, error.remedy) if text))
        return
    result = found.result or {}
    listed = next((result[key] for key in ("content", "contents", "messages") if key in result), None)
    if not isinstance(listed, list) and "structuredContent" not in result:
        print_document(result, indent=2)
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict) and item.get("mimeType") is not None and isinstance(item.get("text"), str):
            item = {**item, "type": "text"}
        if isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str):
            say("\n".join(printable(line) for line in item["text"].split("\n")))
        else:
            print_document(item)
    if "structuredContent" in result and not result.get("content"):
        print_document(result["structuredContent"], indent=2)
    verdict = f", output {found.output.verdict}" if found.output is not None else ""
    warn(f"{found.what.replace('_', ' ')} in {found.ms:.1f} ms{verdict}")
    for problem in found.output.errors if found.output is not None else ():
        warn(f"  outputSchema: {printable(problem.path) or 'the whole'}: {printable(problem.message)}")
