"""What every scenario asks of its client, judged from what its servers wrote down; pure, any thread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from inspector.demo.chaos_faults import CAPABILITIES_KEY, INITIALIZE
from inspector.demo.stdio_suite.log import Life, Seen, params_of, version_of
from inspector.demo.stdio_suite.scenario import FIELD, MUST, SHOULD, Check, Scenario

STDIO: Final = "basic/transports/stdio"
INITIALIZED: Final = "notifications/initialized"
CANCELLED: Final = "notifications/cancelled"
SHOWN: Final = 120


def judged(scenario: Scenario, seen: Seen) -> list[Check]:
    """All checks of a scenario that was played."""
    if not seen.lives:
        asks = "starts the server with the command it was given"
        return [Check("started", MUST, False, asks, "no server process was started", STDIO)]
    return [*_common(scenario, seen), *_reached(scenario, seen), *scenario.judge(seen)]


def _reached(scenario: Scenario, seen: Seen) -> Iterator[Check]:
    name = scenario.reaches
    if name is None:
        return
    asks = f"gets as far as calling `{name}` with the default its schema gives"
    given = [params_of(ask).get("arguments") for ask in seen.calls(name)]
    tokens = [arguments.get("token") if isinstance(arguments, dict) else arguments for arguments in given]
    if not tokens:
        last = next(
            (str(ask["method"]) for life in seen.lives[::-1] for ask in life.requests()[::-1]), "nothing"
        )
        found = f"never called; the last request was {last}"
    elif scenario.token(name) not in tokens:
        found = f"called with {_short(tokens[0])} instead of {_short(scenario.token(name))}"
    else:
        found = "called"
    yield scenario.check("reached", scenario.level, scenario.token(name) in tokens, asks, found)


def _common(scenario: Scenario, seen: Seen) -> Iterator[Check]:
    yield _all(
        "frames",
        MUST,
        seen,
        _bad_frames,
        "writes one JSON-RPC 2.0 message in UTF-8 a line, and nothing else",
        STDIO,
    )
    yield _all(
        "ids",
        MUST,
        seen,
        _bad_ids,
        "gives each request a text or an integer as id, never one twice",
        "basic/index",
    )
    yield _all(
        "opening", MUST, seen, _bad_opening,
        "opens with initialize and notifications/initialized, or sends version and capabilities in every _meta",
        "basic/index; 2025-11-25 basic/lifecycle",
    )  # fmt: skip
    yield _all("cancels", MUST, seen, _bad_cancels, "cancels only requests it made, and never initialize",
               "basic/patterns/cancellation")  # fmt: skip
    asked = f"{len(seen.lives)} processes were started"
    asks = f"starts the server at most {scenario.lives} time{'s' if scenario.lives > 1 else ''}"
    yield Check("starts", FIELD, len(seen.lives) <= scenario.lives, asks, asked, STDIO)
    found = "ended" if seen.ended else "had to be ended by the suite"
    yield Check("ended", FIELD, seen.ended, "comes to an end by itself", found, STDIO)
    if not seen.ended:
        return  # the suite ended them, client and servers
    asks = "ends a server by closing its stdin, and with a signal only when that did not help"
    yield _all(
        "closing", SHOULD, seen, lambda life: _bad_closing(scenario, life), asks, f"{STDIO} (shutdown)"
    )
    left = ", ".join(str(pid) for pid in seen.left)
    found = f"still running: {left}" if left else "none"
    yield Check(
        "leftovers", SHOULD, not left, "leaves no server process behind", found, f"{STDIO} (shutdown)"
    )


def _all(id_: str, level: str, seen: Seen, wrong: Any, asks: str, source: str) -> Check:
    """A check that looks at each process; `wrong` yields what is bad about one."""
    faults = [fault for life in seen.lives for fault in wrong(life)]
    return Check(id_, level, not faults, asks, faults[0] if faults else "as asked", source)


def _bad_frames(life: Life) -> Iterator[str]:
    for entry in life.of("line"):
        text = entry.get("text")
        if text is None:
            yield f"a line that is no UTF-8: {entry['hex'][:SHOWN]}"
            continue
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
            yield f"a line that is no JSON-RPC message: {_short(text)}"
        elif "method" not in value and ("result" in value) == ("error" in value):
            yield f"an answer needs either result or error: {_short(text)}"
    for entry in life.of("tail"):
        yield f"bytes without a line feed at the end: {_short(entry.get('text', entry.get('hex')))}"


def _bad_ids(life: Life) -> Iterator[str]:
    used: set[str] = set()
    for ask in life.requests():
        id_ = ask["id"]
        if not isinstance(id_, str | int) or isinstance(id_, bool):
            yield f"{ask['method']} has the id {_short(id_)}"
        elif json.dumps(id_) in used:
            yield f"the id {_short(id_)} was used twice, the second time by {ask['method']}"
        used.add(json.dumps(id_))


def _bad_opening(life: Life) -> Iterator[str]:
    opened, ready = False, False
    for frame in life.frames():
        method = frame.get("method")
        opened = opened or method == INITIALIZE
        ready = ready or (opened and method == INITIALIZED)
        if "id" not in frame or method in (None, INITIALIZE, "ping"):
            continue
        meta = params_of(frame).get("_meta")
        modern = version_of(frame) is not None and isinstance(meta, dict) and CAPABILITIES_KEY in meta
        if modern:
            continue  # of its own, also when an initialize before it was refused
        if opened and not ready:
            yield f"{method} came before {INITIALIZED}"
        elif not opened:
            yield f"{method} came without initialize, and without version and capabilities in _meta"


def _bad_cancels(life: Life) -> Iterator[str]:
    asked: dict[str, str] = {}
    for frame in life.frames():
        if "id" in frame and "method" in frame:
            asked[json.dumps(frame["id"])] = str(frame["method"])
        elif frame.get("method") == CANCELLED:
            method = asked.get(json.dumps(params_of(frame).get("requestId")))
            if method is None:
                yield f"requestId {_short(params_of(frame).get('requestId'))} is none of its requests"
            elif method == INITIALIZE:
                yield "initialize was cancelled"


def _bad_closing(scenario: Scenario, life: Life) -> Iterator[str]:
    closed, gone = life.at("eof"), life.at("exit")
    for entry in life.of("signal"):
        if closed is None or entry["at"] < closed:
            yield f"{entry['name']} came before stdin was closed"
        elif entry["name"] not in scenario.signals:
            yield f"{entry['name']} came {entry['at'] - closed:.2f} s after stdin was closed, while the server was ending"
    if closed is None and gone is None and not life.of("signal"):
        yield "stdin was never closed: the server was killed"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
