"""Faults inside a well-formed result: content, schemas, numbers, sizes; run on the server's thread."""

from __future__ import annotations

from typing import Final

from inspector.demo.chaos_faults import Ask, Out, dumps, fault

SUM_SCHEMA: Final = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
ROW: Final = "| {0:08d} | region {0:08d} | total {0:08d} |\n"


def padded(ask: Ask, size: int) -> bytes:
    """The healthy answer grown to exactly `size` bytes (its own size when that is more)."""
    texts = [{"type": "text", "text": "%"}] if "content" in ask.right else None
    grown = {"content": texts} if texts else {"_meta": {"padding": "%"}}
    frame = ask.result(**grown)
    # The one bare "%" string of the frame, found from the end so that no tool's own text is hit.
    head, _, tail = frame.rpartition(b'"%"')
    return head + b'"' + b"x" * max(1, size - len(frame) + 1) + b'"' + tail


@fault("both", "G1", "A tool error: the server's own text, no protocol fault.")
def is_error(ask: Ask, out: Out) -> None:
    """Answers with `isError: true` and a text."""
    out.frame(ask.result(isError=True, content=[{"type": "text", "text": "Chaos refused the call"}]))


@fault("both", "A6, G4", "The whole line kept, the view cut; the session goes on.", takes=("bytes", 65_537))
def long_line(ask: Ask, out: Out) -> None:
    """Answers with one frame of exactly `bytes` bytes."""
    out.frame(padded(ask, ask.arg))


