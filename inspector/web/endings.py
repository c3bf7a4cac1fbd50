"""How a process ended, in words: exit codes and signals. Pure, any thread."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, Final

_EXIT: Final = {
    0: "It ended normally.",
    1: "The usual code of a program that failed; its stderr says why.",
    2: "Often wrong command-line arguments; its stderr says which.",
    126: "The shell found the command but may not run it.",
    127: "The shell did not find the command.",
}
_SIGNALS: Final = {
    "SIGSEGV": "It read or wrote memory it may not touch: a crash in native code.",
    "SIGABRT": "It gave up by itself: a failed assertion or an uncaught native exception.",
    "SIGKILL": "It was killed without a chance to clean up: by a person, by Loupe's last step, or for want of memory.",
    "SIGTERM": "It was asked to end.",
    "SIGINT": "It was interrupted, as by Ctrl-C.",
    "SIGPIPE": "It wrote to a pipe nobody reads.",
    "SIGBUS": "It touched memory that is not there: a crash in native code.",
}


def ending(body: Mapping[str, Any]) -> tuple[str, str]:
    """The name and meaning of how a process ended: `exited code 3`, `SIGSEGV`."""
    if "signal" in body:
        name = str(body["signal"])
        return name, _SIGNALS.get(name, "A signal ended it.")
    code = body.get("code")
    if not isinstance(code, int):
        return "Exited", "How it ended is not known."
    if 128 < code < 128 + 65:
        return f"Exited with code {code}", f"By the shell's custom: ended by {_signal_name(code - 128)}."
    return f"Exited with code {code}", _EXIT.get(code, "A code of the program's own; its stderr says why.")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
