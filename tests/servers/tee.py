"""An independent witness: `tee.py DIR -- CMD ARG…` runs CMD and copies its three streams through, unchanged.

DIR gets `stdin`, `stdout` and `stderr`, the exact bytes of each. Bytes are written to the file before they are
passed on. Ends as the child does: the same exit code, or the same signal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def copy(source: int, target: int, witness: Path) -> None:
    """From descriptor to descriptor until EOF, then close the target; a target that left ends only the passing on."""
    open_ = True
    with witness.open("wb", buffering=0) as kept:
        while piece := os.read(source, 65_536):
            kept.write(piece)
            rest = memoryview(piece)
            try:
                while open_ and rest:
                    rest = rest[os.write(target, rest) :]
            except BrokenPipeError:
                open_ = False
    os.close(target)


def main() -> None:
    where, dashes, *command = sys.argv[1:]
    if dashes != "--" or not command:
        raise SystemExit("usage: tee.py DIR -- CMD ARG…")
    folder = Path(where)
    folder.mkdir(parents=True, exist_ok=True)
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    assert child.stdin and child.stdout and child.stderr
    signal.signal(signal.SIGTERM, lambda number, _frame: child.send_signal(number))
    # The child's stdin is closed by its thread alone: a second close might hit a number already reused.
    into = os.dup(child.stdin.fileno())
    child.stdin.close()
    ways = (
        (0, into, "stdin"),
        (child.stdout.fileno(), 1, "stdout"),
        (child.stderr.fileno(), 2, "stderr"),
    )
    threads = [
        threading.Thread(target=copy, args=(source, target, folder / name), daemon=True)
        for source, target, name in ways
    ]
    for thread in threads:
        thread.start()
    code = child.wait()
    for thread in threads[1:]:
        thread.join(timeout=5)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