@fault(
    "both", "G4", "First paint at once, more on demand, the raw bytes to download.", takes=("bytes", 100_000)
)
def big_table(ask: Ask, out: Out) -> None:
    """Answers with a Markdown table of about `bytes` bytes as text."""
    rows = "".join(ROW.format(n) for n in range(max(1, ask.arg // len(ROW.format(0)))))
    table = "| row | region | total |\n|---|---|---|\n" + rows
    out.frame(ask.result(content=[{"type": "text", "text": table}]))


@fault("both", "G4", "The tree folded; nothing hangs.", takes=("lines", 100_000))
def big_structure(ask: Ask, out: Out) -> None:
    """Answers with structured content of `lines` numbers."""
    out.frame(ask.result(structuredContent={"numbers": list(range(ask.arg))}))


@fault(
    "both",
    "G4",
    "The raw bytes and a note that they are nested too deeply to read.",
    takes=("depth", 100_000),
)
def deep_json(ask: Ask, out: Out) -> None:
    """Answers with `depth` arrays inside one another."""
    frame = ask.result(structuredContent={"deep": "%"})
    out.frame(frame.replace(b'"%"', b"[" * ask.arg + b"]" * ask.arg))


@fault("both", "G2", "Every digit, in view, edit and replay.", takes=("value", 725_653_563_933_458_432))
def big_integer(ask: Ask, out: Out) -> None:
    """Answers with an integer beyond 2^53, in structured content and in text."""
    text = dumps({"id": ask.arg}).decode()
    out.frame(ask.result(structuredContent={"id": ask.arg}, content=[{"type": "text", "text": text}]))


@fault("both", "G2, SDK 2", "Each number as it was written; the overflow marked, not shown as infinity.")
def odd_numbers(ask: Ask, out: Out) -> None:
    """Answers with 1e999, -0.0, 1.0, 1E2 and a decimal of 30 digits."""
    frame = ask.result(structuredContent={"odd": "%"})
    numbers = b"[1e999,-0.0,1.0,1E2,0.100000000000000005551115123126]"
    out.frame(frame.replace(b'"%"', numbers))


@fault("both", "G2", "The raw bytes; NaN is no JSON.")
def nan_number(ask: Ask, out: Out) -> None:
    """Answers with a bare NaN, which some libraries write."""
    out.frame(ask.result(structuredContent={"mean": float("nan")}))


@fault("both", "A8", "The raw bytes; the lone surrogate visible, the page not broken.")
def lone_surrogate(ask: Ask, out: Out) -> None:
    """Answers with half of a surrogate pair as a JSON escape."""
    frame = ask.result(content=[{"type": "text", "text": "%"}])
    out.frame(frame.replace(b'"%"', b'"half \\ud83c emoji"'))


@fault("both", "A8", "The characters made visible, never acted on.")
def control_characters(ask: Ask, out: Out) -> None:
    """Answers with a NUL, an ANSI colour, a right-to-left override and a line separator in its text."""
    out.frame(ask.result(content=[{"type": "text", "text": "a\x00b \x1b[31mred \u202egnp.exe \u2028end"}]))


@fault("both", "A8", "The text as text, markup escaped.")
def markup(ask: Ask, out: Out) -> None:
    """Answers with HTML that would run a script."""
    out.frame(ask.result(content=[{"type": "text", "text": "</pre><script>document.title='owned'</script>"}]))


@fault("both", "G1", "The result, and the verdict: structuredContent is missing.", output_schema=SUM_SCHEMA)
def no_structured_content(ask: Ask, out: Out) -> None:
    """Declares an output schema and answers without structured content."""
    out.frame(ask.answer())


@fault("both", "G1", "The result, and the verdict: sum is not an integer.", output_schema=SUM_SCHEMA)
def wrong_structured_content(ask: Ask, out: Out) -> None:
    """Declares an integer and answers with a string."""
    out.frame(ask.result(structuredContent={"sum": "three"}))


@fault(
    "both", "G1", "A tool error and no verdict: errors are exempt from the schema.", output_schema=SUM_SCHEMA
)
def error_without_structure(ask: Ask, out: Out) -> None:
    """Declares an output schema and answers with `isError: true` without structured content."""
    out.frame(ask.result(isError=True))


@fault("both", "G1", "The result, and the verdict: content is missing.")
def no_content(ask: Ask, out: Out) -> None:
    """Answers with a result that lacks `content`."""
    out.frame(ask.answer(result={name: value for name, value in ask.right.items() if name != "content"}))


@fault("both", "G1", "The blocks as sent, each with what is wrong.")
def odd_content(ask: Ask, out: Out) -> None:
    """Answers with an unknown block type, an image that is no base64, and a string for a block."""
    image = {"type": "image", "data": "not base64!", "mimeType": "image/png"}
    out.frame(ask.result(content=[{"type": "hologram", "depth": 3}, image, "bare"]))


@fault("both", "SDK 5", "An invalid result: the type is unknown; the raw frame.")
def unknown_result_type(ask: Ask, out: Out) -> None:
    """Answers with `resultType: "bogus"`."""
    out.frame(ask.result(resultType="bogus"))


@fault("both", "SDK 5", "resultType as absent, read as complete; flagged in the modern era.")
def no_result_type(ask: Ask, out: Out) -> None:
    """Answers without `resultType`."""
    out.frame(ask.answer(result={name: value for name, value in ask.right.items() if name != "resultType"}))


@fault("both", "SDK 6", "Input required, and the fault: neither requests nor state to answer with.")
def empty_input_required(ask: Ask, out: Out) -> None:
    """Answers with `input_required` and nothing to answer."""
    out.frame(ask.answer(result={"resultType": "input_required"}))


@fault("both", "SDK 6", "Each round, and an end to them at a cap.")
def endless_input_required(ask: Ask, out: Out) -> None:
    """Asks for input again, whatever it is given, with a growing state."""
    state = str(ask.params.get("requestState") or "round")
    schema = {"type": "object", "properties": {"again": {"type": "boolean"}}}
    params = {"mode": "form", "message": "Once more?", "requestedSchema": schema}
    asked = {"more": {"method": "elicitation/create", "params": params}}
    out.frame(
        ask.answer(
            result={"resultType": "input_required", "inputRequests": asked, "requestState": state + "+"}
        )
    )
