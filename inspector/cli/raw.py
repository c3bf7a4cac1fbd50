"""`call --raw`: one frame exactly as written, and all that came within some seconds. Main thread."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inspector.cli.options import connected
from inspector.cli.terminal import print_document, printable, say, warn
from inspector.console.rawframes import Order, check, shoot
from inspector.settings.spec import NO_ERA, ServerSpec
from inspector.wire.events import Event

MARGIN_S = 10.0


def send_raw_frame(spec: ServerSpec, text: str, wait_s: float, scratch: bool, options: dict[str, Any]) -> int:
    """Exit 0 when anything came, 1 on silence."""
    order = Order(text.encode("utf-8", "surrogateescape"), scratch, wait_s)
    check(order, spec)
    events: list[Event] = []
    with connected(replace(spec, era=NO_ERA) if scratch else spec, options) as connection:
        with connection.link.journal.heard_by(events.append):
            connection.run(shoot, connection, order, timeout=wait_s + MARGIN_S)
    came = [one for one in events if one.dir == "s2c" and one.t in ("rpc", "noise")]
    if options["as_json"]:
        frames = [_document(one) for one in events if one.raw is not None]
        document = {
            "schema": "mcp-loupe/raw/1",
            "outcome": "answered" if came else "silence",
            "frames": frames,
        }
        print_document(document)
    else:
        for one in came:
            say(printable((one.raw or b"").decode("utf-8", "backslashreplace")))
        if not came:
            warn(f"The server sent nothing within {wait_s:g} s.")
    return 0 if came else 1


def _document(event: Event) -> dict[str, Any]:
    raw = (event.raw or b"").decode("utf-8", "backslashreplace")
    return {"seq": event.seq, "t": event.t, "dir": event.dir, "kind": event.kind, "raw": raw}
